"""Trust: bound to place and digest, closed by default."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from sutler.errors import DeniedError, UsageError
from sutler.goals import trust
from sutler.goals.runner import target_of
from sutler.goals.trust import TrustStore, digest_of
from sutler.store.home import MARKER
from tests.conftest import Plant
from tests.goalkit import Capture, cli, go, job, trusted, write_goal

SCRIPTED = "name: S\ncontext_scripts:\n  x: touch ran; echo out\nprompt: '{{ Context.x }}'\n"


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({})
    write_goal(place, "s", SCRIPTED)
    return place


def test_scripts_of_a_project_need_trust(folder: Path) -> None:
    with pytest.raises(DeniedError, match=r"runs context scripts[\s\S]*sutler trust s") as caught:
        go(job(folder, "s"))
    assert caught.value.exit_code == 5
    assert not (folder / "ran").exists()


def test_once_trusted_they_run(folder: Path) -> None:
    assert go(trusted(job(folder, "s"))).text == "out"


@pytest.mark.parametrize("change", ["prompt.yaml", "beside.md"])
def test_any_changed_byte_ends_the_trust(folder: Path, change: str) -> None:
    work = trusted(job(folder, "s"))
    with (folder / ".sutler/goals/s" / change).open("a") as stream:
        stream.write("# more\n")
    with pytest.raises(DeniedError):
        go(work)


def test_all_of_a_large_helper_is_trusted(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte behind the part that is held in memory counts too."""
    monkeypatch.setattr(trust, "MAX_HELPER", 8)
    place = plant({"tool.sh": "echo out # here\n"})
    write_goal(place, "h", "name: H\ncontext_scripts:\n  x: sh tool.sh\nprompt: p\n")
    work = trusted(job(place, "h"))
    go(work)
    (place / "tool.sh").write_text("echo out # else\n")
    with pytest.raises(DeniedError):
        go(work)


def test_trust_is_for_one_place(folder: Path, tmp_path: Path) -> None:
    work = trusted(job(folder, "s"))
    other = tmp_path / "other"
    write_goal(other, "s", SCRIPTED)
    moved = job(other, "s")
    assert TrustStore(moved.environ).path == TrustStore(work.environ).path
    with pytest.raises(DeniedError):
        go(moved)


