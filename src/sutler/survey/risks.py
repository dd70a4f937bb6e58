"""Hotspots: files that deserve a second look, each with its indicators."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice, zip_longest

from msgspec import Struct

from sutler.languages import language_named
from sutler.languages.base import NOTEBOOK_ENDS
from sutler.scan.classify import Classified
from sutler.survey.code import LONG_FUNCTION, CodeFacts, stripped
from sutler.survey.keys import DERIVED
from sutler.survey.starts import is_own
from sutler.survey.subjects import subjects
from sutler.survey.wire import RiskHotspot, RiskType

MAX_HOTSPOTS = 20
ENOUGH_HOTSPOTS = 6
"""A project with fewer hotspots shows its most branching functions, too."""
MAX_INDICATORS = 8
MAX_MATCHES = 50
MAX_FUNCTIONS = 4
LONG_FILE = 800
MANY_IMPORTS = 20
MANY_IMPORTERS = 10
MANY_BRANCHES = 150
BRANCHY = 15
FEW_BRANCHES = 3
"""A long function with fewer is a declaration: a schema, a table, a form."""
SOME_BRANCHES = 6
"""A file with fewer branches only declares, and its number of users is no risk. A function with as
many is shown in a project without a longer one."""
LONGEST_LINE = 5_000
FEW_LINES = 60
"""Users of a file of at most this many lines are no coupling: it only names something."""

_ANY = frozenset[str]()
_JS = frozenset({"javascript", "typescript", "jsx", "tsx", "vue", "svelte"})
_C = frozenset({"c", "cpp", "objective-c"})
_Row = tuple[frozenset[str], str, str, str]
"""Languages (empty means all), words of which a text must hold at least one, the pattern, its
meaning."""

_PY = frozenset({"python"})
_TF = frozenset({"terraform", "hcl"})
_YAML = frozenset({"yaml"})
_JVM = frozenset({"java", "kotlin"})
_SHELL = frozenset({"shell"})
_KEPT_SAFE = (
    r"(?i:passw|secret|token|salt|credential|signature|session|(?:api|app|licen[sc]e)_?key)"
)
"""Words that a line with a weak hash must hold: names of caches and fonts are hashed, too."""
_SQL = (
    r"(?:(?:SELECT|INSERT|UPDATE|DELETE)\s"
    r"|(?i:select\s[^\"'\n]{1,300}\sfrom|insert\s+into|update\s\S+\sset|delete\s+from)\s)"
)
"""A statement: its verb in capitals, or its grammar; `Update the settings` is prose."""
_SECURITY: tuple[_Row, ...] = (
    (_PY | _JS | {"ruby", "php"}, "eval", r"(?<![\w.])eval\s*\(", "eval of a string"),
    (_PY, "exec", r"(?<![\w.])exec\s*\(", "exec of a string"),
    (_PY, "shell", r"\bshell\s*=\s*True", "subprocess through a shell"),
    (_PY, "os.", r"\bos\.(?:system|popen)\s*\(", "command through a shell"),
    (_PY, "load", r"\b(?:pickle|marshal|dill|shelve)\.loads?\s*\(", "deserialises untrusted data"),
    (_PY, "yaml.load", r"\byaml\.load\s*\((?!.*Safe)", "yaml.load without a safe loader"),
    (_PY, "verify", r"\bverify\s*=\s*False", "TLS verification off"),
    (_PY, "mark_safe|markup", r"\b(?:mark_safe|Markup)\s*\(", "HTML escaping bypassed"),
    (_PY | _JS | _JVM | {"go", "php", "csharp"}, "md5|sha1",
     r"(?m)^(?!\s*(?:class|def|func|function|fun)\b|.*usedforsecurity)(?=.*" + _KEPT_SAFE +
     r").*\b(?:md5|sha1|MD5|SHA1)\s*\(", "weak hash"),
    (_ANY, "select |insert |update |delete ",
     rf"[\"']{_SQL}[^\"'\n]{{0,300}}[\"']\s{{0,9}}(?:\+|%\s|\.format\()",
     "SQL built from strings"),
    (_PY, "select |insert |update |delete ",
     rf"\bf[\"']{_SQL}[^\"'\n]{{0,300}}\{{", "SQL built from strings"),
    (_JS, "innerhtml|document.write",
     r"\.innerHTML\s*=|dangerouslySetInnerHTML|document\.write\s*\(", "raw HTML injected"),
    (_JS, "child_process|execsync", r"\bchild_process\b|\bexecSync\s*\(", "runs commands"),
    (_JS, "function", r"\bnew\s+Function\s*\(", "code from a string"),
    (frozenset({"go"}), "insecureskipverify",
     r"InsecureSkipVerify:\s*true", "TLS verification off"),
    (frozenset({"go", "rust"}), "unsafe", r"\bunsafe\.Pointer\b|\bunsafe\s*\{", "unsafe block"),
    (_JVM, "getruntime|objectinputstream",
     r"Runtime\.getRuntime\(\)\.exec|ObjectInputStream\s*\(", "runs or deserialises input"),
    (frozenset({"php"}), "unserialize|shell_exec|passthru|system",
     r"(?<![\w>])(?:unserialize|shell_exec|passthru|system)\s*\(", "runs or deserialises input"),
    (_C, "strcpy|strcat|gets|sprintf",
     r"(?<![\w.])(?:strcpy|strcat|gets|sprintf|vsprintf)\s*\(", "unbounded string function"),
    (frozenset({"ruby"}), "marshal|yaml|html_safe",
     r"\b(?:Marshal|YAML)\.load\b|\.html_safe\b", "deserialises or bypasses escaping"),
    (_SHELL, "eval", r"(?m)^[ \t]*eval\s", "eval of a string"),
    (_SHELL, "curl|wget", r"\b(?:curl|wget)\b[^\n|;]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
     "runs what it downloads"),
    (_SHELL, "rm -", r"\brm\s+-\w*r\w*\s+(?:--\s+)?\$", "removes the folder of a variable"),
    (_ANY, "password|passwd|secret|api_key|apikey",
     r"(?i)\b(?:password|passwd|secret|api_?key)\s{0,9}[:=]\s{0,9}[\"']"
     r"(?:\[REDACTED:|(?=[^\"'\s]{0,40}\d)[^\"'\s\[{<$%]{8,})",
     "credential in the source"),
    (_TF, "0.0.0.0/0", r"\"0\.0\.0\.0/0\"", "open to every address"),
    (_TF, "publicly_accessible|encrypt|skip_final", r"(?:publicly_accessible\s*=\s*true"
     r"|encrypt\w*\s*=\s*false|skip_final_snapshot\s*=\s*true)", "protection switched off"),
    (_TF, "actions|resources", r"(?:actions|resources)\s*=\s*\[\s*[\"']\*[\"']",
     "any action or resource"),
    (_YAML, "privileged|hostnetwork|hostpid", r"(?:privileged|hostNetwork|hostPID):\s*true",
     "privileges of the host"),
    (_YAML, "validate_certs|insecure",
     r"(?:validate_certs:\s*(?:no|false)|insecure\w*:\s*(?:yes|true))",
     "TLS verification off"),
    (_YAML, "shell|command|raw", r"(?m)^\s+(?:- )?(?:ansible\.builtin\.)?(?:shell|raw):",
     "command through a shell"),
    (_YAML, "ignore_errors", r"ignore_errors:\s*(?:yes|true)", "errors ignored"),
    (_YAML, "mode", r"mode:\s*[\"']?0?777", "writable by all"),
)  # fmt: skip
_PERFORMANCE: tuple[_Row, ...] = (
    (_PY, "time.sleep", r"\btime\.sleep\s*\(", "sleeps"),
    (_JVM, "thread.sleep", r"\bThread\.sleep\s*\(", "sleeps"),
    (_JS, "sync", r"\b(?:readFileSync|writeFileSync|execSync)\s*\(", "blocking call"),
    (_ANY, "select", r"(?i)\bselect\s{1,9}\*\s{1,9}from\b", "SELECT * query"),
)
_BRANCH = re.compile(
    r"\b(?:if|elif|else if|for|while|case|catch|except|when|match|rescue|unless)\b|&&|\|\||\?\?"
    r"|^[ \t]+\|[ \t][^\n=]{1,120}[ \t]=[ \t]",  # a guard
    re.MULTILINE,
)
_LOOP = re.compile(r"^(\s*)(?:for|while|foreach|loop)\b")
_INDICATED: dict[RiskType, str] = {
    "security": "constructs that need a careful look",
    "performance": "constructs that cost time",
    "complexity": "hard to follow",
    "coupling": "tied to many other files",
}


_MOST: dict[RiskType, int] = {"coupling": 5, "performance": 5}
"""Limit of hotspots by kind: what many files have is weaker evidence than what few have."""


def hotspots(
    entries: Sequence[Classified],
    texts: Mapping[str, str],
    code: Mapping[str, CodeFacts],
    users: Mapping[str, Sequence[str]] | None = None,
) -> tuple[RiskHotspot, ...]:
    """Return at most twenty hotspots, at most one of each kind for a file. Each kind is ranked by
    its own figure, and the kinds take turns, so that the longest file does not win all. Only
    hand-written code of the project counts; `users` are the users of each file."""
    used = users or {}
    of_subject = subjects(entries)
    declared = frozenset(path.rsplit(".", 1)[0] + ".h" for path in texts if path[-2:] == ".c")
    uses = Counter(path for paths in used.values() for path in paths)
    ranked: dict[RiskType, list[tuple[int, RiskHotspot]]] = {kind: [] for kind in _INDICATED}
    lesser: list[tuple[int, RiskHotspot]] = []
    for entry, facts in entries:
        path = entry.path
        if path not in texts or path not in code or path.endswith(NOTEBOOK_ENDS):
            continue
        written = facts.tag == "code" and is_own(path, facts) and _is_program(facts.language)
        if not (written or path in of_subject) or _is_aside(path, texts[path]):
            continue
        for sight in _indicated(
            texts[path][:500_000],
            facts.language,
            code[path],
            0 if path in declared else len(used.get(path, ())),
            uses[path],
            not _SCRIPT.search(path),
        ):
            if sight.indicators:
                shown = tuple(sight.indicators[:MAX_INDICATORS])
                spot = RiskHotspot(path, sight.kind, _INDICATED[sight.kind], shown)
                (lesser if sight.lesser else ranked[sight.kind]).append((sight.weight, spot))
    queues = [
        [spot for _, spot in sorted(rows, key=lambda row: (-row[0], row[1].path))][
            : _MOST.get(kind)
        ]
        for kind, rows in ranked.items()
    ]
    turns = [spot for turn in zip_longest(*queues) for spot in turn if spot is not None]
    lesser.sort(key=lambda row: (-row[0], row[1].path))
    turns += [spot for _, spot in lesser[: max(ENOUGH_HOTSPOTS - len(turns), 0)]]
    return tuple(turns[:MAX_HOTSPOTS])


_GENERATED = re.compile(
    r"(?i)(?:@generated|code generated .{0,80}do not edit|auto-?generated|automatically generated"
    r"|this file (?:is|was) generated|generated by |amalgamat|^\W*generated:)"
)
_SCRIPT = re.compile(r"(?:^|/)(?:bin|cli|scripts?|tools?|build\w*|compiler)/|\.config\.")
"""Programs that end by themselves: blocking calls delay no other caller."""


def _is_program(name: str) -> bool:
    language = language_named(name)
    return language is not None and language.kind == "program"


def _is_aside(path: str, text: str) -> bool:
    """Return whether a file is a database migration, a list of names, or generated."""
    return bool(DERIVED.search(path) or _DECLARES.search(path)) or _is_written_by_program(text)


_DECLARES = re.compile(
    r"(?:^|/)(?:variables|outputs|versions)\.tf$"
    r"|(?:fake|seed|sample|dummy|random)[_-]?data|profiling/"
)


def _is_written_by_program(text: str) -> bool:
    """Return whether the head states that the file is generated, or its lines are too long to be
    hand-written."""
    lines = text.count("\n") + 1
    return (
        bool(_GENERATED.search(text[:1_000]))
        or (len(text) > 5_000 and len(text) / lines > 200)
        or max(map(len, text.split("\n"))) > LONGEST_LINE
    )


class _Indication(Struct, frozen=True):
    """A kind of risk of one file. A `lesser` one counts only in a project with few others."""

    kind: RiskType
    weight: int
    indicators: list[str]
    lesser: bool = False


def _indicated(
    text: str, language: str, facts: CodeFacts, importers: int, imported: int, waited_for: bool
) -> tuple[_Indication, ...]:
    """Return the indications of each kind of risk."""
    uncommented, bare = stripped(text, language)
    names = _Places(facts)
    security = _lines_with(uncommented, bare, language, _SECURITY, names)
    slow = _lines_with(uncommented, bare, language, _PERFORMANCE, names) if waited_for else []
    loops = _nested_loops(bare, names)
    branching = [match.start() for match in _BRANCH.finditer(bare)]
    functions = _functions(bare, facts, branching)
    weight, tangled = _complexity(functions, facts, len(branching))
    acts = facts.lines > FEW_LINES and len(branching) >= SOME_BRANCHES
    tied = _coupling(importers, imported) if acts else []
    some = [item for item in functions if item.branches >= SOME_BRANCHES] if not tangled else []
    lesser = [item.text for item in some[:MAX_FUNCTIONS]]
    if not functions and len(branching) > BRANCHY:  # a template, a script
        lesser = [f"{len(branching)} branches in {facts.lines:,} lines"]
    return (
        _Indication("security", len(security), security),
        _Indication("performance", len(slow) + 2 * len(loops), slow + loops),
        _Indication("complexity", weight + 2 * importers, tangled),
        _Indication("coupling", importers + imported, tied),
        _Indication(
            "complexity",
            some[0].weight if some else len(branching),
            lesser if not tangled else [],
            lesser=True,
        ),
    )


class _Places:
    """Lookup of the function around a line."""

    def __init__(self, facts: CodeFacts) -> None:
        self._functions = [item for item in facts.definitions if item.end]

    def of(self, line: int) -> str:
        """Return ` in name` for the innermost definition around the line."""
        around = [item for item in self._functions if item.line <= line <= item.end]
        return f" in {min(around, key=lambda item: item.length).name}" if around else ""


def _lines_with(
    text: str, bare: str, language: str, table: Sequence[_Row], places: _Places
) -> list[str]:
    """Return the matches of a table's patterns: in code, and in strings only if the pattern is
    about one."""
    low = text.lower()
    found: set[tuple[int, str]] = set()
    for languages, words, pattern, name in table:
        if (languages and language not in languages) or not any(
            word in low for word in words.split("|")
        ):
            continue
        about_strings = "[\\\"']" in pattern or '["' in pattern or "select" in pattern
        searched = text if about_strings else bare
        for match in islice(re.finditer(pattern, searched), MAX_MATCHES):
            found.add((searched.count("\n", 0, match.start()) + 1, name))
    return [f"{name}{places.of(line)} (line {line})" for line, name in sorted(found)]


def _nested_loops(text: str, places: _Places) -> list[str]:
    """Return places with three nested loops, by indentation."""
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
                return [f"three nested loops{places.of(number)} (line {number})"]
    return []


_TEST_NAME = re.compile(r"tests?[._]|test_")
"""Inline tests, as in Rust."""


class _Function(Struct, frozen=True):
    """A function with its branches and lines."""

    name: str
    line: int
    length: int
    branches: int

    @property
    def weight(self) -> int:
        return self.branches * 3 + self.length

    @property
    def text(self) -> str:
        return f"{self.name}: {self.branches} branches, {self.length} lines (line {self.line})"


def _functions(bare: str, facts: CodeFacts, branching: Sequence[int]) -> list[_Function]:
    """Return the functions, the worst first. `branching` are the places of branches."""
    starts = list(accumulate([len(line) + 1 for line in bare.split("\n")], initial=0))
    functions: list[_Function] = []
    for item in facts.definitions:
        if item.kind != "function" or not item.end or _TEST_NAME.match(item.name):
            continue
        first, last = (starts[min(line, len(starts) - 1)] for line in (item.line - 1, item.end))
        branches = bisect_left(branching, last) - bisect_left(branching, first)
        functions.append(_Function(item.name, item.line, item.length, branches))
    return sorted(functions, key=lambda item: (-item.weight, item.text))


def _complexity(
    functions: Sequence[_Function], facts: CodeFacts, branches: int
) -> tuple[int, list[str]]:
    """Return the functions with most branches and most lines, and the file as a whole if it has
    more than declarations. The weight is that of the worst function."""
    worst = [
        item
        for item in functions
        if (item.length > LONG_FUNCTION and item.branches >= FEW_BRANCHES)
        or item.branches > BRANCHY
    ]
    out = [item.text for item in worst[:MAX_FUNCTIONS]]
    if facts.lines > LONG_FILE and worst:
        out.append(f"{facts.lines:,} lines")
    if branches > MANY_BRANCHES:
        out.append(f"{branches} branches in the file")
    return (worst[0].weight if worst else facts.lines // 20) + branches // 2, out


def _coupling(importers: int, imported: int) -> list[str]:
    """Return ties to the project's own files; a library from elsewhere is no coupling."""
    out: list[str] = []
    if imported > MANY_IMPORTS:
        out.append(f"uses {imported} files of the project")
    if importers > MANY_IMPORTERS:
        out.append(f"used by {importers} files")
    return out
