"""Resolve the names in a task to files: paths, links, stack frames of many languages, hunks of a
diff; and match suffixes of paths, dotted names and imports over a project.

Every repetition of the patterns is bounded or cannot match twice at the same place: a task is
untrusted text."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from sutler.languages import LANGUAGES
from sutler.ranking.index import Doc
from sutler.ranking.reader import Reader

_PACKAGE_STEMS = frozenset({"__init__", "index", "mod", "main", "lib"})
_SELF = frozenset({"crate", "self", "super", "@", "~", "src", ""})
_BY_FOLDER = frozenset(
    row.name for row in LANGUAGES if row.grammar is not None and row.grammar.folder_modules
)
_MAX_FAN = 40
URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s)>\]\"'`]+")
_BLOB_LINK = re.compile(
    r"/(?:blob|tree|raw|src|blame|edit)/[^/\s]{1,200}/([^\s#?)]{1,500})(?:#L(\d{1,9}))?"
)
_PATH = re.compile(
    r"(?<![\w@/.~\\+-])((?:[A-Za-z]:)?[~.\w/\\+-]{0,300}[\w+-]\.[A-Za-z][A-Za-z0-9]{0,5})\b"
    r"(?:(?::|#L|\(|`?,? \(?(?:at )?lines? )(\d{1,9}))?"
)
_MODULE = re.compile(
    r"(?<![\w@/.~:-])(?<!import )(?<!from )"
    r"((?:[\w-]{1,100}/){2,20}[\w-]{1,100}|(?:\w{1,100}(?:\.|::)){2,20}\w{1,100})"
    r"(?![\w@/(-]|[.:]\w)"
)
"""A module by all parts of its path; an import in an example is weak evidence for the task."""
_PLACE = r"(?P<path>[\w.$/\\:@~+-]{1,300}\.\w{1,5}):(?P<line>\d{1,9})"
_INNERMOST_LAST = (
    re.compile(
        r'File "(?P<path>[^"\n]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<name>\S{1,200}))?'
    ),
    re.compile(
        r"^[ \t]{0,20}(?:File )?(?P<path>[\w~./\\<>:-]{1,300}\.\w{1,9})"
        r"(?: in |:(?P<line>\d{1,9}), in )(?P<name>\w{1,200})",
        re.M,
    ),
)
"""Stack frames of Python and of IPython."""
_INNERMOST_FIRST = (
    # Go: the call is on the line above
    re.compile(
        rf"^(?P<name>[\w./()*\[\]-]{{1,200}})\([^\n]{{0,300}}\)\n[ \t]{{1,8}}{_PLACE}", re.M
    ),
    # Rust: the same with a number before the call
    re.compile(
        rf"^[ \t]{{0,8}}\d{{1,4}}: (?P<name>[\w:<> ]{{1,300}})\n[ \t]{{1,20}}at {_PLACE}", re.M
    ),
    # Java, JavaScript
    re.compile(
        rf"^[ \t]{{0,20}}at[ \t]{{1,4}}(?:(?P<name>[\w$.<>\[\] ]{{1,200}}?) ?)?\(?{_PLACE}", re.M
    ),
    # C and C++: gdb and the sanitizers
    re.compile(
        r"^[ \t]{0,8}#\d{1,4}[ \t]{1,4}(?:0x[0-9a-f]{1,16}[ \t]in[ \t])?(?P<name>[\w:~]{1,200})"
        rf"[^\n]{{0,300}}?[ \t]{_PLACE}",
        re.M,
    ),
    # Ruby
    re.compile(rf"^[ \t]{{0,8}}(?:from )?{_PLACE}:in [`'](?P<name>[^'\n]{{1,200}})'", re.M),
    # PHP
    re.compile(
        r"^#\d{1,4} (?P<path>[\w./\\-]{1,300}\.\w{1,5})\((?P<line>\d{1,9})\): "
        r"(?P<name>[\w\\:>-]{1,200})",
        re.M,
    ),
)
_HUNK = re.compile(
    r"^\+\+\+ (?:b/)?(?P<path>[^\t\n]{1,500})\n@@ -\d{1,9}(?:,\d{1,9})? \+(?P<line>\d{1,9})", re.M
)
_HUNK_CONTEXT = 3  # unchanged lines that a hunk starts with
_JVM = frozenset({"java", "kt", "scala", "groovy"})
_ANONYMOUS = frozenset({"anonymous", "async", "main"})
_NAME = re.compile(r"[A-Za-z_]\w{0,199}")
_FRAMES = (*_INNERMOST_LAST, *_INNERMOST_FIRST)
_DIFF_HEAD = re.compile(
    r"^(?:diff --git |index [0-9a-f]|--- (?:a/|/dev)|\+\+\+ (?:b/|/dev))[^\n]{1,1000}$", re.M
)


class Mention(Struct, frozen=True, gc=False):
    """A path that the task names; `strength` falls for outer stack frames; `line` is 0 if none is
    given."""

    path: str
    line: int
    frame: bool
    strength: float
    function: str = ""
    titled: bool = False


def mentions_of(text: str) -> tuple[Mention, ...]:
    """Return the paths in URLs, stack frames, diffs and running text; the innermost frames are the
    strongest."""
    mentions: dict[tuple[str, int, bool], Mention] = {}
    for url in URL.findall(text):
        for path, line in _BLOB_LINK.findall(url):
            _add(mentions, Mention(path, int(line or 0), False, 1.0))
    bare = URL.sub(" ", text)
    frames = _frames(bare)
    for frame in frames:
        _add(mentions, frame)
    for match in _HUNK.finditer(bare):
        line = int(match["line"]) + _HUNK_CONTEXT
        _add(mentions, Mention(match["path"].strip(), line, False, 1.0))
    title_end = len(bare) - len(bare.lstrip().partition("\n")[2])
    framed_paths = {match["path"] for pattern in _FRAMES for match in pattern.finditer(bare)}
    for match in _PATH.finditer(_DIFF_HEAD.sub(_blank, bare)):
        path, line = match.groups()
        if path not in framed_paths:
            titled = match.start() < title_end
            framed = bool(line) and not titled
            _add(mentions, Mention(path, int(line or 0), framed, 1.0, "", titled))
    for path in _MODULE.findall(bare):
        _add(mentions, Mention(re.sub(r"\.|::", "/", path), 0, False, 1.0))
    return tuple(mentions.values())[:200]


def _frames(text: str) -> list[Mention]:
    """Return the stack frames of any language, each with its function."""
    frames: list[Mention] = []
    for patterns, first in ((_INNERMOST_LAST, False), (_INNERMOST_FIRST, True)):
        for pattern in patterns:
            matches = list(pattern.finditer(text))
            for i, match in enumerate(matches):
                part = i / len(matches) if first else 1 - (i + 1) / len(matches)
                name = (_NAME.findall(match["name"] or "") or [""])[-1]
                name = "" if name in _ANONYMOUS else name
                path = _with_package(match["path"], match["name"] or "")
                if not path.startswith("<"):
                    line = int(match["line"] or 0)
                    frames.append(Mention(path, line, True, 1.0 - 0.6 * part, name))
    return frames


def _blank(match: re.Match[str]) -> str:
    """Replace a match by as many spaces, so that later positions stay."""
    return " " * len(match[0])


def _with_package(path: str, name: str) -> str:
    """Complete a JVM frame, which names the file only, with the folder from the function's
    package."""
    parts = name.split(".")
    if path.rpartition(".")[2] in _JVM and "/" not in path and len(parts) > 2:
        return "/".join((*parts[:-2], path))
    return path


def _add(mentions: dict[tuple[str, int, bool], Mention], mention: Mention) -> None:
    clean = replace(mention, path=mention.path.replace("\\", "/").removeprefix("./").lstrip("~/"))
    key = (clean.path, clean.line, clean.frame)
    if key not in mentions or mentions[key].strength < clean.strength:
        mentions[key] = clean


def is_trace(code: str) -> bool:
    if "Traceback (most recent call last)" in code:
        return True
    return any(len(pattern.findall(code)) > 1 for pattern in _FRAMES)


class Links:
    """Look-up tables over the living documents of one query."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._docs = docs = reader.docs
        self._by_stem: dict[str, list[int]] = {}
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._imported: dict[int, list[int]] = {}
        self._resolved: dict[tuple[str, str], list[int]] = {}
        self._by_name: dict[str, list[int]] = {}
        self._by_bare: dict[str, list[int]] = {}
        self._by_folder: dict[str, list[int]] = {}
        for number, doc in docs.items():
            if not doc.language and doc.kind != "source":  # no file imports or names it
                continue
            module = module_parts(doc.path)
            if module:
                self._by_stem.setdefault(module[-1], []).append(number)
            if len(module) > 1:
                self._by_pair.setdefault((module[-2], module[-1]), []).append(number)
            if doc.language in _BY_FOLDER and "/" in doc.path:
                self._by_folder.setdefault(doc.path.split("/")[-2], []).append(number)

    def module(self, number: int) -> list[str]:
        """Return the parts of a document's module name; empty if nothing can import it."""
        doc = self._docs[number]
        return module_parts(doc.path) if doc.language or doc.kind == "source" else []

    def mentioned(self, path: str) -> list[tuple[int, float]]:
        """Return the documents that a path in a task may mean, each with its confidence."""
        if not self._by_name:
            for number, doc in self._docs.items():
                self._by_name.setdefault(doc.path.rpartition("/")[2], []).append(number)
        wanted = path.split("/")
        best: list[int] = []
        depth = 0
        for number in self._by_name.get(wanted[-1], ()):
            parts = self._docs[number].path.split("/")
            common = _common_suffix(parts, wanted)
            if common == len(parts):
                common += 10  # all of the project's path matches, whatever precedes it
            if common > depth:
                best, depth = [number], common
            elif common == depth:
                best.append(number)
        if not best and len(wanted) > 2:  # without an ending, or with the one it is built to
            best, depth = self._by_module(module_parts(path)), len(wanted)
        if not best or (depth == 1 and len(wanted) > 2) or len(best) > 8:
            return []
        sure = 1.0 if depth > 1 else 0.8
        return [(number, sure / len(best)) for number in best]

    def _by_module(self, parts: list[str]) -> list[int]:
        size = len(parts)
        hits = [
            n
            for n in self._by_pair.get((parts[-2], parts[-1]), ())
            if self.module(n)[-size:] == parts
        ]
        return hits if len(hits) <= 4 else []

    def imported(self, number: int) -> list[int]:
        """Return the documents that a document imports, by names alone."""
        targets = self._imported.get(number)
        if targets is None:
            targets = self._imported[number] = list(self.needed(number))
        return targets

    def needed(self, number: int) -> dict[int, float]:
        """Return the imported documents with a confidence: an import that may mean several files
        counts less for each."""
        doc = self._docs[number]
        sureness: dict[int, float] = {}
        imports = self._reader.facts(number).imports
        for target in sorted({target for item in imports for target in item.targets}):
            # Only a relative import depends on the file; the same modules are imported by many.
            key = target, doc.path if target.startswith(".") else doc.language
            hits = self._resolved.get(key)
            if hits is None:
                hits = self._resolved[key] = self._resolve(target, doc)
            for hit in hits:
                if hit != number:
                    sureness[hit] = max(sureness.get(hit, 0.0), 1 / len(hits))
        return sureness

    def _resolve(self, target: str, doc: Doc) -> list[int]:
        parts = target_parts(target, doc.path)
        if not parts:
            return []
        if doc.language in _BY_FOLDER:
            hits = [
                n
                for n in self._by_folder.get(parts[-1], ())
                if _tail_matches(self._docs[n].path, parts)
            ]
            return hits[:_MAX_FAN]
        return self._closest(parts) or (self._closest(parts[:-1]) if len(parts) > 2 else [])

    def _closest(self, parts: list[str]) -> list[int]:
        """Return the documents whose module path shares the longest suffix with `parts`, of at
        least two parts."""
        if len(parts) == 1:
            hits = self._by_stem.get(parts[0], [])
            return hits if len(hits) <= 3 else []
        best: list[int] = []
        depth = 0
        for number in self._by_pair.get((parts[-2], parts[-1]), ()):
            common = _common_suffix(self.module(number), parts)
            if common > depth:
                best, depth = [number], common
            elif common == depth:
                best.append(number)
        return best if len(best) <= 3 else []

    def by_stem(self, stem: str) -> list[int]:
        return self._by_stem.get(stem, [])

    def named(self, name: str) -> list[int]:
        """Return the documents of code with a name in any spelling; `name` is normalised by
        `bare`."""
        if not self._by_bare:
            for stem, numbers in self._by_stem.items():
                self._by_bare.setdefault(bare(stem), []).extend(numbers)
        return self._by_bare.get(name, [])

    def inside(self, name: str) -> list[int]:
        """Return the documents below a folder with a name in any spelling. A crate or a package
        often has the project's name before it: `regex-lite`."""
        folders: dict[str, bool] = {}
        inside: list[int] = []
        for number, doc in self._docs.items():
            folder = doc.path.rpartition("/")[0]
            if folder not in folders:
                parts = folder.split("/")
                folders[folder] = any(
                    name == bare(part) or part.lower().endswith((f"-{name}", f"_{name}"))
                    for part in parts
                )
            if folders[folder]:
                inside.append(number)
        return inside


