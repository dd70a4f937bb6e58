"""What is remembered between packs: never a wrong answer, never a text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

import sutler
from sutler.budget.shrink import outline_text
from sutler.secrets.cleaner import SECRET_NAME
from sutler.store import home

SECRET = "ghp_" + "x7Kq2mZ9pLw4Rt8Yb3Nc6Vd1Sf5Hg0Jk2aQe"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def tree(at: Path) -> Path:
    root = at / "project"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# A project\n")
    for number in range(12):
        (root / "src" / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n" * 20)
    (root / "src" / "key.py").write_text(f'TOKEN = "{SECRET}"\n')
    return root


def pack(root: Path) -> tuple[str, int | None]:
    packing = sutler.Project(root).pack(max_bytes=0)
    return packing.text(), packing.report.tokens


def facts() -> list[Path]:
    return sorted(Path(home.cache_folder(os.environ)).glob("facts-*.bin"))


def test_a_second_pack_is_the_same(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "src" / "hidden.txt").write_text(
        "a\u200bb\n\nTOKEN=" + SECRET + "\nlast line without an end"
    )
    first = pack(root)
    report = sutler.Project(root).pack(max_bytes=0)
    assert facts()
    assert pack(root) == first
    again = report.text(), report.report
    facts()[0].unlink()
    fresh = sutler.Project(root).pack(max_bytes=0)
    assert (fresh.text(), fresh.report) == again
    assert fresh.report.hidden() == {"zero-width": 1}
    assert SECRET not in first[0]


def test_what_is_kept_holds_nothing_that_may_not_leave(tmp_path: Path) -> None:
    root = tree(tmp_path)
    pack(root)
    (kept,) = facts()
    data = kept.read_bytes()
    assert b"src/m1.py" in data
    assert b"return" not in data
    assert b"[REDACTED:" in data  # of a file with a finding the changed lines, as they leave
    assert SECRET.encode() not in data
    assert kept.stat().st_mode & 0o077 == 0


def test_a_changed_file_is_looked_at_again_whatever_its_time_says(tmp_path: Path) -> None:
    root = tree(tmp_path)
    pack(root)
    file = root / "src" / "m3.py"
    before = file.stat()
    old = file.read_text()
    line = f'TOKEN = "{SECRET}"\n'
    file.write_text(line + old[len(line) :])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert SECRET not in pack(root)[0]


def test_one_lost_bit_and_the_memory_is_not_believed(tmp_path: Path) -> None:
    """Nothing waits for the disk here: what a power cut left of it must not get into a pack."""
    root = tree(tmp_path)
    first = pack(root)
    (kept,) = facts()
    whole = kept.read_bytes()
    for place in range(0, len(whole), len(whole) // 40):
        damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        kept.write_bytes(damaged)
        assert pack(root) == first
        assert kept.read_bytes() != damaged  # made anew, and more in it when files grew old enough


@pytest.mark.parametrize(
    "damage", [b"", b"\x93", b"not msgpack", b"\x92\x01\x81\xa1a\x93\xa1b\xc0\xc0"]
)
def test_a_damaged_memory_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    root = tree(tmp_path)
    first = pack(root)
    (kept,) = facts()
    good = kept.read_bytes()
    kept.write_bytes(damage)
    assert pack(root) == first
    assert kept.read_bytes() == good


def cut_pack(root: Path, *, redact: bool = True) -> str:
    """A limited pack, which shows the large file of `outlined` as an outline."""
    return sutler.Project(root).pack(max_bytes=20_000, redact=redact).text()


def outlined(at: Path) -> Path:
    root = tree(at)
    turns = "".join(f"        self.turn({number})\n" for number in range(5_000))
    (root / "src" / "large.py").write_text(
        f'ADDRESS = "db.example"\n\n\nclass Depot:\n    def drive(self):\n{turns}'
    )
    return root


def figures() -> bytes:
    (kept,) = Path(home.cache_folder(os.environ)).glob("figures-*.bin")
    return kept.read_bytes()


def test_an_outline_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached and an uncached pack have the same bytes."""
    root, made = outlined(tmp_path), list[str]()

    def noted(path: str, text: str) -> str:
        made.append(path)
        return outline_text(path, text)

    with monkeypatch.context() as counted:
        counted.setattr("sutler.pack.cache.outline_text", noted)
        first = cut_pack(root)
    assert made.count("src/large.py") == 1
    assert "def drive(self)" in first
    assert "def drive(self)" in figures().decode(errors="replace")
    with monkeypatch.context() as without:
        without.setattr("sutler.pack.cache.outline_text", _unused)
        assert cut_pack(root) == first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another cache"))
    assert cut_pack(root) == first


