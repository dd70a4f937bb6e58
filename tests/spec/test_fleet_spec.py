"""Many repositories through the front door: the same rows from every executor, after any kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sutler.store.home import cache_files
from tests.limits import LIMIT

KEY = "ghp_" + "a8Kq2Lm9" * 4 + "Zt7X"
SQL = {
    "files": "select repo, path, language, lines from files order by all",
    "symbols": 'select repo, path, name, kind, start, "end" from symbols order by all',
    "findings": "select repo, path, rule, line from findings order by all",
    "packs": "select repo, files, tokens, sha256 from packs order by all",
}


def git(folder: Path, *words: str) -> str:
    environ = {
        **os.environ,
        **{
            f"GIT_{who}_{what}": "x"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env=environ,
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    return done.stdout.decode()


def sutler(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sutler", *words], cwd=folder, capture_output=True, timeout=LIMIT
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


def rows(folder: Path, fleet: str) -> dict[str, Any]:
    return {
        name: json.loads(sutler(folder, "fleet", "sql", sql, "--fleet", fleet, "--json"))["rows"]
        for name, sql in SQL.items()
    }


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    """Three bare mirrors; one holds a secret, one a name that no checkout could have."""
    for number in range(3):
        tree = tmp_path / f"work{number}"
        tree.mkdir()
        (tree / "README.md").write_text(f"# Cart {number}\n\nCounts the items of cart {number}.\n")
        (tree / "cart.py").write_text(
            f"def total_of_cart_{number}(items):\n    return sum(items)\n"
        )
        (tree / ".env").write_text("PASSWORD=x\n")
        if number == 1:
            (tree / "deploy.sh").write_text(f"export GITHUB_TOKEN={KEY}\n")
        git(tree, "init", "-q", "-b", "main")
        git(tree, "add", "-A", "-f")
        git(tree, "commit", "-qm", "first")
        git(tmp_path, "clone", "-q", "--bare", str(tree), f"mirrors/cart{number}.git")
    return tmp_path


def test_a_fleet_from_mirrors_to_sql(mirrors: Path) -> None:
    """Rows of every table; credentials stay out by name, and values of findings are not kept."""
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    assert "3 new" in sutler(mirrors, "fleet", "add", "mirrors", "--fleet", "f")
    status = sutler(
        mirrors, "fleet", "run", "index,secrets,survey,pack", "--fleet", "f", "--jobs", "1"
    )
    assert "failed: " not in status
    answer = rows(mirrors, "f")
    assert [row[:2] for row in answer["files"]][:2] == [
        ["cart0", "README.md"],
        ["cart0", "cart.py"],
    ]
    assert not any(row[1] == ".env" for row in answer["files"])
    assert [row[1] for row in answer["findings"]] == ["deploy.sh"]
    whole = b"".join(path.read_bytes() for path in (mirrors / "f").rglob("*") if path.is_file())
    assert KEY.encode() not in whole
    assert "cart1:cart.py:1-2" in sutler(
        mirrors, "fleet", "find", "total_of_cart_1", "--fleet", "f"
    )
    assert "nothing in the fleet" in sutler(mirrors, "fleet", "find", "zeppelin", "--fleet", "f")


def test_one_pack_across_repositories(mirrors: Path) -> None:
    """Files of several repositories, each under its name, within one ceiling."""
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors", "--fleet", "f")
    sutler(mirrors, "fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    text = sutler(
        mirrors,
        "fleet",
        "pack",
        "total_of_cart_0 and total_of_cart_1",
        "--fleet",
        "f",
        "--max-tokens",
        "2000",
    )
    assert "cart0/cart.py" in text
    assert "cart1/cart.py" in text
    sutler(mirrors, "fleet", "watch", "--fleet", "f")
    sutler(mirrors, "fleet", "status", "--fleet", "f", "--html", "status.html")
    assert "<td>cart2<td>index<td>done" in (mirrors / "status.html").read_text()


def test_sql_reads_the_dataset_and_no_other_file(mirrors: Path) -> None:
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    (mirrors / "outside.csv").write_text("a\n1\n")
    path = mirrors / "outside.csv"
    sutler(mirrors, "fleet", "sql", f"select * from read_csv('{path}')", "--fleet", "f", code=1)  # noqa: S608  # the test's own query


def test_a_second_run_works_on_new_trees_only(mirrors: Path) -> None:
    """An unchanged tree is not looked at again; a new commit replaces the rows of the old one."""
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors", "--fleet", "f")
    sutler(mirrors, "fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    before = {
        path: path.stat().st_mtime_ns for path in (mirrors / "f" / "dataset").rglob("*.parquet")
    }
    (mirrors / "work0" / "new.py").write_text("def fresh():\n    return 1\n")
    git(mirrors / "work0", "add", "-A")
    git(mirrors / "work0", "commit", "-qm", "second")
    git(mirrors / "work0", "push", "-q", str(mirrors / "mirrors" / "cart0.git"), "main")
    sutler(mirrors, "fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    after = {
        path: path.stat().st_mtime_ns for path in (mirrors / "f" / "dataset").rglob("*.parquet")
    }
    same = {path for path in before if after.get(path) == before[path]}
    assert {path.parent.name for path in set(after) - same} == {"repo=cart0"}
    assert ["cart0", "new.py"] in [row[:2] for row in rows(mirrors, "f")["files"]]


def test_a_killed_worker_loses_nothing(mirrors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that die at any moment leave the same dataset as one that never does, and the last
    one removes the files that they left."""
    place = mirrors / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    _calm_and_wild(mirrors, "index,secrets,pack")
    for pause in (0.6, 1.2, 2.0):
        worker = subprocess.Popen(
            [sys.executable, "-m", "sutler", "worker", "--fleet", "wild", "--jobs", "1"],
            cwd=mirrors,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )
        time.sleep(pause)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(LIMIT)
    # Whether a kill hits while a unit is open is a matter of luck, so one folder is put there.
    fleet = sha256(os.fsencode(mirrors / "wild")).hexdigest()[:12]
    (place / f"sutler-fleet-{fleet}-left").mkdir()
    (place / f"sutler-fleet-{fleet}-left" / "lock").touch()
    part = mirrors / "wild" / "dataset" / "files" / "repo=cart0" / "x.parquet.1.tmp"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.touch()
    _expire(mirrors / "wild" / "fleet.db")
    sutler(mirrors, "worker", "--fleet", "wild", "--jobs", "1")
    assert rows(mirrors, "wild") == rows(mirrors, "calm")
    assert [item for item in place.iterdir() if item.name.startswith("sutler-fleet-")] == []
    assert not part.exists()


