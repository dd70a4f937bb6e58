from __future__ import annotations

import pytest

from sutler.languages import LANGUAGES, language_of
from sutler.languages.extract import extract
from sutler.languages.transforms import without_comments
from tests.unit.languages.samples import SAMPLES, Sample


def test_every_grammar_has_a_sample() -> None:
    """A dialect that shares the query of another language is covered by that one's sample."""
    sampled = {sample.path for sample in SAMPLES.values()}
    queries = {
        row.grammar.symbols for path in sampled if (row := language_of(path)) and row.grammar
    }
    missing = [row.name for row in LANGUAGES if row.grammar and row.grammar.symbols not in queries]
    assert missing == [], "add them to tests/unit/languages/samples.py"


@pytest.mark.parametrize("language", SAMPLES)
def test_finds_every_definition(language: str) -> None:
    sample = SAMPLES[language]
    facts = extract(sample.path, sample.text)
    found = [
        (s.name, s.kind, facts.symbols[s.parent].name if s.parent >= 0 else "")
        for s in facts.symbols
    ]
    assert found == sample.symbols
    assert (facts.language, facts.status) == (language, "parsed")


@pytest.mark.parametrize("language", SAMPLES)
def test_finds_every_import(language: str) -> None:
    sample: Sample = SAMPLES[language]
    found = [
        target for item in extract(sample.path, sample.text).imports for target in item.targets
    ]
    assert found == sample.targets


@pytest.mark.parametrize(
    ("language", "name", "signature", "doc"),
    [
        ("python", "open", "async def open(self, hour: int = 9) -> bool", "Open it."),
        ("python", "Shop", "class Shop(Base)", "Sells things."),
        ("javascript", "add", "function add(a, b)", "Adds numbers."),
        ("go", "Server", "Server struct { Name string Port int }", "Server serves."),
        ("rust", "run", "pub async fn run<T: Read>(x: T) -> u8 where T: Send", ""),
        ("rust", "Store", "pub struct Store", "Holds things."),
        ("java", "Cart", "public class Cart<T> extends Base implements Box", "A cart."),
        ("c", "add", "static node_t *add(node_t *list, int value)", "Adds a node."),
        ("ruby", "Cart", "class Cart < Base", "A cart."),
        ("shell", "build", "build()", "Builds it."),
        ("lua", "Cart.add", "function Cart.add(self, item)", "Adds an item."),
        ("scala", "Cart", "class Cart(val size: Int) extends Base", "A cart."),
    ],
)
def test_signature_and_doc_line(language: str, name: str, signature: str, doc: str) -> None:
    sample = SAMPLES[language]
    symbol = next(s for s in extract(sample.path, sample.text).symbols if s.name == name)
    assert (symbol.signature, symbol.doc) == (signature, doc)


def test_spans_take_in_decorators_and_bodies() -> None:
    facts = extract("m.py", "x = 1\n\n@one\n@two\ndef f(\n    a,\n):\n    return a\n\n\ny = 2\n")
    symbol = next(s for s in facts.symbols if s.name == "f")
    assert (symbol.start, symbol.end, symbol.body) == (3, 8, 8)


HOSTILE = {
    "empty": ("a.py", ""),
    "broken": ("a.py", "def f(:\n  class\n)))(((\n" * 50),
    "quotes": ("a.js", '"' * 100_000),
    "deep": ("a.py", "(" * 50_000),
    "nested": ("a.ts", "{" * 40_000 + "}" * 40_000),
    "nul": ("a.go", "func A() {}\0\0\0func B() {}"),
    "surrogates": ("a.py", "def f():\n    '\udce9\ud800'\n"),
    "one line": ("a.js", "var a=1;" * 30_000),
    "huge": ("a.py", "x = 1\n" * 250_000),
    "unknown": ("a.xyz", "some words here"),
    "long word": ("a.py", "a" * 200_000),
    "bom": ("a.py", "\ufeffdef f():\n    pass\n"),
    "crlf": ("a.py", "def f():\r\n    pass\r\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_yields_facts(name: str) -> None:
    path, text = HOSTILE[name]
    facts = extract(path, text)
    assert facts.chars == len(text)
    assert all(0 < s.start <= s.end <= facts.lines for s in facts.symbols)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("quotes", "minified"),
        ("one line", "minified"),
        ("huge", "too_large"),
        ("unknown", "plain"),
        ("broken", "partial"),
        ("bom", "parsed"),
    ],
)
def test_status_says_how_a_file_was_read(name: str, status: str) -> None:
    path, text = HOSTILE[name]
    assert extract(path, text).status == status


def test_a_parse_that_stalls_is_given_up() -> None:
    """Thousands of unclosed quotes on short lines pass the size and line checks and take a grammar
    quadratic time.
    """
    facts = extract("a.js", ('"' * 250 + "\n") * 2_500)
    assert facts.status in ("timeout", "partial")
    assert facts.lines == 2_500


@pytest.mark.parametrize("micros", [1, 1_000, 20_000])
def test_a_limit_of_wall_time_changes_no_fact(micros: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a limit passes while little is computed. A query that reaches it returns
    what it has so far, as if that were all.
    """
    text = "".join(f"import m{n}\n\ndef f{n}(a):\n    return g(a)\n" for n in range(2_000))
    facts = extract("a.py", text)
    assert len(facts.symbols) == len(facts.imports) == 2_000
    monkeypatch.setattr("sutler.languages.extract.TIMEOUT_MICROS", micros)
    assert extract("a.py", text) == facts
    commented = "x = 1  # one\n" * 5_000
    assert without_comments(commented, "a.py") == "x = 1\n" * 5_000


def test_facts_survive_the_cache() -> None:
    import msgspec

    facts = extract("a.py", SAMPLES["python"].text)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=type(facts)) == facts


def test_terms_are_split_counted_and_packed() -> None:
    terms = extract("a.py", "def parseURLParts(): pass\nparseURLParts()\n").terms
    assert terms["parseurlparts"] == 2 | 1 << 8
    assert terms["part"] == 2 | 1 << 8
    assert terms["url"] == 2 | 1 << 8


def test_phrases_come_from_string_literals() -> None:
    assert extract("a.py", 'raise ValueError("cannot open the shop")').phrases == (
        "cannot open the",
        "open the shop",
    )


def test_an_attribute_is_no_documentation() -> None:
    text = "/// Adds.\n#[inline]\nfn add() {}\n\n#[test]\nfn adds() {}\n"
    docs = {symbol.name: symbol.doc for symbol in extract("lib.rs", text).symbols}
    assert docs == {"add": "Adds.", "adds": ""}
