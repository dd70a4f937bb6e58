"""One gate: the root is opened once, a hard link is its file, and policy holds from the next call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sutler.access.door import Door
from sutler.errors import DeniedError, RefusedError, SutlerError, UsageError
from sutler.pack.project import Project
from sutler.pack.report import Shown
from sutler.store.records import CLOUD, Caller
from sutler.tools import call, open_door
from tests.conftest import FUZZ, Plant, Sutler
from tests.durability import swaps

CANARY = "canary-0123456789"


@contextmanager
def served(root: Path, tmp_path: Path, settings: str = "") -> Iterator[Door]:
    config = tmp_path / "config/sutler"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(settings)
    folders = {"CONFIG": "config", "STATE": "state", "CACHE": "cache"}
    environ = {**os.environ, **{f"XDG_{k}_HOME": str(tmp_path / v) for k, v in folders.items()}}
    with open_door(str(root), Caller("c", "s", CLOUD), environ=environ) as door:
        yield door


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("pack", {}),
        ("rank", {"goal": "text"}),
        ("search", {"query": "a"}),
        ("read_file", {"path": "a.py"}),
        ("list_files", {}),
        ("write_file", {"path": "a.py", "content": "x\n"}),
    ],
)
def test_a_root_that_was_replaced_is_not_read(
    plant: Plant, tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    """`mv root moved; ln -s ../outside root`: nothing of the outside leaves, and the answer says so."""
    root = plant({"root/a.py": "a = 1\n", "outside/a.py": f"a = '{CANARY}'\n"}) / "root"
    with served(root, tmp_path) as door:
        root.rename(root.with_name("moved"))
        root.symlink_to("outside")
        with pytest.raises(SutlerError, match="moved or replaced") as refusal:
            call(door, tool, arguments)
    assert CANARY not in str(refusal.value)


def test_a_project_reads_the_directory_that_it_opened(plant: Plant) -> None:
    root = plant({"root/a.py": "a = 1\n", "outside/a.py": f"a = '{CANARY}'\n"}) / "root"
    project = Project(str(root))
    assert CANARY not in project.pack().text()
    root.rename(root.with_name("moved"))
    root.symlink_to("outside")
    with pytest.raises(RefusedError, match="moved or replaced"):
        project.pack().text()


@pytest.mark.parametrize("level", swaps.LEVELS)
def test_no_byte_leaves_while_folders_are_swapped(tmp_path: Path, level: str) -> None:
    """A short run; `python -m tests.durability.swaps DIRECTORY 60` is the long one."""
    counts = swaps.run(tmp_path, level, 0.6)
    assert counts["escapes"] == 0
    assert sum(counts.values()) >= 7


def _linked(root: Path, denied: str, spelling: int) -> str:
    """A hard link to a denied file under one of six spellings."""
    names = ["link.txt", "link.py", "sub/deep/link.md", ".link", "LINK.TXT", "li\u0301nk.txt"]
    path = root / f"{spelling}-{denied.replace('/', '_').replace('.', '')}" / names[spelling]
    path.parent.mkdir(parents=True, exist_ok=True)
    os.link(root / denied, path)
    return str(path.relative_to(root))


def test_hard_links_to_denied_files_are_not_served(plant: Plant, tmp_path: Path) -> None:
    """100 denied files (by name, by an AI-ignore file, by policy, inside .git) under 6 names each."""
    groups = {
        "credential": [f"conf{n}/.env" for n in range(25)],
        "guarded": [f"keys/secrets/{n}.yaml" for n in range(25)],
        "ignored": [f"private/{n}.txt" for n in range(25)],
        "denied": [f"closed/{n}.txt" for n in range(20)],
        "internal": [f".git/note{n}" for n in range(5)],
    }
    denied = [path for paths in groups.values() for path in paths]
    text = f"word {CANARY}\n"
    root = plant({**dict.fromkeys(denied, text), ".cursorignore": "private/\n", "a.py": "word\n"})
    links = [_linked(root, path, spelling) for path in denied for spelling in range(6)]
    with served(root, tmp_path, 'deny = ["closed/**"]\n') as door:
        for link in links[:: 1 if FUZZ >= 10 else 5]:
            with pytest.raises(SutlerError):
                call(door, "read_file", {"path": link})
        assert CANARY not in str(call(door, "search", {"query": "word"}))
        listing = str(call(door, "list_files", {}))
        assert not [link for link in links if link in listing]
        assert CANARY not in call(door, "pack", {}).text  # type: ignore[attr-defined]  # a PackText
    free = {link for link in links if "closed_" in link}  # `deny` is about agents alone
    shown = {one.path for one in _packed(root)}
    assert shown & set(links) == free


def _packed(root: Path) -> tuple[Shown, ...]:
    packing = Project(str(root)).pack(max_bytes=0)
    packing.text()
    return packing.report.shown


def test_a_link_to_an_ordinary_file_is_served(plant: Plant, tmp_path: Path) -> None:
    root = plant({"a.py": "a = 1\n"})
    os.link(root / "a.py", root / "b.py")
    with served(root, tmp_path) as door:
        assert call(door, "read_file", {"path": "b.py"}).text == "a = 1\n"  # type: ignore[attr-defined]  # a Reading


def test_the_table_of_links_follows_the_tree(plant: Plant, tmp_path: Path) -> None:
    """Names that come, go or move with their folder count from the next read on; a name outside
    the project is no reason to refuse.
    """
    tree = {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n", "outside/c.py": "c = 1\n"}
    top = plant({f"root/{path}": text for path, text in tree.items()})
    root = top / "root"
    (root / "outside").rename(top / "outside")
    for name in ("a", "b"):
        os.link(root / f"src/{name}.py", root / f"src/{name}2.py")
    os.link(top / "outside/c.py", root / "c.py")
    with served(root, tmp_path, 'deny = ["closed/**"]\n') as door:
        for name in ("src/a.py", "src/b2.py", "c.py"):
            assert door.read_file(name).text.endswith("= 1\n")
        (root / "closed").mkdir()
        os.link(root / "src/a.py", root / "closed/a.py")
        with pytest.raises(DeniedError, match="hard link"):
            door.read_file("src/a.py")
        (root / "closed/a.py").unlink()
        assert door.read_file("src/a.py").text == "a = 1\n"
        (root / "more").mkdir()
        os.link(root / "src/b.py", root / "more/b.py")
        assert door.read_file("src/b.py").text == "b = 1\n"
        (root / "closed").rmdir()
        (root / "more").rename(root / "closed")  # no time of the file itself moves
        with pytest.raises(DeniedError, match="hard link"):
            door.read_file("src/b.py")


def test_a_denial_holds_from_the_next_call(plant: Plant, tmp_path: Path) -> None:
    """Added to the user's or the project's configuration while the server runs; and taken back."""
    root = plant({"a.py": "a = 1\n", "b.py": "b = 1\n"})
    with served(root, tmp_path) as door:
        call(door, "read_file", {"path": "a.py"})
        (tmp_path / "config/sutler/config.toml").write_text('deny = ["a.py"]\n')
        with pytest.raises(DeniedError, match=r"a\.py"):
            call(door, "read_file", {"path": "a.py"})
        (root / "sutler.toml").write_text('deny = ["b.py"]\n')
        with pytest.raises(DeniedError, match=r"b\.py"):
            call(door, "read_file", {"path": "b.py"})
        assert "b.py" not in str(call(door, "list_files", {}))
        (tmp_path / "config/sutler/config.toml").write_text("")
        call(door, "read_file", {"path": "a.py"})


def test_settings_that_became_unreadable_close_the_door(plant: Plant, tmp_path: Path) -> None:
    root = plant({"a.py": "a = 1\n"})
    with served(root, tmp_path) as door:
        (root / "sutler.toml").write_text("deny = [\n")
        with pytest.raises(SutlerError):
            call(door, "read_file", {"path": "a.py"})


def test_a_change_of_the_same_size_within_a_tick_is_seen(plant: Plant, tmp_path: Path) -> None:
    """The policy's files are looked at by their state; one that is too young to trust is read."""
    root = plant({"a.py": "a = 1\n", "b.py": "b = 1\n"})
    with served(root, tmp_path) as door:
        for denied, free in [("a.py", "b.py"), ("b.py", "a.py")] * 10:
            (root / "sutler.toml").write_text(f'deny = ["{denied}"]\n')
            call(door, "read_file", {"path": free})
            with pytest.raises(DeniedError):
                call(door, "read_file", {"path": denied})


