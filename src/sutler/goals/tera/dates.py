"""The `date` filter: timestamps and ISO dates in chrono's strftime language."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from sutler.goals.tera.nodes import TemplateError, Value

_SPEC = re.compile(r"%([-_0]?)(::?z|\.?[0-9]?f|[A-Za-z%+])")
_WHOLE = {
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "v": "%e-%b-%Y",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_YEAR = "January February March April May June July August September October November December"
_MONTHS = _YEAR.split()
_DIGITS = re.compile(r"\d{4}-\d{2}-\d{2}")


def date(value: Value, args: dict[str, Value]) -> Value:
    pattern = args.get("format", "%Y-%m-%d")
    if not isinstance(pattern, str):
        raise TemplateError("filter `date`: `format` must be a text")
    zone = _zone(args["timezone"]) if "timezone" in args else None
    return formatted(_moment(value, zone), pattern)


def _zone(name: Value) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(str(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TemplateError(f"filter `date`: unknown timezone `{name}`") from None


def _moment(value: Value, zone: tzinfo | None) -> datetime:
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=value)
        except OverflowError:
            raise TemplateError(f"filter `date`: {value} is out of range") from None
        return moment.astimezone(zone) if zone else moment
    if not isinstance(value, str):
        raise TemplateError("filter `date` works on timestamps and texts only")
    try:
        if "T" not in value:
            if not _DIGITS.fullmatch(value):
                raise ValueError
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise TemplateError(f"filter `date`: `{value}` is neither an ISO date nor an RFC 3339 time") from None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(zone) if zone else moment


def formatted(moment: datetime, pattern: str) -> str:
    """A moment in chrono's strftime language."""
    out: list[str] = []
    pos = 0
    while (at := pattern.find("%", pos)) >= 0:
        found = _SPEC.match(pattern, at)
        if not found:
            raise TemplateError(f"filter `date`: bad format `{pattern}`")
        out += [pattern[pos:at], _field(moment, found.group(1), found.group(2), pattern)]
        pos = found.end()
    return "".join(out) + pattern[pos:]


def _field(moment: datetime, pad: str, spec: str, pattern: str) -> str:
    if spec in _WHOLE:
        return formatted(moment, _WHOLE[spec])
    numeric = _number(moment, spec)
    if numeric is not None:
        number, width, fill = numeric
        fill = {"-": "", "_": " ", "0": "0"}.get(pad, fill)
        return str(number).rjust(width, fill) if fill else str(number)
    textual = _text(moment, spec)
    if textual is None or pad:
        raise TemplateError(f"filter `date`: bad format `{pattern}`")
    return textual


def _number(moment: datetime, spec: str) -> tuple[int, int, str] | None:
    year, week, day = moment.isocalendar()
    hour = moment.hour % 12 or 12
    since = moment.timetuple().tm_yday
    table: dict[str, tuple[int, int, str]] = {
        "Y": (moment.year, 4, "0"),
        "C": (moment.year // 100, 2, "0"),
        "y": (moment.year % 100, 2, "0"),
        "m": (moment.month, 2, "0"),
        "d": (moment.day, 2, "0"),
        "e": (moment.day, 2, " "),
        "H": (moment.hour, 2, "0"),
        "k": (moment.hour, 2, " "),
        "I": (hour, 2, "0"),
        "l": (hour, 2, " "),
        "M": (moment.minute, 2, "0"),
        "S": (moment.second, 2, "0"),
        "j": (since, 3, "0"),
        "u": (day, 1, "0"),
        "w": (day % 7, 1, "0"),
        "U": ((since + 6 - day % 7) // 7, 2, "0"),
        "W": ((since + 6 - (day - 1)) // 7, 2, "0"),
        "G": (year, 4, "0"),
        "g": (year % 100, 2, "0"),
        "V": (week, 2, "0"),
        "s": (int(moment.timestamp()), 1, "0"),
    }
    return table.get(spec)


def _text(moment: datetime, spec: str) -> str | None:
    if spec.endswith("f"):
        return _fraction(moment, spec)
    half = "AM" if moment.hour < 12 else "PM"
    offset = moment.strftime("%z")
    with_colon = offset[:3] + ":" + offset[3:5]
    zone_name = getattr(moment.tzinfo, "key", None)
    table = {
        "a": _DAYS[moment.weekday()][:3],
        "A": _DAYS[moment.weekday()],
        "b": _MONTHS[moment.month - 1][:3],
        "h": _MONTHS[moment.month - 1][:3],
        "B": _MONTHS[moment.month - 1],
        "p": half,
        "P": half.lower(),
        "z": offset[:5],
        ":z": with_colon,
        "::z": with_colon + ":00",
        "Z": (moment.tzname() or "") if zone_name or moment.tzinfo is UTC else with_colon,
        "+": moment.isoformat(),
        "t": "\t",
        "n": "\n",
        "%": "%",
    }
    return table.get(spec)


def _fraction(moment: datetime, spec: str) -> str | None:
    nanos = f"{moment.microsecond * 1000:09d}"
    match spec:
        case "f":
            return nanos
        case ".f":
            if moment.microsecond == 0:
                return ""
            return "." + (nanos[:3] if moment.microsecond % 1000 == 0 else nanos[:6])
        case "3f" | "6f" | "9f":
            return nanos[: int(spec[0])]
        case ".3f" | ".6f" | ".9f":
            return "." + nanos[: int(spec[1])]
        case _:
            return None
