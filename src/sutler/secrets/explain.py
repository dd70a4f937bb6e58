"""Findings as `sutler secrets` lists them: place, rule, and the evidence for and against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sutler.formats.document import Finding
from sutler.secrets import apart, name_kinds, readers, verdict
from sutler.secrets.engines import Engine, lower
from sutler.secrets.format_table import formats
from sutler.secrets.markers import digest_of
from sutler.secrets.redactor import Hit, find

_CONSTRUCTS: dict[str, str] = {
    "quoted": "the string that is assigned to it",
    "bare": "the word that is assigned to it",
    "call": "an argument behind it",
    "compare": "what it is compared with",
    "header": "the value of a header",
    "url": "the password of a URL",
    "flag": "the value of an option",
    "sql": "a value in SQL",
    "element": "the text of an element",
    "vendor": "a value beside the name of a service",
    "apart": "a value that stands apart from its name",
    "listed": "one of the strings that are given to it",
    "prose": "a word in a sentence",
}
_KINDS = {
    "password": "a name that says password",
    "secret": "a name that says secret or token",
    "weak": "a name that may hold a secret, such as key or salt",
    "none": "a name that says nothing",
}
_RANDOM = 4.4  # strangeness from which letters do not look like language


class Explanation(Struct, frozen=True):
    """Reasons for one finding. Nothing in it shows the value."""

    rule: str
    where: str
    evidence: tuple[str, ...]
    against: tuple[str, ...]


def explanations(text: str, path: str, engine: Engine, key: bytes) -> dict[str, Explanation]:
    """Return the reasons for the findings of a text, by the digest that an allow-list takes."""
    reasons: dict[str, Explanation] = {}
    for hit in find(text, path, engine):
        digest = digest_of(text[hit.start : hit.end], key)
        reasons.setdefault(digest, _explained(text, hit))
    return reasons


SHARED = Explanation(
    "shared value", "the value is a secret of another file, or was found beside another", (), ()
)
"""Reason of a finding that the text alone does not justify."""


def _explained(text: str, hit: Hit) -> Explanation:
    value = text[hit.start : hit.end]
    if any(entry.name == hit.rule for entry in formats()):
        evidence = ["it has the form of this kind of key"]
        if hit.confidence > 0.95:
            evidence.append("its checksum is right")
        return Explanation(f"format {hit.rule}", "anywhere in a text", tuple(evidence), ())
    if hit.rule == "private-key":
        return Explanation("block", "between the lines of a private key", ("key material",), ())
    if hit.rule.startswith("encoded-"):
        return Explanation("encoded", f"decoded, {hit.rule[8:]} is found in it", (), ())
    candidate = _candidate(text, hit)
    if candidate is None:
        where = "a file of this name holds such values"
        return Explanation(f"file {hit.rule}", where, tuple(_for(value)), tuple(_against(value)))
    kind = name_kinds.kind_of(candidate.name)
    where = f"{_CONSTRUCTS[candidate.how]}: {candidate.name[-60:]}"
    named = () if candidate.how in ("header", "url", "vendor") else (_KINDS[kind],)
    return Explanation(f"grammar {hit.rule}", where, (*named, *_for(value)), tuple(_against(value)))


def _candidate(text: str, hit: Hit) -> readers.Candidate | None:
    """Return the candidate of the grammar whose value is this hit."""
    start = text.rfind("\n", 0, hit.start) + 1
    stop = text.find("\n", hit.end)
    stop = len(text) if stop < 0 else stop
    at = readers.Stretch(
        text, lower(text, text.encode("utf-8", "surrogatepass")), start, stop, stop
    )
    for read in (*readers.READERS, *apart.READERS):
        for candidate in read(at):
            if candidate.start <= hit.start < candidate.end:
                return candidate
    return None


def _for(value: str) -> Iterator[str]:
    if verdict.is_random(value, 8):
        yield "it reads as generated"
    odd = verdict.strangeness(value)
    if odd >= _RANDOM:
        yield f"its letters are no language ({odd:.1f}; words have about 3.5)"
    if (kinds := verdict.classes(value)) > 1:
        yield f"{kinds} of 4 kinds of characters"
    yield f"{len(value)} characters"


def _against(value: str) -> Iterator[str]:
    if len(value) < 8:
        yield "it is short"
    if value.isdigit():
        yield "it is a number"
    odd = verdict.strangeness(value)
    if odd and odd < _RANDOM and not verdict.is_random(value, 8):
        yield f"its letters look like a word ({odd:.1f})"
    if any(map(str.isspace, value)):
        yield "it has blanks"
    if "." in value or "/" in value:
        yield "it could be a path or a name in code"


class Listed(Struct, frozen=True, omit_defaults=True):
    """One row of `sutler secrets`: place, rule, confidence, and the tag that an allow-list
    takes."""

    path: str
    line: int
    rule: str
    confidence: float
    tag: str
    shown: str
    explanation: Explanation | None = None


def listing(path: str, clean_text: str, findings: Iterable[Finding]) -> tuple[Listed, ...]:
    """Return the masked findings of one file: `shown` is the line after redaction, cut to 120
    characters."""
    lines = clean_text.split("\n")
    rows = []
    for item in findings:
        if item.confidence > 0:
            shown = lines[item.line - 1].strip()[:120]
            rows.append(Listed(path, item.line, item.rule, item.confidence, item.tag[:8], shown))
    return tuple(sorted(rows, key=lambda row: (row.line, row.rule, row.tag)))
