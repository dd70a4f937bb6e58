"""A secret once is a secret everywhere: what one file gives away is hidden in the whole pack."""

from __future__ import annotations

import base64
import random
import string
import subprocess
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from sutler.errors import SutlerError
from sutler.store.records import REVIEW, Caller
from sutler.tools import call, open_door
from tests.conftest import Plant, Sutler
from tests.goalkit import write_goal

FORMS = (
    ("pack", "--no-budget"),
    ("pack", "--no-budget", "-f", "xml"),
    ("pack", "--max-tokens", "3000"),
    ("pack", "--max-bytes", "9000", "-f", "json"),
)


def password(seed: int) -> str:
    draw = random.Random(seed)
    letters = "".join(draw.choice(string.ascii_letters) for _ in range(9))
    return f"{letters[:4]}7{letters[4:]}!9"


@pytest.mark.parametrize("words", FORMS, ids=lambda words: " ".join(words))
def test_a_value_is_hidden_wherever_it_stands(
    words: tuple[str, ...], plant: Plant, sutler: Sutler
) -> None:
    value = password(len(words))
    encoded = base64.b64encode(f"user-{value}-x".encode()).decode()
    folder = plant(
        {
            "zz/db.ini": f"[db]\npassword = {value}\n",
            "notes.txt": f"someone wrote {value} on the board\n",
            "src/a.py": f"print({value!r})\n",
            "src/b.js": f'fetch("/x/{quote(value, safe="")}")\n',
            "src/c.txt": f"blob {encoded}\n",
        }
    )
    ran = sutler(*words, "--goal", f"find {value} in the code", cwd=folder)
    assert ran.code == 0, ran.err
    for text in (ran.text, ran.err):
        assert value not in text
        assert quote(value, safe="") not in text
        assert encoded[8:-4] not in text
    assert "[REDACTED:password:1]" in ran.text
    if "--no-budget" in words:
        assert "someone wrote [REDACTED:password:1] on the board" in ran.text


def test_a_common_word_stays_where_it_is_a_word(plant: Plant, sutler: Sutler) -> None:
    folder = plant(
        {
            "db.ini": "password = sunshine\n",
            "poem.txt": "sunshine on the wall, postgres on the hill\n",
        }
    )
    assert "sunshine on the wall" in sutler("pack", "--no-budget", cwd=folder).text


VALUE = "NqVw83kdLm!9xT"
ENV = "kD83mfLq02nXzPw7aa"
PARTS = (VALUE, ENV, "NqVw83kdL", "m!9xT", "kD83mfLq0")


@pytest.fixture
def folder(plant: Plant) -> Path:
    """A value that `db.ini` gives away and one of `.env`, which no pack holds, in other places."""
    place = plant(
        {
            "db.ini": f"[db]\npassword = {VALUE}\n",
            ".env": f"API_TOKEN={ENV}\n",
            "notes.md": f"# Use {ENV} here\n\nand {VALUE} on the board\n",
            "src/a.py": "def f():\n    return 'NqVw83kdL' + \\\n        'm!9xT'\n",
            f"dir-{ENV}/b.py": "x = 1\n",
        }
    )
    write_goal(place, "fix", f"name: Fix\nprompt: the password {VALUE} is wrong\n")
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "-f", "."), ("commit", "-qm", f"Use {VALUE} now")):
        subprocess.run([*git, *words], cwd=place, check=True, timeout=20)
    return place


@pytest.mark.parametrize(
    "words",
    [
        ("pack", "notes.md"),
        ("pack", "--include", "*.md"),
        ("pack", "--no-budget", "--log", "2"),
        ("pack", "--type", "full"),
        ("pack", "--type", "summary"),
        ("dry-run", "fix", "-c", "notes.md"),
        ("rank", f"fix {VALUE}"),
        ("tree",),
        ("secrets",),
        ("pack", "--goal", f"fix {VALUE}", "--report", "/dev/stdout"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_a_value_of_another_file_leaves_by_no_command(
    words: tuple[str, ...], folder: Path, sutler: Sutler
) -> None:
    """Files that are not packed, or that no pack holds, give away their values too."""
    ran = sutler(*words, cwd=folder)
    assert ran.code == 0, ran.err
    assert not [part for part in PARTS if part in ran.text or part in ran.err]


def test_a_value_of_another_file_leaves_by_no_tool(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    calls: tuple[tuple[str, dict[str, object]], ...] = (
        ("list_files", {}),
        ("read_file", {"path": "notes.md"}),
        ("read_file", {"path": "src/a.py"}),
        ("read_file", {"path": f"missing/{ENV}"}),
        ("search", {"query": "board"}),
        ("search", {"query": VALUE}),
        ("outline", {"path": "notes.md"}),
        ("summarize_file", {"path": "notes.md"}),
        ("get_file_history", {"path": "notes.md"}),
        ("get_diff", {"path": "notes.md"}),
        ("rank", {"goal": f"fix {VALUE}"}),
        ("pack", {"goal": f"fix {VALUE}", "max_tokens": 3000}),
    )
    with open_door(str(folder), Caller("agent", "s", REVIEW)) as door:
        for name, arguments in calls:
            try:
                answer = msgspec.json.encode(call(door, name, arguments)).decode()
            except SutlerError as error:
                answer = str(error)
            assert not [part for part in PARTS if part in answer], name


def test_a_value_of_a_file_that_comes_later_is_hidden_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that reads a new file hides what it gives away in texts it reads after it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    later = "Zx81mfQq77nLzPw0bb"
    with open_door(str(folder), Caller("agent", "s", REVIEW)) as door:
        call(door, "read_file", {"path": "notes.md"})
        (folder / "new.ini").write_text(f"password = {later}\n")
        (folder / "other.txt").write_text(f"the word is {later}\n")
        call(door, "read_file", {"path": "new.ini"})
        answer = call(door, "read_file", {"path": "other.txt"})
    assert later not in msgspec.json.encode(answer).decode()
