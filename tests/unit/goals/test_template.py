"""Templates: what a goal's author meets beyond the differential."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sutler.goals.template import TemplateError, World, check, render


def fails(text: str, load: dict[str, str] | None = None) -> str:
    with pytest.raises(TemplateError) as caught:
        render(text, {"Args": {"a": "1"}}, load=(load or {}).get)
    return str(caught.value)


def test_an_undefined_variable_in_teras_words() -> None:
    assert "Variable `Args.nope` not found in context while rendering 'prompt'" in fails("{{ Args.nope }}")


def test_a_syntax_error_names_line_and_column() -> None:
    assert "template 'prompt': line 3, column 4" in fails("a\nb\n{{ + }}")


def test_an_error_in_an_include_names_the_file() -> None:
    assert "template 'x.md': line 2" in fails("{% include 'x.md' %}", {"x.md": "ok\n{{"})


@pytest.mark.parametrize(
    "files",
    [
        {"a": "{% include 'a' %}"},
        {"a": "{% include 'b' %}", "b": "{% include 'a' %}"},
        {"a": "{% macro m() %}{{ self::m() }}{% endmacro %}{{ self::m() }}"},
    ],
    ids=["itself", "each other", "macro"],
)
def test_cycles_end_in_an_error(files: dict[str, str]) -> None:
    message = fails("{% include 'a' %}", files)
    assert "nested deeper than" in message
    assert "includes itself" in message


def test_extends_cycles() -> None:
    assert "extends itself" in fails("{% extends 'a' %}", {"a": "{% extends 'b' %}", "b": "{% extends 'a' %}"})


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(end=99999999) %}{% endfor %}",
        "{% for i in range(end=1000000) %}{% for j in range(end=1000000) %}x{% endfor %}{% endfor %}",
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
        "{{ " + "a(x=" * 3000 + "1" + ")" * 3000 + " }}",
        "{{ range(end=1, step_by=0) }}",
    ],
    ids=["range", "nested loops", "parentheses", "ifs", "calls", "no step"],
)
def test_hostile_templates_end(text: str) -> None:
    assert fails(text)


def test_nested_calls_parse_in_linear_time() -> None:
    deep = "{{ " + "'x' | default(value=" * 12 + "'y'" + ")" * 12 + " }}"
    assert render(deep, {}) == "x"


@pytest.mark.parametrize("text", ["{{ ''.__class__ }}", "{{ Args.__class__ }}", "{{ Args['__init__'] }}", "{{ self }}"])
def test_no_way_to_python(text: str) -> None:
    fails(text)


def test_the_world_comes_from_outside() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    world = World(env={"K": "v"}.get, now=lambda: moment, pick=lambda low, high: high)
    text = "{{ get_env(name='K') }} {{ now(utc=true) }} {{ now(timestamp=true) }} {{ get_random(end=5) }}"
    assert render(text, {}, world=world) == "v 2026-01-02T03:04:05+00:00 1767323045 4"


def test_objects_iterate_in_sorted_order() -> None:
    assert render("{% for k, v in o %}{{ k }}{% endfor %}", {"o": {"b": 1, "a": 2, "C": 3}}) == "Cab"


def test_check_only_parses() -> None:
    check("{{ nope.nope }}", "x")
    with pytest.raises(TemplateError):
        check("{{", "x")


def test_a_lone_percent_or_brace_is_text() -> None:
    assert render("100% { } }} %} #}", {}) == "100% { } }} %} #}"
