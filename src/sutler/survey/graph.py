"""Graph of the files of a project and their users, from the words of the texts alone.

Languages whose imports name a module are read by their import lines. In the others a file uses
another if it mentions a name that only the other defines: types of Java, C# and Swift need no
import inside a package. No grammar takes part, so a whole tree costs little. The graph serves an
order of importance; it proves nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isqrt

from sutler.paths import basename, dirname
from sutler.survey.module_files import NO_PACKAGES, Modules, Package, compiled, family, uses_of

MOST_UNUSED = 10
"""Limit of the used files that count for a file without users."""
MAX_NAMESAKES = 2
"""Above this number of files that define a name, a mention of it is ambiguous."""
_LIBRARY_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        Array Arrays Attribute Boolean Character Class Collection Collections Comparable Console
        Convert Countable Data Date DateTime Decimal Dictionary Dir Directory Double Encoding Enum
        Enumerable Environment Error Exception File Files Float Func Guid Hash Int Int32 Int64
        Integer Iterable Iterator JSON Kernel List Logger Long Map Marshal Math Method Module Mutex
        Object Objects Optional Path Paths Pathname Predicate Proc Process Queue Random Range Regex
        Regexp Runtime Sequence Set Socket StandardError Stream String StringBuilder Strings Struct
        Symbol System Task Thread Time TimeSpan Timer Tuple Type URI URL Uri Version Void
        """,
    )
)
"""Types of standard libraries. A mention is weak evidence for a file that defines the same name,
unless the two are neighbours."""
_REOPENS = re.compile(r"(?:^|/)(?:\w*migrations?|migrate|initializers|versions)/")
"""Folders whose files extend classes that are defined elsewhere."""
_NAMESPACES = re.compile(r"(?m)^\s*(?:global\s+)?(?:using|namespace|open|Imports)\s[^\n]*")
_HEADERS, _SOURCES = (".h", ".hpp", ".hh"), (".c", ".cpp", ".cc", ".cxx", ".m", ".mm")
_SLASHED = frozenset({"c", "jvm", "dotnet", "swift", "php"})
"""Families whose comments begin with slashes and whose strings stand in double quotes."""
_ASIDE_TEXT = re.compile(r'//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/|"(?:[^"\\\n]|\\.)*"')


def readable(language: str) -> bool:
    """Return whether files of a language can be part of the graph."""
    uses = uses_of(language)
    return bool(uses.imports or uses.definitions)


def by_imports(language: str) -> bool:
    """Return whether the import lines of a language determine which files it uses."""
    return not uses_of(language).definitions


def users(
    sources: Mapping[str, tuple[str, str]], packages: Mapping[str, Package] = NO_PACKAGES
) -> dict[str, list[str]]:
    """Return for each file the sorted files that use it. `sources` maps paths to language and text,
    `packages` names of workspace packages to their places. An import from a file that only
    re-exports a name also counts as a use of the file that defines the name."""
    modules = Modules(sources, packages)
    names = _Names(sources)
    users_of: dict[str, list[str]] = {}
    for path in sorted(sources):
        language, text = sources[path]
        used = {*modules.used(path, language, text), *names.used(path, language, text)} - {path}
        for target in used:
            users_of.setdefault(target, []).append(path)
    return users_of


def weights(users_of: Mapping[str, Sequence[str]], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the weight of each file: its users, half of the files that it uses, and the root of
    its size. A file with many users may hold only constants; a file that ties the parts together
    has few users; a file that only lists others has none."""
    uses = Counter(path for users in users_of.values() for path in users)
    tied: dict[str, int] = {}
    for path in sorted({*users_of, *uses}):
        twice = 2 * len(users_of.get(path, ()))
        tied[path] = twice + min(uses[path], twice + MOST_UNUSED)
    weighed = {path: ties * isqrt(sizes.get(path, 0)) for path, ties in tied.items()}
    for header in [path for path in weighed if path.endswith(_HEADERS)]:
        stem = header.rsplit(".", 1)[0]
        for source in [f"{stem}{end}" for end in _SOURCES if f"{stem}{end}" in weighed]:
            weighed[source] = max(weighed[source], weighed[header])
            weighed[header] //= 2  # it declares what the source defines
    return weighed


class _Names:
    """Definers of each name, and so the files that a text uses."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        self._definers: dict[str, dict[str, list[str]]] = {}
        for path, (language, text) in sources.items():
            kin, pattern = family(language), uses_of(language).definitions
            if not pattern or _REOPENS.search(path):
                continue
            table = self._definers.setdefault(kin, {})
            names = set(compiled(pattern).findall(_bare(kin, text)))
            if kin == "shell":  # a script is called by its name
                names.add(basename(path))
            for name in names:
                table.setdefault(name, []).append(path)

    def used(self, path: str, language: str, text: str) -> Iterator[str]:
        kin = family(language)
        table = self._definers.get(kin)
        if not table:
            return
        bare = _bare(kin, text)
        words = set(compiled(uses_of(language).mentions).findall(bare))
        if kin == "elixir":
            words |= _aliases(text)
        for word in words & table.keys():
            meant = _meant(word, table[word], path, kin, text)
            if len(meant) <= MAX_NAMESAKES:
                yield from meant


def _bare(kin: str, text: str) -> str:
    """Remove comments, strings and lines that name packages, in the languages where they would
    mislead."""
    if kin not in _SLASHED:
        return text
    text = _ASIDE_TEXT.sub(" ", text)
    return _NAMESPACES.sub("", text) if kin == "dotnet" else text


def _meant(word: str, definers: list[str], path: str, kin: str, text: str) -> list[str]:
    """Return the definers of a name that a mention means: neighbours, files that the text names
    with their folder, files called like the name."""
    near = [other for other in definers if dirname(other) == dirname(path)]
    if kin == "go":  # other packages are imported by their folders, their names qualified
        far = [other for other in definers if f'/{dirname(other)}"' in text and f".{word}" in text]
        far.sort(key=lambda other: -len(dirname(other)))  # `a/client` ends like `client`
        return near or (far[:1] if word[0].isupper() else [])
    if word in _LIBRARY_NAMES:
        return near
    if len(definers) == 1:
        return definers
    return _qualified(word, definers, text) or near or _namesakes(word, definers) or definers


def _qualified(word: str, definers: Iterable[str], text: str) -> list[str]:
    """Return definers whose folder stands before the name: `locale.Message`, `Resources\\Song`."""
    return [
        other
        for other in definers
        if any(f"{basename(dirname(other))}{mark}{word}" in text for mark in (".", "\\", "::"))
    ]


def _namesakes(word: str, definers: Iterable[str]) -> list[str]:
    """Return definers that are called like the name: `user_agent.rb` for `UserAgent`."""
    plain = word.lower()
    return [
        other
        for other in definers
        if basename(other).partition(".")[0].replace("_", "").lower() == plain
    ]


def _aliases(text: str) -> set[str]:
    """Return the modules of `alias App.{One, Two}`."""
    return {
        f"{base}.{name}"
        for base, names in re.findall(r"\b([A-Z][\w.]*)\.\{([^}]*)\}", text)
        for name in re.findall(r"[A-Z][\w.]*", names)
    }
