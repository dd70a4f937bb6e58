"""Bad input gets a clear error and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import sutler as api
from sutler.scan.snapshot import FileEntry
from tests.conftest import Plant, Sutler
from tests.limits import LIMIT

TREE = {"a.py": "x = 1\n", "b.py": "y = 2\n"}


def no_traceback(err: str) -> bool:
    return "Traceback" not in err


def test_an_empty_folder_is_no_pack(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", cwd=plant({}))
    assert (ran.code, ran.out) == (3, b"")
    assert "a pack of nothing is not written" in ran.err


@pytest.mark.parametrize("words", [["nowhere"], ["a.py", "nowhere"]])
def test_a_missing_path_is_named(plant: Plant, sutler: Sutler, words: list[str]) -> None:
    ran = sutler("pack", *words, cwd=plant(TREE))
    assert (ran.code, ran.out) == (2, b"")
    assert "nowhere does not exist" in ran.err


def test_a_file_alone_is_packed(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "a.py", cwd=plant(TREE))
    assert [section.path for section in api.parse(ran.out).sections] == ["a.py"]


def test_the_file_system_root_is_refused(sutler: Sutler) -> None:
    ran = sutler("pack", "/")
    assert ran.code == 3
    assert "not a project" in ran.err


def test_an_unwritable_destination_keeps_the_old_file(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "-o", "/proc/nope/pack.md", cwd=plant(TREE))
    assert ran.code == 1
    assert no_traceback(ran.err)
    assert "pack.md" in ran.err


def test_a_full_disk_keeps_the_old_file(plant: Plant, tmp_path: Path) -> None:
    """The file-size limit stands in for a full disk: the write fails half way, the old output is
    intact.
    """
    folder = plant({f"f{i}.py": "x = 1\n" * 2_000 for i in range(20)})
    target = tmp_path / "pack.md"
    target.write_text("the old pack\n")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", "pack", "-o", str(target)],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert done.returncode == 1
    assert no_traceback(done.stderr.decode())
    assert target.read_text() == "the old pack\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack.md", "project"]


def test_no_space_is_said(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "-o", "/dev/full", cwd=plant(TREE))
    assert ran.code == 1
    assert "No space left" in ran.err


def test_a_closed_pipe_is_no_error(plant: Plant) -> None:
    folder = plant({"big.py": "x = 1\n" * 40_000})
    shell = f"{sys.executable} -m sutler pack --cut-over 0 | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell}"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_file_that_vanishes_is_a_recorded_problem(plant: Plant) -> None:
    """Between scan and read a file may go; the rest of the pack is whole and the problem is on
    record.
    """
    folder = plant(TREE)

    def vanishing(entries: Iterable[FileEntry]) -> Iterable[FileEntry]:
        (folder / "b.py").unlink()
        return entries

    pack = api.Project(folder).seen_by(vanishing).pack(max_bytes=0)
    text = pack.text()
    assert "y = 2" not in text
    assert [(one.path, one.kind) for one in pack.report.problems] == [("b.py", "vanished")]


def test_strict_mode_refuses_before_the_first_byte(plant: Plant, sutler: Sutler) -> None:
    folder = plant({"good.py": "x = 1\n", "bad.txt": b"\xff\xfe\x00\xd8"})
    ran = sutler("pack", "--mode", "strict", cwd=folder)
    assert (ran.code, ran.out) == (3, b"")
    assert "bad.txt: undecodable" in ran.err
    assert sutler("pack", "--mode", "ignore", cwd=folder).code == 0


def test_a_named_file_with_a_problem_needs_someone_to_ask(plant: Plant, sutler: Sutler) -> None:
    """flexible without a terminal is a clear refusal, never a silent gap."""
    folder = plant({"good.py": "x = 1\n", "image.bin": b"\0\1\2\3" * 100})
    ran = sutler("pack", "good.py", "image.bin", cwd=folder)
    assert (ran.code, ran.out) == (3, b"")
    assert "image.bin: binary" in ran.err
    assert "--mode ignore" in ran.err
    assert sutler("pack", "good.py", "image.bin", "--mode", "ignore", cwd=folder).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_unreadable_file_is_a_problem_not_a_crash(plant: Plant, tmp_path: Path) -> None:
    folder = plant({**TREE, "sealed.py": "z\n", "shut": {"inner.py": "z\n"}})
    (folder / "sealed.py").chmod(0)
    (folder / "shut").chmod(0)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and str(path).startswith("/tmp/"):
            path.chmod(path.stat().st_mode | 0o055)
    code = """
