"""Resolve the imports of a text to files of the project.

Files are looked up by the last part of their module's name. No grammar takes part: the pattern of a
language finds its imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from sutler.languages import Uses, language_named
from sutler.languages.base import NO_USES
from sutler.paths import basename, dirname
from sutler.survey.evidence import beside

_STARTS = frozenset({"__init__.py", "__init__.pyi", "__init__", "init.lua", "index"})
"""Files that represent their folder, by name or by name without an ending."""
_SOURCE_FOLDERS = frozenset({"src", "lib", "source", "app", "python"})
_RE_EXPORT = re.compile(r"\bexport\s+(?:type\s+)?(\{[^}]*\}|\*)\s*from\s*[\"']([^\"'\n]+)[\"']")
_EXPORTED = re.compile(
    r"\bexport\s+(?:declare\s+|default\s+|async\s+|abstract\s+)*"
    r"(?:const|let|var|function\*?|class|interface|type|enum)\s+([\w$]+)"
)
HUB_DEPTH = 3
"""Limit of re-exports that are followed in a row."""


def uses_of(language: str) -> Uses:
    """Return how files of a language name each other, by the table of languages."""
    row = language_named(language)
    return row.uses if row else NO_USES


def family(language: str) -> str:
    """Return the family of a language: languages that import each other's files share one."""
    return uses_of(language).family or language


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Package(Struct, frozen=True):
    """A package of a JavaScript workspace: its folder, and its entry file."""

    folder: str
    entry: str


NO_PACKAGES: Mapping[str, Package] = {}


