// Live, in `sutler ui`: the selection, what waits for approval, the ledger. The server checks all of it again.

const wanted = { goal: "", include: [], exclude: [], max_tokens: null, without: [] };
const live = { busy: 0, waiting: [], rows: [], older: false };

async function ask(where, body) {
  const given = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(where, { ...given, credentials: "same-origin", redirect: "error" });
  const type = answer.headers.get("content-type") || "";
  const found = type.startsWith("application/json") ? await answer.json() : await answer.text();
  if (answer.ok) return found;
  const { what, rule, next } = found.error || { what: String(found).trim() };
  throw new Error([what, rule && `rule: ${rule}`, next && `next: ${next}`].filter(Boolean).join("; "));
}

function tell(text, bad = false) {
  const line = byId("live-state");
  line.textContent = text;
  line.className = bad ? "state bad" : "state quiet";
}

/** Pack anew; of several answers on their way only the last one asked for is shown. */
async function repack() {
  const turn = (live.busy += 1);
  tell("packing …");
  try {
    const view = await ask("api/pack", wanted);
    if (turn !== live.busy) return;
    state.fresh(view);
    tell(`packed: ${plural(view.files.length, "file")}, ${count(view.measures[0].total)} ${view.measures[0].name}`);
  } catch (error) {
    if (turn === live.busy) tell(error.message, true);
  }
  showWithout();
}

function showWithout() {
  const chips = wanted.without.map((one) => make("button", { type: "button", "aria-label": `Put ${one} back`, onclick: () => { wanted.without = wanted.without.filter((other) => other !== one); repack(); } }, path(one), " ×"));
  refill(byId("live-without"), ...chips).hidden = !chips.length;
}

function tick(file) {
  const box = make("input", { type: "checkbox", checked: true, "aria-label": `Keep ${file.path}`, tabindex: "-1" });
  box.addEventListener("change", () => {
    if (box.checked) wanted.without = wanted.without.filter((one) => one !== file.path);
    else wanted.without.push(file.path);
    repack();
  });
  return box;
}

function startForm() {
  const field = (id, label, attributes) => make("label", { for: id }, label, make("input", { id, type: "text", spellcheck: "false", autocomplete: "off", ...attributes }));
  const words = (id) => byId(id).value.split(/[\s,]+/).filter(Boolean);
  const read = () => {
    wanted.goal = byId("live-goal").value;
    wanted.include = words("live-include");
    wanted.exclude = words("live-exclude");
    wanted.max_tokens = byId("live-tokens").value ? Number(byId("live-tokens").value) : null;
  };
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); read(); repack(); } },
    field("live-goal", "Goal", { placeholder: "what the pack is for", value: wanted.goal }),
    field("live-include", "Only", { placeholder: "*.py src/", value: wanted.include.join(" ") }),
    field("live-exclude", "Without", { placeholder: "tests/", value: wanted.exclude.join(" ") }),
    field("live-tokens", "Tokens", { type: "number", min: "1", step: "1", placeholder: "as set", value: wanted.max_tokens ?? "" }),
    make("button", { type: "submit", class: "main", text: "Pack" }),
    make("button", { type: "button", text: "Copy the pack", onclick: () => { read(); copyPack(); } }),
    make("p", { class: "state quiet", id: "live-state", role: "status" }));
  refill(byId("live"), form, make("div", { class: "legend", id: "live-without", hidden: true, role: "group", "aria-label": "Files left out by hand" }));
  byId("live").hidden = false;
}

async function copyPack() {
  tell("packing …");
  try {
    const text = await ask("api/text", wanted);
    await navigator.clipboard.writeText(text);
    tell(`copied ${count(text.length)} characters; the ledger has a receipt`);
  } catch (error) {
    tell(error.message, true);
  }
}

function diffClass(line) {
  if (/^(--- (a\/|\/dev\/null$)|\+\+\+ (b\/|\/dev\/null$)|@@ )/.test(line)) return "names";
  return { "+": "plus", "-": "minus" }[line[0]] || "";
}

