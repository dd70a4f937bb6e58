"""Nothing secret leaves by way of a goal: prompts, scripts, files and the gather loop pass the
redactor.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sutler.goals.gather import Ground, gather
from sutler.goals.runner import Hooks, run
from sutler.secrets.redactor import redact
from tests.conftest import Plant
from tests.goalkit import job, trusted, write_goal

SECRET = "AKIA" + "Z7QWXN4LTRV2KD5M"
LINE = f"aws_access_key_id = {SECRET}\n"


def clean(text: str, path: str) -> str:
    return redact(text, path, key=b"k" * 32).text


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({"settings.py": LINE, "notes.txt": "plain\n"})
    write_goal(
        place,
        "s",
        "name: S\ncontext_scripts:\n  x: cat settings.py\nprompt: '{{ Context.x }} {{ Args.k }}'\n",
    )
    return place


@pytest.mark.parametrize("compat", [False, True])
def test_scripts_arguments_and_files(folder: Path, compat: bool) -> None:
    """A secret in a script's output, in an argument and in a file is gone; the rest is
    untouched.
    """
    from msgspec.structs import replace

    base = ".claw" if compat else ".sutler"
    write_goal(folder, "s", (folder / ".sutler/goals/s/prompt.yaml").read_text(), base=base)
    work = replace(trusted(job(folder, "s", "settings.py", "notes.txt")), words=("--k", SECRET))
    if compat:
        work = replace(work, compat=True)
        from sutler.goals.discovery import find_bases, find_goal
        from sutler.goals.trust import TrustStore, goal_digest

        found = find_goal("s", find_bases(work.cwd, work.environ, compat=True))
        TrustStore(work.environ).add(found.folder, goal_digest(found))
    text = run(work, Hooks(clean=clean)).text
    assert SECRET not in text
    assert "plain\n" in text
    assert "### settings.py" in text


def test_gather(folder: Path) -> None:
    """The request, the files shown to the model and the final lines hold no secret."""
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return json.dumps({"done": len(prompts) > 1, "files": ["settings.py"]})

    result = gather(f"why does {LINE} fail", Ground(str(folder), clean), model)
    assert list(result.files) == ["settings.py"]
    assert not any(SECRET in text for text in [*prompts, result.text])


def test_without_a_secret_not_a_byte_changes(plant: Plant) -> None:
    """AC9 with the redactor in place: a harmless prompt leaves as it was rendered."""
    place = plant({})
    write_goal(
        place, "p", 'name: P\nprompt: |\n  A plain prompt with `code`, "quotes" and ünïcode.\n'
    )
    assert (
        run(job(place, "p"), Hooks(clean=clean)).text
        == 'A plain prompt with `code`, "quotes" and ünïcode.\n'
    )
