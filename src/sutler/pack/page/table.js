// A table of any length: only the rows in sight exist. One element has the focus, and names its active row.

const ROW = 34;
let tables = 0;

/**
 * columns: [{ key, title, width, right, narrow, value(row), cell(row) -> node or text, start: "descending" }]
 * Returns { node, show(rows), rows() }; `open(row)` is called for a click or Enter.
 */
function table({ label, columns, open, sort, empty }) {
  const id = `t${(tables += 1)}`;
  const widths = (some) => some.map((column) => column.width).join(" ");
  const tall = make("div", { class: "tall", "aria-hidden": "true" });
  const body = make("div", { class: "body", role: "rowgroup" }, tall);
  const head = make("div", { class: "head", role: "row", "aria-rowindex": "1" });
  const node = make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": label }, make("div", { role: "rowgroup" }, head), body);
  const self = { all: [], sorted: [], active: -1, sort: sort || { key: columns[0].key, way: "ascending" }, drawn: new Map() };
  node.style.setProperty("--wide", widths(columns));
  node.style.setProperty("--slim", widths(columns.filter((column) => !column.narrow)));

  function heading(column) {
    const button = make("button", { type: "button", tabindex: "-1", text: column.title, onclick: () => turn(column) });
    return make("div", { role: "columnheader", class: classes(column), "data-key": column.key }, button);
  }

  function turn(column) {
    const same = self.sort.key === column.key;
    const other = self.sort.way === "ascending" ? "descending" : "ascending";
    self.sort = { key: column.key, way: same ? other : column.start || "ascending" };
    order();
    say(`sorted by ${column.title}, ${self.sort.way}`);
  }

  function order() {
    const column = columns.find((one) => one.key === self.sort.key);
    const sign = self.sort.way === "ascending" ? 1 : -1;
    const keyed = self.all.map((row, index) => [column.value(row), index, row]);
    keyed.sort(([a, i], [b, j]) => (a < b ? -sign : a > b ? sign : i - j));
    self.sorted = keyed.map((item) => item[2]);
    for (const cell of head.children) cell.setAttribute("aria-sort", cell.dataset.key === self.sort.key ? self.sort.way : "none");
    self.active = -1;
    node.removeAttribute("aria-activedescendant");
    redraw(true);
  }

  function redraw(afresh) {
    const { sorted, drawn } = self;
    tall.style.height = `${sorted.length * ROW}px`;
    node.setAttribute("aria-rowcount", sorted.length + 1);
    const from = Math.max(0, Math.floor(body.scrollTop / ROW) - 8);
    const to = Math.min(sorted.length, Math.ceil((body.scrollTop + (body.clientHeight || 600)) / ROW) + 8);
    for (const [index, row] of drawn) {
      if (afresh || index < from || index >= to) {
        row.remove();
        drawn.delete(index);
      }
    }
    for (let index = from; index < to; index += 1) if (!drawn.has(index)) drawn.set(index, body.appendChild(rowOf(index)));
    body.querySelector(".empty")?.remove();
    if (!sorted.length) body.append(make("p", { class: "empty", text: empty || "Nothing matches." }));
  }

  function rowOf(index) {
    const row = self.sorted[index];
    const made = make("div", { class: "row", role: "row", id: `${id}-${index}`, "aria-rowindex": index + 2 });
    for (const column of columns) made.append(make("div", { role: "gridcell", class: classes(column) }, column.cell(row)));
    made.style.top = `${index * ROW}px`;
    made.classList.toggle("active", index === self.active);
    made.addEventListener("click", (event) => {
      if (event.target.closest("button, input")) return;
      activate(index);
      open?.(row);
    });
    return made;
  }

  function activate(index) {
    const last = self.sorted.length - 1;
    if (last < 0) return;
    self.active = Math.max(0, Math.min(index, last));
    const [top, low] = [self.active * ROW, (self.active + 1) * ROW];
    if (top < body.scrollTop) body.scrollTop = top;
    else if (low > body.scrollTop + body.clientHeight) body.scrollTop = low - body.clientHeight;
    redraw(false);
    for (const [at, row] of self.drawn) row.classList.toggle("active", at === self.active);
    node.setAttribute("aria-activedescendant", `${id}-${self.active}`);
  }

  node.addEventListener("keydown", (event) => {
    if (event.target !== node) return;
    const page = Math.max(1, Math.floor(body.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in moves) activate(self.active < 0 && moves[event.key] > 0 && moves[event.key] < 1e9 ? 0 : self.active + moves[event.key]);
    else if (event.key === "Enter" && self.sorted[self.active]) open?.(self.sorted[self.active]);
    else if (event.key === " " && self.sorted[self.active]) self.drawn.get(self.active)?.querySelector("input")?.click();
    else return;
    event.preventDefault();
  });
  body.addEventListener("scroll", framed(() => redraw(false)), { passive: true });
  head.append(...columns.map(heading));
  for (const button of head.querySelectorAll("button")) button.tabIndex = 0;
  new ResizeObserver(framed(() => redraw(false))).observe(body);
  return { node, show(rows) { self.all = rows; order(); }, rows: () => self.sorted };
}

const classes = (column) => [column.right ? "right" : "", column.narrow ? "narrow" : ""].join(" ").trim();

/** A filter box, a count, and a table; `text(row)` is what the filter looks at. */
function filtered({ label, hint, text, tally, ...rest }) {
  const made = table({ label, ...rest });
  const input = make("input", { type: "search", placeholder: hint, "aria-label": hint, spellcheck: "false", autocomplete: "off" });
  const told = make("span", { class: "count", role: "status" });
  let all = [];
  const apply = () => {
    const matches = matcher(input.value);
    const rows = input.value ? all.filter((row) => matches(text(row).toLowerCase())) : all;
    made.show(rows);
    told.textContent = tally(rows, all);
  };
  input.addEventListener("input", framed(apply));
  const node = make("div", {}, make("div", { class: "tools" }, input, told), made.node);
  return { node, input, show(rows) { all = rows; apply(); }, rows: made.rows };
}
