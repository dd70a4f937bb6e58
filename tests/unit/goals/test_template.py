"""Templates: limits, errors and what a template can reach."""

from __future__ import annotations

import pytest

from sutler.goals import template
from sutler.goals.template import TemplateError, environment_read, referenced, render


def fails(text: str, files: dict[str, str] | None = None) -> str:
    with pytest.raises(TemplateError) as caught:
        render(text, {"Args": {"a": "1"}}, files=files)
    return str(caught.value)


def test_an_undefined_variable_in_teras_words() -> None:
    assert "Variable `Args.nope` not found in context while rendering 'prompt'" in fails(
        "{{ Args.nope }}"
    )


def test_a_syntax_error_names_line_and_column() -> None:
    assert "template 'prompt': line 3, column 4: expected" in fails("a\nb\n{{ + }}")


def test_an_error_in_an_include_names_the_file() -> None:
    assert "template 'x.md': line 2" in fails("{% include 'x.md' %}", {"x.md": "ok\n{{"})


def test_an_error_names_the_template_by_the_callers_name() -> None:
    with pytest.raises(
        TemplateError, match=r"template 'diff': Variable `x` .* while rendering 'diff'"
    ):
        render("{{ x }}", {}, name="diff")


def test_no_error_holds_a_path_of_the_machine(tmp_path: object) -> None:
    assert "/" not in fails("{{ nope }}") + fails("{{") + fails("{% include 'gone' %}")


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
    assert "nested too deep" in message
    assert "includes itself" in message


def test_extends_cycles() -> None:
    message = fails("{% extends 'a' %}", {"a": "{% extends 'b' %}", "b": "{% extends 'a' %}"})
    # Tera walks its templates in random order, and from some of them it overflows the stack.
    assert "Circular" in message or "nested too deep" in message


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{% for i in range(end=99999999999) %}{% endfor %}", "memory limit"),
        (
            "{% set_global s='x' %}{% for i in range(end=60) %}{% set_global s = s ~ s %}{% endfor %}",
            "memory limit",
        ),
        ("{{ range(end=1, step_by=0) }}", "memory limit"),
        (
            "{% for i in range(end=9) %}{% set_global s = i %}" * 50_000 + "{% endfor %}" * 50_000,
            "depth limit",
        ),
        ("{{ " + "(" * 300_000 + "1" + ")" * 300_000 + " }}", "depth limit"),
    ],
    ids=["range", "doubling", "no step", "nested loops", "parentheses"],
)
def test_hostile_templates_end(text: str, rule: str) -> None:
    assert rule in fails(text)


def test_an_endless_template_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "WALL_SECONDS", 0.5)
    endless = "{% for i in range(end=99999) %}" * 3 + "{% endfor %}" * 3
    assert "time limit" in fails(endless)


def test_a_large_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "OUT_BYTES", 1 << 20)
    assert "size limit" in fails("{% for i in range(end=999999) %}{{ i }}{% endfor %}")


def test_a_panic_of_tera_is_an_error() -> None:
    assert "stopped Tera: cannot sample empty range" in fails("{{ get_random(start=5, end=5) }}")


@pytest.mark.parametrize(
    "text", ["{{ ''.__class__ }}", "{{ Args.__class__ }}", "{{ Args['__init__'] }}", "{{ self }}"]
)
def test_no_way_to_python(text: str) -> None:
    fails(text)


@pytest.mark.parametrize("name", ["/etc/passwd", "../../../../etc/passwd", "./prompt"])
def test_no_way_to_files(name: str) -> None:
    assert "not found" in fails("{% include '" + name + "' %}")


def test_the_environment_comes_from_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "hunter2")
    assert "not found" in fails("{{ get_env(name='MY_SECRET') }}")
    assert render("{{ get_env(name='K') }}", {}, environ={"K": "v"}) == "v"


@pytest.mark.parametrize(
    ("text", "variable"),
    [("{{ a }}", None), ("{{ get_env(name='K') }}", "K"), ("{{ get_env ( name = Args.a ) }}", "")],
)
def test_a_read_of_the_environment_is_seen_before_it_happens(
    text: str, variable: str | None
) -> None:
    assert environment_read(text) == variable


def test_only_referenced_files_are_loaded() -> None:
    beside = {"a": "{%- import 'b' as b -%}", "b": "", "c": "{{ bad", 'd"': "", "prompt": ""}
    assert referenced("{% include ['x', \"a\"] ignore missing %} 'c'", beside.get) == {
        "a": beside["a"],
        "b": "",
    }


def test_a_folder_may_have_the_prompts_name() -> None:
    assert render("{% include 'prompt/x.md' %}", {}, files={"prompt/x.md": "inner"}) == "inner"


def test_objects_iterate_in_sorted_order() -> None:
    assert (
        render("{% for k, v in o %}{{ k }}{% endfor %}", {"o": {"b": 1, "a": 2, "C": 3}}) == "Cab"
    )


def test_a_lone_percent_or_brace_is_text() -> None:
    assert render("100% { } }} %} #}", {}) == "100% { } }} %} #}"