/** What waits: everything an approval is bound to, and the change itself, as text. */
function approvalsPane() {
  const box = make("div", { "aria-live": "polite" });
  const pane = { id: "approvals", title: "Approvals", node: box, size: () => live.waiting.length };
  const settle = async (one, verdict, line, buttons) => {
    for (const button of buttons) button.disabled = true;
    try {
      await ask(`api/approvals/${encodeURIComponent(one.id)}`, { verdict, digest: one.digest });
      say(`${one.tool} on ${one.path}: ${verdict === "approve" ? "approved" : "denied"}`);
      await look();
    } catch (error) {
      line.textContent = error.message;
      line.className = "state bad";
      for (const button of buttons) button.disabled = false;
    }
  };
  const card = (one) => {
    const facts = [["rule", one.rule], ["asked by", `${one.caller}, session ${one.session}`], ["arguments", one.args], ["from", one.base || "no file"], ["to", one.result || "–"], ["until", one.expires]];
    const lines = one.preview.split("\n").map((line) => make("span", { class: diffClass(line), text: line || " " }));
    const said = make("span", { class: "state quiet", role: "status", text: one.whole ? "" : "Too long to be shown whole: it can be denied here, and approved in a terminal." });
    const yes = make("button", { type: "button", class: "main", text: "Approve exactly this, once", disabled: !one.whole });
    const no = make("button", { type: "button", class: "alarm", text: "Deny" });
    yes.addEventListener("click", () => settle(one, "approve", said, [yes, no]));
    no.addEventListener("click", () => settle(one, "deny", said, [yes, no]));
    return make("article", { class: "waiting", "data-id": one.id, "aria-label": `${one.tool} on ${one.path}` },
      make("h3", {}, `${one.tool} `, path(one.path)),
      make("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value, class: /^[0-9a-f]{32,}$/.test(value) ? "mono" : "" })])),
      make("h3", { text: "The change" }), make("pre", { class: "diff", tabindex: "0", "aria-label": "The change" }, ...lines),
      make("div", { class: "acts" }, yes, no, said));
  };
  const draw = () => {
    const cards = live.waiting.map((one) => box.querySelector(`[data-id="${CSS.escape(one.id)}"]`) || card(one));
    refill(box, ...(cards.length ? cards : [make("p", { class: "empty", text: "Nothing waits." })]));
  };
  const look = async () => {
    try {
      live.waiting = (await ask("api/approvals")).waiting;
      pane.button.lastChild.textContent = live.waiting.length ? count(live.waiting.length) : "";
      if (!pane.panel.hidden) draw();
    } catch (error) {
      refill(box, make("p", { class: "state bad", text: error.message }));
    }
  };
  setInterval(() => { if (!document.hidden) look(); }, 2500);
  pane.show = look;
  return pane;
}

function ledgerPane() {
  const result = (row) => (row.phase === "refused" ? `${row.verdict}, refused` : row.success ? row.phase : "failed");
  const columns = [
    { key: "seq", title: "Row", width: "64px", right: true, start: "descending", value: (row) => row.seq, cell: (row) => count(row.seq) },
    { key: "at", title: "When", width: "150px", value: (row) => row.at, cell: (row) => row.at.slice(0, 19).replace("T", " ") },
    { key: "caller", title: "Caller", width: "minmax(80px, 2fr)", narrow: true, value: (row) => row.caller, cell: (row) => row.caller },
    { key: "tool", title: "Tool", width: "minmax(90px, 2fr)", value: (row) => row.tool, cell: (row) => row.tool },
    { key: "result", title: "Outcome", width: "110px", value: result, cell: result },
    { key: "path", title: "Path", width: "minmax(110px, 4fr)", value: (row) => row.path, cell: (row) => (row.path === '""' ? "–" : path(row.path)) },
    { key: "rule", title: "Rule", width: "minmax(90px, 3fr)", narrow: true, value: (row) => row.rule, cell: (row) => row.rule },
  ];
  const made = filtered({
    label: "The ledger", hint: "Filter by tool, path, caller or rule", columns, sort: { key: "seq", way: "descending" }, empty: "The ledger is empty.",
    open: openRow, text: (row) => `${row.tool} ${row.path} ${row.caller} ${row.session} ${row.rule} ${result(row)}`,
    tally: (rows, all) => `${count(rows.length)} of ${plural(all.length, "row")} read`,
  });
  const older = make("button", { type: "button", text: "Older rows", hidden: true });
  const said = make("span", { class: "state quiet", role: "status" });
  const check = make("button", { type: "button", text: "Verify the chain" });
  const load = async (before) => {
    try {
      const found = await ask(before ? `api/ledger?before=${before}` : "api/ledger");
      live.rows = before ? [...live.rows, ...found.rows] : found.rows;
      older.hidden = !found.older;
      made.show(live.rows);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  older.addEventListener("click", () => load(live.rows[live.rows.length - 1].seq));
  check.addEventListener("click", async () => {
    try {
      const found = await ask("api/verify");
      said.textContent = found.ok ? `${plural(found.rows, "row")} hold; last signed: row ${count(found.checkpoint)} of ${count(found.head)}` : `broken at row ${count(found.bad)}: ${found.detail}`;
      said.className = found.ok ? "state quiet" : "state bad";
    } catch (error) {
      said.textContent = error.message;
    }
  });
  return { id: "ledger", title: "Ledger", node: make("div", {}, made.node, make("div", { class: "tools" }, older, check, said)), show: () => load() };
}

function openRow(row) {
  const sheet = byId("detail");
  const close = make("button", { type: "button", text: "Close", onclick: () => sheet.close() });
  const value = (one) => (Array.isArray(one) ? one.map((pair) => pair.join(" = ")).join(", ") : String(one));
  const pairs = Object.entries(row).filter(([, one]) => one !== "" && value(one) !== "");
  refill(sheet, make("div", { class: "sheet" }, make("header", {}, make("h2", { id: "detail-title", text: `row ${row.seq}: ${row.tool}` }), close),
    make("dl", { class: "facts" }, ...pairs.flatMap(([name, one]) => [make("dt", { text: name }), make("dd", { text: value(one), class: /^[0-9a-f]{32,}$/.test(value(one)) ? "mono" : "" })]))));
  sheet.showModal();
  close.focus();
}

function livePanes() {
  Object.assign(wanted, JSON.parse(byId("first").textContent));
  startForm();
  return [approvalsPane(), ledgerPane()];
}

state.selector = { key: "tick", title: "Keep", width: "40px", value: () => 0, cell: tick };
