"""Seed 000: the context loader's functions, flow step by flow step."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from sutler.goals.loader import (
    LoadOptions,
    build_context_assign_string,
    build_here_doc_token,
    build_matcher,
    build_safe_base_name,
    read_include_files,
    read_requested_files,
)
from tests.conftest import Plant


def read(folder: Path, *paths: str, **options: object) -> dict[str, str]:
    files: dict[str, str] = {}
    read_requested_files(paths, files, LoadOptions(root=str(folder), **options))  # type: ignore[arg-type]  # loose
    return files


def include(folder: Path, *paths: str, **options: object) -> dict[str, str]:
    files: dict[str, str] = {}
    read_include_files(paths, files, LoadOptions(root=str(folder), **options))  # type: ignore[arg-type]  # loose
    return files


# readRequestedFiles


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        ("*.js", "a.js", True),
        ("*.js", "a/b.js", True),
        ("*.js", "a.jsx", False),
        ("*.{ts,js}", "a.ts", False),
        ("*.{ts,js}", "a.{ts,js}", True),
        ("[ab].c", "a.c", False),
        ("[ab].c", "[ab].c", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("A.md", "a.md", False),
        ("a.c", "abc", False),
        ("*", "", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "ac", False),
        ("*a*", "xax", True),
        ("*.test.*", "x.test.ts", True),
        ("a+b", "a+b", True),
        ("*", "a\nb", False),
        ("", "anything", True),
    ],
)
def test_step_1_the_matcher(pattern: str, value: str, matches: bool) -> None:
    """Step 1: `*` and `?` are special, nothing else; anchored, case-sensitive, `*` crosses
    slashes.
    """
    assert build_matcher(pattern)(value) is matches


def test_step_1_no_pattern_matches_everything() -> None:
    """Step 1: without a filter there is no guard."""
    assert build_matcher(None)("x")


def test_step_1_many_stars_stay_fast() -> None:
    """A pattern of many stars does not run for ever."""
    assert not build_matcher("*a" * 30 + "b")("a" * 2000)


def test_step_2a_max_files_breaks(plant: Plant) -> None:
    """Step 2a: at the cap the loop ends; what is there already counts."""
    folder = plant({"a": "A", "b": "B", "c": "C"})
    assert list(read(folder, "a", "b", "c", max_files=2)) == ["a", "b"]
    files = {"x": "known", "y": "known"}
    read_requested_files(["a"], files, LoadOptions(root=str(folder), max_files=2))
    assert list(files) == ["x", "y"]


def test_step_2b_known_files_are_skipped(plant: Plant) -> None:
    """Step 2b: a path in the mapping is not read again."""
    folder = plant({"a": "new"})
    files = {"a": "old"}
    read_requested_files(["a", "a"], files, LoadOptions(root=str(folder)))
    assert files == {"a": "old"}


def test_step_2c_the_filter_looks_at_the_file_name(plant: Plant) -> None:
    """Step 2c: the filter sees the text after the last slash; others are skipped without a
    trace.
    """
    folder = plant({"src.js": {"a.ts": "T", "b.js": "J"}})
    assert read(folder, "src.js/a.ts", "src.js/b.js", filter="*.js") == {"src.js/b.js": "J"}


def test_step_2d_paths_are_relative_to_dir(plant: Plant) -> None:
    """Step 2d: relative to `dir`, unless absolute."""
    folder = plant({"src": {"a": "A"}, "b": "B"})
    found = read(folder, "a", "../b", str(folder / "b"), dir="src")
    assert list(found.values()) == ["A", "B", "B"]


@pytest.mark.parametrize(("limit", "skipped"), [(4, True), (5, False), (4.5, True)])
def test_step_2e_size_before_reading(plant: Plant, limit: float, skipped: bool) -> None:
    """Step 2e: a file above maxFileSize leaves the specified message."""
    content = read(plant({"a": "12345"}), "a", max_file_size=limit)["a"]
    message = f"[Skipped: file size 5 bytes exceeds maxFileSize {limit}]"
    assert content == (message if skipped else "12345")


def test_step_2f_text_is_utf8(plant: Plant) -> None:
    """Step 2f: contents are decoded as UTF-8, with the replacement character for what is none."""
    assert read(plant({"a": "grüße\n", "b": b"caf\xe9"}), "a", "b") == {
        "a": "grüße\n",
        "b": "caf\ufffd",
    }


def test_step_2g_errors_are_texts(plant: Plant) -> None:
    """Step 2g: what cannot be read becomes a message and takes a place; nothing is raised."""
    folder = plant({"d": {"x": ""}, "a": "A"})
    found = read(folder, "gone", "d", "a", max_files=3)
    assert re.fullmatch(r"\[Error reading file: no such file or directory: gone\]", found["gone"])
    assert found["d"].startswith("[Error reading file: ")
    assert found["a"] == "A"


# readIncludeFiles


def test_include_ignores_filter_and_cap_but_not_size(plant: Plant) -> None:
    """Include files are always loaded, whatever the filter and the cap, but not above the size
    limit.
    """
    folder = plant({"a.md": "A", "b.py": "B" * 50, "c": "C"})
    found = include(folder, "a.md", "b.py", "c", max_file_size=10)
    assert list(found) == ["a.md", "b.py", "c"]
    assert found["b.py"] == "[Skipped: file size 50 bytes exceeds maxFileSize 10]"


@pytest.mark.parametrize("paths", [None, [], "a.md"])
def test_include_without_a_list_does_nothing(plant: Plant, paths: list[str] | None) -> None:
    """Nothing to include, or something that is no list, leaves the mapping alone."""
    files: dict[str, str] = {}
    read_include_files(paths, files, LoadOptions(root=str(plant({"a.md": "A"}))))
    assert files == {}


def test_include_does_not_read_twice(plant: Plant) -> None:
    """An include that is known keeps its content."""
    files = {"a": "old"}
    read_include_files(["a"], files, LoadOptions(root=str(plant({"a": "new"}))))
    assert files == {"a": "old"}


# buildContextAssignString


def test_assign_1_nothing_gives_nothing() -> None:
    """Step 1: an empty mapping is an empty text."""
    assert build_context_assign_string({}) == ""


def test_assign_2_lines(plant: Plant) -> None:
    """Step 2: five lines for each file, four when it is empty, joined by newlines."""
    text = build_context_assign_string({"src/a.py": "x = 1\n", "b.md": ""}, root=str(plant({})))
    lines = text.split("\n")
    token = lines[2].removeprefix("--begin-").removesuffix("--")
    assert lines[:6] == [
        '@spec_a assign "src/a.py"',
        "@spec_aContent assign",
        f"--begin-{token}--",
        "x = 1",
        "",
        f"--end-{token}--",
    ]
    assert re.fullmatch(r"context-[0-9a-f]{32}", token)
    assert lines[6:8] == ['@spec_b assign "b.md"', "@spec_bContent assign"]
    assert lines[9].startswith("--end-")
    assert len(lines) == 10


def test_assign_paths_are_relative_to_the_root(plant: Plant) -> None:
    """Step 2a: absolute paths, and paths below `dir`, are shown from the root."""
    folder = plant({})
    text = build_context_assign_string(
        {str(folder / "x/a.py"): "1", "b.py": "2"}, root=str(folder), dir="src"
    )
    assert '"x/a.py"' in text
    assert '"src/b.py"' in text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("123 weird-name!.txt", "spec_F_123_weird_name"),
        (".env", "spec_env"),
        ("файл.txt", "spec_file"),
        ("a.test.mjs", "spec_a_test"),
        ("dir/sub/My File.md", "spec_My_File"),
        ("___", "spec_file"),
        ("noext", "spec_noext"),
        ("x.", "spec_x"),
    ],
)
def test_safe_base_names(path: str, name: str) -> None:
    """buildSafeBaseName: letters, digits and underscores, beginning with a letter."""
    assert build_safe_base_name(path) == name


def test_same_stems_get_names_of_their_own(plant: Plant) -> None:
    """Two files with one stem do not overwrite each other; compat repeats the original's clash."""
    files = {"a/x.py": "1", "b/x.py": "2", "x.md": "3"}
    text = build_context_assign_string(files, root=str(plant({})))
    assert re.findall(r"^@(\w+) assign \"", text, re.M) == ["spec_x", "spec_x_2", "spec_x_3"]
    clash = build_context_assign_string(files, root=str(plant({})), compat=True)
    assert re.findall(r"^@(\w+) assign \"", clash, re.M) == ["spec_x"] * 3


