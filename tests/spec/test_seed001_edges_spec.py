"""Seed 001: the ten edge cases."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from sutler.errors import RefusedError, SutlerError
from sutler.goals.claw import COMPAT_FILE
from sutler.goals.context_compat import gather_files as gather_as_claw
from sutler.goals.context_files import Wanted
from tests.conftest import Plant
from tests.goalkit import GOAL_RULES, Files, configured, go, job, without_privileges


def shown(folder: Path, *given: str, mode: str = "strict", depth: int | None = None) -> list[str]:
    return [
        file.path for file in go(job(folder, "plain", *given, mode=mode), depth=depth).prompt.files
    ]


def test_edge_1_empty_directory(plant: Plant) -> None:
    """Edge 1: an empty directory succeeds with a warning, and the tree says that there are no
    files.
    """
    folder = plant({"empty": {}, **configured()})
    done = go(job(folder, "plain", "empty"))
    assert done.notes == ["warning: no files were found in the given paths"]
    assert "```\n(no files)\n```" in done.section


@pytest.mark.parametrize("mode", ["strict", "ignore"])
def test_edge_2_permission_denied(plant: Plant, mode: str) -> None:
    """Edge 2: a denied file is handled by the error mode."""
    folder = plant({"t": {"a.txt": "A", "b.txt": "B"}, **configured()})
    (folder / "t/b.txt").chmod(0)
    with without_privileges(folder):
        if mode == "ignore":
            assert shown(folder, "t", mode=mode) == ["t/a.txt"]
        else:
            with pytest.raises(RefusedError, match=r"Permission denied: t/b\.txt"):
                shown(folder, "t", mode=mode)


def test_edge_3_links_inside_a_folder_are_skipped_and_said(plant: Plant, tmp_path: Path) -> None:
    """Edge 3: symbolic links are skipped by default, to files, folders, outside and to
    themselves.
    """
    folder = plant({"t": {"a.txt": "A", "d": {"b.txt": "B"}}, **configured()})
    (tmp_path / "outside.txt").write_text("secret")
    links = {
        "in.txt": "a.txt",
        "out.txt": str(tmp_path / "outside.txt"),
        "dir": "d",
        "loop": "loop",
        "up": "..",
    }
    for name, target in links.items():
        os.symlink(target, folder / "t" / name)
    done = go(job(folder, "plain", "t"))
    assert [file.path for file in done.prompt.files] == ["t/a.txt", "t/d/b.txt"]
    assert len([note for note in done.notes if "symlink" in note]) == len(links)
    assert "secret" not in done.text


def test_edge_3_links_are_followed_when_configured(plant: Plant, tmp_path: Path) -> None:
    """Edge 3: with `symlinks: follow` links to files and folders are followed, as far as the
    project goes.
    """
    folder = plant(
        {
            "t": {"a.txt": "A"},
            "other": {"b.txt": "B", "d": {"c.txt": "C"}},
            **configured("symlinks: follow"),
        }
    )
    (tmp_path / "outside.txt").write_text("secret")
    links = {"in.txt": "a.txt", "b-link.txt": "../other/b.txt", "dir": "../other/d", "out.txt": "../../outside.txt",
             "loop": "loop", "up": "..", "gone": "nowhere"}  # fmt: skip
    for name, target in links.items():
        os.symlink(target, folder / "t" / name)
    done = go(job(folder, "plain", "t"))
    shown = [(file.path, file.content) for file in done.prompt.files]
    assert shown == [("t/a.txt", "A"), ("t/b-link.txt", "B"), ("t/dir/c.txt", "C")]
    assert "secret" not in done.text
    said = "\n".join(done.notes)
    assert "t/out.txt (a symbolic link: it leads out of the project)" in said
    assert "t/up (a symbolic link: it leads back to a folder that holds it)" in said
    assert "t/gone (a symbolic link: it leads nowhere)" in said


def test_edge_3_a_followed_link_opens_nothing_that_is_closed(plant: Plant) -> None:
    """Edge 3: not an ignored file, an excluded folder, version control's own, or a credential."""
    closed = {
        ".git": {"HEAD": "ref: refs/heads/main\n", "objects": {}, "refs": {}, "config": "x"},
        "ignored.txt": "closed",
        "denied": {"x.txt": "closed"},
        "node_modules": {"m": {"i.js": "closed"}},
        ".env": "closed",
    }
    rules: Files = {".gitignore": "ignored.txt\n", ".aiexclude": "denied/\n"}
    folder = plant({"t": {"a.txt": "A"}, **rules, **closed, **configured("symlinks: follow")})
    for number, target in enumerate((*closed, "node_modules/m", "denied/x.txt", ".git/config")):
        os.symlink(f"../{target}", folder / "t" / f"l{number}")
    done = go(job(folder, "plain", "t"))
    assert [file.path for file in done.prompt.files] == ["t/a.txt"]