class Modules:
    """Files by the last part of their module's name, to resolve import lines."""

    def __init__(
        self, sources: Mapping[str, tuple[str, str]], packages: Mapping[str, Package]
    ) -> None:
        self._by_end: dict[tuple[str, str], list[tuple[list[str], str]]] = {}
        self._known: dict[str, str] = {}
        self._crates: dict[str, str] = {}
        self._sources, self._packages = sources, packages
        self._passed_on: dict[str, dict[str, list[str]]] = {}
        for path, (language, _) in sources.items():
            if not uses_of(language).imports:
                continue
            kin = family(language)
            self._known[path] = kin
            parts = module_of(path)
            if parts:
                self._by_end.setdefault((kin, parts[-1]), []).append((parts, path))
            if kin == "rust" and path.endswith("src/lib.rs"):
                crate = basename(dirname(dirname(path))) or "crate"
                self._crates[crate.replace("-", "_")] = path.removesuffix("lib.rs")

    def used(self, path: str, language: str, text: str) -> Iterator[str]:
        kin, uses = family(language), uses_of(language)
        if not uses.imports:
            return
        resolve = {"python": self._python, "rust": self._rust}.get(kin)
        for match in compiled(uses.imports).finditer(text):
            if resolve is not None:
                yield from resolve(path, match)
                continue
            targets = self._plain(path, kin, uses, match[1])
            yield from targets
            for hub in targets if kin == "js" else ():
                if basename(hub).startswith("index."):
                    yield from self._behind(hub, _clause(text, match.start()))

    def _behind(self, hub: str, names: Iterable[str], depth: int = HUB_DEPTH) -> Iterator[str]:
        """Yield the files that define `names` which a hub re-exports."""
        for name in names:
            for target in self._hub(hub).get(name, ()):
                yield target
                if depth > 1 and target != hub:
                    yield from self._behind(target, [name], depth - 1)

    def _hub(self, path: str) -> dict[str, list[str]]:
        """Return the names that a file re-exports, and the files that they come from."""
        if path not in self._passed_on:
            table = self._passed_on[path] = {}
            language, text = self._sources.get(path, ("", ""))
            if family(language) == "js":
                for clause, target in _RE_EXPORT.findall(text):
                    for file in self._plain(path, "js", uses_of(language), target):
                        names = re.findall(r"([\w$]+)\s*(?:,|\})", clause)
                        if clause == "*":
                            names = [*_EXPORTED.findall(self._sources[file][1]), *self._hub(file)]
                        for name in names:
                            table.setdefault(name, []).append(file)
            elif basename(path) == "__init__.py":
                for match in compiled(uses_of(language).imports).finditer(text):
                    for name, file in self._named(path, match):
                        table.setdefault(name, []).append(file)
        return self._passed_on[path]

    def _named(self, path: str, match: re.Match[str]) -> Iterator[tuple[str, str]]:
        """Yield the names that `from .module import name` imports from a module of the project."""
        base, names, _ = match.groups()
        if base and base.startswith("."):
            for file in self._module(path, _parts(path, base), exact=True):
                for name in re.findall(_NAMES, names)[:60]:
                    yield name, file

    def _plain(self, path: str, kin: str, uses: Uses, target: str) -> list[str]:
        if kin == "c":
            header = beside(dirname(path), target)
            return [header] if header in self._known else self._header(target, path)
        if target.startswith(".") or uses.beside:
            place = beside(dirname(path), target)
            near = self._file(place, kin)
            if kin == "terraform":
                near = [file for file in (f"{place}/main.tf",) if file in self._known]
            if near or target.startswith("."):
                return near
        if kin == "js" and not target.startswith(("@/", "~/", "$lib", "src/", "#")):
            inner = target.removeprefix("@")  # `@components/x` may be an alias of a folder
            alias = self._closest(kin, module_of(inner), path) if target[:1] == "@" else []
            return self._packaged(target) or alias
        target = re.sub(r"^(?:package:|[@~]/|\$(?=lib))", "", target)
        dotted = uses.dotted and "/" not in target
        parts = re.split(r"\.|::", target) if dotted else module_of(target)
        return self._closest(kin, parts, path)

    def _packaged(self, target: str) -> list[str]:
        """Return the file of a workspace package; empty if the package is from elsewhere."""
        parts = target.split("/")
        size = 2 if target.startswith("@") else 1
        package = self._packages.get("/".join(parts[:size]))
        if package is None:
            return []
        inner = "/".join(parts[size:])
        if not inner:
            return [package.entry] if package.entry in self._known else []
        places = (f"{package.folder}/src/{inner}", f"{package.folder}/{inner}")
        return next((files for place in places if (files := self._file(place, "js"))), [])

    def _file(self, stem: str, kin: str) -> list[str]:
        """Return the file that a path without its ending means, or with that of its built form."""
        if self._known.get(stem) == kin:
            return [stem]
        bare = re.sub(r"\.(?:[cm]?[jt]sx?|vue|svelte|rb|lua|dart|zig|s?css)$", "", stem)
        bare = bare.removesuffix("/index")
        folder, _, name = bare.rpartition("/")
        exact = [*folder.split("/"), name] if folder else [name]
        hits = self._by_end.get((kin, name), ())
        return [path for parts, path in hits if parts == exact and _place(path) in (stem, bare)][
            :1
        ] or [path for parts, path in hits if parts == exact][:1]

    def _closest(self, kin: str, parts: list[str], path: str) -> list[str]:
        """Return the file whose module ends in `parts`, or in all but a leading package."""
        if not parts:
            return []
        best: list[str] = []
        depth = 0
        for module, other in self._by_end.get((kin, parts[-1]), ()):
            common = _common_end(module, parts)
            rest = module[: len(module) - common]
            if common < len(parts) and (common < 2 or rest):
                continue
            if len(parts) == 1 and rest and rest[-1] not in _SOURCE_FOLDERS and kin != "c":
                continue
            if common > depth:
                best, depth = [other], common
            elif common == depth:
                best.append(other)
        if len(best) > 1:
            best.sort(key=lambda other: (-_common_start(other, path), other))
        return best[:1]

    def _header(self, target: str, path: str) -> list[str]:
        """Return the file that an include means: never the source beside a header of the same
        name."""
        ending = target[target.rfind(".") :] if "." in basename(target) else ""
        parts = module_of(target)
        hits = [
            (_common_end(module, parts), other)
            for module, other in (self._by_end.get(("c", parts[-1]), ()) if parts else ())
            if other.endswith(ending)
        ]
        hits = [hit for hit in hits if hit[0] == len(parts) or hit[0] > 1]
        hits.sort(key=lambda hit: (-hit[0], -_common_start(hit[1], path), hit[1]))
        return [other for _, other in hits[:1]]

    def _python(self, path: str, match: re.Match[str]) -> Iterator[str]:
        base, names, plain = match.groups()
        if plain:
            for name in plain.split(","):
                words = name.split()
                yield from self._module(path, words[0].split(".")) if words else ()
            return
        parts = _parts(path, base)
        whole = self._module(path, parts, exact=base.startswith("."))
        wanted = re.findall(_NAMES, names)[:60]
        inner: list[str] = []
        for name in wanted:
            inner += self._module(path, [*parts, name], exact=True) if parts else ()
        yield from inner or whole
        for hub in whole:
            if basename(hub) == "__init__.py":
                yield from self._behind(hub, wanted)

    def _module(self, path: str, parts: list[str], *, exact: bool = False) -> list[str]:
        """Return the file of a Python module; with `exact`, all parts must match."""
        if not parts:
            return []
        size = len(parts)
        hits = [
            (module, other)
            for module, other in self._by_end.get(("python", parts[-1]), ())
            if (module[-size:] == parts and _rooted(module[:-size], size == 1))
            or (size == 1 and dirname(other) == dirname(path))
        ]
        if not hits and not exact and size > 1:
            return self._module(path, parts[:-1])
        hits.sort(key=lambda hit: (len(hit[0]), -_common_start(hit[1], path), hit[1]))
        return [hits[0][1]] if hits else []

    def _rust(self, path: str, match: re.Match[str]) -> Iterator[str]:
        use, child = match.groups()
        folder = path.removesuffix(".rs")
        if basename(path) in ("mod.rs", "lib.rs", "main.rs"):
            folder = dirname(path)
        if child:
            yield from self._rust_file(folder, [child])
            return
        for name in _expanded(use):
            head, *rest = name
            if head == "crate":
                start = path.split("src/", 1)[0] + "src" if "src/" in path else dirname(path)
                yield from self._rust_file(start, rest)
            elif head in ("self", "super"):
                yield from self._rust_file(folder if head == "self" else dirname(folder), rest)
            elif head in self._crates:
                yield from self._rust_file(self._crates[head].rstrip("/"), rest)

    def _rust_file(self, folder: str, parts: list[str]) -> list[str]:
        """Resolve `a::b::C` below a folder: a/b/C.rs, a/b.rs or a/b/mod.rs, a.rs; else the crate's
        root."""
        while parts and parts[0] == "super":
            folder, parts = dirname(folder), parts[1:]
        for size in range(len(parts), 0, -1):
            stem = "/".join(filter(None, [folder, *parts[:size]]))
            for spelling in (f"{stem}.rs", f"{stem}/mod.rs"):
                if spelling in self._known:
                    return [spelling]
        root = f"{folder}/lib.rs" if folder else "lib.rs"
        return [root] if root in self._known else []


