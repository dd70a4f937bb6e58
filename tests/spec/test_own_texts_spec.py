"""Headers, instructions, templates and transformations, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sutler.formats import FORMATS, parse
from tests.conftest import Plant, Sutler

TREE = {
    "a.py": "x = 1  # one\n\n# two\ny = 2\n",
    "head.txt": "Read this first.\n",
    "end.txt": "Answer in French.\n",
    "form.txt": "{{ goal }}{% for file in files %}<{{ file.path }}>{{ file.text }}{% endfor %}",
}


@pytest.mark.parametrize("format", FORMATS)
def test_header_and_instructions_stand_around_the_files(
    plant: Plant, sutler: Sutler, format: str
) -> None:
    folder = plant(TREE)
    words = ["--header", "head.txt", "--instructions", "end.txt", "-i", "a.py", "-f", format]
    ran = sutler("pack", *words, cwd=folder)
    assert ran.code == 0, ran.err
    pack = parse(ran.out)
    assert pack.preamble.header.text == "Read this first.\n"
    assert pack.preamble.instructions.text == "Answer in French.\n"
    positions = [ran.text.index(word) for word in ("Read this", "x = 1", "Answer in")]
    assert positions == sorted(positions)


def test_a_header_may_be_a_text_and_is_redacted(plant: Plant, sutler: Sutler) -> None:
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    ran = sutler("pack", "--header", f"token {key}", cwd=plant(TREE))
    assert ran.code == 0
    assert key not in ran.text
    assert "token [REDACTED:" in ran.text


@pytest.mark.parametrize("format", FORMATS)
def test_the_manifest_names_transformations(plant: Plant, sutler: Sutler, format: str) -> None:
    words = ["--remove-comments", "--remove-empty-lines", "-i", "a.py", "-f", format]
    ran = sutler("pack", *words, cwd=plant(TREE))
    pack = parse(ran.out)
    assert pack.sections[0].body.text == "x = 1\ny = 2\n"
    assert pack.preamble.transforms == ("remove-comments", "remove-empty-lines")
    assert "remove-comments, remove-empty-lines" in ran.text
    assert pack.sections[0].source != pack.sections[0].sha256


@pytest.mark.parametrize("words", [["-n"], ["--goal", "one"], ["--since", "HEAD"]])
def test_lines_are_not_moved_where_they_are_cited(
    plant: Plant, sutler: Sutler, words: list[str]
) -> None:
    ran = sutler("pack", "--remove-empty-lines", *words, cwd=plant(TREE))
    assert ran.code == 2
    assert "line numbers" in ran.err


def test_a_transformed_pack_does_not_change_the_next(plant: Plant, sutler: Sutler) -> None:
    """The cache keeps the two apart."""
    folder = plant(TREE)
    plain = sutler("pack", "--no-budget", cwd=folder).out
    sutler("pack", "--no-budget", "--remove-comments", cwd=folder)
    assert sutler("pack", "--no-budget", cwd=folder).out == plain


def test_a_template_writes_its_own_form(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    folder = plant(TREE)
    ran = sutler("pack", "--template", "form.txt", "-i", "a.py", "--goal", "one two", cwd=folder)
    assert ran.text == f"one two<a.py>{TREE['a.py']}"
    out = str(tmp_path / "own.txt")
    ran = sutler("pack", "--template", "form.txt", "-i", "a.py", "-o", out, cwd=folder)
    assert Path(out).read_text() == f"<a.py>{TREE['a.py']}"
    assert "written through form.txt" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("template", "code", "message"),
    [
        ("{{ nothing }}", 2, "nothing"),
        ("{% for", 2, "line 1"),
        ("{% include '/etc/passwd' %}", 2, "template"),
        ("{{ get_env(name='HOME') }}", 2, "HOME"),
        ("{% for a in range(end=100000) %}{% for b in range(end=100000) %}{{ a }}"
         "{% endfor %}{% endfor %}", 2, "limit"),
        ("{% for f in files %}{{ f.text }}{{ f.text }}{% endfor %}", 3, "budget"),
    ],
)  # fmt: skip
def test_a_hostile_template_is_refused(
    plant: Plant, sutler: Sutler, template: str, code: int, message: str
) -> None:
    folder = plant({"form.txt": template, "a.txt": "word " * 300})
    ran = sutler("pack", "--template", "form.txt", "-i", "a.txt", "--max-bytes", "2500", cwd=folder)
    assert ran.code == code, ran.err
    assert message in ran.err
    assert ran.out == b""


def test_python_takes_them_too(plant: Plant) -> None:
    from sutler import Project

    pack = Project(str(plant(TREE))).pack(
        header="H", instructions="I", transforms=["truncate-base64"], format="json"
    )
    body = json.loads(pack.text())
    assert (body["header"], body["instructions"]) == ("H", "I")
