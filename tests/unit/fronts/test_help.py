"""Help, examples and what an unknown option is answered with."""

from __future__ import annotations

import re
import shlex

import pytest

from sutler.errors import UsageError
from sutler.fronts.cli.command_table import BY_NAME
from sutler.fronts.cli.examples import EXAMPLES
from sutler.fronts.cli.main import usage
from sutler.fronts.cli.options import load
from sutler.fronts.cli.peers import PEERS


@pytest.mark.parametrize("name", BY_NAME)
def test_help_begins_with_a_sentence_and_two_examples(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert name in EXAMPLES, "add two examples to sutler/fronts/cli/examples.py"
    monkeypatch.setenv("COLUMNS", "80")
    text = load(BY_NAME[name])[0].format_help()
    sentence, examples, usage, *_ = text.split("\n\n")
    assert sentence.endswith(".")
    assert examples.splitlines() == ["examples:", *(f"  {line}" for line in EXAMPLES[name])]
    assert usage.startswith(f"usage: sutler {name} ")
    assert max(map(len, text.splitlines())) <= 80


def test_the_help_of_sutler_has_a_sentence_and_two_examples_too() -> None:
    sentence, examples, *_ = usage().split("\n\n")
    assert sentence.startswith("sutler: ")
    title, *lines = examples.splitlines()
    assert title == "examples:"
    for line in lines:
        name, *words = shlex.split(line)[1:]
        load(BY_NAME[name])[0].read(words)
    assert len(lines) == 2
    assert max(map(len, usage().splitlines())) <= 80


@pytest.mark.parametrize("name", BY_NAME)
def test_every_example_is_understood(name: str) -> None:
    """Each example is a command line that the command's own parser takes."""
    for line in EXAMPLES[name]:
        [own] = re.findall(rf"sutler {name}(?: .*)?$", line)
        words = shlex.split(own.partition(" < ")[0])[2:]
        load(BY_NAME[name])[0].read(words)


def test_the_help_of_pack_is_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = load(BY_NAME["pack"])[0].format_help()
    titles = [
        line.split()[0].rstrip(":") for line in text.splitlines() if re.match(r"\w.*:$", line)
    ]
    assert titles == ["examples", "input", "choice", "budget", "output", "safety", "every"]


@pytest.mark.parametrize("spelling", PEERS)
def test_a_peers_option_is_answered_with_ours(spelling: str) -> None:
    parser = load(BY_NAME["pack"])[0]
    with pytest.raises(UsageError) as refusal:
        parser.read([spelling, "x"])
    assert PEERS[spelling] in refusal.value.next_step


def test_answers_name_options_and_commands_that_exist() -> None:
    known = {"--version"}  # answered before a command is looked for
    for command in BY_NAME.values():
        known.update(load(command)[0]._option_string_actions)
    for spelling, ours in PEERS.items():
        assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", ours)) <= known, (spelling, ours)
        assert set(re.findall(r"sutler ([a-z-]+)", ours)) <= set(BY_NAME), (spelling, ours)
        assert spelling not in load(BY_NAME["pack"])[0]._option_string_actions, spelling
    assert len(PEERS) >= 60


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--max-token", "5"], "--max-tokens"),
        (["--formt", "xml"], "--format"),
        (["--exclud=x"], "--exclude"),
        (["-f", "mardown"], "markdown"),
        (["--tier", "cheep"], "cheap"),
    ],
)
def test_a_misspelt_option_or_value_is_answered_with_the_nearest(
    words: list[str], hint: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        load(BY_NAME["pack"])[0].read(words)
    assert hint in refusal.value.next_step
