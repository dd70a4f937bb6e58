"""Facts between runs: extracted once for a content, and the same whether they were kept or not."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.languages.extract import extract
from sutler.languages.facts import Facts
from sutler.ranking import kept_facts
from sutler.ranking.index import Doc
from sutler.ranking.kept_facts import KeptFacts
from sutler.store import home

NAME = "index-test.facts"


class Texts:
    """Texts by path, and how often they were asked for."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.asked: list[str] = []

    def __call__(self, path: str) -> str:
        self.asked.append(path)
        return self.texts[path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def docs(count: int, digest: str = "1") -> list[Doc]:
    return [Doc(f"m{i}.py", f"{digest}{i}", "source", "python", 9) for i in range(count)]


def texts(count: int) -> Texts:
    return Texts({f"m{i}.py": f"def f{i}():\n    return {i}\n" for i in range(count)})


def log() -> Path:
    return Path(home.cache_folder(os.environ)) / NAME


def test_facts_are_those_of_the_text_and_are_extracted_once() -> None:
    source = texts(3)
    for _ in range(2):
        facts = KeptFacts(NAME, "rules", source, os.environ)(docs(3))
        assert facts == [extract(path, text) for path, text in source.texts.items()]
    assert source.asked == ["m0.py", "m1.py", "m2.py"]


@pytest.mark.parametrize(
    ("digest", "rules"), [("2", "rules"), ("1", "other rules")], ids=["content", "rules"]
)
def test_another_content_or_other_rules_are_extracted_anew(digest: str, rules: str) -> None:
    KeptFacts(NAME, "rules", texts(2), os.environ)(docs(2))
    again = texts(2)
    KeptFacts(NAME, rules, again, os.environ)(docs(2, digest))
    assert len(again.asked) == 2


def test_many_files_go_to_worker_processes() -> None:
    source = texts(kept_facts.SEPARATE_ABOVE + 5)
    facts = KeptFacts(NAME, "rules", source, os.environ)(docs(len(source.texts)))
    assert [one.symbols[0].name for one in facts] == [f"f{i}" for i in range(len(facts))]


def test_a_file_that_crashes_the_parser_is_known_by_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run goes on, and all other files have their facts."""
    parent, parse = os.getpid(), extract

    def crash(path: str, text: str) -> Facts:
        if path == "m30.py" and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return parse(path, text)

    monkeypatch.setattr("sutler.languages.extract.extract", crash)
    monkeypatch.setattr("sutler.parallel.cores", lambda: 2)
    monkeypatch.setattr("sutler.parallel.may_fork", lambda: True)
    source = texts(kept_facts.SEPARATE_ABOVE + 5)
    facts = KeptFacts(NAME, "rules", source, os.environ)(docs(len(source.texts)))
    assert [one.status for one in facts if one.status != "parsed"] == ["failed"]
    assert facts[30].status == "failed"
    assert facts[30].terms


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda data: data[:-5],
    "noise": lambda _: b"\xff" * 100,
    "a byte": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "the first length": lambda data: b"\xff\xff" + data[2:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_log_changes_no_answer(damage: str) -> None:
    before = KeptFacts(NAME, "rules", texts(3), os.environ)(docs(3))
    log().write_bytes(DAMAGE[damage](log().read_bytes()))
    assert KeptFacts(NAME, "rules", texts(3), os.environ)(docs(3)) == before
    again = texts(3)
    assert KeptFacts(NAME, "rules", again, os.environ)(docs(3)) == before
    assert len(again.asked) < 3


def test_a_log_stays_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_facts, "LIMIT", 3_000)
    for number in range(30):
        KeptFacts(NAME, "rules", texts(2), os.environ)(docs(2, str(number)))
        assert log().stat().st_size <= 3_000


def test_without_a_cache_the_facts_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    source = texts(2)
    assert KeptFacts(NAME, "rules", source, os.environ)(docs(2)) == [
        extract(path, text) for path, text in source.texts.items()
    ]
