"""Tera's filters on texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote

from sutler.goals.tera.arguments import Args, argument, on_text, pattern_of, text_of
from sutler.goals.tera.graphemes import graphemes
from sutler.goals.tera.nodes import TemplateError, Value
from sutler.goals.tera.numbers import is_number, to_int
from sutler.goals.tera.trim import WHITE


def _trim_start_matches(value: Value, args: Args) -> Value:
    text, pattern = text_of("trim_start_matches", value), pattern_of("trim_start_matches", args)
    while pattern and text.startswith(pattern):
        text = text[len(pattern) :]
    return text


def _trim_end_matches(value: Value, args: Args) -> Value:
    text, pattern = text_of("trim_end_matches", value), pattern_of("trim_end_matches", args)
    while pattern and text.endswith(pattern):
        text = text[: -len(pattern)]
    return text


def _truncate(value: Value, args: Args) -> Value:
    text = text_of("truncate", value)
    length = int(str(argument("truncate", args, "length", "an integer from 0", 255)))
    end = str(argument("truncate", args, "end", "a text", "…"))
    clusters = list(graphemes(text))
    return text if length >= len(clusters) else "".join(clusters[:length]) + end


def _replace(value: Value, args: Args) -> Value:
    old, new = argument("replace", args, "from", "a text"), argument("replace", args, "to", "a text")
    return text_of("replace", value).replace(str(old), str(new))


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:].lower()


def _title(text: str) -> str:
    return re.sub(r"\b([\w'])([\w']*)\b", lambda m: m.group(1).upper() + m.group(2).lower(), text)


def _indent(value: Value, args: Args) -> Value:
    text = text_of("indent", value)
    prefix = str(argument("indent", args, "prefix", "a text", "    "))
    first = argument("indent", args, "first", "a boolean", False)
    blank = argument("indent", args, "blank", "a boolean", False)
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    out = [prefix + lines[0] if first else lines[0]] if lines else []
    out += [prefix + line if blank or line.strip(WHITE) else line for line in lines[1:]]
    return "\n".join(out)


def _escape_html(text: str) -> str:
    return _escape_basic(text).replace('"', "&quot;").replace("'", "&#x27;").replace("/", "&#x2F;")


def _escape_xml(text: str) -> str:
    return _escape_basic(text).replace('"', "&quot;").replace("'", "&apos;")


def _escape_basic(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slugify(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def _urlencode(text: str) -> str:
    return quote(text, safe="/-_.~")


def _urlencode_strict(text: str) -> str:
    encoded = quote(text, safe="")
    return "".join(f"%{ord(char):02X}" if char in "-_.~" else char for char in encoded)


def _split(value: Value, args: Args) -> Value:
    text, pattern = text_of("split", value), pattern_of("split", args)
    if pattern:
        return list(text.split(pattern))
    return ["", *text, ""]


def _int(value: Value, args: Args) -> Value:
    default = int(str(argument("int", args, "default", "an integer", 0)))
    base = int(str(argument("int", args, "base", "an integer from 0", 10)))
    if not 2 <= base <= 36:
        raise TemplateError("filter `int`: `base` must be from 2 to 36")
    if is_number(value):
        return to_int(float(value))  # type: ignore[arg-type]  # checked above
    if not isinstance(value, str):
        raise TemplateError("filter `int` works on texts and numbers only")
    text = value.strip(WHITE)
    prefix = {2: "0b", 8: "0o", 16: "0x"}.get(base)
    while prefix and text.startswith(prefix):
        text = text[2:]
    if re.fullmatch(r"[+-]?[0-9a-zA-Z]+", text):
        try:
            found = int(text, base)
        except ValueError:
            return default
        return found if -(2**63) <= found < 2**63 else default
    parsed = _parse_float(text) if "." in text else None
    return default if parsed is None else to_int(parsed)


def _parse_float(text: str) -> float | None:
    if re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan)", text):
        return float(text)
    return None


def _float(value: Value, args: Args) -> Value:
    default = float(str(argument("float", args, "default", "a number", 0.0)))
    if is_number(value):
        return float(value)  # type: ignore[arg-type]  # checked above
    if not isinstance(value, str):
        raise TemplateError("filter `float` works on texts and numbers only")
    parsed = _parse_float(value.strip(WHITE))
    result = default if parsed is None else parsed
    return result if math.isfinite(result) else None


TEXT_FILTERS: dict[str, Callable[[Value, Args], Value]] = {
    "upper": on_text("upper", str.upper),
    "lower": on_text("lower", str.lower),
    "trim": on_text("trim", lambda text: text.strip(WHITE)),
    "trim_start": on_text("trim_start", lambda text: text.lstrip(WHITE)),
    "trim_end": on_text("trim_end", lambda text: text.rstrip(WHITE)),
    "trim_start_matches": _trim_start_matches,
    "trim_end_matches": _trim_end_matches,
    "truncate": _truncate,
    "wordcount": on_text("wordcount", lambda text: len(text.split())),
    "replace": _replace,
    "capitalize": on_text("capitalize", _capitalize),
    "title": on_text("title", _title),
    "linebreaksbr": on_text("linebreaksbr", lambda t: t.replace("\r\n", "<br>").replace("\n", "<br>")),
    "indent": _indent,
    "striptags": on_text("striptags", lambda text: re.sub(r"<!--.*?-->|<[^>]*>", "", text)),
    "spaceless": on_text("spaceless", lambda text: re.sub(r">\s+<", "><", text)),
    "urlencode": on_text("urlencode", _urlencode),
    "urlencode_strict": on_text("urlencode_strict", _urlencode_strict),
    "escape": on_text("escape", _escape_html),
    "escape_xml": on_text("escape_xml", _escape_xml),
    "slugify": on_text("slugify", _slugify),
    "addslashes": on_text("addslashes", lambda t: t.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")),
    "split": _split,
    "int": _int,
    "float": _float,
}