def test_an_outline_is_made_anew_with_another_grammar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = outlined(tmp_path)
    cut_pack(root)
    monkeypatch.setattr("sutler.pack.cache._code_mark", lambda: "another")
    monkeypatch.setattr("sutler.pack.cache.outline_text", _unused)
    with pytest.raises(AssertionError, match="holds the answer"):
        cut_pack(root)


def test_the_order_of_files_is_made_anew_by_other_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commits can have one version: the order of one must not enter packs of the other."""
    root = outlined(tmp_path)
    monkeypatch.setattr("sutler.pack.cache.RACY_NS", -1_000_000_000)  # new files count as settled
    first = cut_pack(root)
    monkeypatch.setattr("sutler.pack.sources.standing_of", _unused)
    assert cut_pack(root) == first
    monkeypatch.setattr("sutler.pack.cache._code_mark", lambda: "another")
    with pytest.raises(AssertionError, match="holds the answer"):
        cut_pack(root)


def test_a_cached_outline_shows_no_secret_that_became_known_later(tmp_path: Path) -> None:
    """Another file reveals that a constant of an outline is a secret: neither the pack nor the
    cache shows it from then on."""
    root = outlined(tmp_path)
    large = root / "src" / "large.py"
    large.write_text(large.read_text().replace("db.example", "hG7kQ2pXw9Lz"))
    assert "hG7kQ2pXw9Lz" in cut_pack(root)
    assert b"hG7kQ2pXw9Lz" in figures()
    (root / ".env").write_text("DB_PASSWORD=hG7kQ2pXw9Lz\n")
    assert "hG7kQ2pXw9Lz" not in cut_pack(root)
    assert b"def drive(self)" in figures()
    assert b"hG7kQ2pXw9Lz" not in figures()


def test_a_pack_without_redaction_leaves_no_outline(tmp_path: Path) -> None:
    assert "def drive(self)" in cut_pack(outlined(tmp_path), redact=False)
    assert b"def drive(self)" not in figures()


def test_another_counter_has_another_memory(tmp_path: Path) -> None:
    root = tree(tmp_path)
    pack(root)
    assert sutler.Project(root).pack(max_bytes=0, counter="cl100k_base").text()
    assert len(facts()) == 2


def test_a_memory_of_raw_packs_never_speaks_for_clean_ones(tmp_path: Path) -> None:
    root = tree(tmp_path)
    raw = sutler.Project(root).pack(max_bytes=0, redact=False).text()
    assert SECRET in raw
    assert SECRET not in pack(root)[0]


def use_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sutler.pack.steps.ENOUGH", 10)
    monkeypatch.setattr("sutler.pack.load.BATCH_BYTES", 1000)
    monkeypatch.setattr("sutler.parallel.cores", lambda: 2)
    monkeypatch.setattr("sutler.parallel.may_fork", lambda: True)


def test_children_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path)
    (root / "src" / "bin.dat").write_bytes(b"\0\1\2")
    (root / "src" / "latin.txt").write_bytes("Stra\xdfe\n".encode("latin-1") * 3)
    os.mkdir(os.path.join(os.fsencode(root), b"\xff"))
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"\xff", b"\xfe.py"))).write_text("x = 1\n")
    alone = pack(root)
    for one in facts():
        one.unlink()
    use_children(monkeypatch)
    assert pack(root) == alone
    assert pack(root) == alone


def test_a_secret_in_a_name_stays_here_with_children_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose name holds a secret leaves no trace, whoever does the work."""
    root = tree(tmp_path)
    (root / "src" / f"{SECRET}.py").write_text("x = 1\n")
    use_children(monkeypatch)
    packing = sutler.Project(root).pack(max_bytes=0)
    text, report = packing.text(), packing.report
    assert SECRET not in text
    assert SECRET not in repr(report)
    assert [one.rule for one in report.excluded] == [SECRET_NAME]
    assert not [one for one in facts() if SECRET.encode() in one.read_bytes()]
    assert pack(root) == (text, report.tokens)


