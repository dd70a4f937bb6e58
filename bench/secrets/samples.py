"""Made-up secrets: strings drawn from a pattern, put into lines as people write them."""

from __future__ import annotations

import random
import re
import re._constants as op  # type: ignore[import-not-found]  # a private module without types
import re._parser as parser  # type: ignore[import-not-found]  # a private module without types
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

_WORD = string.ascii_letters + string.digits
_PRINTABLE = _WORD + "-_.+/="

LINES = (
    "{name} = '{value}'",
    '{name} = "{value}"',
    "{NAME}={value}",
    'export {NAME}="{value}"',
    "  {name}: {value}",
    '  "{name}": "{value}",',
    "const {camel} = '{value}';",
    'private static final String {NAME} = "{value}";',
    '{camel} := "{value}"',
    'client = Client(url, "{value}")',
    "curl -H 'X-Header: {value}' https://api.internal/v1/items",
    "# rotate this one soon: {value}",
    "2024-05-01 12:00:01 INFO request used {value} and got 200",
    "<{name}>{value}</{name}>",
    "ENV {NAME} {value}",
    '{{"cell_type": "code", "source": ["x = \\"{value}\\"\\n"]}}',
    "`{value}`",
    '-    {name}: "{value}"',
    "| {name} | {value} |",
    "https://api.internal/v1/items?x=1&{name}={value}",
)


class Sample(NamedTuple):
    kind: str
    line: str
    secret: str


def lines_for(kind: str, source: str, count: int, seed: int) -> Iterator[Sample]:
    """`count` samples of one kind; the secret is group 1 of the pattern where it has one."""
    rng = random.Random(f"{kind}:{seed}")
    whole = re.compile(source)
    for number in range(count):
        text = draw(source, rng)
        found = whole.search(text)
        secret = found.group(1) if found and whole.groups and found.group(1) else text
        name = rng.choice(("value", "setting", "service_x", kind.replace("-", "_")))
        line = LINES[number % len(LINES)].format(
            name=name,
            NAME=name.upper(),
            camel=re.sub(r"_(\w)", lambda m: m[1].upper(), name),
            value=text,
        )
        yield Sample(kind, line, secret)


def draw(source: str, rng: random.Random) -> str:
    return "".join(_draw(parser.parse(source), rng, {}))


def _draw(tree: Any, rng: random.Random, groups: dict[int, str]) -> Iterator[str]:
    for code, argument in tree:
        if code is op.LITERAL:
            yield chr(argument)
        elif code is op.NOT_LITERAL:
            yield rng.choice([char for char in _WORD if ord(char) != argument])
        elif code is op.ANY:
            yield rng.choice(_WORD)
        elif code is op.IN:
            yield rng.choice(_members(argument))
        elif code is op.BRANCH:
            yield from _draw(rng.choice(argument[1]), rng, groups)
        elif code is op.SUBPATTERN:
            text = "".join(_draw(argument[3], rng, groups))
            groups[argument[0]] = text
            yield text
        elif code is op.GROUPREF:
            yield groups.get(argument, "")
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            low, high, body = argument
            for _ in range(rng.randint(low, min(high, low + 12))):
                yield from _draw(body, rng, groups)


def _members(items: Any) -> list[str]:
    chars: set[str] = set()
    negated = False
    for code, argument in items:
        if code is op.NEGATE:
            negated = True
        elif code is op.LITERAL:
            chars.add(chr(argument))
        elif code is op.RANGE:
            chars.update(chr(point) for point in range(argument[0], argument[1] + 1))
        elif code is op.CATEGORY:
            chars.update(_CATEGORIES[argument])
    usable = set(_PRINTABLE) - chars if negated else chars & set(string.printable[:95]) or chars
    return sorted(usable)


_CATEGORIES = {
    op.CATEGORY_WORD: _WORD + "_",
    op.CATEGORY_DIGIT: string.digits,
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: _PRINTABLE,
    op.CATEGORY_NOT_WORD: "-.+",
    op.CATEGORY_NOT_DIGIT: string.ascii_letters,
}
