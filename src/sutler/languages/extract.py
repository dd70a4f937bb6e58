"""Extract Facts from the text of one file. It never raises or stalls: without a parse, the words
count.

A grammar's parse is capped in size and in CPU. `timeout_micros`, in wall time, is the one limit
that works in tree-sitter 0.25 (its progress callback does not), so that a try is repeated with a
longer one until it has used its CPU. A hostile file may still crash the C library, so callers run
`extract` in worker processes; for that reason it is a top-level function with plain values."""

from __future__ import annotations

import re
import time
from array import array
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sutler.languages import language_of
from sutler.languages import terms as words
from sutler.languages.base import Grammar, Language
from sutler.languages.facts import Facts, Import, ParseStatus, Region, Symbol, SymbolKind
from sutler.languages.regions import cut_regions
from sutler.languages.table import facts_version
from sutler.paths import extension

if TYPE_CHECKING:
    from tree_sitter import Language as TreeSitter
    from tree_sitter import Node, Query, Tree

T = TypeVar("T")

MAX_BYTES = 1_000_000
"""Limit of a parsed file; of a larger one only the words of its first `MAX_BYTES` characters
count."""
TIMEOUT_MICROS = 4_000_000  # a hostile file must not block the parser for ever
_MOST_SECONDS = 3.5  # of CPU in one try; the slowest file of 14,454 harmless ones takes 2.5
_MAX_TERMS = 4_000  # word lists would be most of the index and fit every task
_MAX_DATA_TERMS = 400  # data has words without end, and few indicate its purpose
_MAX_DATA_LINES = 300  # the head of a catalogue or a data file shows its subject
_MAX_PHRASES = 600
_MAX_SYMBOLS = 5_000  # generated bindings define more than hand-written code
_MAX_SIGNATURE = 400
_LONG_LINE = 20_000  # a line this long is generated, and slow to parse
_MAX_TARGETS = 40  # a prelude that imports everything characterises no file
# dumps and logs, beside the languages that hold data
_BULKY = frozenset({"dat", "log", "map", "sql"})
_STRING = re.compile(r"\"([^\"\n]{12,200})\"|'([^'\n]{12,200})'")
_SPACES = re.compile(r"\s+")
_DOCSTRING = re.compile(r"[rRuUbB]{0,2}(?:\"\"\"|'''|\"|')\s*([^\n\"']*(?:['\"][^\n\"']+)*)")
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*+!?|\*+/?|#+(?!\[)|--+|%)\s?(.*?)(?:\*/)?\s*$")
_CONTAINERS = frozenset({"class", "module"})
_WITH_BODY = frozenset({"class", "function", "method"})
# grammars that have no `body` field call the child so
_BODIES = ("body", "block", "field_declaration_list")
_OUTER = {"decorated_definition", "export_statement", "template_declaration"}


class Structure(Struct, frozen=True):
    """Symbols and imports that a grammar reads in a text, without the words that a ranking counts.
    `language` is the table's row, if the text is of a known language."""

    language: Language | None
    status: ParseStatus
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()


def structure_of(path: str, text: str) -> Structure:
    """Return the definitions and imports of a text."""
    language = language_of(path, text[:200])
    if len(text) > MAX_BYTES:
        return Structure(language, "too_large")
    if language is None or language.grammar is None:
        return Structure(language, "plain")
    if _is_minified(text):
        return Structure(language, "minified")
    return Structure(language, *_parse(language.grammar, text))


def extract(path: str, text: str) -> Facts:
    """Return the facts of a file's text."""
    parsed = structure_of(path, text)
    language = parsed.language
    readable = language is not None and language.grammar is not None
    head = text[:MAX_BYTES]
    lines = head.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    terms, regions = _count_terms(lines, parsed.symbols, holds_data(path, language))
    return Facts(
        version=facts_version(),
        language=language.name if language is not None and readable else "",
        status=parsed.status,
        lines=text.count("\n") + (not text.endswith("\n") and text != ""),
        chars=len(text),
        terms=terms,
        phrases=_phrases(head) if readable else (),
        symbols=parsed.symbols,
        imports=parsed.imports,
        regions=regions,
    )


def _is_minified(text: str) -> bool:
    lines = text.count("\n") + 1
    return len(text) > 5_000 and (  # a short file costs little, however its lines are
        len(text) / lines > 300 or max(map(len, text.split("\n"))) > _LONG_LINE
    )


def holds_data(path: str, language: Language | None) -> bool:
    """Return whether a file is mostly data: only the most frequent words of its head count."""
    return extension(path) in _BULKY or (
        language is not None and language.kind in ("config", "data")
    )


