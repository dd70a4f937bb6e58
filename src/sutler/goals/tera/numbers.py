"""Numbers and texts as Tera counts and prints them: checked 64-bit integers, shortest floats."""

from __future__ import annotations

import math
from decimal import Decimal

from sutler.goals.tera.nodes import TemplateError, Value

LOW, HIGH, TOP = -(2**63), 2**63 - 1, 2**64 - 1


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def to_int(value: float) -> int:
    """A float cut to a signed 64-bit integer, held inside its range."""
    if math.isnan(value):
        return 0
    return max(LOW, min(HIGH, int(value))) if math.isfinite(value) else (HIGH if value > 0 else LOW)


def calculate(left: int | float, op: str, right: int | float) -> int | float | None:
    """None is "not a number", which Tera prints as NaN."""
    if op == "/":
        return _divide(float(left), float(right))
    if isinstance(left, int) and isinstance(right, int):
        return _whole(left, op, right)
    return _fraction(float(left), op, float(right))


def _divide(left: float, right: float) -> int | float | None:
    if right == 0 or not math.isfinite(left / right):
        return None
    result = left / right
    return to_int(result) if result == math.floor(result) else result


def _whole(left: int, op: str, right: int) -> int | float | None:
    signed = left <= HIGH and right <= HIGH
    if not signed and min(left, right) < 0:
        return _fraction(float(left), op, float(right))
    if op == "%":
        if right == 0:
            raise TemplateError(f"modulo by zero: {left} % {right}")
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    result = left + right if op == "+" else left - right if op == "-" else left * right
    if (signed and not LOW <= result <= HIGH) or (not signed and not 0 <= result <= TOP):
        raise TemplateError(f"{left} {op} {right} does not fit in 64 bits")
    return result


def _fraction(left: float, op: str, right: float) -> float | None:
    if op == "%":
        return math.fmod(left, right) if right != 0 and math.isfinite(left) else None
    result = left + right if op == "+" else left - right if op == "-" else left * right
    if math.isfinite(result):
        return result
    if op == "*":
        return None
    raise TemplateError(f"{left} {op} {right} is not a finite number")


def plain(value: int | float) -> str:
    """As `{{ }}` prints it: never an exponent, no `.0`."""
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text[:-2] if text.endswith(".0") else text


def exact(value: int | float) -> str:
    """As JSON and `~` print it: `1.0`, `1e21`."""
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    power = int(exponent)
    body = "".join(map(str, digits)).rstrip("0") or "0"
    power += len(digits) - len(body) if body != "0" else -power
    point = len(body) + power
    if body == "0":
        text = "0.0"
    elif 0 < point <= 16:
        text = body + "0" * power + ".0" if power >= 0 else f"{body[:point]}.{body[point:]}"
    elif -5 < point <= 0:
        text = "0." + "0" * -point + body
    else:
        text = body[0] + (f".{body[1:]}" if len(body) > 1 else "") + f"e{point - 1}"
    return ("-" if sign else "") + text


def show(value: Value) -> str:
    """A value as `{{ }}` prints it."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return plain(value)
        case str():
            return value
        case list():
            return "[" + ", ".join(show(item) for item in value) + "]"
        case _:
            return "[object]"


def truthy(value: Value) -> bool:
    return bool(value)


def same(left: Value, right: Value) -> bool:
    """Equality of JSON values: 1 is neither 1.0 nor true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


def encode(value: Value, pretty: bool = False, depth: int = 0) -> str:
    """JSON with sorted keys, compact or with two spaces."""
    if isinstance(value, str):
        return _quoted(value)
    if is_number(value):
        return exact(value)  # type: ignore[arg-type]  # checked above
    if isinstance(value, list | dict) and value:
        items = (
            [encode(item, pretty, depth + 1) for item in value]
            if isinstance(value, list)
            else [
                f"{_quoted(key)}:{' ' if pretty else ''}{encode(value[key], pretty, depth + 1)}"
                for key in sorted(value)
            ]
        )
        left, right = "[]" if isinstance(value, list) else "{}"
        if not pretty:
            return left + ",".join(items) + right
        pad = "\n" + "  " * (depth + 1)
        return left + pad + ("," + pad).join(items) + "\n" + "  " * depth + right
    return {"None": "null", "True": "true", "False": "false", "[]": "[]"}.get(str(value), "{}")


_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    8: "\\b",
    12: "\\f",
    10: "\\n",
    13: "\\r",
    9: "\\t",
}


def _quoted(text: str) -> str:
    return '"' + text.translate(_ESCAPES) + '"'
