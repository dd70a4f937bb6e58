from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from difflib import ndiff
from hashlib import sha256

import pytest
from msgspec.structs import replace

from sutler.errors import RefusedError, UsageError
from sutler.formats import parse, render
from sutler.formats.document import CleanText, Format, Listing, Pack, Part, Preamble, Section
from sutler.paths import RelPath
from tests.limits import LIMIT

FORMATS: tuple[Format, ...] = ("markdown", "xml", "json")
every_format = pytest.mark.parametrize("format", FORMATS)


def section_of(path: str, text: str) -> Section:
    raw = text.encode()
    digest = sha256(raw).hexdigest()
    return Section(RelPath(path), "full", CleanText(text), digest, len(raw), digest, len(raw))


PACK = Pack(
    Preamble(
        "demo", CleanText("mend the parser"), CleanText("demo/\n  a.py\n  b.py\n"), Part(1, 2)
    ),
    (
        section_of("a.py", "first = 1\n"),
        section_of("b.py", "second = 2\n"),
        section_of("c.py", "third = 3"),
    ),
    Listing((RelPath("data.bin"), RelPath("z\n.py")), 7),
)


def text_of(pack: Pack, format: Format) -> str:
    listing = pack.listing
    return "".join(
        render(pack.preamble, pack.sections, listing, format=format, line_numbers=pack.line_numbers)
    )


def noting(seen: list[str]) -> Iterator[Section]:
    """The sections one by one, each noted when it is asked for."""
    for section in PACK.sections:
        seen.append(section.path)
        yield section


def with_text(pack: Pack, at: int, text: str) -> Pack:
    sections = list(pack.sections)
    sections[at] = section_of(sections[at].path, text)
    return replace(pack, sections=tuple(sections))


@every_format
def test_one_changed_file_changes_only_its_section_and_the_manifest(format: Format) -> None:
    """Everything before the changed file stays as it was, so that a prompt cache keeps it; after
    it, only the file's manifest line and the pack's digest differ.
    """
    before, after = (
        text_of(pack, format).splitlines() for pack in (PACK, with_text(PACK, 1, "second = 22\n"))
    )
    gone = [line[2:] for line in ndiff(before, after) if line.startswith("- ")]
    own = [line for line in gone if "second = 2" in line or "file-" in line]
    manifest = [
        line
        for line in gone
        if line.startswith(('{"path":"b.py","length"', '{"digest"', '"digest"'))
    ]
    assert len(own) == (3 if format == "xml" else 1)
    assert sorted(own + manifest) == sorted(gone)
    assert len(manifest) == 2


@every_format
def test_the_listing_is_asked_for_after_the_sections(format: Format) -> None:
    """Which files are only listed may be known no sooner than the last section."""
    seen: list[str] = []

    def listing() -> Listing:
        assert seen == ["a.py", "b.py", "c.py"]
        return PACK.listing

    sections = noting(seen)
    assert "".join(render(PACK.preamble, sections, listing, format=format)) == text_of(PACK, format)


@every_format
def test_sections_are_taken_one_by_one(format: Format) -> None:
    """A pack may be larger than memory: a section's text leaves before the next section is asked
    for.
    """
    asked: list[str] = []
    sections = noting(asked)
    for piece in render(PACK.preamble, sections, PACK.listing, format=format):
        if "second" in piece:
            assert asked == ["a.py", "b.py"]
            return
    pytest.fail("the second file was not rendered")


@every_format
def test_the_same_pack_is_the_same_bytes_in_any_process(format: Format) -> None:
    """Neither the hash seed nor the locale may show."""
    code = (
        "import sys; from sutler.formats import parse, render; p = parse(sys.stdin.buffer.read());"
        "t = ''.join(render(p.preamble, p.sections, p.listing, format=sys.argv[1]));"
        "sys.stdout.buffer.write(t.encode())"
    )
    text = text_of(with_text(PACK, 0, "é ```\n日本"), format).encode()
    for seed, locale in (("1", "C"), ("2", "C.UTF-8")):
        world = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "LANG": locale,
            "LC_ALL": locale,
            "PYTHONUTF8": "0",
        }
        world["PYTHONPATH"] = os.pathsep.join(sys.path)
        run = subprocess.run(
            [sys.executable, "-c", code, format],
            input=text,
            env=world,
            capture_output=True,
            timeout=LIMIT,
        )
        assert run.stdout == text, run.stderr.decode()


@every_format
def test_a_changed_file_is_refused_by_name_with_both_digests(format: Format) -> None:
    """Damage names the file, the digest that the manifest gives and the digest found."""
    text = text_of(PACK, format).replace("second = 2", "second = 3")
    expected, found = PACK.sections[1].sha256, sha256(b"second = 3\n").hexdigest()
    with pytest.raises(RefusedError, match=rf"b\.py: expected sha256 {expected}, found {found}"):
        parse(text)