def _count_terms(
    lines: list[str], symbols: tuple[Symbol, ...], data: bool
) -> tuple[dict[str, int], tuple[Region, ...]]:
    """Return packed counts by field, in sorted order so that equal facts have equal bytes, and the
    regions with their terms."""
    limit, reach = _MAX_TERMS, len(lines)
    if data:
        limit, reach = _MAX_DATA_TERMS, _MAX_DATA_LINES
    regions = cut_regions(symbols, lines)
    counts: Counter[str] = Counter()
    held: list[set[str]] = []
    for region in regions:
        spelled = (
            words.words("\n".join(lines[region.start - 1 : region.end]))
            if region.start <= reach
            else []
        )
        counts.update(spelled)
        held.append(set(spelled))
    split = {word: words.split(word) for word in counts}
    body: dict[str, int] = {}
    seen = body.get
    for word, count in counts.items():
        for term in split[word]:
            body[term] = seen(term, 0) + count
    packed = _pack(body, symbols, limit)
    sums = {word: [words.checksum(term) for term in spelled] for word, spelled in split.items()}
    return packed, tuple(
        replace(region, terms=_bag(some, sums)) for region, some in zip(regions, held, strict=True)
    )


def _pack(body: dict[str, int], symbols: tuple[Symbol, ...], limit: int) -> dict[str, int]:
    if len(body) > limit:
        body = dict(sorted(body.items(), key=lambda item: (-item[1], item[0]))[:limit])
    packed = {term: min(count, 255) for term, count in body.items()}
    for shift, field in ((8, _terms_of_names(symbols)), (16, _terms_of_docs(symbols))):
        for term, count in field.items():
            packed[term] = packed.get(term, 0) + (min(count, 255) << shift)
    return dict(sorted(packed.items()))


def _bag(held: set[str], sums: dict[str, list[int]]) -> bytes:
    """Return the terms of a region as sorted check sums, from those of its words."""
    return array("I", sorted(set[int]().union(*map(sums.__getitem__, held)))).tobytes()


def _terms_of_names(symbols: tuple[Symbol, ...]) -> Counter[str]:
    return Counter(term for symbol in symbols for term in words.split(symbol.name))


def _terms_of_docs(symbols: tuple[Symbol, ...]) -> Counter[str]:
    return Counter(term for symbol in symbols if symbol.doc for term in words.terms_of(symbol.doc))


def _phrases(text: str) -> tuple[str, ...]:
    held: dict[str, None] = {}
    for double, single in _STRING.findall(text):
        literal = double or single
        if literal.count(" ") >= 2:
            for phrase in words.phrases(literal):
                held[phrase] = None
        if len(held) >= _MAX_PHRASES:
            break
    return tuple(sorted(held))


@lru_cache(maxsize=64)
def _reader_of(grammar: Grammar) -> tuple[TreeSitter, Query] | None:
    """Return the library and the symbol query of a grammar, or None if its wheel is not
    installed."""
    import importlib
    import warnings

    from tree_sitter import Language as TreeSitter
    from tree_sitter import Query

    try:
        source = importlib.import_module(grammar.package)
    except ImportError:  # wheels of some grammars are missing on some platforms
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        language = TreeSitter(getattr(source, grammar.function)())
    return language, Query(language, grammar.symbols)


def tree_of(grammar: Grammar, source: bytes) -> Tree | None:
    """Parse a text; None at the limit of time, or if the grammar's wheel is not installed."""
    from tree_sitter import Parser

    reader = _reader_of(grammar)
    if reader is None:
        return None
    language, _ = reader
    return _in_time(lambda micros: Parser(language, timeout_micros=micros).parse(source))


def _parse(
    grammar: Grammar, text: str
) -> tuple[ParseStatus, tuple[Symbol, ...], tuple[Import, ...]]:
    source = text.encode("utf-8", "replace")
    reader, tree = _reader_of(grammar), tree_of(grammar, source)
    if reader is None:
        return "failed", (), ()
    matches = _in_time(partial(_matches, reader[1], tree)) if tree is not None else None
    if tree is None or matches is None:
        return "timeout", (), ()
    definitions: dict[tuple[int, str], _Found] = {}
    imports: dict[int, Import] = {}
    for captures in matches:
        if "i" in captures:
            node = captures["i"][0]
            imports[node.start_byte] = _import(grammar, node, source)
        elif len(definitions) < _MAX_SYMBOLS:
            _collect(definitions, captures, source)
    status: ParseStatus = "partial" if tree.root_node.has_error else "parsed"
    return (
        status,
        _symbols(grammar, definitions, source),
        tuple(imports[at] for at in sorted(imports)),
    )


def _in_time(work: Callable[[int], T]) -> T | None:
    """Call `work` with a limit of wall time in microseconds, and with a longer one if it reached
    the limit with little computed: a busy machine must not change the facts of a file."""
    import warnings

    micros = TIMEOUT_MICROS
    while True:
        start = time.thread_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of `timeout_micros`
                return work(micros)
        except ValueError:  # raised at the limit
            if time.thread_time() - start >= _MOST_SECONDS:
                return None
        micros *= 4