def test_the_configuration_of_a_new_repository_above_holds(plant: Plant, tmp_path: Path) -> None:
    top = plant({"sutler.toml": 'deny = ["a.py"]\n', "root/a.py": "a = 1\n"})
    with served(top / "root", tmp_path) as door:
        call(door, "read_file", {"path": "a.py"})
        subprocess.run(["git", "init", "-q", str(top)], check=True, timeout=60)
        with pytest.raises(DeniedError):
            call(door, "read_file", {"path": "a.py"})


def test_a_malformed_glob_of_the_policy_is_named(plant: Plant, tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"glob src/\[a"),
        served(plant({"a.py": "a = 1\n"}), tmp_path, 'writable = ["src/[a"]\n'),
    ):
        pass


def test_an_approval_of_another_policy_is_void(plant: Plant, tmp_path: Path) -> None:
    root = plant({"a.py": "a = 1\n"})
    write = {"path": "a.py", "content": "a = 2\n"}
    with served(root, tmp_path) as door:
        call(door, "read_file", {"path": "a.py"})
        with pytest.raises(DeniedError) as asked:
            call(door, "write_file", write)
        door.gate.store.settle(asked.value.approval, "approved", "test")
        (tmp_path / "config/sutler/config.toml").write_text('deny = ["elsewhere"]\n')
        with pytest.raises(DeniedError) as again:
            call(door, "write_file", write)
        assert again.value.approval not in ("", asked.value.approval)
    assert (root / "a.py").read_text() == "a = 1\n"