def _expire(database: Path) -> None:
    """Let the leases of dead workers end now instead of in a minute."""
    import apsw

    connection = apsw.Connection(str(database))
    connection.set_busy_timeout(30_000)  # a worker that was killed may still hold the file
    connection.execute("UPDATE fleet_units SET lease = 0 WHERE state = 'running'")
    connection.close()


def test_a_unit_over_its_limit_fails_with_the_reason(mirrors: Path) -> None:
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors/cart0.git", "--fleet", "f")
    status = sutler(
        mirrors,
        "fleet",
        "run",
        "index",
        "--fleet",
        "f",
        "--jobs",
        "1",
        "--timeout",
        "0.001",
        code=1,
    )
    assert "over the limit of 0.001 seconds" in status
    assert "failed" in sutler(mirrors, "fleet", "why", "cart0", "--fleet", "f")
    assert "1 unit" in sutler(mirrors, "fleet", "retry", "--fleet", "f")


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "status", "--fleet", "none"),
        ("fleet", "run", "dance", "--fleet", "f"),
        ("fleet", "add", "--fleet", "f"),
        ("fleet", "find", "--fleet", "f"),
        ("fleet", "why", "nobody", "--fleet", "f"),
        ("fleet", "remove", "--fleet", "f"),
        ("fleet", "run", "--fleet", "f"),
        ("fleet", "find", "cart", "--fleet", "f"),
    ],
    ids=[
        "no fleet",
        "unknown kind",
        "no source",
        "no task",
        "unknown repository",
        "no name",
        "no repositories",
        "no index",
    ],
)
def test_wrong_words_are_explained(mirrors: Path, words: tuple[str, ...]) -> None:
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", *words], cwd=mirrors, capture_output=True, timeout=LIMIT
    )
    assert done.returncode == 2
    assert b"next:" in done.stderr


