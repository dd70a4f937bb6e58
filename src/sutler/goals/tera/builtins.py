"""Tera's functions and tests. Clock, chance and environment come in from outside, through `World`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from sutler.goals.tera.nodes import TemplateError, Value
from sutler.goals.tera.numbers import is_int, is_number, same

MAX_RANGE = 1_000_000


class World(Struct, frozen=True):
    """What a template may learn of the world: an environment variable, the time (with its zone), a number."""

    env: Callable[[str], str | None]
    now: Callable[[], datetime]
    pick: Callable[[int, int], int]


Args = dict[str, Value]


def _typed(name: str, args: Args, key: str, fits: Callable[[Value], bool], kind: str) -> Value:
    value = args[key]
    if not fits(value):
        raise TemplateError(f"function `{name}`: `{key}` must be {kind}")
    return value


def _count(value: Value) -> bool:
    return is_int(value) and value >= 0  # type: ignore[operator]  # checked above


def _range(_world: World, args: Args) -> Value:
    if "end" not in args:
        raise TemplateError("function `range` needs `end`")
    numbers: dict[str, int] = {"start": 0, "step_by": 1}
    for key in ("start", "step_by", "end"):
        if key in args:
            number = _typed("range", args, key, _count, "a number from 0")
            numbers[key] = number  # type: ignore[assignment]  # `_count` lets nothing else through
    start, end, step = numbers["start"], numbers["end"], numbers["step_by"]
    if start > end:
        raise TemplateError("function `range`: `start` is greater than `end`")
    if step == 0 or (end - start) // step > MAX_RANGE:
        raise TemplateError(f"function `range` would give more than {MAX_RANGE} numbers")
    return list(range(start, end, step))


def _now(world: World, args: Args) -> Value:
    flags = {"utc": False, "timestamp": False}
    for key in flags:
        if key in args:
            flags[key] = bool(_typed("now", args, key, lambda v: isinstance(v, bool), "a boolean"))
    moment = world.now()
    if flags["timestamp"]:
        return math.floor(moment.timestamp())
    return (moment.astimezone(UTC) if flags["utc"] else moment.astimezone()).isoformat()


def _throw(_world: World, args: Args) -> Value:
    message = args.get("message")
    if not isinstance(message, str):
        raise TemplateError("function `throw` needs a text as `message`")
    raise TemplateError(message)


def _get_random(world: World, args: Args) -> Value:
    if "end" not in args:
        raise TemplateError("function `get_random` needs `end`")
    end = _typed("get_random", args, "end", is_int, "a number")
    start = _typed("get_random", args, "start", is_int, "a number") if "start" in args else 0
    if not isinstance(start, int) or not isinstance(end, int) or start >= end:
        raise TemplateError("function `get_random`: `start` must be less than `end`")
    return world.pick(start, end - 1)


def _get_env(world: World, args: Args) -> Value:
    name = args.get("name")
    if not isinstance(name, str):
        raise TemplateError("function `get_env` needs a text as `name`")
    value = world.env(name)
    if value is not None:
        return value
    if "default" in args:
        return args["default"]
    raise TemplateError(f"environment variable `{name}` not found")


FUNCTIONS: dict[str, Callable[[World, Args], Value]] = {
    "range": _range,
    "now": _now,
    "throw": _throw,
    "get_random": _get_random,
    "get_env": _get_env,
}


def _text(name: str, value: Value, what: str) -> str:
    if not isinstance(value, str):
        raise TemplateError(f"test `{name}`: {what} must be a text")
    return value


def _number(name: str, value: Value) -> float:
    if not is_number(value):
        raise TemplateError(f"test `{name}` works on numbers only")
    return float(value)  # type: ignore[arg-type]  # checked above


def _odd(value: Value, _args: list[Value]) -> bool:
    return math.fmod(_number("odd", value), 2) != 0


def _even(value: Value, args: list[Value]) -> bool:
    return not _odd(value, args)


def _divisible(value: Value, args: list[Value]) -> bool:
    by = _number("divisibleby", args[0])
    return by != 0 and math.fmod(_number("divisibleby", value), by) == 0


def _starting(value: Value, args: list[Value]) -> bool:
    return _text("starting_with", value, "the value").startswith(_text("starting_with", args[0], "the argument"))


def _ending(value: Value, args: list[Value]) -> bool:
    return _text("ending_with", value, "the value").endswith(_text("ending_with", args[0], "the argument"))


def _containing(value: Value, args: list[Value]) -> bool:
    if isinstance(value, list):
        return any(same(item, args[0]) for item in value)
    if isinstance(value, str | dict):
        return _text("containing", args[0], "the argument") in value
    raise TemplateError("test `containing` works on texts, arrays and objects only")


def _matching(value: Value, args: list[Value]) -> bool:
    text, pattern = _text("matching", value, "the value"), _text("matching", args[0], "the argument")
    try:
        return re.search(pattern, text) is not None
    except re.error as error:
        raise TemplateError(f"test `matching`: bad regular expression: {error}") from None


# name -> (how many arguments, the test)
_TABLE: dict[str, tuple[int, Callable[[Value, list[Value]], bool]]] = {
    "odd": (0, _odd),
    "even": (0, _even),
    "string": (0, lambda value, _: isinstance(value, str)),
    "number": (0, lambda value, _: is_number(value)),
    "iterable": (0, lambda value, _: isinstance(value, list | dict)),
    "object": (0, lambda value, _: isinstance(value, dict)),
    "divisibleby": (1, _divisible),
    "starting_with": (1, _starting),
    "ending_with": (1, _ending),
    "containing": (1, _containing),
    "matching": (1, _matching),
}


def _tester(name: str) -> Callable[[Value, bool, list[Value]], bool]:
    most, test = _TABLE[name]

    def run(value: Value, defined: bool, args: list[Value]) -> bool:
        _arity(name, most, args)
        if not defined:
            raise TemplateError(f"test `{name}` was called on an undefined variable")
        if most and not args:
            raise TemplateError(f"test `{name}` needs an argument")
        return test(value, args)

    return run


def _arity(name: str, most: int, args: list[Value]) -> None:
    if len(args) > most:
        raise TemplateError(f"test `{name}` takes {most or 'no'} argument{'' if most == 1 else 's'}, got {len(args)}")


def _defined(_value: Value, defined: bool, args: list[Value]) -> bool:
    _arity("defined", 0, args)
    return defined


def _undefined(_value: Value, defined: bool, args: list[Value]) -> bool:
    _arity("undefined", 0, args)
    return not defined


TESTS: dict[str, Callable[[Value, bool, list[Value]], bool]] = {
    **{name: _tester(name) for name in _TABLE},
    "defined": _defined,
    "undefined": _undefined,
}
