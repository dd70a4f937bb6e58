// What stands below the map: files, what was left out, the other pack, the receipt. And the sheet of one file.

const tag = (text, kind = "") => make("span", { class: `tag ${kind}`.trim(), text });

function costCell(file) {
  const most = state.most || 1;
  const bar = make("i");
  bar.style.width = `${(100 * costOf(file)) / most}%`;
  return make("div", { class: "cost" }, count(costOf(file)), bar);
}

function marksOf(file) {
  const marks = make("span");
  if (file.cut) marks.append(tag(levelName(file.level)));
  if (file.redacted) marks.append(tag(`${count(file.redacted)} redacted`, "seal"));
  if (file.hidden) marks.append(tag(`${count(file.hidden)} hidden shown`));
  return marks;
}

function filesPane(open) {
  const columns = [
    { key: "path", title: "File", width: "minmax(140px, 5fr)", value: (file) => file.path, cell: (file) => path(file.path) },
    { key: "cost", title: "Cost", width: "92px", right: true, start: "descending", value: costOf, cell: costCell },
    { key: "share", title: "Share", width: "64px", right: true, narrow: true, start: "descending", value: costOf, cell: (file) => percent(costOf(file), measure().total) },
    { key: "score", title: "Score", width: "58px", right: true, narrow: true, start: "descending", value: (file) => file.score ?? -1, cell: (file) => (file.score === undefined || file.score === null ? "–" : file.score.toFixed(2)) },
    { key: "why", title: "Reason", width: "minmax(120px, 6fr)", value: (file) => `${Object.keys(WHY).indexOf(file.why) + 10} ${file.reason}`, cell: (file) => make("span", { class: "why" }, dot(`why-${file.why}`), make("span", { text: file.reason })) },
    { key: "marks", title: "Marks", width: "minmax(90px, 3fr)", narrow: true, start: "descending", value: (file) => (file.redacted || 0) * 2 + (file.cut ? 1 : 0), cell: marksOf },
  ];
  if (state.selector) columns.unshift(state.selector);
  const made = table({ label: "Files in the pack", columns, open, sort: { key: "cost", way: "descending" } });
  const input = make("input", { type: "search", id: "filter", placeholder: "Filter files by path or reason", "aria-label": "Filter files by path or reason", spellcheck: "false", autocomplete: "off" });
  const told = make("span", { class: "count", role: "status", id: "told" });
  input.addEventListener("input", framed(() => { state.query = input.value.trim(); changed(); }));
  const show = () => {
    const { files } = state.view;
    const passes = fileFilter();
    const rows = files.filter((file) => passes(file) && (!state.folder || file.path.startsWith(`${state.folder}/`)));
    state.most = files.reduce((most, file) => Math.max(most, costOf(file)), 1);
    made.show(rows);
    const sum = rows.reduce((all, file) => all + costOf(file), 0);
    told.textContent = `${count(rows.length)} of ${plural(files.length, "file")}, ${count(sum)} ${measure().name}`;
  };
  state.listeners.push(show);
  return { id: "files", title: "In the pack", node: make("div", {}, make("div", { class: "tools" }, input, told), made.node), show, size: () => state.view.files.length };
}

function leftPane() {
  const columns = [
    { key: "path", title: "Path", width: "minmax(140px, 5fr)", value: (row) => row.path, cell: (row) => path(row.path) },
    { key: "reason", title: "Reason", width: "140px", narrow: true, value: (row) => row.reason, cell: (row) => row.reason.replaceAll("_", " ") },
    { key: "rule", title: "Rule", width: "minmax(120px, 5fr)", narrow: true, value: (row) => row.rule || "", cell: (row) => make("span", { class: "mono", text: row.rule || "" }) },
    { key: "near", title: "Enters at", width: "96px", right: true, value: (row) => row.place, cell: (row) => (row.ceiling ? `≈ ${count(row.ceiling)}` : row.score ? "--fill" : "–") },
    { key: "score", title: "Score", width: "64px", right: true, narrow: true, start: "descending", value: (row) => row.score ?? -1, cell: (row) => (row.score === undefined || row.score === null ? "–" : row.score.toFixed(2)) },
    { key: "size", title: "Bytes", width: "84px", right: true, narrow: true, start: "descending", value: (row) => row.bytes || 0, cell: (row) => (row.bytes ? count(row.bytes) : "–") },
    { key: "count", title: "Files", width: "76px", right: true, narrow: true, start: "descending", value: (row) => row.count ?? 1, cell: (row) => `${count(row.count ?? 1)}${row.more ? "+" : ""}` },
  ];
  const files = (rows) => rows.reduce((sum, row) => sum + (row.count ?? 1), 0);
  const made = filtered({
    label: "Left out", hint: "Filter by path, reason or rule", columns, empty: "Nothing was left out.",
    sort: { key: "near", way: "ascending" }, open: openLeft,
    text: (row) => `${row.path} ${row.reason.replaceAll("_", " ")} ${row.rule || ""}`,
    tally: (rows, all) => `${count(rows.length)} of ${plural(all.length, "entry", "entries")}, ${plural(files(rows), "file")}${rows.some((row) => row.more) ? " or more" : ""}`,
  });
  const note = make("p", { class: "quiet fine" });
  const box = make("input", { type: "checkbox", id: "draw-omitted", onchange: () => { state.omitted = box.checked; changed(); } });
  const draw = make("label", { class: "switch", for: "draw-omitted" }, box, "draw them on the map");
  made.input.parentElement.append(draw);
  const show = () => {
    const { left, left_note: origin, unnamed } = state.view;
    left.forEach((row, place) => { row.place = place; });
    draw.hidden = !left.some((row) => row.bytes);
    made.show(left);
    note.textContent = [origin, unnamed ? `${plural(unnamed, "file")} more were left out and not even named.` : ""].filter(Boolean).join(" ");
  };
  return { id: "left", title: "Left out", node: make("div", {}, made.node, note), show, size: () => state.view.left.length };
}

