"""Purpose of a project by its README: the first sentence of the prose, without markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape

from sutler.paths import basename, dirname
from sutler.survey.evidence import one_line

_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc|org))?$", re.IGNORECASE)
_SKIP = re.compile(
    r"\s*(?:#|=+\s*$|-+\s*$|~+\s*$|\^+\s*$|\.\. |:\w+:|!\[|\[!\[|\[!|<|>|\||```|\*{3,}|[-*+] |\d+\."
    r" |--+)"
)
_TAGGED = re.compile(r"\s*<(?:p|div|b|strong|em|center)\b[^>]{0,200}>|</\w+>")
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)", re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\b(?:[Ee]\.g|[Ii]\.e|etc|vs|cf|approx|Inc|Dr|Mr)|\b[A-Z])\.$")


def is_readme(path: str) -> bool:
    return _README.match(basename(path)) is not None


def own_readmes(paths: Iterable[str], name: str) -> list[str]:
    """Return the READMEs of the project itself, plainest name first: at the root, in `.github/`, in
    the folder that has the project's `name`, or in `docs/`."""
    readmes = sorted(filter(is_readme, paths), key=lambda path: (path.count("/"), len(path), path))
    plain = name.rsplit("/", 1)[-1].lower()
    for folder in ("", ".github", plain, "docs"):
        if own := [path for path in readmes if basename(dirname(path)).lower() == folder]:
            return own
    return []


_ASIDE = re.compile(
    r"(?:copyright|see|note|warning|please|click|visit|check|follow|join|read|show|star|try|support"
    r"|sponsor|thanks?|for more"
    r"|you can|you should|if you|we are|we're|to (?:install|use|get|run|build)|this (?:readme"
    r"|document|file|page|branch"
    r"|functionality|feature|\w+ (?:is|was|has been) (?:now )?(?:archived|deprecated|no longer))"
    r"|looking for|want to|quick ?start|jump to|it is recommended|in other words|documentation"
    r"|the documentation|the latest|english|translations?|.{0,40}\bversion of this"
    r"|(?:switch|change) language)\b",
    re.IGNORECASE,
)
"""Openings of sentences that are about the README, the reader or the news, not about the
project."""
_DEFINES = re.compile(
    r"(?:(?:an?|the)\s+(?!following\b)\S+.{10,}"
    r"|(?:this|these)\s(?:\w+\s){1,3}(?:covers?|contains?|provides?|implements?|shows?)\b"
    r"|[^.!?]{1,60}?\s(?:is|are)\s(?:an?|the|one|your|our|designed|intended|built|used|written"
    r"|to)\b"
    r"|[^.!?,]{1,60}?\s(?:provides|implements|helps|allows|lets|enables|makes|turns|brings"
    r"|aims|offers|contains"
    r"|installs|creates|checks|converts)\s)",
    re.IGNORECASE,
)
"""A sentence that defines something."""
_ANNOUNCES = re.compile(r"(?:[:;]|\b(?:are|includes?|to|by))\s*$")
"""How the words before a list end."""
_LINKS = re.compile(r" \| |^\W*https?:")
OPENING = 1_000
"""Characters of a README that a summary quotes."""
_HOW_TO = re.compile(
    r"(?im)^(?:\#{2,4}\s.*|(?=.*\n[-=~]{4,}$).*)\b(?:install\w*|contribut\w+|getting"
    r"|start(?:ed)?|set ?up|usage|using|build\w*|compil\w+|develop\w*|sponsors?"
    r"|support\w*|licen[sc]e|requirements|docs"
    r"|documentation|how to|deploy\w*|test\w*|links|community|help|table of contents|contents)\b"
)
"""A heading that begins the instructions, after the description."""
_SECTION = re.compile(r"(?m)^#{2,6}\s")
NEAR = 12
CLOSE = 4
"""Number of paragraphs that are searched for a definition: of the project by its name, and of
anything."""


