"""Our Tera against Tera itself: equal text where it renders, an error where it errs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sutler.goals.template import TemplateError, render

pytera = pytest.importorskip("pytera", reason="compared with Tera itself")

CASES = json.loads(Path(__file__).with_name("tera_cases.json").read_text("utf-8"))
TEMPLATES: list[str] = CASES["templates"]
FAMILY = "{% for c in family %}{{ c }}.{% endfor %}"


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
        return render(template, CASES["context"], load=CASES["siblings"].get)
    except TemplateError:
        return None


@pytest.mark.parametrize("template", TEMPLATES, ids=[f"{n}:{text[:40]!r}" for n, text in enumerate(TEMPLATES)])
def test_renders_as_tera(template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUTLER_TEST_ENV", "set")
    assert "SUTLER_NOPE" not in os.environ
    assert ours(template) == oracle(tmp_path, template)


def test_enough_templates_are_compared() -> None:
    assert len(TEMPLATES) == len(set(TEMPLATES)) >= 400
    rendered = [template for template in TEMPLATES if ours(template) is not None]
    assert 150 <= len(rendered) <= len(TEMPLATES) - 100


def test_a_loop_over_clusters_works_where_tera_panics() -> None:
    assert ours(FAMILY) == "a.e\u0301.x.🇩🇪.👩\u200d👩\u200d👧.z."
