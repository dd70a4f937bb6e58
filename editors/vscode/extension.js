// Three commands for the editor. Everything about packs is done by the sutler program (program.js).

"use strict";

const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const { packArguments, rankArguments, run } = require("./program.js");

const setting = (name) => vscode.workspace.getConfiguration("sutler").get(name);

/** The folder of the workspace that holds a resource; without one, the first. */
function folderOf(uri) {
  const folder = (uri && vscode.workspace.getWorkspaceFolder(uri)) || vscode.workspace.workspaceFolders?.[0];
  if (!folder) throw new Error("no folder is open; next: open the folder of a project");
  return folder.uri.fsPath;
}

/** Paths of the selected resources, relative to their folder; none means the whole folder. */
function selected(folder, uris) {
  return uris.map((uri) => path.relative(folder, uri.fsPath)).filter(Boolean);
}

/** Run the program with progress that can be cancelled. */
function working(title, words, folder) {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    return run(setting("command"), words, folder, abort.signal);
  });
}

async function pack(uri, uris) {
  const folder = folderOf(uri);
  const place = await fs.mkdtemp(path.join(os.tmpdir(), "sutler-"));
  const target = path.join(place, "pack.md");
  const paths = selected(folder, uris?.length ? uris : uri ? [uri] : []);
  const { report } = await working("sutler: packing", packArguments({ paths, maxTokens: setting("maxTokens"), pack: target }), folder);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(target));
  const size = report.tokens === null ? `${report.bytes} bytes` : `${report.tokens} tokens`;
  vscode.window.setStatusBarMessage(`sutler: ${report.shown.length} files, ${size}`, 10_000);
}

const asked = () => vscode.window.showInputBox({ prompt: "The task, in words, or an error message", ignoreFocusOut: true });

async function rank() {
  const folder = folderOf();
  const goal = await asked();
  if (!goal) return;
  const { ranked } = await working("sutler: ranking", rankArguments(goal), folder);
  const rows = ranked.map((file) => ({ label: file.path, description: file.score.toFixed(2), detail: file.reasons.join("; "), file }));
  const row = await vscode.window.showQuickPick(rows, { placeHolder: rows.length ? goal : "nothing fits the task", matchOnDetail: true });
  if (!row) return;
  const line = Math.max(0, (row.file.regions?.[0]?.start ?? 1) - 1);
  const document = await vscode.workspace.openTextDocument(path.join(folder, row.file.path));
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(line, 0, line, 0) });
}

async function report() {
  const folder = folderOf();
  const goal = await asked();
  if (goal === undefined) return;
  const place = await fs.mkdtemp(path.join(os.tmpdir(), "sutler-"));
  const page = path.join(place, "report.html");
  const words = packArguments({ goal, maxTokens: setting("maxTokens"), pack: path.join(place, "pack.md"), report: page });
  await working("sutler: packing", words, folder);
  // In a panel, because a remote or web editor cannot open a file of its machine in a browser.
  const panel = vscode.window.createWebviewPanel("sutler.report", "sutler report", vscode.ViewColumn.Active, { enableScripts: true });
  panel.webview.html = await fs.readFile(page, "utf8");
}

/** A command whose refusals are shown; a cancelled one ends silently. */
const shown = (act) => async (...given) => {
  try {
    await act(...given);
  } catch (fault) {
    if (fault.name !== "AbortError") vscode.window.showErrorMessage(`sutler: ${fault.message}`);
  }
};

function activate(context) {
  for (const [name, act] of Object.entries({ pack, rank, report })) {
    context.subscriptions.push(vscode.commands.registerCommand(`sutler.${name}`, shown(act)));
  }
}

module.exports = { activate };