def test_a_removed_repository_leaves_nothing(mirrors: Path) -> None:
    """A misspelled name is answered with the one that exists."""
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors", "--fleet", "f")
    sutler(mirrors, "fleet", "run", "index,secrets", "--fleet", "f")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", "fleet", "remove", "carr1", "--fleet", "f"],
        cwd=mirrors,
        capture_output=True,
        timeout=LIMIT,
    )
    assert (done.returncode, b"did you mean 'cart" in done.stderr) == (2, True)
    answer = sutler(mirrors, "fleet", "remove", "cart1", "--fleet", "f")
    assert answer == "1 repository removed, 2 left\n"
    assert {row[0] for row in rows(mirrors, "f")["files"]} == {"cart0", "cart2"}
    assert list((mirrors / "f" / "dataset").rglob("repo=cart1/*")) == []
    assert "cart1" not in sutler(mirrors, "fleet", "find", "cart 1", "--fleet", "f")


def test_a_partial_clone_fails_by_that_name(mirrors: Path) -> None:
    """It had no rows, and counted as done; it can be tried again when its blobs are there."""
    served = mirrors / "mirrors" / "cart0.git"
    git(served, "config", "uploadpack.allowFilter", "true")
    words = ("clone", "-q", "--bare", "--filter=blob:none", f"file://{served}", "part/cart.git")
    git(mirrors, *words)
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "part", "mirrors/cart1.git", "--fleet", "f")
    run = ("fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    assert "failed: 1 × blobs of its tree are missing" in sutler(mirrors, *run, code=1)
    assert {row[0] for row in rows(mirrors, "f")["files"]} == {"cart1"}
    git(mirrors / "part" / "cart.git", "archive", "-o", "whole.tar", "HEAD")  # fetches them
    sutler(mirrors, "fleet", "retry", "--fleet", "f")
    sutler(mirrors, *run)
    assert {row[0] for row in rows(mirrors, "f")["files"]} == {"cart", "cart1"}


def test_a_damaged_blob_is_no_blob_without_text(mirrors: Path) -> None:
    """The unit fails by that name, and nothing is stored of the blob: another has its text."""
    for name in ("bad", "good"):
        git(mirrors, "clone", "-q", str(mirrors / "mirrors" / "cart0.git"), name)
        (mirrors / name / "new.py").write_text("def only_here():\n    return 1\n" * 400)
        git(mirrors / name, "add", "new.py")
        git(mirrors / name, "commit", "-qm", "new")
    id_ = git(mirrors / "bad", "rev-parse", "HEAD:new.py").strip()
    blob = mirrors / "bad" / ".git" / "objects" / id_[:2] / id_[2:]
    blob.chmod(0o600)
    blob.write_bytes(blob.read_bytes()[:-20])
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    run = ("fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    for name in ("bad", "good"):
        sutler(mirrors, "fleet", "add", name, "--fleet", "f")
        assert "1 × git cannot read all blobs" in sutler(mirrors, *run, code=1)
    sql = "select repo, lines from files where path = 'new.py'"
    answer = sutler(mirrors, "fleet", "sql", sql, "--fleet", "f", "--json")
    assert json.loads(answer)["rows"] == [["good", 800]]


def test_a_pack_for_which_nothing_matches_is_refused_by_that_name(mirrors: Path) -> None:
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors", "--fleet", "f")
    sutler(mirrors, "fleet", "run", "index", "--fleet", "f")
    words = ("fleet", "pack", "zebra giraffe", "--fleet", "f")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", *words], cwd=mirrors, capture_output=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"nothing in the fleet matches the task" in done.stderr


def test_sources_by_url(mirrors: Path) -> None:
    """A list of URLs, with a branch behind one; `run` fetches what is new, and goes on without a
    source that cannot be fetched."""
    git(mirrors, "clone", "-q", "--bare", str(mirrors / "work0"), "served/old.git")
    git(mirrors / "work0", "checkout", "-q", "-b", "next")
    (mirrors / "work0" / "next.py").write_text("NEXT = 1\n")
    git(mirrors / "work0", "add", "-A")
    git(mirrors / "work0", "commit", "-qm", "next")
    served = mirrors / "mirrors" / "cart0.git"
    git(mirrors / "work0", "push", "-q", str(served), "next")
    urls = [f"file://{served}#next", f"file://{mirrors}/mirrors/cart1.git", "file:///nowhere/x.git"]
    (mirrors / "list.txt").write_text("\n".join(urls))
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "list.txt", "--fleet", "f")
    words = ("fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", *words], cwd=mirrors, capture_output=True, timeout=LIMIT
    )
    assert done.returncode == 0
    assert b"not fetched: 1 x cannot fetch" in done.stderr
    seen = {(row[0], row[1]) for row in rows(mirrors, "f")["files"]}
    assert {("cart0", "next.py"), ("cart1", "deploy.sh")} <= seen
    (mirrors / "work1" / "late.py").write_text("LATE = 1\n")
    git(mirrors / "work1", "add", "late.py")
    git(mirrors / "work1", "commit", "-qm", "late")
    git(mirrors / "work1", "push", "-q", str(mirrors / "mirrors" / "cart1.git"), "main")
    sutler(mirrors, *words)
    assert ["cart1", "late.py"] in [row[:2] for row in rows(mirrors, "f")["files"]]
    assert "cart1:late.py" in sutler(mirrors, "fleet", "find", "LATE", "--fleet", "f")