import json, os, sys
import sutler
sutler.Project(sys.argv[1]).pack().text()  # everything is imported while we may still read it
os.setegid(65534)
os.seteuid(65534)
pack = sutler.Project(sys.argv[1]).pack()
pack.text()
problems = [(one.path, one.kind) for one in pack.report.problems]
print(json.dumps([problems, [one.path for one in pack.report.shown]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        check=True,
        timeout=60,
        cwd=folder,
    )
    problems, packed = json.loads(done.stdout)
    assert problems == [["sealed.py", "denied"], ["shut", "denied"]]
    assert packed == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pak"], "did you mean 'sutler pack'"),
        (["pack", "--bogus"], "unknown option --bogus"),
        (["pack", "--max-tokens", "many"], "'many' is not a size"),
        (["pack", "--max-tokens", "5", "--max-chars", "5"], "one pack has one budget"),
        (["pack", "--no-budget", "--tier", "cheap"], "given together"),
        (["pack", "--counter", "gpt9"], "unknown counter 'gpt9'"),
        (["pack", "--profile", "nope"], "no profile named 'nope'"),
        (["pack", "--split", "10k"], "name them with -o"),
        (["pack", "-i", "{a,b}" * 30], ""),
        (["unpack", "/dev/null"], "not a sutler pack"),
        (["unpack", "nowhere.md"], "cannot read nowhere.md"),
        (["config", "formt"], "did you mean 'format'"),
        (["schema", "nope"], "no schema named 'nope'"),
        (["why", "/etc/passwd"], "outside this folder"),
        (["pack", "--stdin"], "--stdin gave no file names"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_usage_mistakes_are_exit_2(
    plant: Plant, sutler: Sutler, words: list[str], message: str
) -> None:
    ran = sutler(*words, cwd=plant(TREE))
    assert (ran.code, ran.out) == (2, b"")
    assert message in ran.err
    assert no_traceback(ran.err)


def test_errors_as_json(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("pack", "--json", "--max-tokens", "5", cwd=plant(TREE))
    body = json.loads(ran.err)
    assert (ran.code, body["schema_version"], body["error"]["exit_code"]) == (3, 1, 3)


def test_unpack_writes_over_nothing(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    ran = sutler("pack", cwd=plant(TREE))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.py").write_text("mine\n")
    again = sutler("unpack", "-", "-d", "out", cwd=tmp_path, stdin=ran.out)
    assert again.code == 3
    assert "b.py already exists" in again.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.py"]


def test_unpack_never_leaves_its_directory(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """T01, T04: a link in the way is not followed, and a doctored path is refused."""
    pack = sutler("pack", cwd=plant({"sub": {"x.py": "x\n"}})).out
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    assert sutler("unpack", "-", "-d", "out", cwd=tmp_path, stdin=pack).code == 3
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert sutler(
        "unpack", "-", "-d", "o2", cwd=tmp_path, stdin=pack.replace(b"sub/x.py", b"../../xx")
    ).code in (2, 3)


def test_a_damaged_pack_is_refused(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    pack = sutler("pack", cwd=plant(TREE)).out
    ran = sutler("unpack", "-", "-d", "out", cwd=tmp_path, stdin=pack.replace(b"x = 1", b"x = 7"))
    assert ran.code == 3
    assert "a.py" in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_a_hard_link_to_somebody_elses_file_stays_out(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """T08: a linked file that belongs to another user than the folder may be anything of theirs."""
    folder = plant(TREE)
    theirs = tmp_path / "theirs.txt"
    theirs.write_text("not yours\n")
    os.chown(theirs, 65534, 65534)
    os.link(theirs, folder / "innocent.txt")
    os.link(folder / "a.py", folder / "own.py")
    ran = sutler("pack", cwd=folder)
    assert b"not yours" not in ran.out
    assert "1 hard link" in ran.err
    assert [section.path for section in api.parse(ran.out).sections] == ["a.py", "b.py", "own.py"]
    assert sutler("pack", "innocent.txt", cwd=folder).code == 3
