"""Confidence of a candidate value: shapes, placeholders, and its likeness to language.

Entropy alone decides nothing. A value counts because of its name and construct; its shape is
evidence for (mixed classes, digits, letters that no language puts side by side) or against
(templates, placeholders, words, paths, identifiers, calls)."""

from __future__ import annotations

import base64
import binascii
import re
import string
from functools import lru_cache
from itertools import pairwise

from sutler.secrets.format_table import words
from sutler.secrets.harmless import (
    SEQUENCES,
    counting,
    is_address,
    is_compound_name,
    is_harmless,
    typed_in_order,
)
from sutler.secrets.name_kinds import WORD, Kind

# -log2 P(next letter | letter), one digit each, a to z by a to z, from English and identifiers:
# language scores about 3.5 on average, random letters about 6.
_BIGRAMS = (
    "64347648496343949332567767355536783572663684463789583756378349446727945348896935641568267466468546467869"
    "46435558698443656234756469365633692974663794544989594767264439945447933547897827762899398556279454589859"
    "45344549997442358533859695286525994657672678383759794565165836746556963558595837642678297377369744479949"
    "25762788397547338846488959374335274866754687325599695544765857544244924445467938662775496377349254497959"
    "67868677799367778545057989375526583965453695345679594846267439656644663247695937562684298567369344587848"
    "44454559499342649333789799276717782998774897667989792875367329557336944668788946353585398556527652768458"
    "56454557487444429533665766" + "37981687399767479676789952"
)

_MADE_UP = words("made-up")
_EMPTY = words("empty")

