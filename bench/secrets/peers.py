"""Other detectors, behind the same face: (text, path) -> numbers of the flagged lines."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

from bench.secrets.corpus import Detect


def gitleaks_rules(file: Path) -> Detect:
    """A gitleaks-style rule file, read at run time: keyword gate, pattern, entropy threshold."""
    rules = []
    for rule in tomllib.loads(file.read_text())["rules"]:
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
            rules.append(
                (words, compiled, float(rule.get("entropy", 0)), rule.get("secretGroup", 1))
            )

    def detect(text: str, _path: str) -> set[int]:
        low = text.lower()
        lines: set[int] = set()
        for words, compiled, least, group in rules:
            if words and not any(word.lower() in low for word in words):
                continue
            for found in compiled.finditer(text):
                inner = found.group(group) if compiled.groups >= group else None
                secret = inner or found.group()
                if not least or _entropy(secret) >= least:
                    first = text.count("\n", 0, found.start()) + 1
                    lines.update(range(first, first + found.group().count("\n") + 1))
        return lines

    return detect


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
