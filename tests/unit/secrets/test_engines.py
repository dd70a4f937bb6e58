"""The fast engine's probes are necessary conditions: whatever the patterns would find, they point
at.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from bench.secrets.samples import lines_for
from sutler.secrets import format_table as files
from sutler.secrets import name_kinds
from sutler.secrets.engines import (
    _NAMED,
    BASE,
    Engine,
    compile_database,
    hyperscan_engine,
    probes,
    stdlib_engine,
)
from sutler.secrets.format_table import Format, file_rules, formats
from sutler.secrets.grammar import NAMES, TRIGGERS
from sutler.secrets.redactor import redact
from tests.unit.secrets.test_hostile_input import cpu_seconds, fill

KEY = b"k" * 32


@cache
def fast() -> Engine:
    return hyperscan_engine(compile_database())


@pytest.mark.parametrize("one", formats(), ids=lambda one: one.name)
def test_the_words_of_a_format_are_in_every_sample_of_it(one: Format) -> None:
    for sample in lines_for(one.name, one.core, 40, 1):
        assert any(word in sample.line for word in one.words), sample.line


@pytest.mark.parametrize("one", formats(), ids=lambda one: one.name)
def test_both_engines_find_the_same_in_samples(one: Format) -> None:
    text = "\n".join(sample.line for sample in lines_for(one.name, one.core, 20, 2))
    for written in (text, "é " + text.replace("\n", "\n漢 "), text.replace("\n", " ")):
        made = redact(written, "a.yml", key=KEY, engine=fast())
        assert made == redact(written, "a.yml", key=KEY, engine=stdlib_engine())


def test_no_format_but_one_spans_lines() -> None:
    assert [one.name for one in formats() if one.spans_lines] == ["openvpn-tls-key"]
    assert not [one.name for one in formats() if "[^" in one.core.replace("[^\\s", "")]


def test_the_names_of_the_probes_look_neither_back_nor_ahead() -> None:
    """What hyperscan cannot do has been spelled out, and nothing of it is left over when the
    grammar changes.
    """
    assert "(?<!" in NAMES
    assert not re.search(r"\(\?<?[!=]", _NAMED)


def test_numbers_tell_formats_from_triggers() -> None:
    numbers = {one.number for one in probes()}
    assert numbers == {*range(len(formats())), *range(BASE, BASE + len(TRIGGERS))}


@pytest.mark.parametrize(
    "word",
    ["AKIA", "ghp_", "s.", "key=", "token: ", "azure ", "password='", "é-eyJ", "<key>", "0/"],
)
def test_a_line_full_of_sightings_is_read_in_linear_time(word: str) -> None:
    with cpu_seconds(30):
        redact(fill(word), "a.yml", key=KEY, engine=fast())


@pytest.mark.parametrize(
    "path", [".docker/config.json", "home/bob/.docker/config.json", "a/b/.aws/credentials"]
)
def test_a_credential_file_is_known_at_any_depth(path: str) -> None:
    assert file_rules(path)


@pytest.mark.parametrize(
    "path", ["docker/other/config.json", "a/readme.md", "awscredentials.md", ""]
)
def test_other_files_are_not_taken_for_one(path: str) -> None:
    assert not file_rules(path)


def test_rules_that_look_at_a_folder_are_known_by_their_files_names() -> None:
    """Of every other file only the name is looked at."""
    alternatives = [part for rule in files.RULES for part in rule.path.split("|") if "/" in part]
    names = {
        found.group().replace("\\", "")
        for part in alternatives
        if (found := re.search(r"[\w.\\]+$", part))
    }
    assert names == set(files.BELOW_A_FOLDER)


VALUE = "q7Zr2Lk9vXw4Tn8bYc3m"


@pytest.mark.parametrize(
    "name",
    [
        "pat",
        "PAT",
        "pat_x",
        "sid",
        "auth_token",
        "authorization",
        "author_token",
        "path.secret",
        "side-key-secret",
    ],
)
def test_a_word_that_is_passed_over_hides_no_other(name: str) -> None:
    """`path`, `patch`, `side` and `author` promise nothing; what stands beside them in a name is
    seen all the same.
    """
    for line in (f'{name} = "{VALUE}"\n', f"{name}: {VALUE}\n"):
        made = redact(line, "a.yml", key=KEY, engine=fast())
        assert VALUE not in made.text
        assert made == redact(line, "a.yml", key=KEY, engine=stdlib_engine())


@pytest.mark.parametrize(
    "name", ["path", "patch", "patches", "side", "sidebar", "author", "authors", "authority"]
)
def test_what_is_passed_over_promises_nothing(name: str) -> None:
    assert name_kinds.kind_of(name) == "none"
    for engine in (fast(), stdlib_engine()):
        assert not engine(f'{name} = "{VALUE}"', f'{name} = "{VALUE}"'.encode()).triggers
