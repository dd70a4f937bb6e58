"""Templates through the bounded child against Tera in this process: equal text, or an error from
both.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sutler.goals.template import TemplateError, render

pytera = pytest.importorskip("pytera", reason="no wheel for Windows on ARM")

CASES = json.loads(Path(__file__).with_name("tera_cases.json").read_text("utf-8"))
TEMPLATES: list[str] = CASES["templates"]


def oracle(folder: Path, template: str) -> str | None:
    """What Tera renders, or None where it refuses or panics."""
    for name, text in {**CASES["siblings"], "prompt": template}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", newline="")
    try:
        engine = pytera.PyTera(f"{folder}/**/*")
        return str(engine.render_template("prompt", **CASES["context"]))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in Rust is not an Exception
        return None


def ours(template: str) -> str | None:
    try:
        return render(template, CASES["context"], files=CASES["siblings"], environ=os.environ)
    except TemplateError:
        return None


@pytest.mark.parametrize(
    "template", TEMPLATES, ids=[f"{n}:{text[:40]!r}" for n, text in enumerate(TEMPLATES)]
)
def test_renders_as_tera(template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUTLER_TEST_ENV", "set")
    assert "SUTLER_NOPE" not in os.environ
    assert ours(template) == oracle(tmp_path, template)


def test_enough_templates_are_compared() -> None:
    assert len(TEMPLATES) == len(set(TEMPLATES)) >= 400
