"""A limited pack without a goal shows what the project is built on first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sutler


def project(folder: Path) -> None:
    files = {
        "README.md": "# Shop\n",
        "docs/make.py": "x = 1\n" * 200,
        "examples/try.py": "x = 1\n" * 200,
        "aaa.py": "import shop.core.base\n" + "x = 1\n" * 150,
        "shop/__init__.py": "",
        "shop/core/base.py": "class Base: ...\n" + "y = 1\n" * 150,
    } | {f"shop/part{n}.py": f"from shop.core.base import Base\n{'z = 1' * 30}\n" for n in range(9)}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shown(folder: Path) -> list[str]:
    pack = sutler.Project(folder).pack(max_chars=3_500)
    pack.text()
    return [one.path for one in pack.report.shown]


def test_the_most_used_file_enters_before_shallow_ones(tmp_path: Path) -> None:
    """`docs/make.py` is shallow and nothing uses it; `shop/core/base.py` is deep and all use it."""
    project(tmp_path)
    paths = shown(tmp_path)
    assert "shop/core/base.py" in paths
    assert "docs/make.py" not in paths
    assert "examples/try.py" not in paths


def test_the_order_follows_the_files_and_no_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept of an earlier state is not used for another, and changes no pack."""
    project(tmp_path)
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (1, 1))
    first = shown(tmp_path)
    assert shown(tmp_path) == first
    for number in range(9):
        (tmp_path / f"shop/part{number}.py").write_text("from aaa import x\n")
    changed = shown(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "empty"))
    assert shown(tmp_path) == changed
