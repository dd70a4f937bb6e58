"""Small hand-written manifests: python."""

from __future__ import annotations

from .surveying import dependencies, only, survey

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "thing"
description = "Does a thing."
dependencies = ["httpx[http2] >= 0.27, <1 ; python_version > '3.8'", "attrs"]
[project.optional-dependencies]
redis = ["redis>=5"]
test = ["pytest>=8"]
[dependency-groups]
dev = ["ruff", {include-group = "x"}]
[project.scripts]
thing = "thing.cli:main"
[tool.pytest.ini_options]
"""


def test_pyproject() -> None:
    found = survey(
        {"pyproject.toml": PYPROJECT, "src/thing/cli.py": "import sys", "src/thing/__init__.py": ""}
    )
    manifest = found.manifest
    assert (manifest.project_name, manifest.project_type, manifest.purpose_guess) == (
        "thing",
        "python",
        "Does a thing.",
    )
    assert (manifest.build_system, manifest.test_framework) == ("hatch", "pytest")
    assert manifest.entry_points == ("src/thing/cli.py",)
    assert dependencies(found) == [
        ("attrs", "runtime", ""),
        ("httpx", "runtime", ">= 0.27, <1"),
        ("redis", "peer", ">=5"),
        ("pytest", "dev", ">=8"),
        ("ruff", "dev", ""),
    ]


def test_poetry() -> None:
    text = """
[tool.poetry]
name = "p"
description = "d"
[tool.poetry.dependencies]
python = "^3.11"
django = "^5.0"
celery = {version = "^5.4", extras = ["redis"]}
boto3 = {version = "^1", optional = true}
[tool.poetry.group.dev.dependencies]
pytest = "*"
[tool.poetry.scripts]
run = "p.main:go"
[build-system]
build-backend = "poetry.core.masonry.api"
"""
    found = survey({"pyproject.toml": text, "p/main.py": "x"})
    assert dependencies(found) == [
        ("celery", "runtime", "^5.4"),
        ("django", "runtime", "^5.0"),
        ("boto3", "peer", "^1"),
        ("pytest", "dev", "*"),
    ]
    assert (found.manifest.build_system, found.manifest.entry_points) == ("poetry", ("p/main.py",))


def test_setup_cfg() -> None:
    text = """
[metadata]
name = old
description = An old one
[options]
install_requires =
    requests>=2
    # comment
    idna
[options.extras_require]
socks = PySocks
dev = tox
[options.entry_points]
console_scripts =
    old = old.run:main
[tool:pytest]
"""
    found = survey({"setup.cfg": text, "old/run.py": ""})
    assert (found.manifest.project_name, found.manifest.build_system) == ("old", "setuptools")
    assert found.manifest.test_framework == "pytest"
    assert dependencies(found) == [
        ("idna", "runtime", ""),
        ("requests", "runtime", ">=2"),
        ("PySocks", "peer", ""),
        ("tox", "dev", ""),
    ]


def test_setup_py_is_read_and_not_run() -> None:
    text = """
import os
os.system("exit 1")
NAME = "legacy"
requires = ["certifi>=2017", "idna<4"]
setup(name=NAME, description="Old  and\\ngood.", install_requires=requires, version=open("v").read(),
      extras_require={"socks": ["PySocks"]}, entry_points={"console_scripts": ["leg = legacy.cli:run"]})
"""
    found = only({"setup.py": text, "legacy/cli.py": ""})
    assert (found.name, found.description, found.build_system) == (
        "legacy",
        "Old and good.",
        "setuptools",
    )
    assert [item.name for item in found.dependencies] == ["certifi", "idna", "PySocks"]
    assert (found.entry_points, found.commands) == (("legacy/cli.py",), ("leg",))


def test_requirements_and_pipfile() -> None:
    files = {
        "requirements.txt": "flask==3.0  # web\n-r other.txt\n--index-url x\n./local\ngunicorn\n",
        "requirements-dev.txt": "pytest>=8\n",
        "app.py": "",
    }
    found = survey(files)
    assert dependencies(found) == [
        ("flask", "runtime", "==3.0"),
        ("gunicorn", "runtime", ""),
        ("pytest", "dev", ">=8"),
    ]
    assert (found.manifest.build_system, found.manifest.entry_points) == ("pip", ("app.py",))
    pipfile = only(
        {"Pipfile": '[packages]\nflask = "*"\n[dev-packages]\npytest = {version = ">=8"}\n'}
    )
    assert [(item.name, item.type) for item in pipfile.dependencies] == [
        ("flask", "runtime"),
        ("pytest", "dev"),
    ]
    assert (pipfile.build_system, pipfile.test_framework) == ("pipenv", "pytest")


def test_requirements_of_a_script_deep_in_the_tree_are_its_own() -> None:
    files = {"bin/oar": "#!/bin/sh\n", "plugins/row/scripts/requirements.txt": "requests\n"}
    assert dependencies(survey(files)) == []
