// Runs the sutler program: arguments without a shell, answers as JSON, refusals as errors with their next step.

"use strict";

const { execFile } = require("node:child_process");

const LARGEST_ANSWER = 64 * 1024 * 1024;

/** The arguments of a pack of `paths` (or the whole folder) into the files `pack` and, if named, `report`. */
function packArguments({ paths = [], goal = "", maxTokens = 0, pack, report = "" }) {
  const words = ["pack", "--json", `--output=${pack}`];
  if (report) words.push(`--report=${report}`);
  if (goal) words.push(`--goal=${goal}`);
  if (maxTokens > 0) words.push(`--max-tokens=${Math.floor(maxTokens)}`);
  return paths.length ? [...words, "--", ...paths] : words;
}

const rankArguments = (goal) => ["rank", "--json", "--lines", `--goal=${goal}`];

/** What a refusal says: what happened, the rule, the next step. */
function refusal(stderr, fault) {
  try {
    const { what, rule, next } = JSON.parse(stderr.slice(stderr.indexOf("{"))).error;
    return [what, rule && `rule: ${rule}`, next && `next: ${next}`].filter(Boolean).join("; ");
  } catch {
    if (fault.code === "ENOENT") return `the program ${fault.path} was not found; next: install sutler, or set sutler.command`;
    return stderr.trim().split("\n").slice(-3).join("; ") || fault.message;
  }
}

/** Run the program in a folder; resolves with its JSON answer. `signal` ends it. */
function run(command, words, folder, signal) {
  return new Promise((resolve, reject) => {
    execFile(command, words, { cwd: folder, signal, maxBuffer: LARGEST_ANSWER, windowsHide: true }, (fault, stdout, stderr) => {
      if (fault) reject(fault.name === "AbortError" ? fault : new Error(refusal(stderr, fault)));
      else resolve(JSON.parse(stdout));
    });
  });
}

module.exports = { packArguments, rankArguments, refusal, run };
