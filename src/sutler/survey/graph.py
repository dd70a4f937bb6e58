"""Which files of a project use which: a cheap graph, from the words of the texts alone.

Languages whose imports name a module are read by their import lines. In the others a file uses
another if it mentions a name that only the other defines: types of Java, C# and Swift need no
import inside a package. No grammar takes part, so a whole tree costs little; the graph is good for
an order of importance, not for a proof."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sutler.paths import dirname
from sutler.survey.module_files import NO_PACKAGES, Modules, Package, compiled, family, uses_of

MAX_NAMESAKES = 2
"""Files that may define a name so that a mention still says which is meant."""
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
"""Types of standard libraries: a mention says little about a file that defines one of the same
name, unless the two are neighbours."""
_SLASHED = frozenset({"jvm", "dotnet", "swift", "php"})
"""Families whose comments begin with slashes and whose strings stand in double quotes."""
_ASIDE_TEXT = re.compile(r'//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/|"(?:[^"\\\n]|\\.)*"')


def readable(language: str) -> bool:
    """Whether files of a language can be part of the graph."""
    uses = uses_of(language)
    return bool(uses.imports or uses.definitions)


def by_imports(language: str) -> bool:
    """Whether import lines alone say what a file of the language uses."""
    return not uses_of(language).definitions


def users(
    sources: Mapping[str, tuple[str, str]], packages: Mapping[str, Package] = NO_PACKAGES
) -> dict[str, list[str]]:
    """For each file the files that use it, sorted. `sources` maps paths to language and text,
    `packages` names of a workspace's packages to their places. An import from a file that only
    passes a name on is a use of the file that defines the name, too."""
    modules = Modules(sources, packages)
    names = _Names(sources)
    users_of: dict[str, list[str]] = {}
    for path in sorted(sources):
        language, text = sources[path]
        used = {*modules.used(path, language, text), *names.used(path, language, text)} - {path}
        for target in used:
            users_of.setdefault(target, []).append(path)
    return users_of


def centrality(
    sources: Mapping[str, tuple[str, str]], packages: Mapping[str, Package] = NO_PACKAGES
) -> dict[str, int]:
    """How many files use each; files that none uses are left out."""
    return {path: len(by) for path, by in users(sources, packages).items()}


class _Names:
    """Who defines which name, and whom a text therefore uses."""

    def __init__(self, sources: Mapping[str, tuple[str, str]]) -> None:
        self._definers: dict[str, dict[str, list[str]]] = {}
        self._words: dict[str, frozenset[str]] = {}
        for path, (language, text) in sources.items():
            kin, pattern = family(language), uses_of(language).definitions
            if not pattern:
                continue
            table = self._definers.setdefault(kin, {})
            for name in set(compiled(pattern).findall(text)):
                table.setdefault(name, []).append(path)

    def used(self, path: str, language: str, text: str) -> Iterator[str]:
        kin = family(language)
        table = self._definers.get(kin)
        if not table:
            return
        # Words of comments and strings are no types; languages with other marks lose nothing.
        bare = _ASIDE_TEXT.sub(" ", text) if kin in _SLASHED else text
        words = set(compiled(uses_of(language).mentions).findall(bare))
        if kin == "elixir":
            words |= _aliases(text)
        for word in words:
            definers = table.get(word)
            if definers is None:
                continue
            private = kin == "go" and not word[0].isupper()  # seen in its own package only
            if private or word in _LIBRARY_NAMES or len(definers) > MAX_NAMESAKES:
                definers = [other for other in definers if dirname(other) == dirname(path)]
            if len(definers) <= MAX_NAMESAKES:
                yield from definers


def _aliases(text: str) -> set[str]:
    """The modules of `alias App.{One, Two}`."""
    return {
        f"{base}.{name}"
        for base, names in re.findall(r"\b([A-Z][\w.]*)\.\{([^}]*)\}", text)
        for name in re.findall(r"[A-Z][\w.]*", names)
    }