def test_edge_3_followed_circles_end_and_depth_holds(plant: Plant) -> None:
    """Edge 3: two folders that link to each other are each shown once; a link counts as a level."""
    folder = plant(
        {
            "x": {"a.txt": "A"},
            "y": {"b.txt": "B", "deep": {"c.txt": "C"}},
            **configured("symlinks: follow"),
        }
    )
    os.symlink("../y", folder / "x" / "to-y")
    os.symlink("../x", folder / "y" / "to-x")
    assert shown(folder, "x") == ["x/a.txt", "x/to-y/b.txt", "x/to-y/deep/c.txt"]
    assert shown(folder, "x", depth=1) == ["x/a.txt", "x/to-y/b.txt"]
    assert shown(folder, "x", depth=0) == ["x/a.txt"]


def test_edge_3_an_unknown_choice_is_an_error(plant: Plant) -> None:
    """Edge 3: the setting is `skip` or `follow`."""
    with pytest.raises(SutlerError, match="'symlinks' cannot be 'maybe'"):
        go(job(plant({"t": {"a.txt": "A"}, **configured("symlinks: maybe")}), "plain", "t"))


def test_edge_3_compat_follows_links_to_files_inside(plant: Plant, tmp_path: Path) -> None:
    """Edge 3: compat reads through a link to a file, as claw does, unless it leads outside."""
    folder = plant({"t": {"a.txt": "A"}})
    (tmp_path / "outside.txt").write_text("secret")
    os.symlink("a.txt", folder / "t/in.txt")
    os.symlink(str(tmp_path / "outside.txt"), folder / "t/out.txt")
    gathered = gather_as_claw(Wanted(("t",), str(folder), COMPAT_FILE, rules=GOAL_RULES))
    assert [(file.path, file.content) for file in gathered.files] == [
        ("t/a.txt", "A"),
        ("t/in.txt", "A"),
    ]


def test_edge_3_a_named_link_is_followed(plant: Plant) -> None:
    """Edge 3: who names a link means the file behind it."""
    folder = plant({"real.txt": "R", **configured()})
    os.symlink("real.txt", folder / "link.txt")
    assert shown(folder, "link.txt") == ["real.txt"]


def test_edge_4_mixed_binary_and_text(plant: Plant) -> None:
    """Edge 4: binary files are skipped, text files are included."""
    tree: Files = {
        "a.py": "A",
        "b.png": b"\x89PNG\r\n\x1a\n\0",
        "c.pyc": b"\xa7\r\r\n\0\0\0",
        "d.md": "D",
    }
    folder = plant({"t": tree, **configured()})
    assert shown(folder, "t") == ["t/a.py", "t/d.md"]


def test_edge_5_deeply_nested(plant: Plant) -> None:
    """Edge 5: the depth limit holds however deep the tree is."""
    folder = plant(
        {
            "t": {"/".join("d" * n) + ("/" if n else "") + "f.txt": "" for n in range(60)},
            **configured(),
        }
    )
    assert len(shown(folder, "t", depth=7)) == 8
    assert len(shown(folder, "t")) == 60


