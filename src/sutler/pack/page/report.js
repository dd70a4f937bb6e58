// The page as a whole: the head, the legend, the tabs, and what happens when the reader chooses.

function showHead() {
  const { view } = state;
  const { budget } = view;
  byId("project").textContent = view.project;
  byId("about").textContent = [`pack ${view.pack_id.slice(0, 16)}`, view.format].filter(Boolean).join(", ");
  document.title = `${view.project}: sutler report`;
  byId("used").textContent = `${count(budget.used)} ${budget.unit}`;
  byId("of").textContent = budget.limit === null ? "no limit" : `of ${count(budget.limit)}, ${percent(budget.used, budget.limit)}`;
  const total = (list) => list.reduce((sum, one) => sum + (one.count ?? 1), 0);
  // A folder may be counted up to a limit only.
  const plus = view.left.some((one) => one.more) ? "+" : "";
  const stats = [
    [count(view.files.length), "files in"],
    [`${count(total(view.left) + view.unnamed)}${plus}`, "files left out"],
    [count(view.files.filter((file) => file.cut).length), "shown in part"],
    [count(view.files.reduce((sum, file) => sum + (file.redacted || 0), 0)), "secrets redacted"],
    ...view.measures.filter((one) => one.name !== budget.unit).map((one) => [count(one.total), one.name]),
  ];
  refill(byId("stats"), ...stats.map(([value, name]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))));
  byId("goal").textContent = view.goal;
  byId("goal").hidden = !view.goal;
  const notes = view.files.length ? view.notes : [EMPTY, ...view.notes];
  refill(byId("notes"), ...notes.map((note) => make("li", { text: note })));
  byId("notes").hidden = !notes.length;
  byId("foot").textContent = `sutler ${view.version}. This page is one file and makes no request${document.body.hasAttribute("data-live") ? " but to its own server" : ""}.`;
}

/** Files and cost by what the map is coloured by, in the order of the legend; the frame last. */
function sumsByKind(at = state.measure) {
  const kinds = state.bySignal ? [...state.view.strongest, "no signal", "frame"] : Object.keys(WHY);
  const sums = new Map(kinds.map((kind) => [kind, { files: 0, cost: 0 }]));
  for (const file of state.view.files) {
    const sum = sums.get(kindOf(file));
    sum.files += 1;
    sum.cost += file.costs[at] || 0;
  }
  sums.get("frame").cost = Math.max(0, state.view.measures[at].frame);
  return [...sums].filter(([, sum]) => sum.cost > 0 || sum.files > 0);
}

/** The meter is full when the budget is: parts are in the budget's own unit where the page has it. */
function showMeter() {
  const { budget, measures } = state.view;
  const at = Math.max(0, measures.findIndex((one) => one.name === budget.unit));
  const sums = sumsByKind(at);
  const filled = budget.limit === null ? 1 : Math.min(1, budget.used / Math.max(budget.limit, 1));
  const share = (sum) => (filled * sum.cost) / Math.max(measures[at].total, 1);
  const parts = sums.map(([kind, sum]) => {
    const part = make("i", { class: `why-${colourOf(kind)}` });
    part.style.width = `${100 * share(sum)}%`;
    return part;
  });
  const words = sums.map(([kind, sum]) => `${kindTitle(kind)} ${percent(share(sum), 1)}`);
  refill(byId("meter"), ...parts).setAttribute("aria-label", `Budget by ${state.bySignal ? "strongest signal" : "reason"}: ${words.join(", ")}`);
}

function toggle(set, value) {
  if (!set.delete(value)) set.add(value);
  changed();
}

function showLegend() {
  const { files } = state.view;
  const chips = sumsByKind().map(([kind, sum]) => kind === "frame"
    ? make("span", { class: "chip" }, dot("why-frame"), WHY.frame, make("b", { text: percent(sum.cost, measure().total) }))
    : make("button", { type: "button", "aria-pressed": String(state.kinds.has(kind)), "data-why": kind, onclick: () => toggle(state.kinds, kind) },
      dot(`why-${colourOf(kind)}`), kindTitle(kind), make("b", { text: `${count(sum.files)} · ${percent(sum.cost, measure().total)}` })));
  if (state.omitted) chips.push(make("span", { class: "chip" }, dot("why-omitted"), WHY.omitted));
  const marks = [["cut", "shown in part", files.filter((file) => file.cut).length], ["redacted", "redacted", files.filter((file) => file.redacted).length]];
  for (const [mark, title, size] of marks) {
    if (size) chips.push(make("button", { type: "button", "aria-pressed": String(state.marks.has(mark)), "data-mark": mark, onclick: () => toggle(state.marks, mark) }, dot(`mark-${mark}`), title, make("b", { text: count(size) })));
  }
  if (state.view.strongest.length) {
    chips.push(make("button", { type: "button", "aria-pressed": String(state.bySignal), "data-mark": "signal", text: "colour by strongest signal", onclick: () => { state.bySignal = !state.bySignal; state.kinds.clear(); changed(); } }));
  }
  const focused = document.activeElement?.dataset;
  const key = focused && (focused.why ? `[data-why="${focused.why}"]` : focused.mark ? `[data-mark="${focused.mark}"]` : "");
  refill(byId("legend"), ...chips);
  if (key) byId("legend").querySelector(key)?.focus();
}

