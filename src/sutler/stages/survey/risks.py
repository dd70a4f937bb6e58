"""Hotspots: files where a reader should look twice, each with the indicators that say why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sutler.stages.classify import Classified
from sutler.stages.survey.code import LONG_FUNCTION, CodeFacts
from sutler.values.paths import basename, dirname
from sutler.values.wire import RiskHotspot, RiskType

MAX_HOTSPOTS = 20
MAX_INDICATORS = 8
LONG_FILE = 800
MANY_IMPORTS = 20
MANY_IMPORTERS = 10
MANY_BRANCHES = 150
DEEP_INDENT = 7

_ANY = frozenset[str]()
_JS = frozenset({"javascript", "typescript", "jsx", "tsx", "vue", "svelte"})
_C = frozenset({"c", "cpp", "objective-c"})
_SECURITY: tuple[tuple[frozenset[str], str, str], ...] = (
    (frozenset({"python", "ruby", "php"}) | _JS, r"(?<![\w.])eval\s*\(", "eval of a string"),
    (frozenset({"python"}), r"(?<![\w.])exec\s*\(", "exec of a string"),
    (frozenset({"python"}), r"\bshell\s*=\s*True", "subprocess through a shell"),
    (frozenset({"python"}), r"\bos\.(?:system|popen)\s*\(", "command through a shell"),
    (frozenset({"python"}), r"\b(?:pickle|marshal|dill|shelve)\.loads?\s*\(", "deserialises untrusted data"),
    (frozenset({"python"}), r"\byaml\.load\s*\((?!.*Safe)", "yaml.load without a safe loader"),
    (frozenset({"python"}), r"\bverify\s*=\s*False", "TLS verification off"),
    (frozenset({"python"}), r"\b(?:mark_safe|Markup)\s*\(|\|\s*safe\b", "HTML escaping bypassed"),
    (
        frozenset({"python", "go", "java", "php", "csharp"}) | _JS,
        r"\b(?:md5|sha1|MD5|SHA1)\s*\(",
        "weak hash",
    ),
    (
        _ANY,
        r"(?i)[\"'](?:select|insert|update|delete)\s[^\"'\n]*[\"']\s*(?:\+|%\s|\.format\()",
        "SQL built from strings",
    ),
    (
        frozenset({"python"}),
        r"(?i)\bf[\"'](?:select|insert|update|delete)\s[^\"'\n]*\{",
        "SQL built from strings",
    ),
    (_JS, r"\.innerHTML\s*=|dangerouslySetInnerHTML|document\.write\s*\(", "raw HTML injected"),
    (_JS, r"\bchild_process\b|\bexecSync\s*\(", "runs commands"),
    (_JS, r"\bnew\s+Function\s*\(", "code from a string"),
    (frozenset({"go"}), r"InsecureSkipVerify:\s*true", "TLS verification off"),
    (frozenset({"go", "rust"}), r"\bunsafe\.Pointer\b|\bunsafe\s*\{", "unsafe block"),
    (
        frozenset({"java", "kotlin"}),
        r"Runtime\.getRuntime\(\)\.exec|ObjectInputStream\s*\(",
        "runs or deserialises input",
    ),
    (
        frozenset({"php"}),
        r"(?<![\w>])(?:unserialize|shell_exec|passthru|system)\s*\(",
        "runs or deserialises input",
    ),
    (_C, r"(?<![\w.])(?:strcpy|strcat|gets|sprintf|vsprintf)\s*\(", "unbounded string function"),
    (frozenset({"ruby"}), r"\b(?:Marshal|YAML)\.load\b|\.html_safe\b", "deserialises or bypasses escaping"),
    (
        _ANY,
        r"(?i)\b(?:password|passwd|secret|api_?key)\s*[:=]\s*[\"'][^\"'\s]{6,}[\"']",
        "credential in the source",
    ),
)
_PERFORMANCE: tuple[tuple[frozenset[str], str, str], ...] = (
    (frozenset({"python"}), r"\btime\.sleep\s*\(", "sleeps"),
    (_JS, r"\b(?:readFileSync|writeFileSync|execSync)\s*\(", "blocking call"),
    (_ANY, r"(?i)\bselect\s+\*\s+from\b", "SELECT * query"),
    (frozenset({"java", "kotlin"}), r"\bThread\.sleep\s*\(", "sleeps"),
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
        indicated: dict[RiskType, list[str]] = {
            "security": _lines_with(text, facts.language, _SECURITY),
            "performance": _lines_with(text, facts.language, _PERFORMANCE) + _nested_loops(text),
            "complexity": _complexity(text, code[path]),
            "coupling": _coupling(code[path], importers[path]),
        }
        for kind, indicators in indicated.items():
            if indicators:
                description = (
                    f"{len(indicators)} {_INDICATED[kind]}" if kind == "security" else _INDICATED[kind]
                )
                found.append(RiskHotspot(path, kind, description, tuple(indicators[:MAX_INDICATORS])))
    order = {kind: rank for rank, kind in enumerate(_INDICATED)}
    found.sort(key=lambda spot: (-len(spot.indicators), order[spot.risk_type], spot.path))
    return tuple(found[:MAX_HOTSPOTS])


def _lines_with(text: str, language: str, table: Sequence[tuple[frozenset[str], str, str]]) -> list[str]:
    found: list[tuple[int, str]] = []
    for languages, pattern, name in table:
        if languages and language not in languages:
            continue
        for match in re.finditer(pattern, text):
            start = text.rfind("\n", 0, match.start()) + 1
            if text[start : match.start()].lstrip().startswith(("#", "//", "*", "--")) or len(found) > 50:
                continue
            found.append((text.count("\n", 0, match.start()) + 1, name))
    return [f"{name} (line {line})" for line, name in sorted(set(found))]


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
        item for item in facts.definitions if item.kind == "function" and item.length > LONG_FUNCTION
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
    parts = [part for part in re.split(r"[./\\:]+", name.removesuffix(".js").removesuffix(".h")) if part]
    if not parts:
        return []
    if name.startswith("."):
        near = [path for path in ends.get(parts[-1], ()) if path.startswith(dirname(dirname(importer)))]
        return near if len(near) == 1 else []
    suffix = "/".join(parts)
    return [path for path in ends.get(parts[-1], ()) if len(parts) > 1 and f"/{suffix}" in f"/{path}"]
