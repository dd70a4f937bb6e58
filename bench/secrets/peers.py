"""Other detectors, behind the same face: (text, path) -> numbers of the flagged lines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.secrets.corpus import Detect


def gitleaks_rules(file: Path) -> Detect:
    """A gitleaks-style rule file, read at run time: keyword gate, pattern, entropy threshold,
    allow-lists.
    """
    rules = []
    table = tomllib.loads(file.read_text())
    shared = _allowed([table.get("allowlist", {})])
    for rule in table["rules"]:
        if "regex" in rule:
            source = rule["regex"].replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]")
            source, flags = (
                (source.replace("(?i)", ""), re.IGNORECASE) if "(?i)" in source else (source, 0)
            )
            try:
                compiled = re.compile(source, flags)
            except re.error:
                continue
            words = tuple(rule.get("keywords", ()))
            own = [rule.get("allowlist", {}), *rule.get("allowlists", ())]
            rules.append(
                (
                    words,
                    compiled,
                    float(rule.get("entropy", 0)),
                    rule.get("secretGroup", 1),
                    [*shared, *_allowed(own)],
                )
            )

    def detect(text: str, _path: str) -> set[int]:
        low = text.lower()
        lines: set[int] = set()
        for words, compiled, least, group, allowed in rules:
            if words and not any(word.lower() in low for word in words):
                continue
            for found in compiled.finditer(text):
                inner = found.group(group) if compiled.groups >= group else None
                secret = inner or found.group()
                if any(allow(found.group(), secret) for allow in allowed):
                    continue
                if not least or _entropy(secret) >= least:
                    first = text.count("\n", 0, found.start()) + 1
                    lines.update(range(first, first + found.group().count("\n") + 1))
        return lines

    return detect


def _allowed(tables: list[dict[str, Any]]) -> list[Callable[[str, str], bool]]:
    """Tests of (match, secret) that excuse a finding: patterns and stop words."""
    tests: list[Callable[[str, str], bool]] = []
    for table in tables:
        whole = table.get("regexTarget", "secret") != "secret"
        for source in table.get("regexes", ()):
            try:
                compiled = re.compile(source.replace(r"\z", r"\Z"))
            except re.error:
                continue
            tests.append(partial(_matches, compiled, whole))
        if words := tuple(word.lower() for word in table.get("stopwords", ())):
            tests.append(partial(_holds, words))
    return tests


def _matches(compiled: re.Pattern[str], whole: bool, match: str, secret: str) -> bool:
    return compiled.search(match if whole else secret) is not None


def _holds(words: tuple[str, ...], match: str, secret: str) -> bool:
    return any(word in secret.lower() for word in words)


def _entropy(value: str) -> float:
    from collections import Counter
    from math import log2

    return -sum(n / len(value) * log2(n / len(value)) for n in Counter(value).values())


def detect_secrets() -> Detect:
    """Yelp's detect-secrets with its default plugins and filters."""
    from importlib import import_module

    collection = import_module("detect_secrets.core.secrets_collection").SecretsCollection
    default_settings = import_module("detect_secrets.settings").default_settings

    def detect(text: str, path: str) -> set[int]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, Path(path).name)
            file.write_text(text, encoding="utf-8")
            found = collection()
            with default_settings():
                found.scan_file(str(file))
            return {secret.line_number for secrets in found.data.values() for secret in secrets}

    return detect


_SECRETLINT = """
const { lintSource } = require("@secretlint/core");
const { creator } = require("@secretlint/secretlint-rule-preset-recommend");
const config = { rules: [{ id: "preset", rule: creator }] };
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const [path, content] = JSON.parse(line);
  const source = { filePath: path, content, contentType: "text", ext: "" };
  const result = await lintSource({ source, options: { config } });
  console.log(JSON.stringify(result.messages.map((m) => [m.loc.start.line, m.loc.end.line])));
});
"""


def secretlint(modules: str) -> Detect:
    """secretlint with its recommended rules, below this folder of npm packages."""
    process = subprocess.Popen(
        ["node", "-e", _SECRETLINT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "NODE_PATH": modules},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    question, answer = process.stdin, process.stdout

    def detect(text: str, path: str) -> set[int]:
        question.write(json.dumps([path, text]) + "\n")
        question.flush()
        spans = json.loads(answer.readline())
        return {number for start, end in spans for number in range(start, end + 1)}

    return detect


def credsweeper() -> Detect:
    """Samsung's CredSweeper with its model, which was trained on such labels: an upper mark."""
    from importlib import import_module

    sweeper = import_module("credsweeper").CredSweeper()
    provider = import_module("credsweeper.file_handler.text_content_provider").TextContentProvider

    def detect(text: str, path: str) -> set[int]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, Path(path).name)
            file.write_text(text, encoding="utf-8")
            candidates = sweeper.file_scan(provider(str(file)))
            return {row.line_num for one in candidates for row in one.line_data_list}

    return detect


def installed(modules: str, rules: Path | None) -> Iterator[tuple[str, Detect]]:
    """Every peer that this machine has."""
    if rules is not None:
        yield "gitleaks' rules", gitleaks_rules(rules)
    if Path(modules, "@secretlint", "core").is_dir() and shutil.which("node"):
        yield "secretlint", secretlint(modules)
    if find_spec("detect_secrets") is not None:
        yield "detect-secrets", detect_secrets()
    if find_spec("credsweeper") is not None:
        yield "CredSweeper", credsweeper()
