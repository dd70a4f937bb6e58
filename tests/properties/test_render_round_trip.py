"""Whatever a project holds, its pack comes back equal, and a CommonMark reader sees the same."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from sutler.errors import SutlerError
from sutler.formats import FORMATS as TABLE
from sutler.formats import parse, render, section_text, shape
from sutler.formats.assembly import frame, numbered
from sutler.formats.document import (
    CleanText,
    Finding,
    Format,
    Level,
    Listing,
    Pack,
    Part,
    Preamble,
    Section,
)
from sutler.paths import RelPath, parse_relpath, quote

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))
FORMATS: tuple[Format, ...] = tuple(TABLE)
LEVELS: tuple[Level, ...] = ("full", "head_tail", "listed")


def as_sent(pack: Pack) -> Pack:
    """The pack without what never leaves: costs, findings, raw bytes."""
    preamble = replace(
        pack.preamble,
        goal=CleanText(pack.preamble.goal.text),
        tree=CleanText(pack.preamble.tree.text),
    )
    sections = tuple(
        replace(section, body=CleanText(section.body.text), cost=0, data=b"")
        for section in pack.sections
    )
    return replace(pack, preamble=preamble, sections=sections)


BITS = (
    *(
        "`",
        "```",
        "````",
        "`````python",
        "~~~",
        "~~~~",
        "    ```",
        "\t```",
        "> ```",
        "- ```",
        "``` x",
    ),
    *(
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\n\r",
        "\0",
        "\x1b[31m",
        "\x1b]52;c;YQ==\x07",
        "\x7f",
        "\x85",
        "\u2028",
        "\u2029",
    ),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
        "👩‍👩‍👧",
        "é",
        "日本",
        "\U0010ffff",
        "\ufffd",
        "\x0b",
        "\x0c",
        "\x1c",
    ),
    *(
        "</file>",
        "<file path='x'>",
        "</sutler-pack>",
        "<manifest>\n",
        "</manifest>\n",
        "<![CDATA[",
        "]]>",
        "&lt;",
    ),
    *(
        "# sutler pack\n",
        "\n## Manifest\n\n```json\n",
        "\n## Not shown\n\n```text\n",
        "\n## Goal\n",
        "## `a.py`\n",
    ),
    *(
        '{"sutler_pack":1,"project":"x"}\n',
        '{"path":"a","length":1,"sha256":"00"}\n',
        '{"digest":"00"}\n',
        "```\n",
    ),
    *(
        "    1| ",
        "\n    2| ",
        "... [truncated: 3 lines] ...",
        "File: x",
        '"',
        "\\",
        "\\n",
        "'",
        "a",
        " ",
        "x = 1\n",
    ),
    *(
        "[",
        "](",
        "|",
        "*",
        "_",
        "<!--",
        "-->",
        "&amp;",
        "\\u{202e}",
        "\\377",
        "---\n",
        "===\n",
        "#",
        "1. ",
    ),
)
NAMES = (
    *(
        "a",
        "b.py",
        "`",
        "``",
        "```",
        '"',
        "\\",
        "\n",
        "\r",
        "\t",
        "\x1b[2J",
        "\x07",
        "\u202e",
        "\u200d",
        "\u2028",
    ),
    *(
        "\udc80",
        "\udcff",
        "\ud800",
        "é",
        "日本",
        "👩‍👧",
        " ",
        "|",
        "<",
        ">",
        "&",
        "[x]",
        "#",
        "*",
        "</file>",
        "\\n",
    ),
    *(
        "\u00a0",
        "\u3000",
        "\ufeff",
        "\ue000",
        "\U000e0041",
        "-",
        "~",
        "'",
        "&quot;",
        "{",
        "x y",
        "..a",
        ".b",
    ),
)
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def section_of(path: str, text: str) -> Section:
    raw = text.encode()
    digest = sha256(raw).hexdigest()
    return Section(
        path=RelPath(path), level="full", body=CleanText(text), sha256=digest, length=len(raw), source=digest,
        source_size=len(raw),
    )  # fmt: skip


def some_text(random: Random, most: int = 12) -> str:
    return "".join(random.choices(BITS, k=random.randrange(most)))


def some_path(random: Random) -> RelPath:
    depth = random.randrange(1, 4)
    names = ["".join(random.choices(NAMES, k=random.randrange(1, 5))) for _ in range(depth)]
    return parse_relpath("/".join(name if name not in (".", "..") else "x" for name in names))


def some_section(random: Random) -> Section:
    section = section_of(some_path(random), some_text(random))
    if random.random() < 0.5:
        return section
    return replace(
        section,
        level=random.choice(LEVELS),
        source=random.choice(("", section.sha256, "0" * 64)),
        source_size=random.randrange(99),
        encoding=random.choice(("utf-8", "latin-1", "", "utf-16-le")),
        mode=random.choice((0o100644, 0o100755, 0, 0o120000)),
        language=random.choice(("", "python", "c++", "c#", "```", "objective c", "\n", "日本")),
        reason=some_text(random, 3),
        cost=7,
        body=CleanText(section.body.text, (Finding("rule", 1, 1.0),)),
    )


def some_pack(random: Random, files: int) -> Pack:
    number = random.randrange(1, 4)
    preamble = Preamble(
        project="".join(random.choices(NAMES, k=random.randrange(4))),
        goal=CleanText(some_text(random) if random.random() < 0.5 else ""),
        tree=CleanText(some_text(random) if random.random() < 0.5 else ""),
        part=random.choice((Part(), Part(number, 3))),
        header=CleanText(some_text(random) if random.random() < 0.2 else ""),
        instructions=CleanText(some_text(random) if random.random() < 0.2 else ""),
        transforms=("remove-comments",) if random.random() < 0.2 else (),
    )
    listing = Listing(
        tuple(some_path(random) for _ in range(random.randrange(5))), random.choice((0, 0, 12345))
    )
    sections = tuple(some_section(random) for _ in range(files))
    return Pack(preamble, sections, listing, random.random() < 0.3)


def text_of(pack: Pack, format: Format) -> str:
    pieces = render(
        pack.preamble,
        iter(pack.sections),
        lambda: pack.listing,
        format=format,
        line_numbers=pack.line_numbers,
    )
    return "".join(pieces)


def shape_text(pack: Pack, format: Format) -> str:
    """The pack without its ending, put together from the pieces that a budget is counted by."""
    pieces = shape(format)
    pairs = [section_text(one, format, pack.line_numbers) for one in pack.sections]
    opening = pieces.opening(pack.preamble, pack.line_numbers)
    closing = pieces.closing(pack.preamble, pack.listing, pack.line_numbers)
    return (
        opening
        + pieces.GLUE.join(pair[0] for pair in pairs)
        + closing
        + "".join(pair[1] for pair in pairs)
    )


def as_commonmark(text: str) -> str:
    return re.sub("\r\n?", "\n", text).replace("\0", "\ufffd")


def check_commonmark(pack: Pack, text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(text)
    fences = [token for token in tokens if token.type == "fence"]
    names = [
        token.children[0].content
        for token in tokens
        if token.type == "inline"
        and token.level == 1
        and token.children
        and token.children[0].type == "code_inline"
    ]
    around = (
        bool(pack.preamble.header.text) + bool(pack.preamble.tree.text),
        bool(pack.listing.paths)
        + bool(pack.preamble.goal.text)
        + bool(pack.preamble.instructions.text)
        + 1,
    )
    assert len(fences) == around[0] + len(pack.sections) + around[1]
    assert names == [quote(section.path) for section in pack.sections]
    for fence, section in zip(fences[around[0] :], pack.sections, strict=False):
        head, tail = frame(shape("markdown"), section)
        body = section_text(section, "markdown", pack.line_numbers)[0][len(head) :].removesuffix(
            tail
        )
        newline = "" if body.endswith("\n") or not body else "\n"
        assert fence.content == as_commonmark(body + newline)
    assert {token.type for token in tokens} <= {"heading_open", "heading_close", "inline", "fence",
                                                "paragraph_open", "paragraph_close"}  # fmt: skip


def check_names(pack: Pack, format: Format) -> None:
    """With every text emptied, nothing unsafe is left in the pack: names never carry it there."""
    bare = replace(
        pack,
        preamble=replace(
            pack.preamble,
            goal=CleanText(""),
            tree=CleanText(""),
            header=CleanText(""),
            instructions=CleanText(""),
        ),
        sections=tuple(
            replace(section_of(one.path, ""), reason=one.reason) for one in pack.sections
        ),
    )
    assert UNSAFE.findall(text_of(bare, format)) == []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(12 * FUZZ))
def test_ten_thousand_adversarial_files_come_back_equal(format: Format, seed: int) -> None:
    random = Random(f"{format} {seed}")
    for _ in range(210):
        pack = some_pack(random, random.randrange(9))
        text = text_of(pack, format)
        assert parse(text) == as_sent(pack)
        assert text.startswith(shape_text(pack, format))
        assert len(text) - len(shape_text(pack, format)) == len(shape(format).ending("0" * 64))
        check_names(pack, format)
        if format == "markdown":
            check_commonmark(pack, text)
        if format == "json":
            shown = [
                numbered(one.body.text) if pack.line_numbers else one.body.text
                for one in pack.sections
            ]
            assert [one["text"] for one in json.loads(text)["files"]] == shown


def paths() -> st.SearchStrategy[RelPath]:
    name = st.text(st.characters(exclude_characters="/\0", exclude_categories=()), min_size=1)
    return st.lists(name.filter(lambda one: one not in (".", "..")), min_size=1).map(
        lambda all: RelPath("/".join(all))
    )


@settings(max_examples=200 * FUZZ, deadline=None)
@given(
    files=st.lists(st.tuples(paths(), st.text()), max_size=4),
    listed=st.lists(paths()),
    goal=st.text(),
    tree=st.text(),
    project=st.text(st.characters(exclude_categories=())),
    numbers=st.booleans(),
)
def test_any_pack_comes_back_equal(
    files: list[tuple[RelPath, str]],
    listed: list[RelPath],
    goal: str,
    tree: str,
    project: str,
    numbers: bool,
) -> None:
    preamble = Preamble(project, CleanText(goal), CleanText(tree))
    pack = Pack(preamble, tuple(section_of(*one) for one in files), Listing(tuple(listed)), numbers)
    for format in FORMATS:
        text = text_of(pack, format)
        assert parse(text) == pack
        check_names(pack, format)
        if format == "markdown":
            check_commonmark(pack, text)


@settings(max_examples=100 * FUZZ, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    format=st.sampled_from(FORMATS),
    where=st.floats(0, 1),
    bit=st.integers(0, 6),
)
def test_any_changed_byte_is_refused(seed: int, format: Format, where: float, bit: int) -> None:
    pack = some_pack(Random(seed), 3)
    data = bytearray(text_of(pack, format).encode())
    at = min(int(where * len(data)), len(data) - 2)
    data[at] ^= 1 << bit
    try:
        found = parse(bytes(data))
    except SutlerError:
        return
    # JSON may be written anew with other white space; every other change is refused.
    assert format == "json"
    assert found == as_sent(pack)


@settings(max_examples=60 * FUZZ, deadline=None)
@given(seed=st.integers(0, 2**32), format=st.sampled_from(FORMATS), where=st.floats(0, 1))
def test_a_pack_cut_short_is_refused(seed: int, format: Format, where: float) -> None:
    text = text_of(some_pack(Random(seed), 3), format)
    with pytest.raises(SutlerError):
        parse(text[: min(int(where * len(text)), len(text) - 2)])


@pytest.mark.parametrize("inner", FORMATS)
@pytest.mark.parametrize("outer", FORMATS)
def test_a_pack_of_a_pack_of_a_pack_comes_back(inner: Format, outer: Format) -> None:
    random = Random(3)
    first = as_sent(some_pack(random, 4))
    second = replace(first, sections=(section_of("pack", text_of(first, inner)), *first.sections))
    third = replace(
        second, sections=(*second.sections, section_of("pack of packs", text_of(second, outer)))
    )
    found = parse(text_of(third, inner))
    assert found == third
    assert parse(parse(found.sections[-1].body.text).sections[0].body.text) == first