function strongestSignals(files) {
  const tally = new Map();
  for (const file of files) if (file.signals?.length) tally.set(strongestOf(file), (tally.get(strongestOf(file)) || 0) + 1);
  return [...tally].sort(([a, i], [b, j]) => j - i || (a < b ? -1 : 1)).map(([name]) => name);
}

function showCrumbs() {
  const parts = state.folder ? state.folder.split("/") : [];
  const step = (name, folder) => make("button", { type: "button", class: "plain", text: name, onclick: () => enterFolder(folder) });
  const crumbs = state.folder ? [step("whole pack", ""), ...parts.map((part, at) => step(`${part}/`, parts.slice(0, at + 1).join("/")))] : [];
  refill(byId("crumbs"), ...crumbs);
}

function showMeasures() {
  const { measures } = state.view;
  const buttons = measures.map((one, at) => make("button", { type: "button", text: one.name, "aria-pressed": String(at === state.measure), onclick: () => { state.measure = at; changed(); } }));
  refill(byId("measures"), ...buttons);
  byId("measures").hidden = measures.length < 2;
}

/** Tabs as the reader of a screen expects them: one in the tab order, arrows between them. */
function startTabs(panes) {
  const list = byId("tabs");
  const buttons = panes.map((pane) => make("button", { type: "button", role: "tab", id: `tab-${pane.id}`, "aria-controls": `pane-${pane.id}`, onclick: () => choose(pane) }, pane.title, make("b")));
  panes.forEach((pane, at) => {
    Object.assign(pane, { button: buttons[at], panel: make("div", { role: "tabpanel", id: `pane-${pane.id}`, "aria-labelledby": `tab-${pane.id}`, hidden: true }, pane.node) });
  });
  const shown = () => panes.filter((pane) => !pane.button.hidden);
  function choose(pane) {
    for (const one of panes) {
      const is = one === pane;
      one.button.setAttribute("aria-selected", String(is));
      one.button.tabIndex = is ? 0 : -1;
      one.panel.hidden = !is;
    }
    pane.show();
  }
  list.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const open = shown();
    const next = open[(open.findIndex((pane) => !pane.panel.hidden) + move + open.length) % open.length];
    choose(next);
    next.button.focus();
    event.preventDefault();
  });
  refill(list, ...buttons);
  refill(byId("panes"), ...panes.map((pane) => pane.panel));
  choose(panes[0]);
  return () => {
    for (const pane of panes) {
      pane.button.hidden = pane.wanted ? !pane.wanted() : false;
      const size = pane.size ? pane.size() : 0;
      pane.button.lastChild.textContent = size ? count(size) : "";
      if (!pane.panel.hidden) pane.show();
    }
  };
}

function startTheme() {
  const button = byId("theme");
  const ways = ["auto", "light", "dark"];
  const show = () => {
    const way = document.documentElement.dataset.theme || "auto";
    button.textContent = way === "auto" ? "colours: as the system" : `colours: ${way}`;
  };
  button.addEventListener("click", () => {
    const next = ways[(ways.indexOf(document.documentElement.dataset.theme || "auto") + 1) % ways.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    show();
    changed();
  });
  show();
}

function start(view) {
  state.view = view;
  const panes = [filesPane(openFile), leftPane(), comparePane(), receiptPane()];
  if (typeof livePanes === "function") panes.push(...livePanes());
  startMap((cell) => (inPack(cell) ? openFile(inPack(cell)) : openLeft(leftOut(cell))));
  startTheme();
  const tell = startTabs(panes);
  state.listeners.push(() => { showMeter(); showLegend(); showCrumbs(); showMeasures(); });
  state.fresh = (next) => {
    next.strongest = strongestSignals(next.files);
    next.best = next.files.reduce((best, file) => Math.max(best, file.score || 0), 0);
    if (next.goal !== state.goal || !next.strongest.length) state.bySignal = next.strongest.length > 0;
    state.goal = next.goal;
    state.kinds.clear();
    Object.assign(state, { view: next, measure: Math.min(state.measure, next.measures.length - 1) });
    showHead();
    tell();
    changed();
  };
  state.fresh(view);
  // For tests and for the curious: what is drawn, as numbers.
  window.sutler = Object.freeze({ cells: () => treemap.cells.map((cell) => ({ ...cell, path: (inPack(cell) || leftOut(cell))?.path || "" })), view: () => state.view });
}

start(JSON.parse(byId("view").textContent));