def _tail_matches(path: str, parts: list[str]) -> bool:
    folders = path.split("/")[:-1]
    return _common_suffix(folders, parts) >= min(len(folders), 2)


def _common_suffix(left_parts: list[str], right_parts: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(left_parts), reversed(right_parts), strict=False):
        if left != right:
            break
        count += 1
    return count


def bare(part: str) -> str:
    """Normalise a part of a name or of a path: `HttpClient` and `http_client` are equal."""
    return part.replace("_", "").replace("-", "").lower()


def module_parts(path: str) -> list[str]:
    """Split a path into the parts of a module's name: no extension, no `__init__`, `index` or
    `mod`."""
    parts = path.split("/")
    name = parts[-1]
    stem = name[: name.find(".")] if name.find(".") > 0 else name
    parts[-1] = stem
    if stem in _PACKAGE_STEMS and len(parts) > 1:
        parts.pop()
    return parts


def target_parts(target: str, path: str) -> list[str]:
    """Split an import's target into path parts, made absolute if it is relative to the importing
    file."""
    folder = path.split("/")[:-1]
    if target.startswith(("./", "../")):
        for part in target.split("/"):
            if part == "..":
                folder = folder[:-1]
            elif part != ".":
                folder = [*folder, part]
        return [*folder[:-1], folder[-1].partition(".")[0]] if folder else []
    if target.startswith("."):
        name = target.lstrip(".")
        for _ in range(len(target) - len(name) - 1):
            folder = folder[:-1]
        return folder + [part for part in name.split(".") if part]
    text = target.replace("::", "/").replace("\\", "/")
    if "/" not in text:
        text = (
            text.replace(".", "/")
            if not text.endswith((".h", ".hpp", ".rb", ".sh"))
            else text.rpartition(".")[0]
        )
    elif "." in text[text.rfind("/") :]:
        text = text[: text.rfind(".")]
    return [part for part in text.split("/") if part not in _SELF and part != "*"]
