"""claw.yaml: every key, its default, and what a wrong value says."""

from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.goals.claw import KEYS, Claw, ClawFile, load_claw


def load(text: str) -> Claw:
    return load_claw([ClawFile("c", text.encode())])


def test_defaults_are_the_specifications() -> None:
    claw = load_claw([])
    assert (claw.llm_command, claw.prompt_arg_template, claw.receiver_type) == (
        "claude",
        "{{prompt}}",
        "Generic",
    )
    assert (claw.max_file_size_kb, claw.max_files_per_directory) == (1024, 50)
    assert claw.excluded_directories == (".git", "node_modules", "target", ".venv", "__pycache__")
    assert claw.excluded_extensions == ("exe", "bin", "so", "dylib", "dll", "o", "a")


def test_every_key_can_be_set() -> None:
    text = (
        "llm_command: llm\nprompt_arg_template: ''\nreceiver_type: ClaudeCli\nmax_file_size_kb: 7\n"
        "max_files_per_directory: 8\nerror_handling_mode: ignore\nexcluded_directories: [a, b]\n"
        "excluded_extensions:\n- x\n- 1.10\nsymlinks: follow\n"
    )
    claw = load(text)
    assert claw.command == "claude"
    assert claw.excluded_extensions == ("x", "1.10")
    assert set(claw.origins) == set(KEYS)


def test_an_empty_list_excludes_nothing() -> None:
    assert load("excluded_directories: []\n").excluded_directories == ()


@pytest.mark.parametrize("text", ["", "  \n", "llm_command:\n", "max_file_size_kb: ~\n"])
def test_nothing_set_is_the_default(text: str) -> None:
    assert load(text).origins == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_file_size_kb: -1\n", "c:1: 'max_file_size_kb' must be a whole number from 0"),
        ("max_file_size_kb: '5'\n", "must be a whole number"),
        ("max_file_size_kb: 1.5\n", "must be a whole number"),
        ("max_file_size_kb: many\n", "must be a whole number"),
        ("receiver_type: claudecli\n", "cannot be 'claudecli'"),
        ("excluded_directories: .git\n", "must be a list"),
        ("a: b: c\n", "c:1: malformed YAML"),
        ("llm_command: [a]\n", "c:1: 'llm_command' must be a text"),
        ("llm_command: a\nllm_command: b\n", "c:2: 'llm_command' is given twice"),
    ],
)
def test_wrong_values(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(text)
    assert message in str(caught.value)


def test_an_unknown_key_is_a_warning() -> None:
    """Files of newer versions still work; a misspelt key is not silent."""
    claw = load_claw([ClawFile("c", b"\nmax_filesize_kb: 3\nllm_command: x\n")])
    assert claw.llm_command == "x"
    assert claw.warnings == (
        "c:2: unknown key 'max_filesize_kb' (did you mean 'max_file_size_kb'?)",
    )
    assert load_claw([ClawFile("c", b"other: 3\n")], compat=True).warnings == ()


def test_a_huge_limit_is_a_limit() -> None:
    """A number of any length is read as the largest that counts."""
    claw = load_claw([ClawFile("c", b"max_file_size_kb: " + b"9" * 5000 + b"\n")])
    assert claw.max_file_size_kb > 1 << 50
