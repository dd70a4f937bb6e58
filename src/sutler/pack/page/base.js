// Small tools. Nothing here or below ever makes markup of text: elements are made by name, content is set as text.

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en-US");
const count = (value) => number.format(value);
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "0 %");
const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

const WHY = {
  named: "named",
  changed: "changed",
  issue: "the task points at it",
  ranked: "shares the task's words",
  neighbour: "neighbour of a match",
  entry: "entry document",
  key: "key file",
  source: "source",
  documentation: "documentation",
  config: "configuration",
  test: "test",
  derived: "lock or generated",
  other: "other",
  frame: "frame of the pack",
  omitted: "left out",
};
const LEVEL = { full: "whole", head_tail: "head and tail", excerpt: "excerpt", outline: "outline", head: "head", summary: "facts" };
const levelName = (level) => LEVEL[level] || level.replaceAll("_", " ");

/** An element with attributes and children; `text` and children are text, never markup. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function refill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const path = (text) => make("span", { class: "path", text, dir: "ltr" });
const dot = (kind) => make("span", { class: `dot ${kind}`, "aria-hidden": "true" });

/** Calls `act` at most once a frame. */
function framed(act) {
  let due = 0;
  return () => {
    if (!due) due = requestAnimationFrame(() => { due = 0; act(); });
  };
}

function say(text) {
  byId("said").textContent = text;
}

/** Words that must all be found; a word with a leading minus must not. */
function matcher(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => (word.length > 1 && word[0] === "-" ? !text.includes(word.slice(1)) : text.includes(word)));
}

/** What the reader chose: the measure, the folder the map stands in, the filters; `kinds` are reasons or signals, as the files are coloured. */
const state = { view: null, measure: 0, folder: "", query: "", bySignal: false, omitted: false, kinds: new Set(), marks: new Set(), listeners: [] };

function changed() {
  for (const listener of state.listeners) listener();
}

const costOf = (file) => file.costs[state.measure] || 0;
const measure = () => state.view.measures[state.measure];

const COLOURS = ["ranked", "issue", "key", "changed", "entry", "named", "test", "source", "neighbour", "documentation", "config"];

const SIGNAL = {
  passage: "a passage matches", lexical: "words in its text", path: "words in its path", symbols: "words in its names",
  title_path: "title in its path", title_body: "title in its text", title_symbols: "title in its names", ticked: "quoted words",
  named: "the title names it", mention: "the task names it", stack: "a stack frame", dotted: "a dotted name", qualified: "a qualified name",
  defines: "defines a name", title_defines: "defines a name of the title", phrase: "a quoted text", imports: "imports a match",
  imported: "imported by a match", tested: "exercised by a match", message: "commit messages", recent: "changed lately",
  cochange: "changes with a match", beside: "beside a match", feedback: "resembles the best", needed: "the best match imports it",
  namesake: "a name of the task", scope: "the title names its component", spelled: "definitions in the task's words",
  twin: "has the name of a match",
};

/** The name of a signal; `frame` is the pack's own frame on this page. */
const signalName = (name) => (name === "frame" ? "stack" : name);
const strongestOf = (file) => (file.signals?.length ? signalName(file.signals[0][0]) : "no signal");
/** What a file is coloured and filtered by: the signal that did most for its score, or its reason. */
const kindOf = (file) => (state.bySignal ? strongestOf(file) : file.why);
const kindTitle = (kind) => (state.bySignal && SIGNAL[kind]) || WHY[kind] || kind.replaceAll("_", " ");

function colourOf(kind) {
  if (!state.bySignal || kind === "frame") return kind;
  const at = state.view.strongest.indexOf(kind);
  return at < 0 ? "other" : COLOURS[at % COLOURS.length];
}

/** The test that the filters above the table and the map put to a file. */
function fileFilter() {
  const matches = matcher(state.query);
  return (file) =>
    (!state.kinds.size || state.kinds.has(kindOf(file))) &&
    (!state.marks.has("cut") || file.cut === true) &&
    (!state.marks.has("redacted") || file.redacted > 0) &&
    (!state.query || matches(file.search ??= `${file.path} ${file.reason} ${file.language || ""}`.toLowerCase()));
}