def test_new_code_of_the_redactor_has_a_new_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older redactor let pass is looked at again."""
    root = tree(tmp_path)
    pack(root)
    monkeypatch.setattr("sutler.secrets.cleaner.newest_in", lambda _: 1)
    pack(root)
    assert len(facts()) == 2


@pytest.mark.parametrize("workers", [False, True])
def test_files_that_are_cut_are_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: bool
) -> None:
    """A file over --cut-over is redacted and counted once, whichever process did it."""
    root = tree(tmp_path)
    text = "".join(f"value_{number} = {number}\n" for number in range(5_000))
    (root / "src" / "large.py").write_text(text + f'TOKEN = "{SECRET}"\n' + text)
    if workers:
        use_children(monkeypatch)
    first = pack(root)
    monkeypatch.setattr("sutler.parallel.may_fork", lambda: False)
    monkeypatch.setattr("sutler.pack.scope.cleaner", _unused)
    monkeypatch.setattr("sutler.pack.steps.token_counter", _unused)
    assert pack(root) == first
    assert SECRET not in first[0]


def _unused(*_: object) -> NoReturn:
    raise AssertionError("the cache holds the answer")


def with_env(at: Path) -> Path:
    root = tree(at)
    (root / ".env").write_text("DB_PASSWORD=hG7kQ2pXw9Lz\n")
    (root / "src" / "copy.py").write_text('ADDRESS = "hG7kQ2pXw9Lz"\n')
    return root


@pytest.mark.parametrize("limit", [0, 20_000])
def test_credential_files_are_redacted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """The values of `.env` are hidden in other files without a redactor; the cache holds none."""
    root = with_env(tmp_path)
    first = sutler.Project(root).pack(max_bytes=limit).text()
    monkeypatch.setattr("sutler.pack.scope.cleaner", _unused)
    assert sutler.Project(root).pack(max_bytes=limit).text() == first
    assert "hG7kQ2pXw9Lz" not in first
    assert b"hG7kQ2pXw9Lz" not in facts()[0].read_bytes()


@pytest.mark.parametrize("limit", [0, 20_000, None])
def test_no_credential_file_is_on_record_by_a_secret_name(
    tmp_path: Path, limit: int | None
) -> None:
    """Neither by a pack nor by a server, which only learns the values of the tree (None)."""
    root = with_env(tmp_path)
    (root / "hG7kQ2pXw9Lz.key").write_text("no secret in here\n")
    project = sutler.Project(root)
    assert project.scan() if limit is None else project.pack(max_bytes=limit).text()
    assert b".env" in facts()[0].read_bytes()
    assert b"hG7kQ2pXw9Lz" not in facts()[0].read_bytes()


def test_a_file_without_text_stays_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second whole pack forgot the binary files and read them again."""
    monkeypatch.setattr("sutler.pack.cache.RACY_NS", -(10**12))  # trust files of this moment
    root = tree(tmp_path)
    (root / "image.dat").write_bytes(b"\0\1\2")
    records = []
    for _ in range(3):
        pack(root)
        records.append(b"image.dat" in facts()[0].read_bytes())
    assert records == [True, True, True]