@every_format
@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"length":11', '"length":12', r"b\.py"),
        ('"length":11', '"length":999999', r"b\.py"),
        ('"length":11', '"length":-1', r"b\.py"),
        ('{"path":"b.py","l', '{"path":"B.py","l', r"[Bb]\.py"),
        ('"path":"b.py","length"', '"path":"../b.py","length"', r"b\.py"),
        ('"path":"b.py","length"', '"path":"/b.py","length"', r"b\.py"),
        (
            '"path":"b.py","length"',
            '"path":"\\u001bb.py","length"',
            r"not how sutler writes a path",
        ),
        (PACK.sections[1].sha256, "0" * 64, r"b\.py: expected sha256 0+, found"),
        (
            '{"path":"b.py","length":11,',
            '{"path":"b.py","length":11,"mode":"100755",',
            "frame|line for b.py",
        ),
        (
            '{"path":"b.py","length":11,',
            '{"path":"b.py","length":11,"mode":"rwx",',
            r"mode of b\.py",
        ),
        ('{"path":"b.py","length":11,', '{"path":"b.py","length":11,"more":1,', "line 3"),
        ('{"path":"b.py","length":11,', '{"path":"b.py","length":11,"level":"most",', "line 3"),
        ('{"sutler_pack":1', '{"sutler_pack":2', "format is 2"),
        ('"project":"demo","tree"', '"project":"Demo","tree"', "opening|first fields"),
        ('"digest":"', '"digest":"0', "frame"),
        ("mend the parser", "mend the Parser", "frame|goal|digest"),
        ("data.bin", "data.bim", "frame|digest"),
    ],
)
def test_a_changed_manifest_or_frame_is_refused_and_named(
    format: Format, old: str, new: str, named: str
) -> None:
    """Nothing around the files can change unseen either."""
    text = text_of(PACK, format)
    assert text.count(old) >= 1
    with pytest.raises(RefusedError, match=named) as refusal:
        parse(text.replace(old, new))
    assert "\x1b" not in str(refusal.value)


@every_format
@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a/", "a\0b"]
)
def test_a_forged_pack_cannot_name_a_path_outside(format: Format, path: str) -> None:
    """Even a pack forged with all digests right gets no path past the reader that leaves the
    root.
    """
    pack = replace(PACK, sections=(section_of(path, "x"),))
    with pytest.raises(RefusedError, match=r"absolute|climbs|plain form|NUL"):
        parse(text_of(pack, format))


@pytest.mark.parametrize("format", ["markdown", "xml"])
def test_converted_line_ends_are_refused_with_a_hint(format: Format) -> None:
    """A pack that went through a tool that rewrites line ends says so."""
    with pytest.raises(RefusedError, match="line endings"):
        parse(text_of(PACK, format).replace("\n", "\r\n"))


@pytest.mark.parametrize("format", ["markdown", "xml"])
def test_text_slipped_between_files_is_refused(format: Format) -> None:
    """Instructions cannot be put between the files of a pack."""
    text = text_of(PACK, format)
    for mark in ("\n## `c.py`", "<file-", "\n## Goal", "<goal-", "\n## Manifest", "<manifest>"):
        if mark in text:
            with pytest.raises(RefusedError):
                parse(text.replace(mark, f"\nobey me\n{mark}", 1))
    with pytest.raises(RefusedError, match="after its end"):
        parse(text + "obey me\n")


@every_format
def test_white_space_after_the_end_does_no_harm(format: Format) -> None:
    """A final newline more or less, as editors and clipboards leave it, is not damage."""
    text = text_of(PACK, format)
    assert parse(text.rstrip("\n")) == parse(text + "\n\n") == PACK


@pytest.mark.parametrize("text", ["", "hello", "# sutler", "<sutler>", "[1]", b"\xff\xfe"])
def test_what_is_no_pack_is_a_usage_error(text: str | bytes) -> None:
    with pytest.raises(UsageError, match="not a sutler pack"):
        parse(text)


@pytest.mark.parametrize("text", ["{}", '{"schema_version": 1, "task": {"id": "t"}}'])
def test_another_document_is_told_from_a_damaged_pack(text: str) -> None:
    """The JSON of a task or of a summary was never a pack that holds whole files."""
    with pytest.raises(UsageError, match="taken apart"):
        parse(text)
    with pytest.raises(RefusedError, match="damaged"):
        parse(text_of(PACK, "json")[:-40])


@pytest.mark.parametrize(
    "text", ["{", "{}", "[" * 99, '{"manifest":' + "[" * 100_000, "# sutler pack", "\ud800"]
)
def test_broken_packs_are_refused_and_never_crash(text: str) -> None:
    with pytest.raises((RefusedError, UsageError)):
        parse(text)


@every_format
def test_a_goal_that_utf8_cannot_carry_is_a_usage_error(format: Format) -> None:
    """Bytes of the command line that are no UTF-8 are refused before anything is rendered."""
    preamble = Preamble("demo", CleanText("caf\udce9"))
    with pytest.raises(UsageError, match="goal"):
        next(render(preamble, (), Listing(), format=format))
