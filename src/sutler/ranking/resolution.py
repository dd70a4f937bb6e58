"""Which file a path, a dotted name or an import means: suffix matching over a project's paths, for
any language.
"""

from __future__ import annotations

from sutler.languages import LANGUAGES
from sutler.ranking.index import Doc
from sutler.ranking.reader import Reader

_PACKAGE_STEMS = frozenset({"__init__", "index", "mod", "main", "lib"})
_SELF = frozenset({"crate", "self", "super", "@", "~", "src", ""})
_BY_FOLDER = frozenset(
    row.name for row in LANGUAGES if row.grammar is not None and row.grammar.folder_modules
)
_MAX_FAN = 40


class Links:
    """Look-up tables over the living documents of one query."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._docs = docs = reader.docs
        self._by_stem: dict[str, list[int]] = {}
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._imported: dict[int, list[int]] = {}
        self._by_name: dict[str, list[int]] = {}
        self._by_folder: dict[str, list[int]] = {}
        for number, doc in docs.items():
            if not doc.language:  # nothing imports it
                continue
            module = module_parts(doc.path)
            if module:
                self._by_stem.setdefault(module[-1], []).append(number)
            if len(module) > 1:
                self._by_pair.setdefault((module[-2], module[-1]), []).append(number)
            if doc.language in _BY_FOLDER and "/" in doc.path:
                self._by_folder.setdefault(doc.path.split("/")[-2], []).append(number)

    def module(self, number: int) -> list[str]:
        """The parts of a document's name as a module; none for one that nothing imports."""
        doc = self._docs[number]
        return module_parts(doc.path) if doc.language else []

    def mentioned(self, path: str) -> list[tuple[int, float]]:
        """Documents that a path in a task may mean, with how sure that is."""
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
                common += 10  # all of the project's path stands there, whatever comes before it
            if common > depth:
                best, depth = [number], common
            elif common == depth:
                best.append(number)
        if not best or (depth == 1 and len(wanted) > 2) or len(best) > 8:
            return []
        sure = 1.0 if depth > 1 else 0.8
        return [(number, sure / len(best)) for number in best]

    def dotted(self, name: str) -> list[tuple[int, float]]:
        """Documents that a dotted name's leading part spells: `a.b.c.D` means a/b/c.py before
        a/b.py.
        """
        parts = name.split(".")
        for size in range(len(parts), 1, -1):
            hits = self._by_module(parts[:size])
            if hits:
                return [(number, 1.0 / len(hits)) for number in hits]
        return []

    def _by_module(self, parts: list[str]) -> list[int]:
        size = len(parts)
        hits = [
            n
            for n in self._by_pair.get((parts[-2], parts[-1]), ())
            if self.module(n)[-size:] == parts
        ]
        return hits if len(hits) <= 4 else []

    def imported(self, number: int) -> list[int]:
        """Documents that a document imports, as far as the names say."""
        targets = self._imported.get(number)
        if targets is None:
            targets = self._imported[number] = list(self.needed(number))
        return targets

    def needed(self, number: int) -> dict[int, float]:
        """The same with how sure it is: an import that means several files tells less of each."""
        doc = self._docs[number]
        sureness: dict[int, float] = {}
        imports = self._reader.facts(number).imports
        for target in sorted({target for item in imports for target in item.targets}):
            hits = self._resolve(target, doc)
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
        """Documents whose module path shares the longest suffix with `parts`, and at least two
        parts of it.
        """
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


def module_parts(path: str) -> list[str]:
    """A path as the parts of a module's name: no extension, no `__init__`, `index` or `mod`."""
    parts = path.split("/")
    name = parts[-1]
    stem = name[: name.find(".")] if name.find(".") > 0 else name
    parts[-1] = stem
    if stem in _PACKAGE_STEMS and len(parts) > 1:
        parts.pop()
    return parts


def target_parts(target: str, path: str) -> list[str]:
    """An import's target as path parts, made absolute where it is relative to the importing
    file.
    """
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
