"""The first sentence of a README: what the authors say it is for, markup taken away."""

from __future__ import annotations

import re

from sutler.paths import basename
from sutler.survey.evidence import one_line

_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc|org))?$", re.IGNORECASE)
_SKIP = re.compile(
    r"\s*(?:#|=+\s*$|-+\s*$|~+\s*$|\^+\s*$|\.\. |:\w+:|!\[|\[!\[|\[!|<|>|\||```|\*{3,}|[-*+] |\d+\. |--+)"
)
_TAGGED = re.compile(r"\s*<(?:p|div|b|strong|em|center)\b[^>]{0,200}>|</\w+>")
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)", re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\b(?:[Ee]\.g|[Ii]\.e|etc|vs|cf|approx|Inc|Dr|Mr)|\b[A-Z])\.$")


def is_readme(path: str) -> bool:
    return _README.match(basename(path)) is not None


def first_sentence(text: str) -> str:
    """Nothing when there is no prose."""
    for paragraph in _paragraphs(text[:50_000]):
        plain = one_line(_plain(paragraph), 2_000)
        if len(plain.split()) >= 4:
            return one_line(_cut(plain))
    return ""


def _paragraphs(text: str) -> list[str]:
    """Runs of prose lines: headings, badges, tables, code, lists and directives are not prose."""
    out: list[list[str]] = [[]]
    lines = [line[:2_000] for line in text.splitlines()]
    fenced = False
    for index, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        underlined = index + 1 < len(lines) and re.fullmatch(
            r"([=\-~^*])\1{2,}\s*", lines[index + 1]
        )
        line = _TAGGED.sub("", line) if _TAGGED.match(line) and "<a" not in line else line
        prose = line.strip() and not fenced and not _SKIP.match(line) and not underlined
        if prose and not line.startswith(("    ", "\t")):
            out[-1].append(line)
        elif out[-1]:
            out.append([])
    return [" ".join(lines) for lines in out if lines]


def _plain(text: str) -> str:
    text = re.sub(r"<br\s*/?>", " ", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>]{1,300}>", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"`([^`<]*?)\s*<[^>]*>`_+", r"\1", text)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text)
    text = re.sub(r"(?<!\w)[*_]{1,3}([^*_\n]+)[*_]{1,3}(?!\w)", r"\1", text)
    return re.sub(r"`+_*", "", text)


def _cut(text: str) -> str:
    end = 0
    for match in _SENTENCE.finditer(text):
        end = match.end()
        if not _ABBREVIATION.search(text[:end]):
            return text[:end]
    return text
