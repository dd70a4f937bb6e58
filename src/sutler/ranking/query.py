"""Parser for a task's text: title, back-ticks, code, traceback and prose are zones of their own.

A task is an issue, a goal, acceptance criteria or a stack trace, in any mix. The words of each zone
have their own weight."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sutler.languages.terms import STOP, phrases, split, words
from sutler.ranking.resolution import URL, Mention, bare, is_trace, mentions_of
from sutler.ranking.weights import WEIGHTS

ZONE_WEIGHTS = {
    "title": 5.0,
    "ticked": 2.0,
    "error": 2.0,
    "code": 1.2,
    "prose": 0.7,
    "trace": 0.4,
    "setup": 0.05,
}
"""Weight of a word by its zone; `setup` is version lists and templates."""

MAX_CHARS = 60_000
_MAX_TERMS = 250

# Every repetition below is bounded or cannot be entered twice at the same place: a task is
# untrusted text.
_HIDDEN = re.compile(
    r"<!--.{0,1500}?-->|!\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)|data:[a-z/]{1,40};base64,\S{1,9999}",
    re.S,
)
_FENCE = re.compile(
    r"^[ \t]{0,40}(`{3,9}|~{3,9})[^\n]*\n(.*?)(?:^[ \t]{0,40}\1[ \t]*$|\Z)", re.S | re.M
)
_TICKED = re.compile(r"(?<!`)`{1,2}([^`\n]{1,200})`")
_DOTTED = re.compile(r"\b[A-Za-z_]\w{0,100}(?:(?:\.|::|#|\\)[A-Za-z_]\w{0,100})+")
_ERROR = re.compile(
    r"^[ \t]{0,20}(?:E[ \t]{1,8})?"
    r"([\w.]{0,100}(?:Error|Exception|Warning|Panic|panic|Failure|fatal|FATAL"
    r"|error)\b[^\n]{0,500})",
    re.M,
)
_CODE_LINE = re.compile(
    r"^(?:[ ]{4}|\t)[ \t]{0,200}\S|^[ \t]{0,40}(?:>>>|\.\.\.|\$|In \[\d{1,5}\]:)", re.M
)
_SETUP_HEAD = re.compile(
    r"^\W*(?:environment|versions?\b|system (?:info|details)|platform|dependencies|installed"
    r" versions|"
    r"output of|pip (?:list|freeze)|package versions|your environment|configuration\W*$|checklist|"
    r"python version|os version|additional (?:info|dependencies)|operating system|setup"
    r" information).{0,40}$",
    re.I,
)
_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*[ \t]{0,8}$|\w[\w ]{2,40}\n[-=]{3,})"
)
_FORM_LINE = re.compile(r"^[ ]{0,3}(?:#{1,6}[ \t]|\*\*)([^\n]{1,80})$", re.M)
_FORM_WORDS = (
    "actual actually additional behavior behaviour bug checklist code comment comments context"
    " current describe description detail details error example expect expected feature happen"
    " happened happening happens info information link log logs message minimal motivation name"
    " output possible problem proposal provide question readme relevant repro reproduce"
    " reproducible reproduction request result results sample screenshot screenshots search"
    " snippet solution step steps suggested summary tell terms trace"
)
_FORM = frozenset(_FORM_WORDS.split()) | STOP
"""Words of the headings of issue forms. A heading that has no others is not about the task."""
_VERSION_LINE = re.compile(
    r"^[ \t]{0,20}[\w.-]{1,60}[ \t]{0,40}[:=]{0,3}[ \t]{0,40}v?\d{1,6}(?:\.\d{1,6}){1,6}\S{0,40}["
    r" \t]{0,20}$",
    re.M,
)
_KIND = re.compile(
    r"(?:fix|feat|feature|bug|bug ?fix|chore|perf|performance|refactor|docs?|style|tests?|ci|build"
    r"|revert|regression|enhancement|feature request|request|proposal|question|rfc|bug report|enh)",
    re.I,
)
"""Kinds of a change; they do not locate it."""
_WORD = r"[@\w./-]{2,40}"
_TAG = re.compile(
    rf"\s{{0,9}}(?:\[(?P<bracket>[^\]\n]{{1,60}})\]:?"
    rf"|(?P<kind>{_WORD}(?:,? {_WORD}){{0,2}})(?:\((?P<scope>[^)\n]{{1,60}})\))?!?:(?=\s))"
)
_MOST_TAGS = 3
_ENDING = re.compile(r"\.\w{1,4}$")
_BETWEEN_PARTS = re.compile(r"[/,\s@]+")
_NO_COMPONENT = frozenset({"error", "warning", "exception", "panic", "crash", "wip"})
_PARAGRAPH = re.compile(r"\n[ \t]{0,200}\n")
_CODELIKE = re.compile(
    r"\w+_\w+|[a-z0-9]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+|__\w+__"
)

_CALLED = re.compile(r"\b([A-Za-z_]\w{2,100})\((?!s\))|\w(?:::|#|->)([A-Za-z_]\w{2,100})")
"""`listen()` and `Acceptor::accept` name code in sentences too; `file(s)` does not."""
_SENTENCES = frozenset({"title", "ticked", "prose"})
_HYPHENED = re.compile(r"(?<![\w-])(?:--?)?([A-Za-z]{2,30}(?:-[A-Za-z]{1,30}){1,4})(?![\w-])")
_PLAIN = re.compile(r"[A-Za-z]{2,30}")

_ABOUT = {
    "doc": re.compile(
        r"\b(?:docs?|documentation|documented?|docstrings?|readme|typos?|changelog|tutorial)\b",
        re.I,
    ),
    "test": re.compile(
        r"\b(?:flaky|test ?suite|unit ?tests?|(?:add|fix|missing|failing|broken) tests?|tests?"
        r" fail\w*)\b",
        re.I,
    ),
    "example": re.compile(r"\b(?:examples?|demos?|tutorials?|samples?)\b", re.I),
    "bench": re.compile(r"\bbench(?:mark)?s?\b", re.I),
    "ci": re.compile(r"\b(?:ci|workflow|github actions?|pipeline)\b", re.I),
    "build": re.compile(
        r"\b(?:setup\.py|pyproject|packag\w+|wheels?|sdist|build|install\w*|makefile|cmake)\b", re.I
    ),
}


class Query(Struct, frozen=True):
    """A parsed task. `terms` are weighted over all zones; `title` and `ticked` are weighted in one
    zone; `names` are identifiers as written (for definitions), with the weight of their best zone;
    `about` names classes of files that the title asks for; `scope` names components that stand
    before the title's colon or in brackets; `compounds` are neighbouring words that may be one name
    in the code, with the weight of their zone."""

    terms: dict[str, float]
    title: dict[str, float]
    ticked: dict[str, float]
    names: dict[str, float]
    mentions: tuple[Mention, ...]
    dotted: tuple[str, ...]
    phrases: tuple[str, ...]
    about: tuple[str, ...]
    scope: tuple[str, ...] = ()
    compounds: tuple[tuple[tuple[str, ...], float], ...] = ()


def analyse(text: str, zoned: bool = True) -> Query:
    """Parse a task's text. Without `zoned`, every word has the same weight."""
    text = text.replace("\r\n", "\n")[:MAX_CHARS]
    mentions = mentions_of(text)
    zones = _zones(text)
    counts: dict[str, dict[str, int]] = {zone: {} for zone in ZONE_WEIGHTS}
    for zone, part in zones:
        table = counts[zone]
        for word in words(part):
            for term in split(word):
                table[term] = table.get(term, 0) + 1
    terms: dict[str, float] = {}
    for zone, table in counts.items():
        for term, count in table.items():
            terms[term] = terms.get(term, 0.0) + (ZONE_WEIGHTS[zone] if zoned else 1.0) * math.log2(
                1 + count
            )
    strongest = sorted(terms.items(), key=lambda item: (-item[1], item[0]))[:_MAX_TERMS]
    title = "\n".join(part for zone, part in zones if zone == "title")
    return Query(
        terms=dict(strongest),
        title={term: math.log2(1 + count) for term, count in counts["title"].items()},
        ticked={term: math.log2(1 + count) for term, count in counts["ticked"].items()},
        names=_with_frames(_names(zones), mentions),
        mentions=mentions,
        dotted=_dotted(zones),
        phrases=_phrases(zones),
        about=tuple(sorted(kind for kind, pattern in _ABOUT.items() if pattern.search(title))),
        scope=_tags(text.strip().partition("\n")[0])[1],
        compounds=_compounds(zones),
    )


