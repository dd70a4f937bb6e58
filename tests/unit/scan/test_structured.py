"""Documents nobody vouches for: each cap, each malformed shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sutler.scan import structured as documents
from sutler.scan.structured import DocumentError, parse_json, parse_toml, parse_xml, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("version: 1.10", {"version": "1.10"}),
        ("id: 007", {"id": "007"}),
        ('id: "1"', {"id": "1"}),
        ("on: yes", {"on": "yes"}),
        ("a: true\nb: ~\nc:\nd: False", {"a": True, "b": None, "c": None, "d": False}),
        ("- a\n- [b, {c: d}]", ["a", ["b", {"c": "d"}]]),
        ("base: &x [1, 2]\nuse: *x", {"base": [1, 2], "use": [1, 2]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("", None),
        ("a: 1\n---\nb: 2", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 1\na: 2", {"a": 1}),
        ("a: !!python/object:os.system x", {"a": "x"}),
        ("1: x\nnull: y", {"1": "x", "": "y"}),
    ],
)
def test_yaml(text: str, value: Any) -> None:
    assert parse_yaml(text) == value


YAML_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (parse_yaml, YAML_BOMB, "more than 100,000 nodes"),
        (parse_yaml, "a: &a [*a]", "has no anchor"),
        (parse_yaml, "a: *nowhere", "anchor"),
        (parse_yaml, "[" * 1000, "deeper than 64"),
        (parse_yaml, "a: [", "not YAML"),
        (parse_yaml, "? [a]\n: b", "not a plain word"),
        (parse_yaml, "a" * (documents.MAX_YAML_CHARS + 1), "exceed the limit"),
        (parse_json, "[" * 5000 + "]" * 5000, "deeper than 64"),
        (parse_json, '{"a": NaN}', "not JSON"),
        (parse_json, "{", "not JSON"),
        (parse_json, '"' + "x" * documents.MAX_CHARS, "exceed the limit"),
        (parse_toml, "a = ", "not TOML"),
        (parse_toml, "a = " + "[" * 3000 + "]" * 3000, "not TOML"),
        (parse_xml, '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "entities"),
        (parse_xml, "<x>", "not XML"),
        (parse_xml, "<x>&undefined;</x>", "not XML"),
    ],
)
def test_refusals(parse: Callable[[str], Any], text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        parse(text)


def test_braces_in_strings_are_not_depth() -> None:
    assert parse_json('{"a": "' + "[" * 500 + '"}') == {"a": "[" * 500}


def test_xml_with_a_declared_encoding_is_read_as_the_text_it_is() -> None:
    assert parse_xml('<?xml version="1.0" encoding="UTF-16"?>\n<a><b/></a>').tag == "a"


def test_loose_values_are_made_plain() -> None:
    assert documents.mapping([1]) == {}
    assert documents.texts("a") == ["a"]
    assert documents.texts(["a", 1, None]) == ["a"]
    assert documents.texts(7) == []
    assert documents.string(None) == ""