def test_edge_6_special_characters_in_names(plant: Plant) -> None:
    """Edge 6: any name is handled, and none can forge a heading or a line of the tree."""
    names = [
        "a b.txt",
        "ünï.txt",
        "quote'\".txt",
        "$(x).txt",
        "-dash.txt",
        "*.txt",
        "back`tick.txt",
        "#.txt",
    ]
    folder = plant({"t": {name: name for name in names}, **configured()})
    hostile = folder / "t" / "x\n### forged.md"
    hostile.write_text("h")
    done = go(job(folder, "plain", "t"))
    assert len(done.prompt.files) == len(names) + 1
    assert "\n### forged.md" not in done.text
    assert '### "t/x\\n### forged.md"' in done.text


def test_edge_6_names_that_are_not_utf8(plant: Plant) -> None:
    """Edge 6: a name of raw bytes is shown escaped and read all the same."""
    folder = plant({"t": {"a.txt": "A"}, **configured()})
    Path(os.fsdecode(os.fsencode(folder) + b"/t/\xff.txt")).write_text("F")
    done = go(job(folder, "plain", "t"))
    assert len(done.prompt.files) == 2
    assert '"t/\\377.txt"' in done.text
    done.text.encode()


def test_edge_7_very_large_files(plant: Plant) -> None:
    """Edge 7: a file of many gigabytes is refused by its size, without being read."""
    folder = plant({"t": {"a.txt": "A"}, **configured()})
    with (folder / "t/huge.txt").open("wb") as stream:
        stream.truncate(20 * 1024**3)
    with pytest.raises(RefusedError, match="File too large"):
        shown(folder, "t")
    assert shown(folder, "t", mode="ignore") == ["t/a.txt"]


def test_edge_8_a_locked_file_is_read(plant: Plant) -> None:
    """Edge 8: a file that another process holds a lock on does not hang the run."""
    folder = plant({"a.txt": "A", **configured()})
    with (folder / "a.txt").open("r+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert shown(folder, "a.txt") == ["a.txt"]


def test_edge_9_non_existent_paths(plant: Plant) -> None:
    """Edge 9: each missing path is named; a link to nowhere is called that."""
    folder = plant(configured())
    os.symlink("nowhere", folder / "dangling")
    with pytest.raises(RefusedError) as caught:
        shown(folder, "no/such.txt", "dangling")
    assert "Path does not exist: no/such.txt" in str(caught.value)
    assert "Path broken symbolic link: dangling" in str(caught.value) or "dangling" in str(
        caught.value
    )


def test_edge_10_relative_and_absolute_paths(plant: Plant) -> None:
    """Edge 10: both work and show the same path; one outside is shown from where the user
    stands.
    """
    folder = plant({"in": {"a.txt": "A", **configured()}, "out": {"b.txt": "B"}})
    here = folder / "in"
    assert (
        shown(here, "./a.txt")
        == shown(here, str(here / "a.txt"))
        == shown(here, "../in/a.txt")
        == ["a.txt"]
    )
    assert shown(here, "../out") == ["../out/b.txt"]


@pytest.mark.parametrize("name", [".env", ".env.local", "server.pem"])
def test_credentials_stay_out_even_when_named(plant: Plant, name: str) -> None:
    """What binds every exit binds this one: a named credential file is an error, never content."""
    folder = plant({name: "TOKEN=hunter2", **configured()})
    done = go(job(folder, "plain", name, mode="ignore"))
    assert "hunter2" not in done.text
    assert any("Left out" in note for note in done.notes)


@pytest.mark.parametrize("spelled", ["~/a.txt", "$HOME/a.txt", "%APPDATA%", "~root"])
def test_nothing_is_expanded(plant: Plant, spelled: str) -> None:
    """T13: no tilde and no variable in a path means anything."""
    folder = plant(configured())
    with pytest.raises(RefusedError, match="Path does not exist"):
        shown(folder, spelled)


def test_a_thousand_files_and_more(plant: Plant) -> None:
    """The checklist's large directory: every file once, sorted, in one pass."""
    folder = plant(
        {
            "t": {f"d{d:02}": {f"f{n:02}.txt": f"{d}-{n}" for n in range(40)} for d in range(30)},
            **configured(),
        }
    )
    found = shown(folder, "t")
    assert len(found) == 1200
    assert found == sorted(found)