def _tags(title: str) -> tuple[str, tuple[str, ...]]:
    """Split a title into its text without the kind of change (`fix(parser):`, `[Bug]`), and the
    components that stand there."""
    kept: list[str] = []
    for _ in range(_MOST_TAGS):
        match = _TAG.match(title)
        if match is None:
            break
        kind, scope = match["bracket"] or match["kind"], match["scope"] or ""
        if not _KIND.fullmatch(kind.strip()):
            if scope or " " in kind.replace(", ", ","):
                break
            scope = kind
        kept += [scope] if scope else []
        title = title[match.end() :]
    parts = [bare(_ENDING.sub("", part)) for name in kept for part in _BETWEEN_PARTS.split(name)]
    scopes = [part for part in parts if len(part) > 1 and part not in _NO_COMPONENT]
    return " ".join([*kept, title]), tuple(dict.fromkeys(scopes))


def _zones(text: str) -> list[tuple[str, str]]:
    """Return (zone, text) pairs in the order of the task."""
    text = _FORM_LINE.sub(_without_form, URL.sub(" ", _HIDDEN.sub(" ", text)))
    title, _, rest = text.strip().partition("\n")
    if title.startswith("panic: ") or is_trace(_PARAGRAPH.split(text.strip(), maxsplit=1)[0]):
        # A bare trace has no title: five times the weight of its message drowned its frames.
        zones = [("trace" if "Traceback" in title else "error", title)]
    else:
        zones = [("title", _tags(title)[0])]
    zones += [("ticked", part) for part in _TICKED.findall(title)]
    position = 0
    setup = False
    for match in _FENCE.finditer(rest):
        part, setup = _prose(rest[position : match.start()], setup)
        zones += part
        zones += _block(match.group(2), setup)
        position = match.end()
    return zones + _prose(rest[position:], setup)[0]


