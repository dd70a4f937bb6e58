"""Tera's filters on arrays, objects and numbers, and the table of all filters."""

from __future__ import annotations

import math
from collections.abc import Callable

from sutler.goals.tera.arguments import NEEDED, Args, argument, checked, items_of, pattern_of
from sutler.goals.tera.dates import date
from sutler.goals.tera.nodes import TemplateError, Value
from sutler.goals.tera.numbers import encode, is_number, same, show, to_int
from sutler.goals.tera.texts import TEXT_FILTERS


def _first(value: Value, _args: Args) -> Value:
    items = items_of("first", value)
    return items[0] if items else ""


def _last(value: Value, _args: Args) -> Value:
    items = items_of("last", value)
    return items[-1] if items else ""


def _nth(value: Value, args: Args) -> Value:
    items = items_of("nth", value)
    if not items:
        return ""
    n = int(str(argument("nth", args, "n", "an integer from 0")))
    return items[n] if n < len(items) else ""


def _join(value: Value, args: Args) -> Value:
    items = items_of("join", value)
    return pattern_of("join", args, "sep", "").join(show(item) for item in items)


def _pointed(value: Value, attribute: str) -> Value | object:
    for part in [part for part in attribute.split(".") if part]:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return NEEDED
    return value


def _keyed(name: str, items: list[Value], attribute: str) -> list[Value]:
    keys = [_pointed(item, attribute) for item in items]
    if any(key is NEEDED for key in keys):
        raise TemplateError(f"filter `{name}`: attribute '{attribute}' does not reference a field")
    return keys  # type: ignore[return-value]  # checked above


def _kind(value: Value) -> str:
    return "number" if is_number(value) else type(value).__name__


def _sort(value: Value, args: Args) -> Value:
    items = items_of("sort", value)
    keys = _keyed("sort", items, str(argument("sort", args, "attribute", "a text", ""))) if items else []
    kinds = {_kind(key) for key in keys}
    if len(kinds) > 1 or kinds & {"NoneType", "dict"}:
        raise TemplateError("filter `sort` needs values of one sortable kind")
    ranks = [len(key) if isinstance(key, list) else key for key in keys]
    order = sorted(range(len(items)), key=lambda at: ranks[at])  # type: ignore[arg-type,return-value]  # checked above
    return [items[at] for at in order]


def _unique(value: Value, args: Args) -> Value:
    items = items_of("unique", value)
    sensitive = argument("unique", args, "case_sensitive", "a boolean", False)
    attribute = str(argument("unique", args, "attribute", "a text", ""))
    if not items:
        return []
    first = _keyed("unique", items[:1], attribute)[0]
    if not isinstance(first, str | int):
        raise TemplateError("filter `unique` works on texts, integers and booleans only")
    seen: set[object] = set()
    kept: list[Value] = []
    for item in items:
        key = _pointed(item, attribute)
        if key is NEEDED:
            continue
        if _kind(key) != _kind(first) or isinstance(key, float):  # type: ignore[arg-type]  # checked above
            raise TemplateError("filter `unique` cannot compare values of different kinds")
        mark = key.lower() if isinstance(key, str) and not sensitive else key
        if mark not in seen:
            seen.add(mark)
            kept.append(item)
    return kept


def _slice(value: Value, args: Args) -> Value:
    items = items_of("slice", value)

    def at(key: str, default: int) -> int:
        index = float(str(argument("slice", args, key, "a number", default)))
        return max(0, to_int(index if index >= 0 else len(items) + index))

    start, end = at("start", 0), min(at("end", len(items)), len(items))
    return items[start:end] if start < end else []


def _group_by(value: Value, args: Args) -> Value:
    items = items_of("group_by", value)
    groups: dict[str, Value] = {}
    if not items:
        return groups
    attribute = str(argument("group_by", args, "attribute", "a text"))
    for item in items:
        key = _pointed(item, attribute)
        if key is not NEEDED and key is not None:
            name = key if isinstance(key, str) else encode(key)  # type: ignore[arg-type]  # checked above
            group = groups.setdefault(name, [])
            if isinstance(group, list):
                group.append(item)
    return groups


