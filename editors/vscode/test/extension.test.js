// The commands with the real program and a stand-in for the editor's API. SUTLER names the program.

"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");

const SUTLER = process.env.SUTLER || "sutler";

/** What the extension uses of the editor, with notes of what it did. */
function editor(folder, { goal = "", command = SUTLER, maxTokens = 0 } = {}) {
  const log = { opened: [], errors: [], pages: [], picks: [], status: [] };
  const commands = {};
  const uri = (file) => ({ fsPath: file });
  const api = {
    ProgressLocation: { Notification: 15 },
    Range: class { constructor(...at) { this.at = at; } },
    Uri: { file: uri },
    commands: { registerCommand: (name, act) => { commands[name] = act; return { dispose() {} }; } },
    ViewColumn: { Active: -1 },
    window: {
      createWebviewPanel: (kind, title, column, options) => {
        assert.deepEqual(options, { enableScripts: true });
        return { webview: { set html(text) { log.pages.push(text); } } };
      },
      setStatusBarMessage: (text) => log.status.push(text),
      showErrorMessage: (text) => log.errors.push(text),
      showInputBox: async () => goal,
      showQuickPick: async (rows) => { log.picks.push(rows); return rows[0]; },
      showTextDocument: async (document, options) => log.opened.push([document.file, options?.selection?.at[0]]),
      withProgress: (options, act) => act({ report() {} }, { onCancellationRequested() {} }),
    },
    workspace: {
      getConfiguration: () => ({ get: (name) => ({ command, maxTokens })[name] }),
      getWorkspaceFolder: () => ({ uri: uri(folder) }),
      openTextDocument: async (file) => ({ file }),
      workspaceFolders: folder ? [{ uri: uri(folder) }] : undefined,
    },
  };
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? api : load(name, ...rest));
  delete require.cache[require.resolve("../extension.js")];
  const extension = require("../extension.js");
  Module._load = load;
  extension.activate({ subscriptions: [] });
  return { log, commands, uri };
}

function project() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sutler-test-"));
  fs.mkdirSync(path.join(folder, "src"));
  fs.writeFileSync(path.join(folder, "README.md"), "# Cart\n");
  fs.writeFileSync(path.join(folder, "src", "cart.py"), "def roll_wheels():\n    return 4\n");
  fs.writeFileSync(path.join(folder, "src", "axle.py"), "AXLES = 2\n");
  return folder;
}

test("the folder is packed and opened", async () => {
  const folder = project();
  const { log, commands } = editor(folder);
  await commands["sutler.pack"]();
  assert.deepEqual(log.errors, []);
  const text = fs.readFileSync(log.opened[0][0], "utf8");
  assert.match(text, /src\/cart\.py/);
  assert.match(log.status[0], /3 files, \d+ tokens/);
});

test("a selection packs the selected files alone", async () => {
  const folder = project();
  const { log, commands, uri } = editor(folder);
  const file = uri(path.join(folder, "src", "cart.py"));
  await commands["sutler.pack"](file, [file]);
  const text = fs.readFileSync(log.opened[0][0], "utf8");
  assert.match(text, /roll_wheels/);
  assert.doesNotMatch(text, /AXLES = 2/);
});

test("ranking opens the chosen file at its best region", async () => {
  const folder = project();
  const { log, commands } = editor(folder, { goal: "the wheels roll backwards" });
  await commands["sutler.rank"]();
  assert.deepEqual(log.errors, []);
  assert.equal(log.picks[0][0].label, "src/cart.py");
  assert.deepEqual(log.opened, [[path.join(folder, "src/cart.py"), 0]]);
});

test("the report opens in a panel", async () => {
  const { log, commands } = editor(project(), { goal: "the wheels roll backwards" });
  await commands["sutler.report"]();
  assert.deepEqual(log.errors, []);
  assert.match(log.pages[0], /<title>.*sutler report/);
});

test("a refusal says what to do next", async () => {
  const { log, commands } = editor(project(), { maxTokens: 1 });
  await commands["sutler.pack"]();
  assert.match(log.errors[0], /budget.*next: /);
});

test("a goal is never read as an option", async () => {
  const { log, commands } = editor(project(), { goal: "--output=/nonexistent/x wheels" });
  await commands["sutler.rank"]();
  assert.deepEqual(log.errors, []);
});

test("a missing program names the setting", async () => {
  const { log, commands } = editor(project(), { command: "/nonexistent/sutler" });
  await commands["sutler.pack"]();
  assert.match(log.errors[0], /sutler\.command/);
});

test("without a folder the command says so", async () => {
  const { log, commands } = editor(undefined);
  await commands["sutler.report"]();
  assert.match(log.errors[0], /no folder is open/);
});
