"""Goals and gather from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sutler
from sutler.errors import DeniedError, RefusedError
from tests.conftest import Plant
from tests.goalkit import write_goal

KEY = "AKIAIOSFODNN7EXAMPLQ"


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({"src": {"a.py": "one\ntwo\n", "k.py": f"K = '{KEY}'\n"}, ".env": "CANARY=1\n"})
    write_goal(place, "plain")
    return place


def test_run_goal_renders_and_asks(folder: Path) -> None:
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return "answer"

    done = sutler.Project(folder).run_goal(
        "plain", parameters={"word": "hi there"}, context=["src", "src/a.py:2-2"], model=model
    )
    assert done.answer == "answer"
    assert prompts == [done.text]
    assert done.text.startswith("Say hi there.")
    assert "### src/a.py:2-2\n\n```\ntwo\n" in done.text
    assert KEY not in done.text
    assert done.redactions == {"src/k.py": {"aws-access-key-id": 1}}


def test_run_goal_refuses_what_nobody_can_be_asked_about(folder: Path) -> None:
    project = sutler.Project(folder)
    with pytest.raises(RefusedError, match="above the ceiling of 2 tokens"):
        project.run_goal("plain", max_tokens=2)
    with pytest.raises(RefusedError, match=r"Left out: \.env"):
        project.run_goal("plain", context=[".env"])
    write_goal(folder, "s", "name: s\ncontext_scripts: {x: touch ran}\nprompt: p\n")
    with pytest.raises(DeniedError):
        project.run_goal("s")
    assert not (folder / "ran").exists()


def test_gather_hands_out_what_a_scan_admits(folder: Path) -> None:
    answers = [json.dumps({"done": True, "files": ["src/a.py", ".env"]})]
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return answers[0]

    result = sutler.Project(folder).gather("what is a?", model, max_tokens=2_000)
    assert result.paths == ("src/a.py",)
    assert ".env" not in prompts[0]
    assert "CANARY" not in result.text


def test_a_reduced_project_keeps_its_verbs(folder: Path) -> None:
    assert isinstance(sutler.Project(folder).only(["src/a.py"]), sutler.Project)
