"""Settings: defaults < user < project < environment < flags; every value has its origin.

This module is pure: the caller passes the texts of the files. A project's own file can only narrow:
the keys marked `own` are accepted from the user's file, the environment and flags alone, because a
cloned repository must not be able to switch off a protection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from sutler.errors import UsageError
from sutler.formats.document import Format
from sutler.setting_table import KEYS, TIER_CHARS, Key, Tier, Unit, Value

BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
_BUDGETS = ("max_tokens", "max_chars", "max_bytes", "tier")


class Layer(Struct, frozen=True):
    """Values from one place. `origin` is its name for people; `trusted` means that the user wrote
    it, not the project."""

    origin: str
    values: Mapping[str, Value]
    trusted: bool = True
    lines: Mapping[str, int] = {}


class Settings(Struct, frozen=True):
    """Every key with its value and its origin."""

    values: Mapping[str, Value]
    origins: Mapping[str, str]

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def text(self, name: str) -> str:
        return str(self.values[name])

    def number(self, name: str) -> int | None:
        value = self.values[name]
        return value if isinstance(value, int) else None

    def share(self, name: str) -> float | None:
        value = self.values[name]
        return value if isinstance(value, float) else None

    @property
    def has_budget(self) -> bool:
        """Whether a budget was set, instead of the default one."""
        return any(self.origins[name] != "default" for name in _BUDGETS)

    def words(self, name: str) -> tuple[str, ...]:
        value = self.values[name]
        return value if isinstance(value, tuple) else ()

    def format(self) -> Format:
        return self.text("format")

    def overlaid(self, layer: Layer) -> Settings:
        """Return these settings with one more layer on top."""
        return _apply(dict(self.values), dict(self.origins), layer)

    def limit(self) -> tuple[int | None, Unit]:
        """Return the budget in force, with its unit; 0 or less means no limit."""
        tier = self.values["tier"]
        if tier is not None:
            return TIER_CHARS[cast("Tier", tier)], "chars"
        for name, unit in (
            ("max_tokens", "tokens"),
            ("max_chars", "chars"),
            ("max_bytes", "bytes"),
        ):
            value = self.number(name)
            if value is not None:
                # The tuple above spells the literals.
                return (value or None), unit  # type: ignore[return-value]
        return None, "bytes"


_SIZE = r"(\d+(?:[_,]\d{3})*|\d+(?:_\d+)*)(?:\s*)([kmg]i?)?b?"
_FACTOR = {"": 1, "k": 1_000, "ki": 1_024, "m": 1_000_000, "mi": 1_048_576, "g": 10**9, "gi": 2**30}


def parse_size(text: str, what: str) -> int:
    """Parse `500`, `500_000`, `500k`, `64KiB`: a plain count or a count with a unit."""
    if len(text) <= 18 and text.isdecimal() and text.isascii():
        return int(text)
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(
            f"{what}: '{text}' is not a size",
            next_step="give a number such as 60000, 500k or 2MiB; 0 means no limit",
        )
    digits = re.sub("[_,]", "", match[1])
    if len(digits) > 18:  # int() of a long text takes quadratic time
        raise UsageError(
            f"{what}: a number of {len(digits):,} digits", next_step="give a smaller one"
        )
    return int(digits) * _FACTOR[(match[2] or "").lower()]


def _suggest(name: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"use one of {', '.join(known)}"


def _share(raw: object, what: str) -> float:
    try:
        value = float(raw) if isinstance(raw, str | int | float) else -1.0
    except ValueError:
        value = -1.0
    if isinstance(raw, bool) or not 0 <= value <= 1:
        raise UsageError(f"{what}: {raw!r} is not a number from 0 to 1", next_step="try 0.1")
    return value


def _coerce(key: Key, raw: object, where: str) -> Value:
    """Convert a raw TOML, environment or flag value to this key's type, or raise UsageError with
    the place."""
    what = f"{where}: {key.name}"
    if key.kind == "bool":
        if isinstance(raw, bool):
            return raw
        if isinstance(raw, str) and raw.lower() in (
            "1",
            "true",
            "yes",
            "on",
            "0",
            "false",
            "no",
            "off",
        ):
            return raw.lower() in ("1", "true", "yes", "on")
        raise UsageError(f"{what}: {raw!r} is not true or false")
    if key.kind in ("int", "size"):
        if isinstance(raw, str) and (key.kind == "size" or raw.strip().isdecimal()):
            raw = parse_size(raw, what)
        if isinstance(raw, bool) or not isinstance(raw, int) or raw < 0:
            raise UsageError(f"{what}: {raw!r} is not a number from 0 up")
        return raw
    if key.kind == "share":
        return _share(raw, what)
    if key.kind == "list":
        words = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise UsageError(f"{what}: {raw!r} is not a list of strings")
        return _choices(
            key, what, [word.strip() if isinstance(raw, str) else word for word in words if word]
        )
    if not isinstance(raw, str):
        raise UsageError(f"{what}: {raw!r} is not a string")
    _choices(key, what, [raw])
    return raw


def _choices(key: Key, what: str, words: list[str]) -> tuple[str, ...]:
    """Return the words, each one of the key's choices if it has any."""
    for word in words:
        if key.choices and word not in key.choices:
            raise UsageError(
                f"{what}: '{word}' is not one of {', '.join(key.choices)}",
                next_step=_suggest(word, key.choices),
            )
    return tuple(words)


