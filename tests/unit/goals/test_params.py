"""Words after `--`, checked against what a goal declares."""

from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.goals.goal import Goal, Parameter, Script
from sutler.goals.params import explain, parse_words, validate

SCOPE = Parameter("scope", "The scope.", True, "string")
COUNT = Parameter("count", "How many.", False, "number", "3")
LOUD = Parameter("loud", "Shout.", False, "boolean")
GOAL = Goal("G", "p", parameters=(SCOPE, COUNT, LOUD))


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([], {}),
        (["--a", "1"], {"a": "1"}),
        (["--a=1"], {"a": "1"}),
        (["--a=b=c"], {"a": "b=c"}),
        (["--a="], {"a": ""}),
        (["--a"], {"a": "true"}),
        (["--a", "--b"], {"a": "true", "b": "true"}),
        (["--a", "-5"], {"a": "-5"}),
        (["--a", ""], {"a": ""}),
        (["--a", "1", "--a", "2"], {"a": "2"}),
        (["--a=--b"], {"a": "--b"}),
        (
            ["--scope", "auth", "--format", "json", "--verbose"],
            {"scope": "auth", "format": "json", "verbose": "true"},
        ),
    ],
)
def test_words(words: list[str], values: dict[str, str]) -> None:
    assert parse_words(words) == values


@pytest.mark.parametrize("words", [["x"], ["--a", "1", "2"], ["-x"]])
def test_other_words_are_refused(words: list[str]) -> None:
    with pytest.raises(
        UsageError, match=r"Invalid goal argument: '.*'\. All goal arguments must be flags"
    ):
        parse_words(words)


def test_missing_required_parameters_in_the_originals_words() -> None:
    with pytest.raises(UsageError) as caught:
        validate(GOAL, "g", {}, compat=True)
    assert caught.value.what == (
        "Goal 'g' is missing required parameters:\n\n  --scope <String>\n      The scope.\n\n"
        "Run 'claw g --explain' for more information."
    )


def test_defaults_fill_in_and_absent_stays_absent() -> None:
    assert validate(GOAL, "g", {"scope": "x"}).values == {"scope": "x", "count": "3"}


def test_without_declarations_everything_is_accepted() -> None:
    assert validate(Goal("G", "p"), "g", {"any": "thing"}).values == {"any": "thing"}


@pytest.mark.parametrize(
    ("key", "value"), [("count", "many"), ("count", ""), ("count", "0x1"), ("loud", "yes")]
)
def test_types_hold_but_not_in_compat(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"--{key} must be a"):
        validate(GOAL, "g", {"scope": "x", key: value})
    assert validate(GOAL, "g", {"scope": "x", key: value}, compat=True).values[key] == value


@pytest.mark.parametrize("value", ["1", "-1.5", "1e3", "+2", ".5"])
def test_numbers(value: str) -> None:
    assert validate(GOAL, "g", {"scope": "x", "count": value}).values["count"] == value


def test_an_unknown_parameter_is_passed_with_a_note() -> None:
    found = validate(GOAL, "g", {"scope": "x", "cuont": "1"})
    assert found.values["cuont"] == "1"
    assert found.notes == (
        "--cuont is not a declared parameter of this goal; did you mean --count?",
    )


def test_explain_names_everything() -> None:
    goal = Goal("G", "p", "Does a thing.", (SCOPE, COUNT, LOUD), (Script("diff", "git diff"),))
    text = explain(goal, "g")
    for part in (
        "G (g)",
        "Does a thing.",
        "--scope <string>",
        '(default: "3")',
        "diff: git diff",
        "sutler run g",
    ):
        assert part in text
