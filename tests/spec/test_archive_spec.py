"""A wheel, an sdist, an npm tarball or a zip as a project."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from sutler.errors import SutlerError
from sutler.remote import archive, shelf
from tests.conftest import Plant, Sutler

FILES = {"README.md": "# Cart\n", "src/cart.py": "WHEELS = 4\n"}


def tar_of(path: Path, files: dict[str, str], top: str = "", **kind: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
        for name, type in kind.items():
            info = tarfile.TarInfo(top + name)
            info.type, info.linkname = type, "/etc/passwd"
            tar.addfile(info)
    return path


def zip_of(path: Path, files: dict[str, str], top: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(top + name, text)
    return path


@pytest.mark.parametrize("name", ["cart.tgz", "cart.tar.gz", "cart.whl", "cart.zip"])
@pytest.mark.parametrize("top", ["", "package/"])
def test_an_archive_gives_the_pack_of_its_folder(
    plant: Plant, sutler: Sutler, tmp_path: Path, name: str, top: str
) -> None:
    (tmp_path / "there").mkdir()
    make = zip_of if name.endswith((".whl", ".zip")) else tar_of
    path = make(tmp_path / "there" / name, FILES, top)
    folder = plant({"cart": {"README.md": "# Cart\n", "src": {"cart.py": "WHEELS = 4\n"}}})
    expected = sutler("pack", cwd=folder / "cart").out
    assert sutler("pack", str(path), cwd=tmp_path).out == expected


@pytest.mark.parametrize(
    "name", ["../out.txt", "/out.txt", "a/../../out.txt", ".git/config", "a//b"]
)
@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str, make: object) -> None:
    path = tmp_path / ("evil.tgz" if make is tar_of else "evil.zip")
    (tar_of if make is tar_of else zip_of)(path, {name: "x", "b": "y"})
    with pytest.raises(SutlerError):
        archive.unpacked(str(path), os.environ)
    assert shelf.shelved(os.environ) == []


def test_links_are_not_unpacked(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "links.tgz", FILES, soft=tarfile.SYMTYPE, hard=tarfile.LNKTYPE)
    folder = Path(archive.unpacked(str(path), os.environ))
    assert sorted(one.name for one in folder.iterdir()) == ["README.md", "src"]


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "MOST_BYTES", 1_000_000)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", b"\0" * 50_000_000)
    with pytest.raises(SutlerError, match="too large"):
        archive.unpacked(str(path), os.environ)


@pytest.mark.parametrize("name", ["broken.zip", "broken.tgz", "broken.whl"])
def test_what_is_no_archive_is_refused(sutler: Sutler, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"not an archive")
    ran = sutler("pack", name, cwd=tmp_path)
    assert (ran.code, "cannot be read" in ran.err) == (3, True)
