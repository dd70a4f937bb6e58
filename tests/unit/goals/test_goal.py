"""prompt.yaml: raw texts, and errors that name the line."""

from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.goals.goal import Parameter, Script, parse_goal

WHOLE = b"""\
name: "Review"
description: reviews
parameters:
  - name: scope
    description: what
    required: true
    type: string
  - {name: n, description: d, required: False, type: number, default: 1.10}
context_scripts:
  zeta: echo z
  alpha: |
    echo a
    echo b
prompt: |
  Hi {{ Args.scope }}
"""


def test_whole_goal() -> None:
    goal = parse_goal(WHOLE, "p")
    assert (goal.name, goal.description, goal.prompt) == (
        "Review",
        "reviews",
        "Hi {{ Args.scope }}\n",
    )
    assert goal.parameters[0] == Parameter("scope", "what", True, "string")
    assert goal.scripts == (Script("zeta", "echo z"), Script("alpha", "echo a\necho b\n"))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("false", "false"),
        ("1.10", "1.10"),
        ("0x1F", "0x1F"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("'~'", "~"),
        ('""', ""),
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("nil", "nil"),
        ("1_000", "1_000"),
        ('" 1 "', " 1 "),
        ("[a]", "error"),
    ],
)
def test_defaults_keep_their_text(written: str, kept: str | None) -> None:
    text = (
        "name: n\nprompt: p\nparameters:\n"
        f"  - name: a\n    description: d\n    required: false\n    default: {written}\n"
    )
    if kept == "error":
        with pytest.raises(UsageError, match="p:7: 'default' must be a text"):
            parse_goal(text.encode(), "p")
    else:
        assert parse_goal(text.encode(), "p").parameters[0].default == kept


@pytest.mark.parametrize("word", ["true", "True", "TRUE"])
def test_booleans(word: str) -> None:
    text = f"name: n\nprompt: p\nparameters: [{{name: a, description: d, required: {word}}}]\n"
    assert parse_goal(text.encode(), "p").parameters[0].required


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p: the file is empty"),
        ("name: [", "p:1: malformed YAML"),
        ("name: a\n\tprompt: b", "p:2: malformed YAML"),
        ("- a\n- b\n", "p:1: not a mapping"),
        ("name: a\n", "p:1: 'prompt' is missing"),
        ("prompt: a\n", "p:1: 'name' is missing"),
        ("name: a\nname: b\nprompt: c\n", "p:2: 'name' is given twice"),
        ("name: {a: b}\nprompt: b\n", "p:1: 'name' must be a text, not a mapping"),
        ("name: a\nprompt: b\nparameters: x\n", "p:3: 'parameters' must be a list"),
        ("name: a\nprompt: b\nparameters:\n  - name: x\n", "p:4: 'description' is missing"),
        ("name: a\nprompt: b\nparameters: [{name: x, description: y, required: yes}]\n", "must be true or false"),
        ("name: a\nprompt: b\nparameters: [{name: x, description: y, required: 'true'}]\n", "must be true or false"),
        ("name: a\nprompt: b\nparameters: [{name: x, description: y, required: true, type: i}]\n", "not a parameter"),
        ("name: a\nprompt: b\ncontext_scripts: [a]\n", "p:3: 'context_scripts' must be a mapping"),
        ("name: a\nprompt: b\ncontext_scripts:\n  x: [1]\n", "p:4: 'x' must be a text"),
        ("name: a\n---\nname: b\n", "malformed YAML"),
        ("name: *x\nprompt: p\n", "p:1: malformed YAML"),
        ("name: \x00", "malformed YAML"),
        ("[" * 1500, "malformed YAML"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_goal(text.encode(), "p")
    assert message in str(caught.value)


def test_unknown_keys_suggest_and_compat_ignores() -> None:
    text = b"name: a\nprompt: b\ncontext_script: {}\n"
    assert "did you mean 'context_scripts'" in parse_goal(text, "p").warnings[0]
    assert parse_goal(text, "p", compat=True).name == "a"


def test_not_utf8() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        parse_goal(b"name: \xff\n", "p")


def test_escaped_pairs_become_one_character() -> None:
    assert parse_goal(b'name: "\\ud83d\\ude00"\nprompt: p\n', "p").name == "\U0001f600"
    with pytest.raises(UsageError, match="p:1: 'name' holds half a character"):
        parse_goal(b'name: "\\ud83d"\nprompt: p\n', "p")


def test_byte_order_mark_is_no_part_of_a_key() -> None:
    assert parse_goal(b"\xef\xbb\xbfname: a\nprompt: b\n", "p").name == "a"


def test_a_parameter_declared_twice() -> None:
    row = "{name: a, description: d, required: false}"
    with pytest.raises(UsageError, match="declared twice"):
        parse_goal(f"name: a\nprompt: b\nparameters: [{row}, {row}]\n".encode(), "p")


def test_an_unknown_key_is_a_warning() -> None:
    """Keys of a goal and of a parameter: each is named with its line, and the goal works."""
    text = b"name: a\nprompt: b\nprompts: c\nparameters:\n  - {name: x, description: y, required: true, kind: z}\n"
    assert parse_goal(text, "p").warnings == (
        "p:3: unknown key 'prompts' (did you mean 'prompt'?)",
        "p:5: unknown key 'kind' (known keys: name, description, required, type, default)",
    )
    assert parse_goal(text, "p", compat=True).warnings == ()