def test_the_users_own_goals_need_none(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    place = plant({"w": {"x": ""}})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    home = place / "config/sutler/goals/s"
    home.mkdir(parents=True)
    (home / "prompt.yaml").write_text(SCRIPTED)
    assert go(job(place / "w", "s")).text == "out"


def test_the_environment_is_for_trusted_templates(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's template could print a secret of the user's into a prompt."""
    monkeypatch.setenv("MY_SECRET", "hunter2")
    place = plant({})
    write_goal(place, "e", "name: E\nprompt: '{{ get_env(name=\"MY_SECRET\") }}'\n")
    with pytest.raises(DeniedError, match="reads the environment variable MY_SECRET"):
        go(job(place, "e"))
    assert go(trusted(job(place, "e"))).text == "hunter2"


def test_a_projects_model_command_needs_trust(plant: Plant) -> None:
    """T23: a cloned repository must not choose what is run."""
    place = plant({".sutler": {"claw.yaml": "llm_command: ./evil\n"}})
    write_goal(place)
    work = job(place)
    claw = go(work).prompt.claw
    with pytest.raises(DeniedError, match=r"sets llm_command[\s\S]*--command"):
        target_of(claw, work)
    file = place / ".sutler/claw.yaml"
    TrustStore(work.environ).add(str(file), sha256(file.read_bytes()).hexdigest())
    assert target_of(claw, work).command == "./evil"


def test_limits_in_a_projects_file_need_no_trust(plant: Plant) -> None:
    place = plant({".sutler": {"claw.yaml": "max_file_size_kb: 1\n"}})
    write_goal(place)
    work = job(place)
    assert target_of(go(work).prompt.claw, work).command == "claude"


def test_the_command(folder: Path, capfdbinary: Capture) -> None:
    """`sutler trust` shows what it trusts and needs a person or --yes; `--revoke` undoes it."""
    assert cli(capfdbinary, folder, "dry-run", "s").code == 5
    ran = cli(capfdbinary, folder, "trust", "s")
    assert ran.code == 5
    assert "there is no terminal to ask on" in ran.err
    ran = cli(capfdbinary, folder, "trust", "s", "--yes")
    assert "script x: touch ran; echo out" in ran.err
    assert cli(capfdbinary, folder, "dry-run", "s").text == "out"
    assert ".sutler/goals/s" in cli(capfdbinary, folder, "trust", "--list").text
    assert "no longer trusted" in cli(capfdbinary, folder, "trust", "s", "--revoke").err
    assert cli(capfdbinary, folder, "dry-run", "s").code == 5
    assert "nothing to trust" in cli(capfdbinary, folder, "trust", "review").err


def test_the_state_directory_serves_the_ledger_too(folder: Path, capfdbinary: Capture) -> None:
    """Trusting first must not leave a state directory that the other commands refuse."""
    assert cli(capfdbinary, folder, "trust", "s", "--yes").code == 0
    assert cli(capfdbinary, folder, "dry-run", "s").code == 0
    assert cli(capfdbinary, folder, "pack").code == 0


def test_the_store_is_private_and_sorted(tmp_path: Path) -> None:
    store = TrustStore({"XDG_STATE_HOME": str(tmp_path / "deep")})
    store.add("/b", "2")
    store.add("/a", "1")
    assert list(json.loads(Path(store.path).read_text())) == ["/a", "/b"]
    assert os.stat(store.path).st_mode & 0o077 == 0
    assert sorted(os.listdir(tmp_path / "deep/sutler")) == [MARKER, "trust.json"]


@pytest.mark.parametrize("text", ["not json", "[1]", "\x00"])
def test_a_broken_store_is_an_error_and_trusts_nothing(tmp_path: Path, text: str) -> None:
    store = TrustStore({"XDG_STATE_HOME": str(tmp_path)})
    Path(store.path).write_text(text)
    with pytest.raises(UsageError, match="trust file"):
        store.knows("/a", "1")


def test_the_digest_covers_names_and_contents() -> None:
    assert digest_of({"a": b"1", "b": b"2"}) == digest_of({"b": b"2", "a": b"1"})
    assert (
        len(
            {
                digest_of(files)
                for files in ({"a": b"1"}, {"a": b"2"}, {"b": b"1"}, {}, {"a": b"1", "b": b""})
            }
        )
        == 5
    )


def test_a_changed_helper_is_asked_for_again(plant: Plant, capfdbinary: Capture) -> None:
    """A file that a script names belongs to the grant."""
    place = plant({"tools": {"gen.sh": "echo one\n"}, "other.sh": "echo\n"})
    write_goal(
        place, "h", "name: h\ncontext_scripts: {x: sh tools/gen.sh}\nprompt: '{{ Context.x }}'\n"
    )
    assert "with the file tools/gen.sh" in cli(capfdbinary, place, "trust", "h", "--yes").err
    assert cli(capfdbinary, place, "dry-run", "h").text == "one"
    (place / "other.sh").write_text("echo changed\n")
    assert cli(capfdbinary, place, "dry-run", "h").code == 0
    (place / "tools/gen.sh").write_text("echo two\n")
    assert cli(capfdbinary, place, "dry-run", "h").code == 5


def test_the_model_command_is_a_grant_of_its_own(plant: Plant, capfdbinary: Capture) -> None:
    """Trusting a goal does not trust the program that a claw.yaml names."""
    place = plant({".sutler": {"claw.yaml": "llm_command: cat\nprompt_arg_template: ''\n"}})
    write_goal(place, "s", "name: s\ncontext_scripts: {x: echo out}\nprompt: '{{ Context.x }}'\n")
    assert cli(capfdbinary, place, "trust", "s", "--yes").code == 0
    assert cli(capfdbinary, place, "run", "s").code == 5
    assert cli(capfdbinary, place, "trust", "--yes").code == 0
    assert cli(capfdbinary, place, "run", "s").text == "out"