_PLACEHOLDER_WORDS = words("placeholder")
_TEMPLATE = re.compile(
    r"\$\{|\{\{|\}\}|\$\(|#\{|%\(|%[sdvqr]\b|<%|%>|@\{|\(\(|(?:^|[/:@. -])\$[A-Za-z_]\w{2}|<[A-Za-z_/$][^<>]{0,60}>|\*{3}|\.{3}|\u2026|\u2022|[xX]{4}|[_-]xxx$|^![01]\b|EXAMPLE|^:[a-z:]+:`|^file:|_{4}|-{5}|={5}"
    r"|\{[A-Za-z_0-9. ]{0,40}\}|\[[A-Za-z_. ]{2,40}\]|%[A-Z_]{2,40}%|__[A-Za-z]\w{0,40}__|\?{3}|^\$\w*$|^@[A-Za-z]+$|^!(?:[A-Za-z][a-z]++|[A-Z]++|[a-z](?=[_$.:/(\[\d]|$)|[_$.:/])++(?:[\s(\[]|\d{0,2}$)|^\.Values\.|\[REDACTED|^&[\w#]+;|^(?:\\x\w\w|\\u\w{4})+$"
)
_CODE = re.compile(
    r"^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*){1,8}(?:\(.*)?$|^[A-Za-z_$][\w$.]*\(|^(?:new|await|return|lambda|function|func|def|if|not|self|this|null|None|nil|undefined)\b"
)
_PATHLIKE = re.compile(
    r"^(?:\.{0,2}/|~/|[A-Za-z]:\\|[a-z][a-z0-9+.-]{1,12}://)|^[\w.-]+(?:/[\w.-]+)+/?$|\.(?:pem|key|crt|cer|json|ya?ml|txt|py|js|go|java|html?|php|rb|conf|cfg|ini|md|jks|p12|pub|xml|sh|com|org|net|io|local)$"
)
_FILE_NAME = re.compile(r"[\w./-]+\.(?:pem|key|crt|cer|json|ya?ml|jks|p12|pub|xml)")
_IDENTIFIES = re.compile(r"[0-9A-F]{40}|[a-z]{2,}(?:[-:.](?:[a-z]{2,}\d?|\d{1,4}))+[-:]?")
# a fingerprint; words and a number, as views name their parts
_CAMEL = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+){2,}")
_ASCII_WORD = re.compile(r"(?!\\u)[0-9A-Za-z]{2}|[0-9A-Za-z][!-~][0-9A-Za-z]|[!-/:-@\[-`{-~]{4}")
_MASKED = re.compile(
    r"[xX]{6}|\*{3}|\.{4}|0{12}|1{12}|_{4}|(?i:example|placeholder|your[_-]|replace[_-]?me|redacted|abcdefghij|1234567890abc)"
)
_UUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_HEXLIKE = re.compile(r"^[0-9a-f]+$|^[0-9A-F]+$")
_NUMBER = re.compile(
    r"^[-+]?[0-9][0-9._,:/ x-]*(?:ms|s|m|h|d|px|em|rem|kb|mb|gb|%)?$", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def strangeness(value: str) -> float:
    """Measure how little the letters look like language: words about 3.5, random letters about 6; 0
    for too few letters."""
    total = pairs = 0
    for run in re.findall(r"[a-z]{2,}", value.lower()):
        for left, right in pairwise(run):
            total += ord(_BIGRAMS[(ord(left) - 97) * 26 + ord(right) - 97]) - 48
            pairs += 1
    return total / pairs if pairs else 0.0


def is_template(value: str) -> bool:
    """Return whether a value is a template to be filled in later, or a marker of ours."""
    return _TEMPLATE.search(value) is not None


def is_nothing(value: str) -> bool:
    """Return whether a file of credentials has no credential set here; a weak one counts as set."""
    return (
        is_template(value)
        or value.lower() in _EMPTY
        or is_harmless(value)
        or is_address(value)
        or (is_placeholder(value) and value.lower().startswith(tuple(_MADE_UP)))
    )


def is_noise(value: str) -> bool:
    """Return whether a value draws on all of the keyboard, blanks included, like the keys and salts
    of some frameworks."""
    if (
        len(value) < 32
        or classes(value) < 4
        or "[REDACTED" in value
        or re.search(r"[A-Za-z]{8}", value)
    ):
        return False
    marks = sum(not char.isalnum() and not char.isspace() for char in value)
    if sum(map(str.isdigit, value)) * 3 > len(value):  # the path of a drawing
        return False
    return marks >= 8 and strangeness(value) >= 4.5


@lru_cache(maxsize=4096)
def is_placeholder(value: str) -> bool:
    """Return whether a value is a template, repeated or sequential characters, or a phrase made
    only of words of examples."""
    if _TEMPLATE.search(value) or len(set(value)) <= 2 or not _ASCII_WORD.search(value):
        return True
    lowered = value.lower()
    if any(lowered in sequence for sequence in SEQUENCES) or typed_in_order(lowered):
        return True
    if len(value) >= 16 and "".join(sorted(set(value))) == value:  # an alphabet
        return True
    parts = [word.lower() for word in WORD.findall(value)]
    letters = [word for word in parts if not word.isdigit()]
    if not letters:
        return False
    rest = "".join(char for char in value if not char.isalnum())
    if set(rest) - set("-_ .:/!@#*+'") or any(
        not counting(word) for word in parts if len(word) > 4 and word.isdigit()
    ):
        return False
    if all(_known(word) for word in letters):
        return True
    if letters[0] in _MADE_UP and len(letters) > 1 and strangeness(value) < _STRANGE:
        return True
    return value.isupper() and "_" in value and len(letters) > 1 and strangeness(value) < 4.3


def _known(word: str) -> bool:
    """Return whether a word consists of words of examples, also without separators."""
    if word in _PLACEHOLDER_WORDS or word.removeprefix("my") in _PLACEHOLDER_WORDS:
        return True
    reach = {0}
    for stop in range(2, len(word) + 1):
        if any(
            stop - back in reach and word[stop - back : stop] in _PLACEHOLDER_WORDS
            for back in range(3, min(stop, 14) + 1)
        ):
            reach.add(stop)
    return len(word) in reach


def classes(value: str) -> int:
    return (
        any(char.islower() for char in value)
        + any(char.isupper() for char in value)
        + any(char.isdigit() for char in value)
        + any(not char.isalnum() for char in value)
    )


def is_random(value: str, least: int) -> bool:
    """Return whether a value has a run of at least `least` characters that looks generated: hex,
    base64 and the like."""
    if len(value) < least or any(char.isspace() for char in value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if _HEXLIKE.match(value):
        return len(value) >= max(least, 12) and digits > 0 and letters > 0
    odd = strangeness(value)
    if digits and letters:
        return (
            odd >= 4.4
            or digits * 5 >= len(value)
            or (classes(value) >= 3 and odd >= 4.1)
            or (len(value) >= 16 and _is_mixed(value, 2.2))
            or (len(value) >= 10 and _is_mixed(value, 1.9))
        )
    return odd >= 4.6 and letters >= max(8, least - 4)


def is_scrambled(value: str) -> bool:
    """Return whether a value is plainly generated and no name in code: mixed letters of either case
    and digits, or a long run of hex with many digits."""
    if len(value) < 11 or not value.isascii() or _CODE_MARK.search(value):
        return False
    if len(value) < 14:
        return _is_mixed(value, 1.8)
    if _HEXLIKE.match(value):
        digits = sum(char.isdigit() for char in value)
        return len(value) >= 24 and digits * 5 >= len(value) and digits < len(value)
    return _is_mixed(value, 2.6)


LEAST_WEAK = 16
"""No shorter value under a name that may or may not hold a secret is one."""
_CODE_MARK = re.compile(r"[()\[\]{},;.:<>|&?*\"'`$@#\\]|->|::")
_DIGITS = {"password": 5, "secret": 12, "weak": 64, "none": 64}


def _holds_random(value: str) -> bool:
    """Return whether a structure in a string (JSON, a query) has a generated part."""
    return any(is_random(part, 16) for part in re.findall(r"[A-Za-z0-9+/_-]{16,}", value))


def judge(value: str, kind: Kind, how: str, loose: bool) -> float:
    """Return the confidence that `value` under a name of this kind is a secret; below 0.5 it is
    none."""
    if len(value) < 3 or len(value) > 16_384 or kind == "none":
        return 0.0
    if how in ("quoted", "call") and is_noise(value):
        return 0.8
    if kind == "password" and how in _DIRECT and _COMPOSED.fullmatch(value):
        return 0.5
    if is_placeholder(value) or is_harmless(value) or is_address(value):
        return 0.0
    if is_compound_name(value):
        return 0.0
    if value.isdigit():
        constant = int(value) & (int(value) - 1) == 0  # zero or a power of two
        return 0.6 if len(value) >= _DIGITS[kind] and not counting(value) and not constant else 0.0
    if kind == "secret" and "=" in value.rstrip("="):  # a cookie: the part after the name
        return 0.7 if any(is_random(part, 10) for part in re.split(r"[=;&\"\\]", value)) else 0.0
    if len(_ESCAPE.sub("", value)) < 4:
        return 0.0
    if _CODE.match(value) and not _is_dotted_value(value, kind, how, loose):
        return 0.0
    if _NUMBER.match(value) or (_PATHLIKE.search(value) and not is_random(value, 20)):
        return 0.0
    if _FILE_NAME.fullmatch(value) or (kind == "weak" and _IDENTIFIES.fullmatch(value)):
        return 0.0
    if any(char.isspace() for char in value):
        return 0.7 if kind != "weak" and _holds_random(value) else 0.0
    if value.startswith("{"):
        return 0.7 if _holds_random(value) else 0.0
    if _UUID.match(value):
        return 0.6 if kind in ("password", "secret") else 0.0
    if kind == "password":
        return _judge_password(value, how, loose)
    if kind == "secret":
        if how in ("call", "listed") and _is_word_list(value):
            return 0.0
        if is_random(value, 8 if not loose else 16) or (not loose and _SHORT_HEX.fullmatch(value)):
            return 0.8
        odd = (
            how in _DIRECT
            and not loose
            and len(value) >= 6 + ("-" in value)
            and _RUN.fullmatch(value)
        )
        return 0.5 if odd and strangeness(value) >= _STRANGE else 0.0
    if "=" in value.rstrip("=") or _is_word_list(value):
        return 0.0
    return 0.6 if is_random(value, LEAST_WEAK if not loose else 20) else 0.0


def _is_dotted_value(value: str, kind: Kind, how: str, loose: bool) -> bool:
    """Return whether text that could be `object.attribute` is a value with a dot in it."""
    parts = value.split(".")
    if how == "quoted" and any(is_random(part, 10) for part in parts):
        return True
    if how != "prose" and any(is_random(part, 8) and _is_mixed(part, 2.2) for part in parts):
        return "(" not in value
    if kind == "weak" or (kind == "secret" and loose):
        return False
    if how == "prose" or "(" in value or not any(map(str.isdigit, value)):
        return False
    return strangeness(value) >= 4.5 or any(_is_mixed(part, 2.6) for part in value.split("."))


def _is_mixed(value: str, pace: float) -> bool:
    """Return whether letters of either case and digits mix: a change of class every `pace`
    characters."""
    runs = len(re.findall(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+", value))
    return classes(value) >= 3 and bool(re.search("[0-9]", value)) and runs * pace >= len(value)


_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[nrt0])")
_DIRECT = ("quoted", "compare", "flag", "sql", "element", "bare")
_PLAIN = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*[!@#$%&*]*[^\W_]*")
_RUN = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_SHORT_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,11}")
_SNAKE = re.compile(r"-{0,2}[a-z]+\d?(?:[_-][a-z\d]+)+")
_COMPOSED = re.compile(
    r"[A-Z][a-z]{2,15}[!@#$%&*]?\d{2,4}[!@#$%&*]{1,2}|[A-Z][a-z]{2,15}[@#$%&*]\d{2,4}"
)
"""Typical answers to a rule that wants a capital, a digit and a mark: `Password1234!`."""
_STRANGE = 4.4


def _is_word_list(value: str) -> bool:
    return (
        _SNAKE.fullmatch(value.lower()) is not None
        and strangeness(value) < _STRANGE
        and not any(is_random(part, 16) for part in re.split("[_-]", value))
    )


def _judge_password(value: str, how: str, loose: bool) -> float:
    if how == "prose" and not any(map(str.isdigit, value)):
        return 0.0
    if _CAMEL.fullmatch(value) and strangeness(value) < _STRANGE:
        return 0.0
    if is_random(value, 8):
        return 0.85
    if how in ("call", "listed") and _SNAKE.fullmatch(value):
        return 0.0
    if classes(value) >= 2 and any(char.isdigit() for char in value):
        return 0.7 if not loose else 0.55
    direct = how in _DIRECT
    if strangeness(value) >= (4.1 if how == "call" else _STRANGE) and (direct or len(value) >= 5):
        return 0.7 if not loose else 0.5
    # a plain word: people use them, but only an explicit assignment counts
    plain = len(value) >= 4 and _PLAIN.fullmatch(value) is not None
    return 0.5 if plain and direct and not loose else 0.0


def judge_format(value: str) -> bool:
    """Return whether a well-formed value looks generated: `s.` and 24 letters may be a method
    call."""
    if (
        value.isdigit()
        or _MASKED.search(value)
        or len(set(value)) <= 4
        or typed_in_order(value.lower())
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    return digits >= 3 or strangeness(value) >= 4.2 or (digits > 0 and strangeness(value) >= 3.8)


_COMMIT = re.compile(r"[\w.-]+/[\w.-]+/[0-9a-f]{40}")


def judge_vendor(value: str) -> float:
    """Return the confidence of a value beside a service's name: it must be plainly generated: long,
    mixed, no path and no version."""
    if is_placeholder(value) or is_harmless(value) or _CODE.match(value) or _NUMBER.match(value):
        return 0.0
    if value.startswith("0x") or _COMMIT.fullmatch(value):
        return 0.0
    if _UUID.match(value):
        return 0.6
    if ("/" in value or "." in value) and not is_random(
        value.rpartition("/")[2].rpartition(".")[2], 20
    ):
        return 0.0
    digits = sum(char.isdigit() for char in value)
    account = value.rstrip(string.digits + "-_")  # a person's name with digits behind it
    if account.islower() and not any(map(str.isdigit, account)):
        return 0.0
    return 0.6 if digits >= 2 and is_random(value, 14) else 0.0


def judge_basic(value: str) -> float:
    """Return the confidence of a Basic header's value: base64 of `user:password`."""
    try:
        pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return 0.0
    return 0.9 if pair.partition(":")[2] and pair.rstrip("\r\n").isprintable() else 0.0


def judge_header(scheme: str, value: str) -> float:
    scheme = scheme.lower()
    if scheme == "basic":
        return judge_basic(value)
    if is_placeholder(value) or (_CODE.match(value) and not _is_mixed(value, 2.6)):
        return 0.0
    return 0.8 if is_random(value, 12 if scheme in ("bearer", "apikey", "oauth") else 20) else 0.0


_COUNTED = re.compile(r"[\])]\{\d|[\])][+*?]")


_SAMPLE_ACCOUNT = ("scott", "tiger")  # of every Oracle manual, and of texts that cite them


def judge_url(value: str, user: str) -> float:
    if (
        is_placeholder(value)
        or value == "password"
        or value.startswith(("$", "{", "%s", ":"))
        or "[" in user + value
        or "]" in value  # a pattern of addresses, or an index
        or (user, value) == _SAMPLE_ACCOUNT
        or is_compound_name(value)
        or _COUNTED.search(value)
    ):
        return 0.0
    return 0.3 if value.isdigit() and len(value) < 6 else 0.75
