"""What every filter does first: check its value and its keyword arguments."""

from __future__ import annotations

from collections.abc import Callable

from sutler.goals.tera.nodes import TemplateError, Value
from sutler.goals.tera.numbers import encode, is_int, is_number

Args = dict[str, Value]
_KINDS: dict[str, Callable[[Value], bool]] = {
    "a text": lambda value: isinstance(value, str),
    "a boolean": lambda value: isinstance(value, bool),
    "an array": lambda value: isinstance(value, list),
    "a number": is_number,
    "an integer": is_int,
    "an integer from 0": lambda value: is_int(value) and value >= 0,  # type: ignore[operator]  # checked above
}
NEEDED = object()


def argument(name: str, args: Args, key: str, kind: str, default: object = NEEDED) -> object:
    if key not in args:
        if default is NEEDED:
            raise TemplateError(f"filter `{name}` needs the argument `{key}`")
        return default
    return checked(name, key, args[key], kind)


def checked(name: str, what: str, value: Value, kind: str) -> Value:
    if not _KINDS[kind](value):
        raise TemplateError(f"filter `{name}`: {what} must be {kind}, got `{encode(value)[:80]}`")
    return value


def on_text(name: str, change: Callable[[str], Value]) -> Callable[[Value, Args], Value]:
    def run(value: Value, _args: Args) -> Value:
        return change(str(checked(name, "the value", value, "a text")))

    return run


def text_of(name: str, value: Value) -> str:
    return str(checked(name, "the value", value, "a text"))


def items_of(name: str, value: Value) -> list[Value]:
    found = checked(name, "the value", value, "an array")
    return found if isinstance(found, list) else []


def pattern_of(name: str, args: Args, key: str = "pat", default: object = NEEDED) -> str:
    """A pattern argument, in which `\\n` and `\\t` are written as two characters."""
    return str(argument(name, args, key, "a text", default)).replace("\\n", "\n").replace("\\t", "\t")
