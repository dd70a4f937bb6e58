"""`sutler secrets`, its hook, what a user may allow, and the record that every pack leaves
behind.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.canaries import Mint, written
from tests.conftest import Plant, Ran
from tests.goalkit import Capture, cli, without_privileges

HOOKS = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
MINT = Mint(21)
TOKEN, OTHER = MINT.github().text, MINT.stripe().text


class Desk:
    """A project with two secrets, a home, and the command line."""

    def __init__(self, folder: Path, home: Path, capfd: Capture) -> None:
        self.folder, self.home, self._capfd = folder, home, capfd

    def run(self, *words: str) -> Ran:
        return cli(self._capfd, self.folder, *words)

    def configure(self, text: str) -> None:
        (self.home / ".config" / "sutler").mkdir(parents=True, exist_ok=True)
        (self.home / ".config" / "sutler" / "config.toml").write_text(text)

    def findings(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.run("secrets", "--json").out)["findings"]
        return found


@pytest.fixture
def desk(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture
) -> Desk:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    tree = {
        "a.py": f"a = '{TOKEN}'\n",
        "b.py": f"b = '{OTHER}'  # rotated: fine\n",
        "c.py": "c = 3\n",
    }
    return Desk(plant(tree), home, capfdbinary)


# allowing


def test_a_tag_of_the_users_own_file_lets_one_value_through(desk: Desk) -> None:
    """The eight digits that `sutler secrets` shows excuse that very value and no other."""
    tags = {str(row["path"]): str(row["tag"]) for row in desk.findings()}
    assert [len(tag) for tag in tags.values()] == [8, 8]
    desk.configure(f"allow_secrets = ['{tags['a.py']}']\n")
    text = desk.run("pack").text
    assert TOKEN in text
    assert OTHER not in text
    assert [row["path"] for row in desk.findings()] == ["b.py"]
    assert desk.run("secrets", "--check", "a.py", "c.py").code == 0


def test_a_text_on_the_line_excuses_it(desk: Desk) -> None:
    desk.configure("allow_lines = ['rotated: fine']\n")
    text = desk.run("pack").text
    assert TOKEN not in text
    assert OTHER in text


@pytest.mark.parametrize("key", ["allow_secrets", "allow_lines"])
@pytest.mark.parametrize("name", ["sutler.toml", "pyproject.toml"])
def test_a_project_may_not_allow_anything(desk: Desk, key: str, name: str) -> None:
    """The scanned project cannot excuse its own secrets."""
    tag = desk.findings()[0]["tag"]
    table = "[tool.sutler]\n" if name == "pyproject.toml" else ""
    (desk.folder / name).write_text(f"{table}{key} = ['{tag}', 'rotated']\n")
    ran = desk.run("pack")
    assert (ran.code, ran.out) == (2, b"")
    assert f"'{key}' may not be set by a project" in ran.err


def test_without_redaction_the_receipt_says_so(desk: Desk) -> None:
    """`--no-redact` works, and is on record: in the receipt, in both lists, and sealed."""
    assert TOKEN in desk.run("pack", "--no-redact").text
    assert desk.run("pack").code == 0
    newest, older = desk.run("receipt", "list").text.splitlines()
    assert "(NOT redacted)" in older
    assert "(NOT redacted)" not in newest
    rows = json.loads(desk.run("receipt", "list", "--json").out)["receipts"]
    assert [row["redacted"] for row in rows] == [True, False]
    assert desk.run("log", "--packs").text.splitlines() == [newest, older]
    assert (
        json.loads(desk.run("receipt", "show", rows[1]["pack_id"]).out)["receipt"]["redacted"]
        is False
    )
    assert desk.run("receipt", "verify", rows[1]["pack_id"]).code == 0


def test_a_receipt_is_found_by_the_packs_file_too(desk: Desk) -> None:
    """Whoever holds a pack asks for its receipt by that very file, and hears when the file is no
    pack of ours.
    """
    assert desk.run("pack", "-o", "first.md").code == 0
    assert desk.run("pack", "--max-chars", "3000", "-o", "second.md").code == 0
    newest = json.loads(desk.run("receipt", "show").out)["receipt"]
    assert newest["destination"] == "second.md"
    first = json.loads(desk.run("receipt", "show", "first.md").out)["receipt"]
    assert first["destination"] == "first.md"
    assert desk.run("receipt", "verify", "first.md").text.startswith(
        f"{first['pack_id'][:16]}: the seal holds"
    )
    whole = (desk.folder / "first.md").read_text()
    (desk.folder / "first.md").write_text(whole.replace("rotated", "r0tated", 1))
    ran = desk.run("receipt", "verify", "first.md")
    assert ran.code != 0
    assert "damaged" in ran.err
    assert desk.run("receipt", "verify", "a.py").code == 2


def test_a_project_cannot_switch_redaction_off(desk: Desk) -> None:
    (desk.folder / "sutler.toml").write_text("redact = false\n")
    assert desk.run("pack").code == 2


# the hook


def hook() -> dict[str, object]:
    (found,) = yaml.safe_load(HOOKS.read_text())
    assert isinstance(found, dict)
    return found


def test_the_hook_is_what_pre_commit_reads() -> None:
    """Id, name, entry and language: the fields a hook definition must have."""
    assert hook()["id"] == "sutler-secrets"
    assert hook()["language"] == "python"
    assert {"name", "entry", "description", "types"} <= hook().keys()


def test_the_entry_looks_at_the_staged_names_only(desk: Desk) -> None:
    """pre-commit passes file names behind the entry; others are not looked at. Exit 3 stops the
    commit.
    """
    program, *words = shlex.split(str(hook()["entry"]))
    assert program == "sutler"
    assert desk.run(*words, "c.py").code == 0
    ran = desk.run(*words, "a.py", "c.py")
    assert ran.code == 3
    assert [line.split(":")[0] for line in ran.text.splitlines()] == ["a.py"]
    assert TOKEN not in ran.text + ran.err


@pytest.mark.parametrize("name", [".env", "id_rsa", "config/credentials.yml"])
def test_the_check_opens_what_a_pack_leaves_out(desk: Desk, name: str) -> None:
    """A pack never holds `.env`; a commit can, so the check looks inside."""
    (desk.folder / name).parent.mkdir(exist_ok=True)
    (desk.folder / name).write_text(f"API_TOKEN={TOKEN}\n")
    assert desk.run("secrets", "--check", name).code == 3
    assert desk.run("secrets", "--check", "--exclude", "[ab].py").code == 3


def test_a_secret_as_a_name_is_a_finding(desk: Desk) -> None:
    (desk.folder / f"{TOKEN}.py").write_text("x = 1\n")
    ran = desk.run("secrets", "--check", f"{TOKEN}.py")
    assert ran.code == 3
    assert "file-name" in ran.text
    assert TOKEN not in ran.text + ran.err


# what is kept, and where


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def everything(desk: Desk) -> None:
    for words in (
        ("pack", "--goal", "x"),
        ("read", "c.py"),
        ("receipt", "list"),
        ("log",),
        ("trust", "--list"),
    ):
        assert desk.run(*words).code == 0


@pytest.mark.usefixtures("open_umask")
def test_state_and_cache_are_private_whatever_the_umask(desk: Desk) -> None:
    """Directories 0700, files 0600."""
    everything(desk)
    seen = [
        Path(base, name)
        for base, folders, names in os.walk(desk.home)
        for name in (*folders, *names)
    ]
    ours = [path for path in seen if "sutler" in path.relative_to(desk.home).parts]
    assert len(ours) > 6
    wrong = [
        path
        for path in ours
        if stat.S_IMODE(path.stat().st_mode) != (0o700 if path.is_dir() else 0o600)
    ]
    assert wrong == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be")
@pytest.mark.usefixtures("open_umask")
def test_another_user_reads_nothing_of_it(desk: Desk) -> None:
    """As another uid, no file of the state or the cache can be opened and no directory listed."""
    everything(desk)
    tops = [desk.home / ".local" / "state" / "sutler", desk.home / ".cache" / "sutler"]
    files = [path for path in written(desk.home) if "/sutler/" in path]
    desk.home.chmod(0o755)
    assert files
    with without_privileges(desk.home):
        for top in tops:
            with pytest.raises(PermissionError):
                os.listdir(top)
        for path in files:
            with pytest.raises(PermissionError):
                Path(path).read_bytes()


@pytest.mark.parametrize("goal", [(), ("--goal", "explain c")])
def test_a_home_that_cannot_be_written_stops_no_pack(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, goal: tuple[str, ...]
) -> None:
    """The pack leaves, redacted, and a note says that its receipt was not stored."""
    (desk.folder.parent / "file").write_text("")
    monkeypatch.setenv("HOME", str(desk.folder.parent / "file" / "home"))
    ran = desk.run("pack", *goal, "--receipt", str(desk.folder.parent / "r.json"))
    assert ran.code == 0
    assert TOKEN not in ran.text
    assert "c.py" in ran.text
    assert "the receipt was not stored" in ran.err
    assert json.loads((desk.folder.parent / "r.json").read_bytes())["redacted"] is True
    assert desk.run("secrets", "--check").code == 3
    assert desk.run("scan").code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be")
def test_a_home_of_somebody_else_stops_no_pack(desk: Desk) -> None:
    """State that exists but belongs to another user is neither read nor a reason to refuse."""
    everything(desk)
    for path in desk.home, desk.home / ".local", desk.home / ".local/state", desk.home / ".cache":
        path.chmod(0o755)
    with without_privileges(desk.folder):
        ran = desk.run("pack")
    assert ran.code == 0, ran.err
    assert TOKEN not in ran.text
    assert "the receipt was not stored" in ran.err


def test_the_hook_runs_as_a_program(desk: Desk) -> None:
    """The installed program, as a hook runs it."""
    words = shlex.split(str(hook()["entry"]))[1:]
    command = [sys.executable, "-m", "sutler", *words, "b.py"]
    done = subprocess.run(command, cwd=desk.folder, capture_output=True, check=False, timeout=120)
    assert done.returncode == 3
    assert OTHER.encode() not in done.stdout + done.stderr
