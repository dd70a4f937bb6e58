"""Programs that turn files into text: the user's own settings only, bounded, redacted after."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from sutler.formats import parse
from sutler.pack import processors
from sutler.scan.snapshot import Problem
from tests.conftest import Plant, Sutler

SCRIPT = "import sys; print('pages of', len(open(sys.argv[1], 'rb').read()), {secret!r})"
RAW = bytes(range(256))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the user's own settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/sutler").mkdir(parents=True)
    return tmp_path / "config/sutler"


def settings(own: Path, script: str) -> str:
    (own / "script.py").write_text(script)
    return f'[processors]\n"*.pdf" = "{sys.executable} \'{own}/script.py\' {{file}}"\n'


def test_a_processor_s_text_is_packed_and_redacted(plant: Plant, sutler: Sutler, own: Path) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    (own / "config.toml").write_text(settings(own, SCRIPT.format(secret=secret)))
    folder = plant({"a.pdf": RAW, ".sutlerignore": "!*.pdf\n"})
    for _ in range(2):
        ran = sutler("pack", cwd=folder)
        assert "pages of 256" in ran.text, ran.err
        assert secret not in ran.text
        section = next(one for one in parse(ran.out).sections if one.path == "a.pdf")
        assert section.encoding == "processed"
    ran = sutler("pack", "-o", "../p.md", cwd=folder)
    assert sutler("unpack", "../p.md", "-d", "../back", cwd=folder).code == 0
    assert "pages of 256" in (folder / "../back/a.pdf").read_text()


def counting(own: Path, text: str) -> str:
    """A script that prints a text and counts its runs."""
    return f"open({str(own / 'runs')!r}, 'a').write('.'); print({text!r})"


def runs(own: Path) -> int:
    return len((own / "runs").read_text())


def test_what_a_processor_printed_is_kept(plant: Plant, sutler: Sutler, own: Path) -> None:
    (own / "config.toml").write_text(settings(own, counting(own, "two pages")))
    folder = plant({"a.pdf": RAW, ".sutlerignore": "!*.pdf\n"})
    first = sutler("pack", cwd=folder)
    before = runs(own)
    assert sutler("pack", cwd=folder).out == first.out
    assert runs(own) == before
    (folder / "a.pdf").write_bytes(RAW * 2)
    sutler("pack", cwd=folder)
    assert runs(own) > before
    sutler("cache", "clear", cwd=folder)
    sutler("pack", cwd=folder)
    assert runs(own) > before + 1


@pytest.mark.parametrize("words", [("pack",), ("pack", "--no-budget")])
def test_a_changed_processor_is_run_again(
    plant: Plant, sutler: Sutler, own: Path, words: tuple[str, ...]
) -> None:
    """Its new text is redacted and counted anew, although the file has not changed."""
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    (own / "config.toml").write_text(settings(own, counting(own, "no secret")))
    folder = plant({"a.pdf": RAW, ".sutlerignore": "!*.pdf\n"})
    old = time.time() - 60
    os.utime(folder / "a.pdf", (old, old))
    assert "no secret" in sutler(*words, cwd=folder).text
    (own / "script.py").write_text(counting(own, f"token = {secret}"))
    ran = sutler(*words, cwd=folder)
    assert "token = " in ran.text
    assert secret not in ran.text


def test_a_text_with_a_secret_is_not_kept(plant: Plant, sutler: Sutler, own: Path) -> None:
    """Neither one that rules find, nor one that another file gives away, nor an unredacted one."""
    found, shared = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a", "Vd7/wQ9xLm2#tR5k"
    for text, words in ((found, ()), (f"the word is {shared}", ()), ("plain", ("--no-redact",))):
        (own / "config.toml").write_text(settings(own, counting(own, text)))
        folder = plant(
            {"a.pdf": RAW, ".sutlerignore": "!*.pdf\n", "db.ini": f"password = {shared}\n"}
        )
        sutler("pack", *words, cwd=folder)
        before = runs(own)
        sutler("pack", *words, cwd=folder)
        assert runs(own) > before, text


def test_a_project_may_not_name_one(plant: Plant, sutler: Sutler, own: Path) -> None:
    text = settings(own, f"open({str(own / 'ran')!r}, 'w')")
    ran = sutler("pack", cwd=plant({"a.pdf": RAW, "sutler.toml": text}))
    assert ran.code == 2
    assert "may not be set by a project" in ran.err
    assert not (own / "ran").exists()


def test_a_failure_is_a_problem_and_not_the_end(plant: Plant, sutler: Sutler, own: Path) -> None:
    (own / "config.toml").write_text(settings(own, "raise SystemExit(3)"))
    folder = plant({"a.pdf": RAW, "b.txt": "b\n", ".sutlerignore": "!*.pdf\n"})
    ran = sutler("pack", cwd=folder)
    assert ran.code == 0
    assert "a.pdf malformed" in ran.err


@pytest.mark.parametrize(
    "row", ["*.pdf=", "*.pdf=cat", "=cat {file}", "*.pdf={file}", "*.pdf=cat '"]
)
def test_a_row_that_cannot_run_is_refused(
    plant: Plant, sutler: Sutler, own: Path, row: str
) -> None:
    (own / "config.toml").write_text(f'processors = ["{row}"]\n')
    ran = sutler("pack", cwd=plant({"b.txt": "b\n"}))
    assert (ran.code, "processor" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("script", "why"),
    [("while True: print('x' * 10000)", "too much"), ("import time; time.sleep(60)", "longer")],
)
def test_time_and_output_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(processors, "SECONDS", 2.0)
    monkeypatch.setattr(processors, "LARGEST", 100_000)
    (tmp_path / "s.py").write_text(script)
    rows = [f"*.pdf={sys.executable} {tmp_path}/s.py {{file}}"]
    answer = processors.Processors(rows).text_of("a.pdf", RAW, "digest")
    assert isinstance(answer, Problem)
    assert why in answer.detail


def test_few_variables_reach_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "private")
    (tmp_path / "s.py").write_text("import os; print(sorted(os.environ), os.getcwd())")
    rows = [f"*.pdf={sys.executable} {tmp_path}/s.py {{file}}"]
    text = processors.Processors(rows).text_of("a.pdf", RAW, "digest")
    assert isinstance(text, bytes)
    assert b"API_TOKEN" not in text
    assert os.getcwd().encode() not in text