@pytest.mark.parametrize(
    "url",
    ["ext::sh -c id", "https://u:p@host/x", "file:///a/b@1..2", "ftp://host/x"],
    ids=["program", "password", "range", "transport"],
)
def test_a_source_that_is_no_plain_address_is_refused(mirrors: Path, url: str) -> None:
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    code = 3 if url.startswith(("https", "ftp")) else 2
    sutler(mirrors, "fleet", "add", url, "--fleet", "f", code=code)


def test_what_is_stored_of_a_blob_does_not_depend_on_who_was_first(mirrors: Path) -> None:
    """A fork whose other file gives a secret away hides it in its own rows, and in no other's."""
    value = "Zq7vT2kM9xWb4LpR"
    for name in ("open", "keeps"):
        tree = mirrors / "forks" / name
        tree.mkdir(parents=True)
        (tree / "call.py").write_text(f"def call(kind='{value}'):\n    pass\n")
        if name == "keeps":
            (tree / "deploy.sh").write_text(f"export DB_PASSWORD={value}\n")
        git(tree, "init", "-q", "-b", "main")
        git(tree, "add", "-A")
        git(tree, "commit", "-qm", "first")
    answers = []
    for fleet, order in (("one", ("open", "keeps")), ("two", ("keeps", "open"))):
        sutler(mirrors, "fleet", "init", "--fleet", fleet)
        for name in order:
            sutler(mirrors, "fleet", "add", f"forks/{name}", "--fleet", fleet)
            sutler(mirrors, "fleet", "run", "index,secrets", "--fleet", fleet, "--jobs", "1")
        answers.append(rows(mirrors, fleet))
    assert answers[0] == answers[1]
    found = {(row[0], row[1]) for row in answers[0]["findings"]}
    assert found == {("keeps", "call.py"), ("keeps", "deploy.sh")}
    sql = "select repo, signature from symbols where path = 'call.py' order by repo desc"
    (_, shown), (_, hidden) = json.loads(
        sutler(mirrors, "fleet", "sql", sql, "--fleet", "one", "--json")
    )["rows"]
    assert value in shown
    assert value not in hidden
    assert "[REDACTED:" in hidden


