import os
from pathlib import Path

import pytest

from bench.floor import build, write_list
from bench.measure import Command, measure
from bench.peers import TOOLS, WORK, environment, fill, find


def script(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


def test_every_recipe_names_the_tree_and_a_known_class() -> None:
    for tool in TOOLS:
        assert set(tool.recipes) <= set(WORK)
        assert all("TREE" in words for words in tool.recipes.values() if tool.install)


def test_fill() -> None:
    assert fill(("pack", "TREE", "-o", "OUT"), "/t", "/o") == ("pack", "/t", "-o", "/o")


def test_two_programs_named_code2prompt_are_told_apart_by_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    script(tmp_path / "old" / "bin" / "code2prompt", "code2prompt version 0.8.1")
    script(tmp_path / "rust" / "bin" / "code2prompt", "code2prompt 4.3.0")
    found, missing = find([str(tmp_path)])
    versions = {here.tool.name: here.version for here in found}
    assert (versions["code2prompt-py"], versions["code2prompt"]) == ("0.8.1", "4.3.0")
    assert "yek" in [tool.name for tool in missing]


def test_children_keep_their_caches_apart_and_see_no_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUTLER_FORMAT", "xml")
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    ours, theirs = environment("sutler", "/c", None), environment("gitingest", "/c", "/v")
    assert "SUTLER_FORMAT" not in ours
    assert "PYTHONDONTWRITEBYTECODE" not in ours
    assert ours["PYTHONPATH"] == os.path.abspath("src")
    assert (ours["XDG_CACHE_HOME"], ours["HOME"]) == ("/c/cache", "/c")
    assert "PYTHONPATH" not in theirs
    assert theirs["TIKTOKEN_CACHE_DIR"] == "/v"


def test_the_floor_writes_the_bytes_of_the_listed_files(tmp_path: Path) -> None:
    floor = build(str(tmp_path))
    if floor is None:
        pytest.skip("no C compiler on PATH")
    files = [tmp_path / "a", tmp_path / "b c\n"]
    files[0].write_bytes(b"x" * 3_000_000)
    files[1].write_bytes(b"end")
    listing = write_list([str(file) for file in files], str(tmp_path / "list"))
    words = (*floor.words, listing, str(tmp_path / "out"))
    sample = measure(
        Command(words, {}, str(tmp_path / "1"), str(tmp_path / "2"), str(tmp_path)), 60
    )
    assert sample.status == 0
    assert (tmp_path / "out").read_bytes() == b"x" * 3_000_000 + b"end"