_NAMES = r"(\w+)(?:\s+as\s+\w+)?\s*(?:,|\)|$|#)"


def _parts(path: str, base: str) -> list[str]:
    """Return the module that `from base import` in a file means, with dots resolved."""
    dots = len(base) - len(base.lstrip("."))
    parts = [part for part in base.split(".") if part]
    if dots:
        folder = dirname(path).split("/") if "/" in path else []
        parts = folder[: len(folder) - dots + 1] + parts
    return parts


def _clause(text: str, end: int) -> list[str]:
    """Return the names between the braces of an import that ends at `end`, with its `from`."""
    before = text[max(0, end - 1_000) : end]
    start = max(before.rfind("import"), before.rfind("export"))
    return (
        re.findall(r"([\w$]+)(?:\s+as\s+[\w$]+)?\s*(?:,|\})", before[start:]) if start >= 0 else []
    )


def _expanded(use: str) -> list[list[str]]:
    """Expand `a::{b, c::d}` to a::b and a::c::d, nested braces too."""
    use = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", use)).strip()
    match = re.search(r"\{([^{}]*)\}", use)
    rounds = 0
    names = [use]
    while match and rounds < 40 and len(names) < 200:
        text = names.pop(0)
        match = re.search(r"\{([^{}]*)\}", text)
        if match is None:
            names.append(text)
        else:
            names += [
                text[: match.start()] + item.strip() + text[match.end() :]
                for item in match[1].split(",")
                if item.strip()
            ]
        match = next((m for m in (re.search(r"\{", name) for name in names) if m), None)
        rounds += 1
    return [
        [part.split(" as ")[0].strip() for part in name.split("::") if part.strip()]
        for name in names
    ]


def module_of(path: str) -> list[str]:
    """Split a path into the parts of a module's name: no ending, no `__init__`, no `index`."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not parts:
        return []
    stem = parts[-1].split(".", 1)[0] or parts[-1]
    if (stem in _STARTS or parts[-1] in _STARTS) and len(parts) > 1:
        return parts[:-1]
    return [*parts[:-1], stem]


def _place(path: str) -> str:
    return path.rsplit(".", 1)[0]


def _rooted(rest: list[str], alone: bool) -> bool:
    """Return whether the folders before a package in a path can hold packages. A name that stands
    `alone` is more often a module of the language than one deep in the tree."""
    return not rest or rest[-1] in _SOURCE_FOLDERS or (len(rest) <= 2 and not alone)


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _common_start(one: str, other: str) -> int:
    count = 0
    for left, right in zip(one.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
