"""The type of a language: one frozen value with every part that the program needs.

Every part is required, so that a language that lacks one fails to type-check, and fails to import
with the name of the part. Parts that a language does not have are stated (`grammar=None`,
`tests=NO_TESTS`). Rules that several languages share follow: names of tests, imports, exports, and
a language without a grammar as one row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from msgspec import Struct, StructMeta

from sutler.languages.facts import Symbol, SymbolKind

Kind = Literal["program", "schema", "style", "config", "doc", "data"]
"""`schema` describes data or queries (SQL, protobuf); `style` holds neither logic nor data (CSS).
"""

ImportRule = Callable[[str], list[str]]
"""Maps the text of one import statement to the modules or files that it names, the module itself
first."""

ExportRule = Callable[[Sequence[Symbol], Sequence[str]], list[str]]
"""Maps the symbols and lines of a file to the names that it exports, in file order."""


def words(text: str) -> tuple[str, ...]:
    """Split a list of names that is written as words."""
    return tuple(text.split())


class Comments(Struct, frozen=True, gc=False):
    """Markers of comments: those that run to the end of the line, and pairs around a block."""

    line: tuple[str, ...]
    block: tuple[tuple[str, str], ...] = ()


class Grammar(Struct, frozen=True):
    """How tree-sitter reads a language. `symbols` is the query: `@d.<kind>` marks a definition,
    `@n` its name and `@i` an import; `package` is imported only when a file is parsed."""

    package: str
    symbols: str
    imports: ImportRule
    exports: ExportRule
    function: str = "language"  # the function of the package that yields the grammar
    docstrings: bool = False  # documentation is inside the body, not in a comment above
    folder_modules: bool = False  # an import names a folder, and means every file in it


class Shapes(Struct, frozen=True, kw_only=True):
    """Fallback without a grammar: a definition is a line that matches, with groups `kind` and
    `name`. The depth of a line is its indentation, the length of `kind` (headings), or 0 (flat)."""

    definition: str
    depth: Literal["indent", "heading", "flat"]
    imports: tuple[str, ...] = ()


class Tests(Struct, frozen=True, kw_only=True):
    """Names and marks of test files. `stem` matches the whole name without its last suffix.
    `frameworks` are (pattern, name) pairs, the most specific first; an empty pattern stands for the
    runner that comes with the language."""

    stem: str
    test_folder: bool = True  # a folder called `test` holds tests at any depth
    spec_folder: bool = False  # as does one called `spec`
    inline: bool = False  # tests are beside the code in the same file
    frameworks: tuple[tuple[str, str], ...] = ()


class Entries(Struct, frozen=True, kw_only=True):
    """Entry points of programs. `names` are files that are entry points by name (besides `main`,
    `index`, `app` and `server`), `libraries` those that open a library. A route pattern has the
    groups verb and path, a command pattern one group."""

    names: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    script: str = ""  # a file that matches runs as a program
    script_only: bool = False  # and no other file does
    main: str = ""  # a text that matches starts a program, outside of comments
    compiled: bool = False  # an entry point is a program, not a script of an interpreter


class Uses(Struct, frozen=True, kw_only=True):
    """References of a text to other files of its project, by its words without a grammar. Patterns:
    `imports` matches an import and captures the module; `definitions` captures names that other
    files mention without an import, `mentions` the words that may be such names."""

    family: str = ""  # languages that use each other's files; the language itself if empty
    imports: str = ""
    definitions: str = ""
    mentions: str = r"\b[A-Z]\w{2,}"
    beside: bool = False  # an import without a leading dot may name a file in the same folder
    dotted: bool = False  # the parts of a module's name are joined by `.` or `::`


class _Complete(StructMeta):
    """Metaclass that reports every missing part together with the language: msgspec names the first
    part only."""

    def __call__(cls, **parts: Any) -> Any:  # noqa: N805 a metaclass
        lacking = [part for part in cls.__struct_fields__ if part not in parts]
        if lacking:
            name = parts.get("display") or parts.get("name") or "without a name"
            raise TypeError(f"language {name}: lacks {', '.join(lacking)}")
        return super().__call__(**parts)


class Language(Struct, frozen=True, kw_only=True, metaclass=_Complete):
    """One row of the table. `display` is unique; `name` is the name in documents (seed 004) and the
    info string of a Markdown fence, and kinds of file of one language may share it (a C header is
    `c`). `suffixes`, `files` and `shebangs` are lower-case; `ecosystems` are the project types that
    count files of this language."""

    display: str
    name: str
    kind: Kind
    suffixes: tuple[str, ...]
    files: tuple[str, ...]
    shebangs: tuple[str, ...]
    comments: Comments
    grammar: Grammar | None
    shapes: Shapes | None
    tests: Tests
    entries: Entries
    uses: Uses
    manifests: tuple[str, ...]
    ecosystems: tuple[str, ...]

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise TypeError(f"language {self.display or self.name}: {problem}")

    @property
    def programming(self) -> bool:
        """Whether a file can hold an entry point, a route or a model."""
        return self.kind in ("program", "schema")


def _problems(language: Language) -> list[str]:
    problems: list[str] = []
    if not language.display or not language.name:
        problems.append("display and name must not be empty")
    names = (*language.suffixes, *language.files, *language.shebangs, *language.manifests)
    problems += [
        f"{name!r} must be lower-case, a suffix without its dot"
        for name in names
        if name != name.lower()
    ]
    problems += [
        f"suffix {suffix!r} must not hold a dot" for suffix in language.suffixes if "." in suffix
    ]
    if language.grammar is not None:
        problems += _query_problems(language.grammar.symbols)
    elif language.shapes is None and language.kind == "program":
        problems.append("a programming language needs a grammar, or shapes where there is none")
    return problems


def _query_problems(query: str) -> list[str]:
    kinds = set(re.findall(r"@d\.(\w+)", query))
    unknown = sorted(kinds - set(get_args(SymbolKind)))
    faults = [f"the query marks @d.{kind}, which is no kind of symbol" for kind in unknown]
    if not kinds or "@n" not in query:
        faults.append("the query must mark definitions (@d.<kind>) and their names (@n)")
    return faults


AFFIX = r"(?i:tests?(?:[._-].*)?|.*[._-](?:tests?|unittest|cy|suite))"
"""`test_cart`, `tests`, `cart_test`, `cart.test`, `cart-unittest`."""
SPEC = r"(?i:.*[._-]spec)|.*[A-Za-z0-9](?:Specs?|Suite)"
CAMEL = r".*[A-Za-z0-9](?:Tests?|TestCase|Cest)"
PREFIX = r"Test[A-Z0-9].*"
"""`TestCart`, and not `Testament`."""


BY_AFFIX = Tests(stem=f"{AFFIX}|{CAMEL}")
BY_SPEC = Tests(stem=f"{AFFIX}|{SPEC}|{CAMEL}", spec_folder=True)
NO_TESTS = Tests(stem="")
"""Files of this kind are tests only below a folder of tests."""


# Strings, compiled by `re` on first use: a plain pack reads no import and should not pay for them.
_QUOTED = r"""["'`]([^"'`\n]{1,200})["'`]"""
_INCLUDE = r"""[<"]([^>"\n]{1,200})[>"]"""
_DOTTED = r"[A-Za-z_][\w.]*"
_BRACED = r"([\w:\\]*?)(?:::|\\)?\{([^{}]*)\}"
_USE = r"^\s*(pub(\([^)]*\))?\s+)?(use|extern\s+crate)\s+(function\s+|const\s+)?"
_ALIAS = r"\s+as\s+\w+$"
_WORDS = frozenset(
    ["import", "static", "using", "global", "as", "open", "class", "struct", "func", "testable"]
)


def quoted(text: str) -> list[str]:
    """Return the targets of `import x from "y"` and `require("y")`."""
    return re.findall(_QUOTED, text)


def included(text: str) -> list[str]:
    """Return the targets of `#include <y>` and `#include "y"`."""
    return re.findall(_INCLUDE, text)


def dotted(text: str) -> list[str]:
    """Return the targets of `import static a.b.C` and `using X = a.b`."""
    names = [word for word in re.findall(_DOTTED, text) if word not in _WORDS]
    if names and "=" in text:
        return [names[-1].rstrip(".")]
    return [word.rstrip(".") for word in names[:1]]


def nested(text: str) -> list[str]:
    """Return the targets of `use a::b::{c, d as e};`: a::b, a::b::c and a::b::d."""
    body = re.sub(_USE, "", text).rstrip(";")
    match = re.search(_BRACED, body)
    if match is None:
        return [re.sub(_ALIAS, "", part.strip()) for part in body.split(",")]
    base, names = match.groups()
    separator = "\\" if "\\" in body else "::"
    inner = [name.split(" as ")[0].strip() for name in names.split(",") if name.strip()]
    return [base, *(f"{base}{separator}{name}" for name in inner)]


_HIDDEN = r"\b(?:private|protected|internal|fileprivate)\b"
_TYPES = ("class", "type")


def offered(public: Callable[[Symbol], bool]) -> ExportRule:
    """Return an export rule that checks each symbol's own declaration."""

    def exports(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[str]:
        return [symbol.name for symbol in symbols if public(symbol)]

    return exports


def top(symbol: Symbol) -> bool:
    """Return whether a symbol is a function or type outside of others."""
    return symbol.parent < 0 and symbol.kind in ("class", "type", "function", "method")


def visible_type(symbol: Symbol) -> bool:
    """Return whether a symbol is a type without a hiding modifier before its name."""
    return symbol.kind in _TYPES and not re.search(
        _HIDDEN, symbol.signature.partition(symbol.name)[0]
    )


def visible_top(symbol: Symbol) -> bool:
    """Return whether a symbol is a visible type, or a visible function outside of types."""
    hidden = re.search(_HIDDEN, symbol.signature.partition(symbol.name)[0])
    return visible_type(symbol) or (top(symbol) and not hidden)


def marked(*words: str) -> Callable[[Symbol], bool]:
    """Return a test for declarations that one of these modifiers makes public."""
    pattern = rf"\b(?:{'|'.join(words)})\s"

    def public(symbol: Symbol) -> bool:
        return symbol.kind != "field" and bool(
            re.search(pattern, symbol.signature.partition(symbol.name)[0])
        )

    return public


NOTEBOOK_ENDS = (".ipynb",)
TABLE_ENDS = (".csv", ".tsv")
JSON_LINES_ENDS = (".jsonl", ".ndjson")
CONDENSED_ENDS = NOTEBOOK_ENDS + TABLE_ENDS + JSON_LINES_ENDS
"""Files that a pack shows in a short form, so that the size rule does not apply."""
CONDENSED_BYTES = 16_000_000
"""Size limit of these files, which are read and redacted whole."""

NO_USES = Uses()
"""For files whose uses by others do not show in words."""
C_USES = Uses(
    family="c",
    imports=r"(?m)^[ \t]*#[ \t]*(?:include|import)[ \t]*[<\"]([^>\"\n]+)",
    definitions=(
        r"(?m)^(?!static|typedef|return|else)(?:[A-Za-z_][\w \t*]*[ \t*])?([a-z_]\w{3,})"
        r"[ \t]*\([^;{}()]*\)\s*\{"
    ),
    mentions=r"\b[a-z_]\w{3,}(?=[ \t]*\()",
)
DOTNET_USES = Uses(
    family="dotnet",
    definitions=(r"\b(?:class|interface|enum|record|struct|delegate\s+\w+|module)\s+([A-Z]\w+)"),
)
JAVASCRIPT_USES = Uses(
    family="js", imports=r"(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*[\"'`]([^\"'`\n]+)[\"'`]"
)
JVM_USES = Uses(
    family="jvm",
    definitions=(
        r"\b(?:class|interface|enum|record|object|trait|@interface|typealias)\s+([A-Z]\w+)"
    ),
)

SLASHES = Comments(("//",), (("/*", "*/"),))
HASH = Comments(("#",))
DASHES = Comments(("--",))
SEMICOLON = Comments((";",))
PERCENT = Comments(("%",))
MARKUP = Comments((), (("<!--", "-->"),))
NONE = Comments(())


def row(
    kind: Kind,
    name: str,
    suffixes: str,
    comments: Comments,
    *,
    shapes: Shapes | None = None,
    files: str = "",
    shebangs: str = "",
    manifests: str = "",
    ecosystems: str = "",
    tests: Tests | None = None,
    entries: Entries | None = None,
    uses: Uses | None = None,
) -> Language:
    """Build a language without a grammar; lists of names are written as words."""
    return Language(
        display=name.capitalize(),
        name=name,
        kind=kind,
        suffixes=words(suffixes),
        files=words(files),
        shebangs=words(shebangs),
        comments=comments,
        grammar=None,
        shapes=shapes,
        tests=tests or (BY_AFFIX if kind in ("program", "schema") else NO_TESTS),
        entries=entries or Entries(),
        uses=uses or NO_USES,
        manifests=words(manifests),
        ecosystems=words(ecosystems),
    )