def layer_from_table(
    table: Mapping[str, object],
    origin: str,
    *,
    trusted: bool = True,
    lines: Mapping[str, int] | None = None,
) -> Layer:
    """Check a table of raw values (from TOML, the environment or flags) against the keys."""
    values: dict[str, Value] = {}
    for name, raw in table.items():
        where = f"{origin}:{lines[name]}" if lines and name in lines else origin
        key = BY_NAME.get(name)
        if key is None:
            raise UsageError(
                f"{where}: unknown key '{name}'", next_step=_suggest(name, list(BY_NAME))
            )
        if key.own and not trusted:
            raise UsageError(
                f"{where}: '{name}' may not be set by a project",
                rule="a project's own file can only narrow what leaves",
                next_step="set it in your own config file, in the environment or as a flag",
            )
        values[name] = _coerce(key, raw, where)
    return Layer(origin, values, trusted, lines or {})


def parse_toml(
    text: str, origin: str, *, pyproject: bool = False, trusted: bool = True, profile: str = ""
) -> list[Layer]:
    """Return the layers of one TOML file: its keys, then those of the named profile if it has
    one."""
    # imported only if a file exists: it costs more time than most packs spend on configuration
    import tomllib

    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin}: {error}", next_step="correct the TOML syntax") from error
    except RecursionError:
        raise UsageError(f"{origin}: nested too deeply", rule="a config file is plain") from None
    if pyproject:
        tools = table.get("tool", {})
        table = tools.get("sutler", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(
            f"{origin}: 'tool.sutler' is not a table", next_step="write a [tool.sutler] section"
        )
    profiles = table.pop("profiles", {})
    if isinstance(rows := table.get("processors"), dict):
        table["processors"] = [f"{glob}={command}" for glob, command in rows.items()]
    lines = _lines_of(text)
    table = _flattened(table, origin)
    layers = [layer_from_table(table, origin, trusted=trusted, lines=lines)]
    if not isinstance(profiles, dict) or not all(
        isinstance(one, dict) for one in profiles.values()
    ):
        raise UsageError(
            f"{origin}: 'profiles' is not a table", next_step="write [profiles.NAME] sections"
        )
    for name in sorted(profiles):
        layer = layer_from_table(
            profiles[name], f"{origin} [profiles.{name}]", trusted=trusted, lines=lines
        )
        if name == profile:
            layers.append(layer)
    return layers


def _flattened(table: Mapping[str, object], origin: str) -> dict[str, object]:
    """Return the tables [goals] and [commands] as plain keys."""
    plain: dict[str, object] = {}
    for name, raw in table.items():
        if name == "commands" and isinstance(raw, dict):
            for key, line in raw.items():
                if not isinstance(line, str):
                    raise UsageError(f"{origin}: commands.{key}: {line!r} is not a command line")
            raw = [f"{key}={line}" for key, line in raw.items()]
        if name == "goals" and isinstance(raw, dict):
            plain.update({f"goals_{key}": value for key, value in raw.items()})
        else:
            plain[name] = raw
    return plain


def _lines_of(text: str) -> dict[str, int]:
    """Return the line on which each key is first written, for error messages."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*([A-Za-z_][\w-]*)\s*=", line)
        if match:
            lines.setdefault(match[1], number)
    return lines


def layer_from_environment(environ: Mapping[str, str]) -> Layer:
    """Read `SUTLER_MAX_TOKENS=8000` and its like. Names that are no key belong to other parts of
    sutler and are skipped."""
    table = {
        name[7:].lower(): value
        for name, value in sorted(environ.items())
        if name.startswith("SUTLER_")
    }
    return layer_from_table(
        {name: raw for name, raw in table.items() if name in BY_NAME}, "environment"
    )


def resolve(layers: Sequence[Layer]) -> Settings:
    """Merge layers: later ones win key by key; a later budget of any unit replaces an earlier
    one."""
    settings = Settings(
        {key.name: key.default for key in KEYS}, {key.name: "default" for key in KEYS}
    )
    for layer in layers:
        settings = settings.overlaid(layer)
    return settings


def _apply(values: dict[str, Value], origins: dict[str, str], layer: Layer) -> Settings:
    budgets = [name for name in _BUDGETS if layer.values.get(name) is not None]
    if len(budgets) > 1:
        raise UsageError(
            f"{layer.origin}: {' and '.join(budgets)} are set together",
            rule="one pack has one budget",
            next_step="keep one of them",
        )
    if budgets:
        for name in _BUDGETS:
            values[name], origins[name] = None, layer.origin
    for name, value in layer.values.items():
        values[name], origins[name] = value, layer.origin
    return Settings(values, origins)