def test_a_process_that_dies_is_replaced_while_the_run_goes_on(mirrors: Path) -> None:
    """Its unit is tried again, by a new one."""
    _calm_and_wild(mirrors, "index,pack")
    driver = subprocess.Popen(
        [sys.executable, "-m", "sutler", "worker", "--fleet", "wild", "--jobs", "1"],
        cwd=mirrors,
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + LIMIT
    while not (victim := _worker_of(driver.pid)) and time.monotonic() < until:
        time.sleep(0.02)
    assert victim
    os.kill(victim, signal.SIGKILL)
    assert driver.wait(LIMIT) == 0
    assert rows(mirrors, "wild") == rows(mirrors, "calm")


def test_workers_whose_leases_end_all_the_time_lose_nothing(mirrors: Path) -> None:
    """Workers that take the units from each other in mid-task, as on a machine that sleeps."""
    import apsw

    _calm_and_wild(mirrors, "index,pack")
    connection = apsw.Connection(str(mirrors / "wild" / "fleet.db"))
    connection.execute(
        "CREATE TRIGGER ended AFTER UPDATE OF lease ON fleet_units WHEN new.lease > 0 "
        "BEGIN UPDATE fleet_units SET lease = 0 WHERE key = new.key; END"
    )
    connection.close()
    sutler(mirrors, "worker", "--fleet", "wild", "--jobs", "4")
    assert rows(mirrors, "wild") == rows(mirrors, "calm")


def test_a_refresh_that_fails_leaves_what_was_there_whole(mirrors: Path) -> None:
    """Exit code 1, and the facts of the tree that still counts stay."""
    sutler(mirrors, "fleet", "init", "--fleet", "f")
    sutler(mirrors, "fleet", "add", "mirrors/cart0.git", "--fleet", "f")
    words = ("fleet", "run", "index", "--fleet", "f", "--jobs", "1")
    sutler(mirrors, *words)
    find = ("fleet", "find", "total_of_cart_0", "--fleet", "f")
    before = sutler(mirrors, *find)
    assert "cart0:cart.py:1-2" in before
    (mirrors / "work0" / "cart.py").write_text("def sum_of_cart(items):\n    return 0\n")
    git(mirrors / "work0", "commit", "-qam", "second")
    git(mirrors / "work0", "push", "-q", str(mirrors / "mirrors" / "cart0.git"), "main")
    folder = mirrors / "f" / "dataset" / "symbols" / "repo=cart0"
    aside = folder.rename(folder.with_name("aside"))
    folder.touch()
    assert "failed: 1" in sutler(mirrors, *words, code=1)
    assert sutler(mirrors, *find) == before
    folder.unlink()
    aside.rename(folder)
    sutler(mirrors, "fleet", "retry", "--fleet", "f")
    sutler(mirrors, *words)
    assert "cart0:cart.py:1-2" in sutler(mirrors, *find[:2], "sum_of_cart", *find[3:])


def _calm_and_wild(folder: Path, kinds: str) -> None:
    """Make two fleets: one is done, the other has only a queue."""
    for name in ("calm", "wild"):
        sutler(folder, "fleet", "init", "--fleet", name)
        sutler(folder, "fleet", "add", "mirrors", "--fleet", name)
    sutler(folder, "fleet", "run", kinds, "--fleet", "calm", "--jobs", "1")
    sutler(folder, "fleet", "run", kinds, "--fleet", "wild", "--on", "workers")


def _worker_of(driver: int) -> int:
    """A process of this driver that performs units."""
    listing = subprocess.run(["ps", "-ewwo", "pid,ppid,args"], capture_output=True, timeout=LIMIT)
    table = [line.split(None, 2) for line in listing.stdout.decode().splitlines()[1:]]
    own = [row for row in table if row[1] == str(driver) and "spawn_main" in row[2]]
    return int(own[0][0]) if own else 0


def test_work_leaves_nothing_in_the_cache_of_the_user(mirrors: Path) -> None:
    """The private folder of a unit is gone when it is done: what is kept for it helps no run, and
    takes the room of what does."""
    for words in (("init",), ("add", "mirrors"), ("run", "index,secrets")):
        sutler(mirrors, "fleet", *words)
    assert {file.kind for file in cache_files(os.environ)} <= {"secrets"}