def first_sentence(text: str, name: str = "") -> str:
    """Return the README's description of the project: in the first paragraphs the first sentence
    that defines something, preferably one that opens with the project's `name`; else the first
    sentence about the project; else the title; empty without prose."""
    text = _stripped(text[:50_000])
    plain = [one_line(_plain(paragraph), 2_000) for paragraph in _paragraphs(text)]
    prose = [
        words for words in plain if len(re.findall(r"\w+", words)) >= 4 and not _LINKS.search(words)
    ]
    sentences = [_cut(words) for words in prose][:NEAR]
    about = [sentence for sentence in sentences if not _ASIDE.match(sentence)]
    title = _title(text)
    names = {_letters(word) for word in (name, name.rsplit("/", 1)[-1], title) if _letters(word)}
    close = [sentence for sentence in about if sentence in sentences[:CLOSE]]
    all_defining = [sentence for sentence in about if _DEFINES.match(sentence)]
    named = [sentence for sentence in all_defining if _letters(sentence).startswith(tuple(names))]
    defining = [sentence for sentence in all_defining if sentence in close]
    if about[:1] and about[0] not in defining and len(title.split()) < 3:
        defining = [*about[:1], *defining]  # a tagline right below a bare name
    chosen = [*(named if names else []), *defining]
    if named[:1] and defining[:1]:
        place = sentences.index(named[0])
        above = _SECTION.split(text, maxsplit=1)[0]  # later sections are no description
        if sentences.index(defining[0]) < place - 3 or plain.index(prose[place]) >= len(
            _paragraphs(above)
        ):
            chosen = [defining[0]]
    fallback = [title] if len(title.split()) >= 3 else [*close, *sentences]
    return one_line(next(iter([*chosen, *fallback]), ""))


def opening(text: str, limit: int = OPENING) -> str:
    """Return the prose that a README opens with: whole paragraphs within `limit` characters."""
    kept: list[str] = []
    for paragraph in _paragraphs(_HOW_TO.split(_stripped(text[:50_000]))[0]):
        words = one_line(_plain(paragraph), 1_000)
        if len(re.findall(r"\w+", words)) < 4 or _LINKS.search(words) or _ASIDE.match(words):
            continue
        if _ANNOUNCES.search(words):  # it announces code or a picture
            continue
        if len(words) > limit and "; " in words:  # of a list as much as there is room for
            words = words[:limit].rpartition("; ")[0] + " …"
        limit -= len(words)
        if limit < 0:
            break
        kept.append(words)
    return "\n\n".join(kept)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


_LINKED = re.compile(
    r"(?is)<a\b[^>]{0,600}>(?:(?!</a>|<h\d).){0,600}?<(?:img|b|strong|p|br|sub|sup)\b"
    r"(?:(?!</a>|<h\d).){0,600}?</a>"
)
"""A link around something other than words: a badge, a sponsor."""
_TAGLINE = re.compile(
    r"(?is)<h([2-6])\b[^>]{0,300}>((?:[^<]|</?br\s*/?>|</?(?:b|em|strong|i)>){30,300}?"
    r"[.!])\s*(?:</?br\s*/?>\s*)*</h\1>"
)
"""A heading that is a sentence, as in the second line of a title."""


def _stripped(text: str) -> str:
    """Remove comments and the HTML of pictures, links and tables; the text of other tags stays."""
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^:[\w-]+:.*$", "", text)  # attributes of an AsciiDoc header
    for tag in ("picture", "table", "svg", "details", "script", "style", "sup", "sub"):
        text = re.sub(rf"(?is)<{tag}\b.*?</{tag}>", "", text)
    text = _LINKED.sub("", text)
    text = _TAGLINE.sub(lambda heading: f"\n\n{one_line(heading[2])}\n\n", text)
    text = re.sub(r"(?is)<h([1-3])\b[^>]{0,300}>(.{0,300}?)</h\1>", r"\n# \2\n", text)
    text = re.sub(
        r"(?i)</?(?:p|div|center|br|hr|span|b|i|em|strong|font|a|img|samp|kbd)\b[^>]{0,600}>",
        _tag,
        text,
    )
    return re.sub(r"(?m)^[ \t]+(?=\S)(?![ \t]*[-*+] )", _indent, text)