@pytest.mark.parametrize("door", ["pack", "goal", "gather", "agent"])
def test_why_answers_for_each_door(plant: Plant, sutler: Sutler, door: str) -> None:
    root = plant({".env": "A=1\n", "a.py": "a = 1\n", "node_modules/x.js": "x\n"})
    assert b": out" in sutler("why", ".env", "--for", door, cwd=root).out
    assert b": in" in sutler("why", "a.py", "--for", door, cwd=root).out
    wanted = b": out" if door in ("pack", "gather") else b": in"
    assert wanted in sutler("why", "node_modules/x.js", "--for", door, cwd=root).out


def test_what_only_a_name_rule_leaves_out_is_named(plant: Plant, sutler: Sutler) -> None:
    """In the pack, on stderr, with the flag that lets it in; a certain credential is not named."""
    tree = {
        "main.rs": "m\n",
        "dist/a.rs": "a\nb\n",
        "config/secrets.yaml": "a: b\n",
        ".env": "A=1\n",
    }
    root = plant(tree)
    ran = sutler("pack", cwd=root)
    assert "left out by name: dist/ 1 file, 2 lines; --allow 'dist/**'" in ran.text
    assert "left out by name: config/ 1 file named like credentials" in ran.text
    assert "dist/ 1 file, 2 lines" in ran.err
    assert ".env" not in ran.text
    assert "dist/a.rs" in sutler("pack", "--allow", "dist/**", cwd=root).text
    assert "--allow" in sutler("pack", "config/secrets.yaml", cwd=root).err


def test_a_home_folder_is_refused_with_what_would_leave(plant: Plant, sutler: Sutler) -> None:
    home = plant({"Documents/tax.txt": "x\n", "Mail/inbox": "x\n", "project/package.json": "{}\n"})
    ran = sutler("pack", cwd=home, env={"HOME": str(home)})
    assert (ran.code, "Documents, Mail" in ran.err) == (3, True)
    assert sutler("pack", "project", cwd=home, env={"HOME": str(home)}).code == 0


def test_history_is_read_through_the_descriptor(plant: Plant, sutler: Sutler) -> None:
    """git is another process: it inherits the descriptor that the root's path stands for."""
    root = plant({"a.py": "a = 1\n", "sub/b.py": "b = 1\n"})
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam")
    for words in (
        ("init", "-q"),
        ("add", "."),
        (*commit, "one"),
        (*commit, "two", "--allow-empty"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    for folder in (root, root / "sub"):
        assert sutler("pack", "--since", "HEAD~1", "--log", "2", cwd=folder).code == 0


def test_a_value_that_becomes_known_is_hidden_in_texts_read_before(
    plant: Plant, tmp_path: Path
) -> None:
    """A text that was read already is cleaned again once another file has given the value away."""
    value = "Zx9#kQ2vLm7pTw4R"
    root = plant({"notes.txt": f"we use {value} here\n", "b.ini": "[db]\n"})
    with served(root, tmp_path) as door:
        assert value in door.read_file("notes.txt").text
        (root / "b.ini").write_text(f"[db]\npassword = {value}\n")
        assert value not in door.read_file("b.ini").text
        assert value not in door.read_file("notes.txt").text