def _without_form(match: re.Match[str]) -> str:
    """Return a heading, emptied if all its words are those of an issue form."""
    plain = [word.lower() for word in words(match[1])]
    return "### " if plain and _FORM.issuperset(plain) else match[0]


def _block(code: str, setup: bool) -> list[tuple[str, str]]:
    """Return the zones of a fenced block: a traceback, a version list, or code."""
    lines = code.count("\n") + 1
    if setup or (lines > 2 and len(_VERSION_LINE.findall(code)) * 2 > lines):
        return [("setup", code)]
    if is_trace(code):
        return [("trace", code), *_errors(code)]
    return [("code", code), *_errors(code)]


def _errors(code: str) -> list[tuple[str, str]]:
    return [("error", line) for line in _ERROR.findall(code)[-3:]]


def _prose(text: str, setup: bool) -> tuple[list[tuple[str, str]], bool]:
    """Return the zones of paragraphs outside fences. Headings switch the setup zone on and off;
    indented lines may be code."""
    zones: list[tuple[str, str]] = []
    for paragraph in _PARAGRAPH.split(text):
        first = paragraph.strip().partition("\n")[0]
        if _SETUP_HEAD.match(first):
            setup = True
        elif _HEADING.match(paragraph.lstrip("\n")):
            setup = False
        if setup or len(_VERSION_LINE.findall(paragraph)) > 2:
            zones.append(("setup", paragraph))
        elif is_trace(paragraph):
            zones += [("trace", paragraph), *_errors(paragraph)]
        elif len(_CODE_LINE.findall(paragraph)) * 2 > paragraph.count("\n") + 1:
            zones += [("code", paragraph), *_errors(paragraph)]
        else:
            zones.append(("prose", paragraph))
            zones += [("ticked", part) for part in _TICKED.findall(paragraph)]
    return zones, setup


