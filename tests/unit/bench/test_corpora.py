import io
import os
import tarfile
from pathlib import Path

import pytest

from bench.corpora import Corpus, cache_folder, census, corpus, multiplied, tier, unpack


@pytest.fixture
def source(tmp_path: Path) -> Corpus:
    root = tmp_path / "source"
    (root / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("no part of the tree")
    (root / "b" / "one.py").write_text("1\n")
    (root / "a.txt").write_text("2\n")
    (root / "image").write_bytes(b"\x00\x01")
    (root / "link").symlink_to("a.txt")
    return corpus(str(root), str(tmp_path))


def test_census_counts_text_files_alone_in_order(source: Corpus) -> None:
    names = [os.path.relpath(path, source.root) for path in source.census.files]
    assert names == ["a.txt", "b/one.py"]
    assert source.census.size == 4


def test_copies_are_unlike_each_other(source: Corpus, tmp_path: Path) -> None:
    grown = multiplied(source, 3, str(tmp_path))
    contents = {Path(path).read_bytes() for path in grown.census.files}
    assert len(grown.census.files) == 6
    assert len(contents) == 6
    assert grown == multiplied(source, 3, str(tmp_path))


@pytest.mark.parametrize(("files", "size"), [(230, "small"), (7_085, "medium"), (78_300, "large")])
def test_tier(files: int, size: str) -> None:
    assert tier(files) == size


def test_unpack_leaves_links_out_and_refuses_to_climb(tmp_path: Path) -> None:
    archive, target = tmp_path / "x.tar.gz", tmp_path / "target"
    with tarfile.open(archive, "w:gz") as tar:
        link = tarfile.TarInfo("x/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        for name in ("x/fine", "../climbed"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"1"))
    with pytest.raises(tarfile.OutsideDestinationError):
        unpack(str(archive), str(target))
    assert census(str(target)).files == (str(target / "x" / "fine"),)
    assert not (tmp_path / "climbed").exists()


def test_cache_inside_the_repository_is_refused() -> None:
    inside = os.path.join(os.path.dirname(cache_folder.__code__.co_filename), "data")
    with pytest.raises(SystemExit, match="inside the repository"):
        cache_folder(inside)


def test_unknown_tree_names_the_choices(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="small, medium, large"):
        corpus(str(tmp_path / "none"), str(tmp_path))
