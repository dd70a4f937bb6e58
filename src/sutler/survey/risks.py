"""Hotspots: files where a reader should look twice, each with the indicators that say why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from sutler.paths import basename, dirname
from sutler.scan.classify import Classified
from sutler.survey.code import LONG_FUNCTION, CodeFacts
from sutler.survey.wire import RiskHotspot, RiskType

MAX_HOTSPOTS = 20
MAX_INDICATORS = 8
MAX_MATCHES = 50
LONG_FILE = 800
MANY_IMPORTS = 20
MANY_IMPORTERS = 10
MANY_BRANCHES = 150

_ANY = frozenset[str]()
_JS = frozenset({"javascript", "typescript", "jsx", "tsx", "vue", "svelte"})
_C = frozenset({"c", "cpp", "objective-c"})
_Row = tuple[frozenset[str], str, str, str]
"""Languages (none means all), words of which one must occur at all, the pattern, what it means."""

_PY = frozenset({"python"})
_JVM = frozenset({"java", "kotlin"})
_SECURITY: tuple[_Row, ...] = (
    (_PY | _JS | {"ruby", "php"}, "eval", r"(?<![\w.])eval\s*\(", "eval of a string"),
    (_PY, "exec", r"(?<![\w.])exec\s*\(", "exec of a string"),
    (_PY, "shell", r"\bshell\s*=\s*True", "subprocess through a shell"),
    (_PY, "os.", r"\bos\.(?:system|popen)\s*\(", "command through a shell"),
    (_PY, "load", r"\b(?:pickle|marshal|dill|shelve)\.loads?\s*\(", "deserialises untrusted data"),
    (_PY, "yaml.load", r"\byaml\.load\s*\((?!.*Safe)", "yaml.load without a safe loader"),
    (_PY, "verify", r"\bverify\s*=\s*False", "TLS verification off"),
    (_PY, "mark_safe|markup", r"\b(?:mark_safe|Markup)\s*\(", "HTML escaping bypassed"),
    (
        _PY | _JS | _JVM | {"go", "php", "csharp"},
        "md5|sha1",
        r"\b(?:md5|sha1|MD5|SHA1)\s*\(",
        "weak hash",
    ),
    (
        _ANY,
        "select |insert |update |delete ",
        r"(?i)[\"'](?:select|insert|update|delete)\s[^\"'\n]{0,300}[\"']\s{0,9}(?:\+|%\s|\.format\()",
        "SQL built from strings",
    ),
    (
        _PY,
        "select |insert |update |delete ",
        r"(?i)\bf[\"'](?:select|insert|update|delete)\s[^\"'\n]{0,300}\{",
        "SQL built from strings",
    ),
    (
        _JS,
        "innerhtml|document.write",
        r"\.innerHTML\s*=|dangerouslySetInnerHTML|document\.write\s*\(",
        "raw HTML injected",
    ),
    (_JS, "child_process|execsync", r"\bchild_process\b|\bexecSync\s*\(", "runs commands"),
    (_JS, "function", r"\bnew\s+Function\s*\(", "code from a string"),
    (
        frozenset({"go"}),
        "insecureskipverify",
        r"InsecureSkipVerify:\s*true",
        "TLS verification off",
    ),
    (frozenset({"go", "rust"}), "unsafe", r"\bunsafe\.Pointer\b|\bunsafe\s*\{", "unsafe block"),
    (
        _JVM,
        "getruntime|objectinputstream",
        r"Runtime\.getRuntime\(\)\.exec|ObjectInputStream\s*\(",
        "runs or deserialises input",
    ),
    (
        frozenset({"php"}),
        "unserialize|shell_exec|passthru|system",
        r"(?<![\w>])(?:unserialize|shell_exec|passthru|system)\s*\(",
        "runs or deserialises input",
    ),
    (
        _C,
        "strcpy|strcat|gets|sprintf",
        r"(?<![\w.])(?:strcpy|strcat|gets|sprintf|vsprintf)\s*\(",
        "unbounded string function",
    ),
    (
        frozenset({"ruby"}),
        "marshal|yaml|html_safe",
        r"\b(?:Marshal|YAML)\.load\b|\.html_safe\b",
        "deserialises or bypasses escaping",
    ),
    (
        _ANY,
        "password|passwd|secret|api_key|apikey",
        r"(?i)\b(?:password|passwd|secret|api_?key)\s{0,9}[:=]\s{0,9}[\"'][^\"'\s]{6,}[\"']",
        "credential in the source",
    ),
)
_PERFORMANCE: tuple[_Row, ...] = (
    (_PY, "time.sleep", r"\btime\.sleep\s*\(", "sleeps"),
    (_JVM, "thread.sleep", r"\bThread\.sleep\s*\(", "sleeps"),
    (_JS, "sync", r"\b(?:readFileSync|writeFileSync|execSync)\s*\(", "blocking call"),
    (_ANY, "select", r"(?i)\bselect\s{1,9}\*\s{1,9}from\b", "SELECT * query"),
)
_BRANCH = re.compile(
    r"\b(?:if|elif|else if|for|while|case|catch|except|when|match|rescue|unless)\b|&&|\|\||\?\?"
)
_LOOP = re.compile(r"^(\s*)(?:for|while|foreach|loop)\b")
_INDICATED = {
    "security": "constructs that need a careful look",
    "performance": "constructs that cost time",
    "complexity": "hard to follow",
    "coupling": "tied to many other files",
}


def hotspots(
    entries: Sequence[Classified], texts: Mapping[str, str], code: Mapping[str, CodeFacts]
) -> tuple[RiskHotspot, ...]:
    """At most twenty, most indicators first. Tests, documents and generated files are left out."""
    importers = _importers(code)
    found: list[RiskHotspot] = []
    for entry, facts in entries:
        path = entry.path
        if path not in texts or path not in code or facts.tag != "code" or facts.generated:
            continue
        if facts.category in ("dependency", "build"):
            continue
        text = texts[path][:500_000]
        low = text.lower()
        indicated: dict[RiskType, list[str]] = {
            "security": _lines_with(text, low, facts.language, _SECURITY),
            "performance": _lines_with(text, low, facts.language, _PERFORMANCE)
            + _nested_loops(text),
            "complexity": _complexity(text, code[path]),
            "coupling": _coupling(code[path], importers[path]),
        }
        for kind, indicators in indicated.items():
            if indicators:
                description = (
                    f"{len(indicators)} {_INDICATED[kind]}"
                    if kind == "security"
                    else _INDICATED[kind]
                )
                found.append(
                    RiskHotspot(path, kind, description, tuple(indicators[:MAX_INDICATORS]))
                )
    order = {kind: rank for rank, kind in enumerate(_INDICATED)}
    found.sort(key=lambda spot: (-len(spot.indicators), order[spot.risk_type], spot.path))
    return tuple(found[:MAX_HOTSPOTS])


def _lines_with(text: str, low: str, language: str, table: Sequence[_Row]) -> list[str]:
    found: set[tuple[int, str]] = set()
    for languages, words, pattern, name in table:
        if (languages and language not in languages) or not any(
            word in low for word in words.split("|")
        ):
            continue
        for match in islice(re.finditer(pattern, text), MAX_MATCHES):
            start = text.rfind("\n", 0, match.start()) + 1
            if not text[start : match.start()].lstrip().startswith(("#", "//", "*", "--")):
                found.add((text.count("\n", 0, match.start()) + 1, name))
    return [f"{name} (line {line})" for line, name in sorted(found)]


def _nested_loops(text: str) -> list[str]:
    """Three loops inside each other, judged by indentation."""
    open_at: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while open_at and indent <= open_at[-1]:
            open_at.pop()
        if _LOOP.match(line):
            open_at.append(indent)
            if len(open_at) >= 3:
                return [f"three nested loops (line {number})"]
    return []


def _complexity(text: str, facts: CodeFacts) -> list[str]:
    out: list[str] = []
    if facts.lines > LONG_FILE:
        out.append(f"{facts.lines:,} lines")
    functions = [
        item
        for item in facts.definitions
        if item.kind == "function" and item.length > LONG_FUNCTION
    ]
    longest = sorted(functions, key=lambda item: (-item.length, item.line))
    out += [f"{item.name} is {item.length} lines long (line {item.line})" for item in longest[:3]]
    branches = len(_BRANCH.findall(text))
    if branches > MANY_BRANCHES:
        out.append(f"{branches} branches")
    return out


def _coupling(facts: CodeFacts, importers: int) -> list[str]:
    out: list[str] = []
    if len(facts.imports) > MANY_IMPORTS:
        out.append(f"imports {len(facts.imports)} modules")
    if importers > MANY_IMPORTERS:
        out.append(f"imported by {importers} of the files read")
    return out


def _importers(code: Mapping[str, CodeFacts]) -> Counter[str]:
    """How many of the read files import each, where the import can be traced to a path."""
    ends: dict[str, list[str]] = {}
    for path in sorted(code):
        stem = path.rsplit(".", 1)[0].removesuffix("/__init__").removesuffix("/index")
        ends.setdefault(basename(stem), []).append(path)
    counts: Counter[str] = Counter()
    for path in sorted(code):
        hits = {target for name in code[path].imports for target in _targets(path, name, ends)}
        counts.update(hits - {path})
    return counts


def _targets(importer: str, name: str, ends: Mapping[str, list[str]]) -> list[str]:
    parts = [
        part for part in re.split(r"[./\\:]+", name.removesuffix(".js").removesuffix(".h")) if part
    ]
    if not parts:
        return []
    if name.startswith("."):
        near = [
            path for path in ends.get(parts[-1], ()) if path.startswith(dirname(dirname(importer)))
        ]
        return near if len(near) == 1 else []
    suffix = "/".join(parts)
    return [
        path for path in ends.get(parts[-1], ()) if len(parts) > 1 and f"/{suffix}" in f"/{path}"
    ]