function comparePane() {
  const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${count(Math.abs(value))}`;
  const delta = (row) => (row.cost_after || 0) - (row.cost_before || 0);
  const levels = (row) => [row.before, row.after].filter(Boolean).map(levelName).join(" → ");
  const KIND = { entered: "entered", left: "left", level: "other level", content: "other text" };
  const columns = [
    { key: "path", title: "File", width: "minmax(140px, 5fr)", value: (row) => row.path, cell: (row) => path(row.path) },
    { key: "kind", title: "Change", width: "96px", value: (row) => row.kind, cell: (row) => KIND[row.kind] },
    { key: "level", title: "Shown as", width: "150px", narrow: true, value: levels, cell: levels },
    { key: "before", title: "Before", width: "76px", right: true, narrow: true, start: "descending", value: (row) => row.cost_before || 0, cell: (row) => (row.cost_before ? count(row.cost_before) : "–") },
    { key: "after", title: "Now", width: "76px", right: true, narrow: true, start: "descending", value: (row) => row.cost_after || 0, cell: (row) => (row.cost_after ? count(row.cost_after) : "–") },
    { key: "delta", title: "Difference", width: "94px", right: true, start: "descending", value: delta, cell: (row) => tag(signed(delta(row)), delta(row) > 0 ? "up" : delta(row) < 0 ? "down" : "") },
    { key: "why", title: "Why", width: "minmax(120px, 5fr)", value: (row) => row.why, cell: (row) => row.why },
  ];
  const made = filtered({
    label: "Differences between the packs", hint: "Filter by path, change or reason", columns, empty: "The packs show the same.",
    sort: { key: "delta", way: "descending" },
    text: (row) => `${row.path} ${KIND[row.kind]} ${row.why}`,
    tally: (rows, all) => `${count(rows.length)} of ${plural(all.length, "difference")}`,
  });
  const swing = make("div", { class: "swing" });
  const show = () => {
    const { against, files } = state.view;
    if (!against) return;
    const now = files.reduce((sum, file) => sum + (file.costs[0] || 0), 0);
    const by = (kind) => against.rows.filter((row) => row.kind === kind).length;
    const parts = Object.keys(KIND).map((kind) => make("span", { class: "quiet", text: `${count(by(kind))} ${KIND[kind]}` }));
    const sum = make("strong", { text: `${count(against.total)} → ${count(now)} ${state.view.measures[0].name} in files (${signed(now - against.total)})` });
    refill(swing, sum, make("span", { class: "quiet mono", text: `${against.pack_id.slice(0, 12)} → ${state.view.pack_id.slice(0, 12)}` }), ...parts);
    made.show(against.rows);
  };
  return { id: "compare", title: "Compared", node: make("div", {}, swing, made.node), show, size: () => state.view.against?.rows.length ?? 0, wanted: () => Boolean(state.view.against) };
}

function receiptPane() {
  const facts = make("dl", { class: "facts" });
  const box = make("div", { class: "receipt" }, facts);
  const columns = [
    { key: "path", title: "File", width: "minmax(140px, 4fr)", value: (file) => file.path, cell: (file) => path(file.path) },
    { key: "level", title: "Shown as", width: "120px", value: (file) => file.level, cell: (file) => levelName(file.level) },
    { key: "sha256", title: "SHA-256 of the text that left", width: "minmax(200px, 6fr)", value: (file) => file.sha256 || "", cell: (file) => make("span", { class: "mono", text: file.sha256 || "–" }) },
  ];
  const made = filtered({
    label: "Digests", hint: "Filter by path or digest", columns, sort: { key: "path", way: "ascending" },
    text: (file) => `${file.path} ${file.sha256 || ""}`, tally: (rows, all) => `${count(rows.length)} of ${plural(all.length, "digest")}`,
  });
  const show = () => {
    refill(facts, ...state.view.receipt.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value, class: /^[0-9a-f]{32,}$/.test(value) ? "mono" : "" })]));
    box.hidden = !state.view.receipt.length;
    made.show(state.view.files);
  };
  return { id: "receipt", title: "Receipt and digests", node: make("div", {}, box, made.node), show };
}

/** At which limit a file that was left out would enter, in words. */
function entersAt(row) {
  if (row.ceiling) return `enters at a limit of about ${count(row.ceiling)} ${state.view.budget.unit}`;
  return row.score ? "no limit lets it in: --fill or -i with its path does" : "no limit lets it in";
}

/** The sheet of one file that was left out: how near it was, by what rule, and what the ranking says of it. */
function openLeft(row) {
  const pairs = [["left out", row.reason.replaceAll("_", " ")], ["rule", row.rule || "–"], ["limit", entersAt(row)]];
  if (row.score !== undefined && row.score !== null) pairs.push(["score", row.score.toFixed(4)]);
  if (row.bytes) pairs.push(["size", `${count(row.bytes)} bytes`]);
  if (row.count > 1) pairs.push(["files", `${count(row.count)}${row.more ? "+" : ""}`]);
  openSheet(row.path, pairs, [...reasonsOf(row, "Why it was near"), ...signalsOf(row)]);
}

function openSheet(name, pairs, parts) {
  const sheet = byId("detail");
  const close = make("button", { type: "button", text: "Close", onclick: () => sheet.close() });
  const title = make("h2", { id: "detail-title", text: name, dir: "ltr" });
  refill(sheet, make("div", { class: "sheet" }, make("header", {}, title, close),
    make("dl", { class: "facts" }, ...pairs.flatMap(([key, value]) => [make("dt", { text: key }), make("dd", { text: value, class: /^[0-9a-f]{32,}$/.test(value) ? "mono" : "" })])),
    ...parts));
  sheet.showModal();
  close.focus();
}

/** The sheet of one file: what it cost and why it is in, its outline, its first lines. */
function openFile(file) {
  const pairs = state.view.measures.map((one, at) => [one.name, `${count(file.costs[at] || 0)}, ${percent(file.costs[at] || 0, one.total)}`]);
  pairs.push(["reason", file.reason], ["shown as", levelName(file.level)]);
  if (file.score !== undefined && file.score !== null) pairs.push(["score", file.score.toFixed(4)]);
  if (file.language) pairs.push(["language", file.language]);
  if (file.redacted) pairs.push(["redacted", plural(file.redacted, "secret")]);
  if (file.hidden) pairs.push(["hidden text", plural(file.hidden, "character made visible", "characters made visible")]);
  if (file.sha256) pairs.push(["SHA-256", file.sha256]);
  openSheet(file.path, pairs, [...reasonsOf(file, "Why it is in"), ...matchesOf(file), ...signalsOf(file), ...detailOf(file)]);
}

/** The lines of a file that hold a word of the goal, with the words marked. */
function matchesOf({ detail, words }) {
  if (!detail?.matches?.length) return [];
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  const marked = (text) => text.split(pattern).map((part, at) => (at % 2 ? make("mark", { text: part }) : part));
  const rows = detail.matches.map(([line, text]) => make("li", {}, make("span", { text: line }), ...marked(text)));
  return [make("h3", { text: `Lines with ${words.join(", ")}` }), make("ol", { class: "outline", tabindex: "0", "aria-label": "Matched lines" }, ...rows)];
}

function reasonsOf({ reasons }, title) {
  if (!reasons?.length) return [];
  return [make("h3", { text: title }), make("ul", { class: "reasons", "aria-label": "Reasons" }, ...reasons.map((text) => make("li", { text })))];
}

/** What each signal of the ranking adds to the score of a file, the strongest first. */
function signalsOf({ signals }) {
  if (!signals?.length) return [];
  const whole = signals.reduce((sum, [, share]) => sum + share, 0);
  const rows = signals.map(([name, share]) => {
    const bar = make("i");
    bar.style.width = `${(100 * share) / (whole || 1)}%`;
    return make("li", {}, make("div", { class: "cost" }, `${SIGNAL[signalName(name)] || name} ${share.toFixed(3)}`, bar));
  });
  return [make("h3", { text: "Score by signal" }), make("ul", { class: "signals", "aria-label": "Score by signal" }, ...rows)];
}

function detailOf(file) {
  const { detail } = file;
  if (!detail) return [make("p", { class: "quiet fine", text: "The page holds outlines and first lines of the first files only; this one came after them." })];
  const parts = [];
  if (detail.outline?.length) {
    const rows = detail.outline.map(([line, level, text]) => make("li", {}, make("span", { text: line }), "  ".repeat(level) + text));
    if (detail.more) rows.push(make("li", { class: "quiet", text: `      ${count(detail.more)} more` }));
    parts.push(make("h3", { text: "Outline" }), make("ol", { class: "outline", tabindex: "0", "aria-label": "Outline" }, ...rows));
  }
  if (detail.excerpt) {
    const shown = detail.excerpt.split("\n").length;
    const title = detail.lines > shown ? `First ${plural(shown, "line")} of ${count(detail.lines)} in the pack` : "In the pack";
    parts.push(make("h3", { text: title }), make("pre", { text: detail.excerpt, tabindex: "0", "aria-label": title, dir: "ltr" }));
  }
  return parts.length ? parts : [make("p", { class: "quiet fine", text: "The file is empty." })];
}
