from __future__ import annotations

from hashlib import sha256

import pytest
from msgspec.structs import replace

from sutler.errors import RefusedError
from sutler.formats import json, markdown, parse, render, xml
from sutler.formats.assembly import frame, numbered
from sutler.formats.document import CleanText, Listing, Pack, Preamble, Section
from sutler.paths import RelPath


def section_of(path: str, text: str) -> Section:
    raw = text.encode()
    digest = sha256(raw).hexdigest()
    return Section(RelPath(path), "full", CleanText(text), digest, len(raw), digest, len(raw))


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        ("", "```"),
        ("``", "```"),
        ("a ``` b", "````"),
        ("`````\n```", "``````"),
        ("~~~~~", "```"),
        *(("`" * run + "\n```", "`" * (run + 1)) for run in range(3, 40)),
        ("`" * 99_999, "`" * 100_000),
    ],
)
def test_a_fence_is_longer_than_any_run_inside(text: str, fence: str) -> None:
    head, tail = frame(markdown, section_of("a", text))
    assert (head.splitlines()[-1], tail.strip()) == (fence, fence)


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("a.py", "`a.py`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("``", "``` `` ```"),
        ('"\n', r'`"\"\n"`'),
    ],
)
def test_a_heading_holds_any_name_on_one_line(path: str, heading: str) -> None:
    assert frame(markdown, section_of(path, ""))[0].splitlines()[1] == f"## {heading}"


@pytest.mark.parametrize(
    ("language", "info"), [("python", "python"), ("c++", "c++"), ("a b", ""), ("`", ""), ("\n", "")]
)
def test_only_a_plain_language_names_the_fence(language: str, info: str) -> None:
    head, _ = frame(markdown, replace(section_of("a", ""), language=language))
    assert head.endswith(f"\n```{info}\n")


def test_a_boundary_moves_until_the_body_does_not_hold_it() -> None:
    taken = "0123456789abcdef"
    section = replace(section_of("a", f"</file-{taken}>"), sha256=taken + "0" * 48)
    head, tail = frame(xml, section)
    assert taken not in head
    again = replace(section, body=CleanText(section.body.text + head))
    assert len({head, frame(xml, again)[0], f'<file-{taken} path="a">\n'}) == 3
    assert tail.strip() == "</" + head[1:].split()[0] + ">"


def test_xml_escapes_names_and_leaves_bodies_alone() -> None:
    text = "".join(
        render(Preamble("<p>"), [section_of('<"&">', "a < b && c\n")], Listing(), format="xml")
    )
    assert 'path="&quot;&lt;\\&quot;&amp;\\&quot;&gt;&quot;">\na < b && c\n</file-' in text
    assert "<p>" not in text
    manifest = text[text.index("<manifest>") :]
    assert [line for line in manifest.splitlines() if "<" in line] == [
        "<manifest>",
        "</manifest>",
        "</sutler-pack>",
    ]


def test_json_pieces_are_valid_json_for_any_text() -> None:
    assert json.shown('\0"\\\u2028\x7f</script>') == '\\u0000\\"\\\\\u2028\x7f</script>'


def test_a_json_pack_written_anew_is_the_same_pack() -> None:
    import json as standard

    pack = Pack(Preamble("p"), (section_of("a", "é\u2028\0"),), Listing((RelPath("b"),)))
    text = "".join(render(pack.preamble, pack.sections, pack.listing, format="json"))
    assert parse(standard.dumps(standard.loads(text), indent=4)) == pack


def excerpt_of(text: str) -> str:
    section = replace(section_of("a.py", text), level="excerpt", source="0" * 64, source_size=9_999)
    return "".join(render(Preamble("p"), (section,), Listing(), format="markdown"))


def test_an_excerpt_is_under_the_digest_of_the_pack_and_names_that_of_its_file() -> None:
    text = excerpt_of("import os\n")
    assert '"source":"' + "0" * 64 in text
    assert '"sha256"' not in text
    (section,) = parse(text).sections
    assert section.sha256 == sha256(b"import os\n").hexdigest()
    with pytest.raises(RefusedError, match="a file of which it shows an excerpt"):
        parse(text.replace("import os", "import io"))


@pytest.mark.parametrize("gone", [',"source":"' + "0" * 64 + '"', ',"level":"excerpt"'])
def test_a_line_without_its_digest_is_refused(gone: str) -> None:
    text = excerpt_of("import os\n")
    assert gone in text
    with pytest.raises(RefusedError, match=r"no digest of a\.py"):
        parse(text.replace(gone, ""))


def test_what_is_shown_redacted_has_a_digest_of_its_own_and_its_files() -> None:
    section = replace(section_of("a.py", "key = 1\n"), source="0" * 64, source_size=9_999)
    text = "".join(render(Preamble("p"), (section,), Listing(), format="markdown"))
    assert f'"sha256":"{section.sha256}"' in text
    assert '"source":"' + "0" * 64 in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("\n", "    1| \n"),
        ("a", "    1| a"),
        ("a\r\n\nb", "    1| a\r\n    2| \n    3| b"),
        ("a\rb\u2028c\n", "    1| a\rb\u2028c\n"),
    ],
)
def test_line_numbers(text: str, shown: str) -> None:
    assert numbered(text) == shown


def test_line_numbers_grow_with_the_file() -> None:
    lines = numbered("x\n" * 123_456).split("\n")
    assert [lines[at] for at in (9_998, 9_999, 10_000, 99_999)] == [
        " 9999| x",
        "10000| x",
        "10001| x",
        "100000| x",
    ]
    pack = Pack(Preamble("p"), (section_of("a", "x\n" * 123_456),), Listing(), line_numbers=True)
    text = "".join(
        render(pack.preamble, pack.sections, pack.listing, format="markdown", line_numbers=True)
    )
    assert parse(text) == pack