def _tag(match: re.Match[str]) -> str:
    return "\n" if re.match(r"(?i)</?(?:p|div|center|hr)\b", match.group()) else ""


def _indent(match: re.Match[str]) -> str:
    return match.group() if len(match.group().expandtabs(4)) >= 4 else ""


def _title(text: str) -> str:
    """Return the first heading."""
    lines = text.splitlines()[:60]
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        match = re.match(r"\s{0,3}[#=]\s+(\S.*?)[\s#]*$", line)
        underlined = line.strip() and re.fullmatch(r"([=\-~*#^])\1{2,}\s*", below)
        heading = match[1] if match else line.strip() if underlined else ""
        plain = one_line(_plain(heading), 200).strip("!:| ")
        if plain and re.search(r"[A-Za-z]", plain):
            return plain
    return ""


def _paragraphs(text: str) -> list[str]:
    """Return runs of prose lines, without headings, badges, tables, code, lists and directives."""
    out: list[list[str]] = [[]]
    lines = [line[:2_000] for line in text.splitlines()]
    fenced = listed = announced = False
    for index, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~", "----")):
            fenced = not fenced
        underlined = index + 1 < len(lines) and re.fullmatch(
            r"([=\-~^*])\1{2,}\s*", lines[index + 1]
        )
        line = _TAGGED.sub("", line) if _TAGGED.match(line) and "<a" not in line else line
        item = re.match(r"\s{0,3}(?:[-*+]|\d+\.) (.*)", line)
        listed = bool(item) or (listed and bool(line.strip()))  # an item ends at an empty line
        before = next((lines for lines in reversed(out) if lines), [])
        if item and not fenced:
            announced = bool(before) and _ANNOUNCES.search(before[-1]) is not None
        if listed and not fenced:
            if announced:  # `offers:` and the items of the list
                joint = [] if item else [before.pop().removesuffix(";")]
                before.append(" ".join([*joint, item[1] if item else line]) + ";")
            elif out[-1]:
                out.append([])
            continue
        prose = line.strip() and not fenced and not _SKIP.match(line) and not underlined
        if prose and not line.startswith(("    ", "\t")):
            out[-1].append(line)
        elif out[-1]:
            out.append([])
    return [re.sub(r"[ .,;]*;(?=\s|$)", ";", " ".join(lines)).rstrip(";") for lines in out if lines]


def _plain(text: str) -> str:
    text = unescape(re.sub(r"<br\s*/?>", " ", text)).replace("\xa0", " ")
    text = re.sub(r"\[!\[[^\]]*\]\([^)]*\)\](?:\([^)]*\)|\[[^\]]*\])", "", text)
    text = re.sub(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|<[^>]{1,300}>", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"`([^`<]*?)\s*<[^>]*>`_+", r"\1", text)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text)
    text = re.sub(r"(?<!\w)[*_]{1,3}([^*_\n]+)[*_]{1,3}(?!\w)", r"\1", text)
    text = re.sub(r"image:[^\s\[]*\[[^\]]*\]|\[#\w*\]_?", "", text)
    text = re.sub(r"\*\*|(?<!\w)\[([^\]]+)\](?![\w(:])", r"\1", text)
    text = re.sub(r"https?://\S+\[([^\]]*)\]", r"\1", text)  # AsciiDoc
    return re.sub(r"`+_*", "", text)


def _cut(text: str) -> str:
    end = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        if not _ABBREVIATION.search(text[:end]):
            return text[:end]
    return text