def test_tokens_avoid_collisions() -> None:
    """A token found in the content is counted up until it is not."""
    assert build_here_doc_token("nothing here") == "context"
    assert build_here_doc_token("--begin-context--") == "context-1"
    assert build_here_doc_token("--end-context-- --begin-context-1--") == "context-2"


def test_tokens_are_deterministic(plant: Plant) -> None:
    """The same files give the same bytes, where the original draws a random token."""
    files = {"a.py": "1", "b.py": "2"}
    root = str(plant({}))
    assert build_context_assign_string(files, root=root) == build_context_assign_string(
        dict(files), root=root
    )


def test_content_cannot_end_its_own_block(plant: Plant) -> None:
    """Even content that knows its own digest cannot close the block: the token is bumped."""
    root = str(plant({}))
    plain = build_context_assign_string({"a": "x"}, root=root)
    token = re.findall(r"--begin-(.*)--", plain)[0]
    assert build_here_doc_token(f"--end-{token}--", token) == f"{token}-1"


def test_a_hostile_name_stays_on_its_line(plant: Plant) -> None:
    """A quote or a newline in a path is escaped, so that it cannot add an assignment."""
    text = build_context_assign_string({'a"\n@evil assign "x.py': "1"}, root=str(plant({})))
    assert not any(line.startswith("@evil") for line in text.split("\n"))


