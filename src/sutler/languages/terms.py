"""Words of code and prose, normalised the same way in files and in tasks.

`parseURLParts`, `parse_url_parts` and "parsing the parts of URLs" must match, so identifiers are
split by case and underscore, lower-cased and lightly stemmed; an identifier of several words is
also a term as a whole."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

_WORD = re.compile(r"[^\W\d]\w+")
_ASCII_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")  # finds the same in ASCII, in half the time
_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_A-Za-z]+")
_MAX_WORD = 64  # a longer identifier is a digest or an encoded text
# takes long to compile, and is rarely needed
_CJK = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"

_STOP = (
    # English
    "a about above after again all also am an and any are as at be because been before being below"
    " between both but by can could did do does doing don down during each few for from further had"
    " has have having he her here him his how however i if in into is it its itself just let like"
    " ll me more most my no nor not now of off on once only or other our out over own re same she"
    " should so some such than that the their them then there these they this those through to too"
    " under until up us using use used very was we were what when where which while who why will"
    " with would you your yes please thanks see issue want need get got seems still instead since"
    " may might via etc "
    # words of every program
    "self def import return else elif none true false null undefined try except raise assert pass"
    " print class var const function public private protected static void int str string new end"
    " begin elseif endif fi func fn let mut impl pub struct package http https com www org io"
    " github html"
)
STOP = frozenset(_STOP.split())


def stem(word: str) -> str:
    """Strip light suffixes: plurals, -ing, -ed, a silent e. It is sometimes wrong, but equally on
    both sides."""
    if len(word) < 4:  # `was` and `bus` have no shorter stem
        return word
    if word.endswith("ies") and len(word) > 4:  # not `dies`, `ties`
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 6 and word.endswith("ing"):  # not `string`, `bring`
        word = _undouble(word[:-3])
    elif len(word) > 5 and word.endswith("ed"):  # not `shed`, `speed`
        word = _undouble(word[:-2])
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word


def _undouble(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word


@lru_cache(maxsize=1 << 17)  # identifiers repeat over a tree; memory stays bounded for hostile ones
def _term(part: str) -> str:
    """Return the term of one part of an identifier; empty for a stop word or a single letter."""
    part = part.lower()
    return stem(part) if len(part) > 1 and part not in STOP else ""


@lru_cache(maxsize=1 << 18)  # words repeat even more than identifiers
def split(identifier: str) -> tuple[str, ...]:
    """Return the terms of one identifier or word: stemmed parts, and the whole if it has
    several."""
    if len(identifier) > _MAX_WORD:
        return ()
    if identifier.islower() and identifier.isalpha() and identifier.isascii():
        term = _term(identifier)
        return (term,) if term else ()
    if not identifier.isascii() and re.search(_CJK, identifier):
        return tuple(identifier[i : i + 2] for i in range(len(identifier) - 1))
    parts = _PART.findall(identifier)
    terms = [term for term in map(_term, parts) if term]
    whole = identifier.strip("_").lower()
    if len(parts) > 1 or (parts and parts[0].lower() != whole):
        terms.append(whole)
    return tuple(terms)


def spelling(identifier: str, term: str) -> str:
    """Return the part of an identifier that a term stems from; the identifier for the term of the
    whole."""
    if term == whole(identifier):
        return identifier
    parts = (part for part in _PART.findall(identifier) if _term(part) == term)
    return next(parts, identifier)


@lru_cache(maxsize=1 << 18)
def checksum(term: str) -> int:
    """Return a term as 32 bits, for sets that are only checked for membership."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def words(text: str) -> list[str]:
    """Return the identifiers and words of a text, in order."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def terms_of(text: str) -> list[str]:
    """Return all terms of a text, in order, with repetitions."""
    return [term for word in words(text) for term in split(word)]


def whole(identifier: str) -> str:
    """Return the term of an identifier as a whole."""
    return identifier.strip("_").lower()


def phrases(text: str) -> list[str]:
    """Return the word triples of a text: an error message and the literal that makes it have them
    in common."""
    spelled = [word.lower() for word in words(text)]
    return [" ".join(spelled[i : i + 3]) for i in range(len(spelled) - 2)]