def _filter(value: Value, args: Args) -> Value:
    items = items_of("filter", value)
    if not items:
        return []
    attribute = str(argument("filter", args, "attribute", "a text"))
    wanted = args.get("value")
    found = [(item, _pointed(item, attribute)) for item in items]
    present = [(item, key) for item, key in found if key is not NEEDED and key is not None]
    return [item for item, key in present if wanted is None or same(key, wanted)]  # type: ignore[arg-type]  # checked


def _map(value: Value, args: Args) -> Value:
    items = items_of("map", value)
    if not items:
        return []
    attribute = str(argument("map", args, "attribute", "a text"))
    keys = [_pointed(item, attribute) for item in items]
    return [key for key in keys if key is not NEEDED and key is not None]  # type: ignore[misc]  # checked above


def _concat(value: Value, args: Args) -> Value:
    if "with" not in args:
        raise TemplateError("filter `concat` needs the argument `with`")
    more = args["with"]
    return items_of("concat", value) + (more if isinstance(more, list) else [more])


def _abs(value: Value, _args: Args) -> Value:
    return abs(checked("abs", "the value", value, "a number"))  # type: ignore[arg-type]  # checked above


def _pluralize(value: Value, args: Args) -> Value:
    number = float(str(checked("pluralize", "the value", value, "a number")))
    plural = str(argument("pluralize", args, "plural", "a text", "s"))
    singular = str(argument("pluralize", args, "singular", "a text", ""))
    return plural if abs(abs(number) - 1) > 2.220446049250313e-16 else singular


def _round(value: Value, args: Args) -> Value:
    number = float(checked("round", "the value", value, "a number"))  # type: ignore[arg-type]  # checked above
    method = str(argument("round", args, "method", "a text", "common"))
    scale = 10.0 ** int(str(argument("round", args, "precision", "an integer", 0)))
    if method not in ("common", "ceil", "floor"):
        raise TemplateError("filter `round`: `method` must be common, ceil or floor")
    scaled = scale * number
    if method == "common":
        return math.copysign(math.floor(abs(scaled) + 0.5), scaled) / scale
    return float(math.ceil(scaled) if method == "ceil" else math.floor(scaled)) / scale


def _filesizeformat(value: Value, args: Args) -> Value:
    number = checked("filesizeformat", "the value", value, "an integer from 0")
    size = float(number)  # type: ignore[arg-type]  # checked to be an integer
    binary = argument("filesizeformat", args, "binary", "a boolean", False)
    units = ["B", *(f"{unit}{'iB' if binary else 'B'}" for unit in "KMGTPEZY")]
    if not binary:
        units[1] = "kB"
    at = 0
    while size >= 1024 and at < len(units) - 1:
        size /= 1024
        at += 1
    return f"{size:.0f} {units[at]}" if size == math.floor(size) else f"{size:.2f} {units[at]}"


def _length(value: Value, _args: Args) -> Value:
    if not isinstance(value, str | list | dict):
        raise TemplateError("filter `length` works on texts, arrays and objects only")
    return len(value)


def _reverse(value: Value, _args: Args) -> Value:
    if not isinstance(value, str | list):
        raise TemplateError("filter `reverse` works on texts and arrays only")
    return value[::-1]


def _json_encode(value: Value, args: Args) -> Value:
    return encode(value, args.get("pretty") is True)


def _get(value: Value, args: Args) -> Value:
    key = str(argument("get", args, "key", "a text"))
    if not isinstance(value, dict):
        raise TemplateError("filter `get` works on objects only")
    if key in value:
        return value[key]
    if "default" not in args:
        raise TemplateError(f"filter `get`: the key `{key}` does not exist")
    return args["default"]


FILTERS: dict[str, Callable[[Value, Args], Value]] = {
    **TEXT_FILTERS,
    "first": _first,
    "last": _last,
    "nth": _nth,
    "join": _join,
    "sort": _sort,
    "unique": _unique,
    "slice": _slice,
    "group_by": _group_by,
    "filter": _filter,
    "map": _map,
    "concat": _concat,
    "abs": _abs,
    "pluralize": _pluralize,
    "round": _round,
    "filesizeformat": _filesizeformat,
    "length": _length,
    "reverse": _reverse,
    "date": date,
    "json_encode": _json_encode,
    "as_str": lambda value, _args: show(value),
    "get": _get,
}