def _names(zones: list[tuple[str, str]]) -> dict[str, float]:
    """Collect identifiers as written. In prose only words that look like code or are called count;
    in titles, back-ticks and code every word may."""
    names: dict[str, float] = {}
    for zone, text in zones:
        weight = ZONE_WEIGHTS[zone]
        pairs = _CALLED.findall(text) if zone in _SENTENCES else ()
        called = {name for pair in pairs for name in pair}
        for word in words(text):
            codelike = word in called or like_code(word)
            if (
                zone == "setup"
                or (zone in ("prose", "trace", "error") and not codelike)
                or word.lower() in STOP
            ):
                continue
            names[word] = max(names.get(word, 0.0), weight * (1.0 if codelike else 0.35))
    return names


def like_code(word: str) -> bool:
    """Return whether a word is spelled as only names of code are, with inner capitals or
    underscores."""
    return _CODELIKE.fullmatch(word) is not None


def _with_frames(names: dict[str, float], mentions: tuple[Mention, ...]) -> dict[str, float]:
    """Add the functions of stack frames with the weight of back-ticks: line numbers may be those of
    another version."""
    for mention in mentions:
        if (
            mention.function
            and mention.function.isidentifier()
            and mention.function.lower() not in STOP
        ):
            weight = ZONE_WEIGHTS["ticked"] * mention.strength
            names[mention.function] = max(names.get(mention.function, 0.0), weight)
    return names


def _dotted(zones: list[tuple[str, str]]) -> tuple[str, ...]:
    names = {
        name: None for zone, text in zones if zone != "setup" for name in _DOTTED.findall(text)
    }
    return tuple(re.sub(r"::|#|\\", ".", name) for name in names)[:100]


def _compounds(zones: list[tuple[str, str]]) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Return words that stand side by side in titles and back-ticks, and words with hyphens
    anywhere."""
    compounds: dict[tuple[str, ...], float] = {}
    for zone, text in zones:
        if zone in ("setup", "trace"):
            continue
        weight = ZONE_WEIGHTS[zone]
        for hyphened in _HYPHENED.findall(text)[:50]:
            several = tuple(hyphened.lower().split("-"))
            compounds[several] = max(compounds.get(several, 0.0), weight)
        if zone in ("title", "ticked"):
            row = [word.lower() for word in _PLAIN.findall(text)[:30]]
            for size in (2, 3):
                for i in range(len(row) - size + 1):
                    several = tuple(row[i : i + size])
                    if not STOP.issuperset(several):
                        compounds[several] = max(compounds.get(several, 0.0), weight)
    return tuple(compounds.items())[:120]


def _phrases(zones: list[tuple[str, str]]) -> tuple[str, ...]:
    held: dict[str, None] = {}
    for zone, text in zones:
        if zone not in ("setup", "trace"):
            for phrase in phrases(text):
                held[phrase] = None
    return tuple(held)[:800]


def with_compounds(
    query: Query, holds: Callable[[str], bool], share: float = WEIGHTS.compounds
) -> Query:
    """Return the query with the terms and names that its words form together, if the project has
    the term (`holds`). They weigh this share of the zone of their words."""
    if not share:
        return query
    terms, names = dict(query.terms), dict(query.names)
    for parts, weight in query.compounds:
        for term, name in _spellings(parts):
            if holds(term):
                if term not in query.terms:
                    terms[term] = max(terms.get(term, 0.0), share * weight)
                names.setdefault(name, share * weight)
    return replace(query, terms=terms, names=names)


def compound_terms(query: Query) -> list[str]:
    """Return the terms that `with_compounds` looks up."""
    return [term for parts, _ in query.compounds for term, _ in _spellings(parts)]


def _spellings(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (term, name as a definition has it) of words joined, and again with a plural's s
    dropped from the last."""
    for last in dict.fromkeys((words[-1], words[-1].removesuffix("s"))):
        parts = (*words[:-1], last)
        yield "_".join(parts), "_".join(parts)
        yield "".join(parts), "".join(part.capitalize() for part in parts)
