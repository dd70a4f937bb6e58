"""A pack printed again: the same bytes as one made anew, and only while nothing has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sutler
from sutler.engine import home
from sutler.engine.load import Loader

SECRET = "ghp_" + "x7Kq2mZ9pLw4Rt8Yb3Nc6Vd1Sf5Hg0Jk2aQe"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # A test cannot wait until its files have been left alone for some seconds, nor set their time of change back.
    monkeypatch.setattr("sutler.engine.reprint.RACY_NS", -(10**15))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "src").mkdir(parents=True)
    (made / "README.md").write_text("# A project\n")
    (made / "latin.txt").write_bytes(b"caf\xe9\n")
    for number in range(12):
        (made / "src" / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n" * 20)
    (made / "src" / "key.py").write_text(f'TOKEN = "{SECRET}"\n')
    return made


def pack(root: Path, **options: object) -> tuple[str, sutler.Report]:
    packing = sutler.Project(root).pack(max_bytes=0, **options)  # type: ignore[arg-type]  # whatever a test tries
    return packing.text(), packing.report


def copies() -> list[Path]:
    return sorted(Path(home.cache_folder(os.environ)).glob("packs-*"))


def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a file was read")

    monkeypatch.setattr(Loader, "load", refuse)
    monkeypatch.setattr(Loader, "unchanged", refuse)


def test_the_third_pack_reads_no_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pack(root)
    assert not copies()  # made once: perhaps nobody asks again
    assert pack(root) == first
    assert len(copies()) == 1
    no_reading(monkeypatch)
    assert pack(root) == first
    assert pack(root) == first


@pytest.mark.parametrize("change", ["edit", "touch", "add", "remove", "mode", "ignore", "rename"])
def test_any_change_makes_a_new_pack(root: Path, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        old = pack(root)
    file = root / "src" / "m3.py"
    if change == "edit":
        before = file.stat()
        file.write_text(file.read_text().replace("return 3", "return 4"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and time of writing
    elif change == "touch":
        file.touch()
    elif change == "add":
        (root / "new.py").write_text("x = 1\n")
    elif change == "remove":
        file.unlink()
    elif change == "mode":
        file.chmod(0o755)
    elif change == "ignore":
        (root / ".sutlerignore").write_text("m3.py\n")
    else:
        file.rename(root / "src" / "m33.py")
    new = pack(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert pack(root) == new
    assert (new[0] == old[0]) == (change == "touch")


def test_other_settings_are_another_pack(root: Path) -> None:
    for _ in range(3):
        plain = pack(root)
    assert pack(root, line_numbers=True)[0] != plain[0]
    assert "m3.py" not in pack(root, exclude=["m3.py"])[0]
    assert pack(root, format="xml")[0] != plain[0]
    assert pack(root)[0] == plain[0]


def test_a_copy_holds_nothing_that_may_not_leave(root: Path) -> None:
    for _ in range(3):
        pack(root)
        pack(root, redact=False)
    (copy,) = copies()
    assert SECRET.encode() not in copy.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "noise", "account", "link"])
def test_a_damaged_copy_is_ignored(root: Path, damage: str) -> None:
    first = pack(root)
    pack(root)
    (copy,) = copies()
    data = bytearray(copy.read_bytes())
    if damage == "bit":
        data[len(data) // 3] ^= 1
    elif damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "empty":
        data.clear()
    elif damage == "noise":
        data[:] = os.urandom(len(data))
    elif damage == "account":
        data[-40:-8] = bytes(32)
    copy.unlink()
    if damage == "link":
        copy.with_suffix(".real").write_bytes(data)
        copy.symlink_to(copy.with_suffix(".real"))
    else:
        copy.write_bytes(data)
    assert pack(root) == first
    assert pack(root) == first


def test_a_file_that_changed_just_now_is_not_relied_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sutler.engine.reprint.RACY_NS", 10**12)
    for _ in range(3):
        pack(root)
    assert not copies()


def test_who_stops_in_the_middle_leaves_no_copy(root: Path) -> None:
    pack(root)
    text = iter(sutler.Project(root).pack(max_bytes=0))
    next(text)
    del text
    assert not list(Path(home.cache_folder(os.environ)).glob("packs-*"))


def test_a_pack_inside_the_project_does_not_count_as_a_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = root / "pack.md"
    for _ in range(2):
        sutler.Project(root).writing_to(str(out)).pack(max_bytes=0).write(str(out))
    first = out.read_bytes()
    no_reading(monkeypatch)
    sutler.Project(root).writing_to(str(out)).pack(max_bytes=0).write(str(out))
    assert out.read_bytes() == first