# Key behaviours and guidelines


def test_the_mapping_is_the_callers_and_is_changed(plant: Plant) -> None:
    """Guideline: the mapping is passed by reference and mutated; nothing is returned."""
    files: dict[str, str] = {"first": "1"}
    read_requested_files(["a"], files, LoadOptions(root=str(plant({"a": "A"}))))
    assert list(files) == ["first", "a"]


def test_large_files_are_not_loaded(plant: Plant) -> None:
    """Key behaviour: the size is asked before reading, so a huge file costs nothing."""
    folder = plant({})
    with (folder / "huge").open("wb") as stream:
        stream.truncate(50 * 1024**3)
    assert read(folder, "huge", max_file_size=1000)["huge"].startswith(
        "[Skipped: file size 53687091200 bytes"
    )


# Containment, which the original lacks


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../out.txt", "a/../../out.txt", "../project-evil/x", "link.txt", "d/x"]
)
def test_nothing_outside_the_root_is_read(plant: Plant, tmp_path: Path, path: str) -> None:
    """Whatever is asked for, nothing outside the root comes back."""
    folder = plant({"a": {"b": "B"}})
    (tmp_path / "out.txt").write_text("SECRET")
    (tmp_path / "project-evil").mkdir()
    (tmp_path / "project-evil/x").write_text("SECRET")
    os.symlink(tmp_path / "out.txt", folder / "link.txt")
    os.symlink(tmp_path / "project-evil", folder / "d")
    for found in (read(folder, path)[path], include(folder, path)[path]):
        assert found.startswith("[Error reading file: ")
        assert "SECRET" not in found
        assert "root:" not in found


def test_credentials_are_withheld(plant: Plant) -> None:
    """A model may ask for .env and does not get it."""
    found = read(plant({".env": "TOKEN=hunter2"}), ".env")
    assert "hunter2" not in found[".env"]
    assert "withheld" in found[".env"]


def test_contents_pass_the_redactor(plant: Plant) -> None:
    """What leaves goes through `clean`, with its path."""
    seen: list[tuple[str, str]] = []

    def clean(text: str, path: str) -> str:
        seen.append((text, path))
        return text.replace("s3cret", "***")

    assert read(plant({"a": "s3cret"}), "a", clean=clean) == {"a": "***"}
    assert ("s3cret", "a") in seen
