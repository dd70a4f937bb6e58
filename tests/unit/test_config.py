from __future__ import annotations

import pytest

from sutler import config
from sutler.errors import UsageError
from sutler.setting_table import KEYS


def resolved(*layers: config.Layer) -> config.Settings:
    return config.resolve(layers)


def test_every_key_has_a_default_and_an_origin() -> None:
    settings = resolved()
    assert set(settings.values) == set(settings.origins) == {key.name for key in KEYS}
    assert set(settings.origins.values()) == {"default"}


def test_later_layers_win_key_by_key() -> None:
    settings = resolved(
        config.layer_from_table({"format": "xml", "depth": 3}, "user"),
        config.layer_from_table({"format": "json"}, "flag"),
    )
    assert (settings.text("format"), settings.origins["format"]) == ("json", "flag")
    assert (settings.number("depth"), settings.origins["depth"]) == (3, "user")


def test_a_later_budget_of_any_unit_replaces_an_earlier_one() -> None:
    settings = resolved(
        config.layer_from_table({"max_tokens": 10}, "user"),
        config.layer_from_table({"tier": "cheap"}, "flag"),
    )
    assert settings.limit() == (25_000, "chars")


@pytest.mark.parametrize(
    ("table", "limit"),
    [
        ({}, (500_000, "bytes")),
        ({"max_bytes": 0}, (None, "bytes")),
        ({"max_tokens": 9}, (9, "tokens")),
        ({"max_chars": "60k"}, (60_000, "chars")),
        ({"tier": "strong"}, (120_000, "chars")),
        ({"tier": "default"}, (60_000, "chars")),
    ],
)
def test_limit(table: dict[str, object], limit: tuple[int | None, str]) -> None:
    assert resolved(config.layer_from_table(table, "flag")).limit() == limit


def test_two_budgets_in_one_layer_are_refused() -> None:
    with pytest.raises(UsageError, match="max_tokens and max_chars"):
        resolved(config.layer_from_table({"max_tokens": 1, "max_chars": 1}, "flag"))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500", 500),
        ("500_000", 500_000),
        ("500k", 500_000),
        ("64KiB", 65_536),
        ("2 MB", 2_000_000),
    ],
)
def test_parse_size(text: str, size: int) -> None:
    assert config.parse_size(text, "x") == size


@pytest.mark.parametrize("text", ["", "k", "-1", "1.5M", "ten", "1kk", "0x10"])
def test_parse_size_refuses(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        config.parse_size(text, "--split")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("formt = 'xml'", "sutler.toml:1: unknown key 'formt'"),
        ("\nformat = 'yaml'", "sutler.toml:2: format: 'yaml' is not one of"),
        ("depth = -1", "not a number from 0 up"),
        ("depth = true", "not a number from 0 up"),
        ("hidden = 'maybe'", "not true or false"),
        ("include = [1]", "not a list of strings"),
        ("include = {}", "not a list of strings"),
        ("counter = 7", "not a string"),
        ("format = ", "sutler.toml: "),
        ("profiles = 3", "'profiles' is not a table"),
        ("[profiles.x]\nbogus = 1", "unknown key 'bogus'"),
    ],
)
def test_mistakes_in_a_file_name_the_place(toml: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.parse_toml(toml, "sutler.toml")
    assert message in str(caught.value)


def test_an_unknown_key_comes_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'format'"):
        config.layer_from_table({"formt": "xml"}, "flag")


@pytest.mark.parametrize("key", [key.name for key in KEYS if key.own])
def test_a_project_may_not_switch_a_protection_off(key: str) -> None:
    """A cloned repository's file can only narrow what leaves."""
    with pytest.raises(UsageError, match="may not be set by a project"):
        config.parse_toml(f"{key} = []", "sutler.toml", trusted=False)


def test_profiles_apply_only_when_named() -> None:
    text = "format = 'xml'\n[profiles.docs]\nformat = 'json'\ninclude = ['*.md']\n"
    assert resolved(*config.parse_toml(text, "f")).text("format") == "xml"
    settings = resolved(*config.parse_toml(text, "f", profile="docs"))
    assert (settings.text("format"), settings.words("include")) == ("json", ("*.md",))
    assert settings.origins["format"] == "f [profiles.docs]"


def test_pyproject_table() -> None:
    layers = config.parse_toml(
        "[tool.other]\nx = 1\n[tool.sutler]\ndepth = 2\n", "pyproject.toml", pyproject=True
    )
    assert resolved(*layers).number("depth") == 2


def test_environment() -> None:
    layer = config.layer_from_environment(
        {"SUTLER_MAX_TOKENS": "8k", "SUTLER_HIDDEN": "off", "SUTLER_FUZZ": "9", "X": "1"}
    )
    assert dict(layer.values) == {"max_tokens": 8_000, "hidden": False}


def test_lists_from_the_environment_are_split_at_commas() -> None:
    assert config.layer_from_environment({"SUTLER_EXCLUDE": "a/, *.md"}).values["exclude"] == (
        "a/",
        "*.md",
    )