def _matches(query: Query, tree: Tree, micros: int) -> list[dict[str, list[Node]]]:
    from tree_sitter import QueryCursor

    start = time.monotonic()
    matches = QueryCursor(query, match_limit=1_000, timeout_micros=micros).matches(tree.root_node)
    if time.monotonic() - start >= micros / 1_000_000:
        raise ValueError("at its limit a cursor returns the matches so far, and reports nothing")
    return [captures for _, captures in matches]


class _Found:
    """A definition that the query matched; of two patterns, the higher `rank` wins."""

    __slots__ = ("kind", "name", "node", "rank")

    def __init__(self, kind: str, name: str, node: Node) -> None:
        self.kind, self.name, self.node = kind, name, node
        self.rank = 0 if kind in ("constant", "field", "type") else 1


def _collect(
    definitions: dict[tuple[int, str], _Found], captures: dict[str, list[Node]], source: bytes
) -> None:
    names = captures.get("n", [])
    for label, nodes in captures.items():
        if label.startswith("d."):
            for name_node in names:
                name = _decode(source[name_node.start_byte : name_node.end_byte])[:200]
                key = (name_node.start_byte, name)
                candidate = _Found(label[2:], name, nodes[0])
                if key not in definitions or definitions[key].rank < candidate.rank:
                    definitions[key] = candidate


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def targets_of(grammar: Grammar, text: str) -> tuple[str, ...]:
    """Return the modules or files that one import statement names."""
    return tuple(target for target in grammar.imports(text)[:_MAX_TARGETS] if target)


def _import(grammar: Grammar, node: Node, source: bytes) -> Import:
    text = _SPACES.sub(" ", _decode(source[node.start_byte : node.end_byte])).strip()[:2_000]
    return Import(text=text, line=node.start_point.row + 1, targets=targets_of(grammar, text))


def _symbols(
    grammar: Grammar, definitions: dict[tuple[int, str], _Found], source: bytes
) -> tuple[Symbol, ...]:
    """Return symbols by position, each with the index of the symbol around it."""
    ordered = sorted(
        definitions.items(),
        key=lambda item: (item[1].node.start_byte, -item[1].node.end_byte, item[0]),
    )
    lines = source.split(b"\n")
    symbols: list[Symbol] = []
    # (end byte, index, kind) of the symbols around the current one
    open_: list[tuple[int, int, str]] = []
    for _, item in ordered:
        node = item.node
        while open_ and open_[-1][0] <= node.start_byte:
            open_.pop()
        _, number, around = open_[-1] if open_ else (0, -1, "")
        if item.kind in ("constant", "field") and around and around not in _CONTAINERS:
            continue  # a local of a function
        kind = "method" if (item.kind, around) == ("function", "class") else item.kind
        symbols.append(_symbol(grammar, item, kind, number, source, lines))
        if item.rank:
            open_.append((node.end_byte, len(symbols) - 1, kind))
    return tuple(symbols)


def _symbol(
    grammar: Grammar, item: _Found, kind: str, parent: int, source: bytes, lines: list[bytes]
) -> Symbol:
    node = item.node
    body = node.child_by_field_name("body")
    if body is None and kind in _WITH_BODY:
        body = next(
            (child for child in reversed(node.named_children) if child.type.endswith(_BODIES)), None
        )
    outer = node.parent
    start = (outer if outer is not None and outer.type in _OUTER else node).start_point.row
    end_point = node.end_point
    end = max(node.start_point.row, end_point.row - (end_point.column == 0))
    stop = body.start_byte if body is not None else node.end_byte
    signature = _signature(
        _decode(source[node.start_byte : min(stop, node.start_byte + 4 * _MAX_SIGNATURE)]), kind
    )
    if grammar.docstrings:
        doc = _docstring(source, body.start_byte) if body is not None else ""
    else:
        doc = _doc_above(lines, start)
    body_row = end + 1 if body is None else max(node.start_point.row + 1, body.start_point.row)
    symbol_kind: SymbolKind = kind  # type: ignore[assignment]  # the queries name no other
    return Symbol(
        item.name,
        symbol_kind,
        signature,
        doc,
        start + 1,
        end + 1,
        min(body_row, end + 1) + 1,
        parent,
    )


def _signature(text: str, kind: str) -> str:
    if kind in ("constant", "field", "macro"):
        text = text.split("\n", 1)[0][:160]
    return _SPACES.sub(" ", text).strip().rstrip("{:= ").strip()[:_MAX_SIGNATURE]


def _docstring(source: bytes, at: int) -> str:
    match = _DOCSTRING.match(_decode(source[at : at + 400]))
    return match.group(1).strip()[:200] if match else ""


def _doc_above(lines: list[bytes], row: int) -> str:
    """Return the first line of the comment block that ends just above `row`."""
    first = ""
    for raw in reversed(lines[max(0, row - 40) : row]):
        match = _COMMENT.match(_decode(raw[:400]))
        if match is None:
            if raw.lstrip().startswith(
                (b"@", b"#[", b"[")
            ):  # attributes and annotations sit in between
                continue
            break
        first = match.group(1).strip() or first
        if raw.lstrip().startswith(b"/*"):
            break
    return first[:200]
