"""Manifests of projects that are mostly configuration: Terraform modules, Ansible roles and
collections, Helm charts."""

from __future__ import annotations

import re
from typing import Any

from sutler.paths import basename, dirname
from sutler.scan.structured import mapping, parse_yaml, string
from sutler.survey.evidence import Found, Tree, beside, dependency, joined, one_line, tame
from sutler.survey.wire import Dependency

_ROLE_FOLDERS = ("tasks", "handlers", "defaults", "vars", "meta", "templates", "roles", "playbooks")


def read_chart(path: str, text: str, tree: Tree) -> Found:
    """Read Chart.yaml: a chart and the charts that it needs."""
    data = mapping(parse_yaml(text))
    folder = dirname(path)
    prefix = f"{folder}/" if folder else ""
    tests = any(name.startswith(f"{prefix}tests/") for name in tree.paths)
    return Found(
        path=path,
        ecosystem="helm",
        name=string(data.get("name")),
        description=one_line(string(data.get("description"))),
        dependencies=tuple(_listed(data.get("dependencies"))),
        entry_points=tree.first([beside(folder, "values.yaml")]),
        build_system="helm",
        test_framework="helm unittest" if tests else "",
        weight=sum(name.startswith(f"{prefix}templates/") for name in tree.paths) + 1,
    )


def _listed(items: Any) -> list[Dependency]:
    """Read entries with `name` (or `role`, `src`) and `version`, or plain names."""
    rows = [mapping(item) or {"name": item} for item in items] if isinstance(items, list) else []
    named = [
        (string(row.get("name")) or string(row.get("role")) or string(row.get("src")), row)
        for row in rows
    ]
    return [dependency(name, _version(row.get("version"))) for name, row in named if name]


def _version(value: Any) -> str:
    return str(value) if isinstance(value, int | float) else string(value)


def read_role(path: str, text: str, tree: Tree) -> Found:
    """Read meta/main.yml: an Ansible role, if there are tasks beside it."""
    data = mapping(parse_yaml(text))
    galaxy = mapping(data.get("galaxy_info"))
    folder = dirname(dirname(path))
    prefix = f"{folder}/" if folder else ""
    tasks = tree.first(beside(folder, f"tasks/main.{end}") for end in ("yml", "yaml"))
    inside = [name for name in tree.paths if name.startswith(prefix) and _is_ansible(name, prefix)]
    return Found(
        path=path,
        ecosystem="ansible" if tasks else "",
        name=string(galaxy.get("role_name")) if not folder else "",
        description=one_line(string(galaxy.get("description"))),
        dependencies=tuple(_listed(data.get("dependencies"))),
        entry_points=tasks,
        build_system="ansible-galaxy" if not folder else "",
        test_framework="molecule"
        if beside(folder, "molecule/default/molecule.yml") in tree.known
        else "",
        weight=len(inside),
    )


def _is_ansible(name: str, prefix: str) -> bool:
    return name[len(prefix) :].split("/", 1)[0] in _ROLE_FOLDERS


def read_collection(path: str, text: str, tree: Tree) -> Found:
    """Read galaxy.yml: an Ansible collection."""
    data = mapping(parse_yaml(text))
    needs = mapping(data.get("dependencies"))
    return Found(
        path=path,
        ecosystem="ansible",
        name=".".join(filter(None, (string(data.get("namespace")), string(data.get("name"))))),
        description=one_line(string(data.get("description"))),
        dependencies=tuple(dependency(name, _version(spec)) for name, spec in needs.items()),
        build_system="ansible-galaxy",
        weight=sum(_is_ansible(name, "") for name in tree.paths),
    )


_NO_PLAYBOOK = re.compile(
    r"[._]|(?:requirements|galaxy|mkdocs|antora|renovate|codecov|netlify|action|azure-|cloudbuild"
    r"|readthedocs|appveyor|(?:docker-)?compose|environment|meta|vars|hosts|inventory)\b"
)
"""YAML files at a root that are no playbooks: other tools read them."""


def read_ansible_config(path: str, text: str, tree: Tree) -> Found:
    """Read ansible.cfg: a repository of playbooks, which stand beside it."""
    folder = dirname(path)
    books = [
        name
        for name in tree.paths
        if dirname(name) == folder and basename(name) in ("site.yml", "main.yml", "playbook.yml")
    ]
    books = books or [
        name
        for name in tree.paths
        if dirname(name) == folder
        and re.search(r"\.ya?ml$", name)
        and not _NO_PLAYBOOK.match(basename(name))
    ]
    return Found(
        path=path,
        ecosystem="ansible",
        entry_points=tuple(books),
        build_system="ansible",
        weight=sum(
            f"/{folder}/" in f"/{name}" and name.endswith((".yml", ".yaml")) for name in tree.paths
        ),
    )


def read_galaxy_requirements(path: str, text: str, tree: Tree) -> Found:
    """Read requirements.yml: roles and collections that playbooks need."""
    data = parse_yaml(text)
    rows = mapping(data)
    found = _listed(data) + _listed(rows.get("roles")) + _listed(rows.get("collections"))
    return Found(path=path, ecosystem="", dependencies=tuple(found))


_PROVIDER = re.compile(r"(?m)^\s*([\w-]+)\s*=\s*\{([^{}]*source[^{}]*)\}")
_FIELD = r"%s\s*=\s*\"([^\"]+)\""


def read_terraform(path: str, text: str, tree: Tree) -> Found:
    """Read versions.tf, main.tf and their like: providers with versions, and modules from
    elsewhere."""
    text = re.sub(r"(?m)^\s*(?:#|//).*$", "", tame(text))
    found: list[Dependency] = []
    block = re.search(r"required_providers\s*\{((?:[^{}]|\{[^{}]*\})*)\}", text)
    for _, body in _PROVIDER.findall(block[1] + "\n" if block else ""):
        source, version = (re.search(_FIELD % name, body) for name in ("source", "version"))
        if source:
            found.append(dependency(source[1], version[1] if version else ""))
    for body in re.findall(r"(?m)^module\s+\"[^\"]+\"\s*\{(.{0,2000}?)^\}", text, re.DOTALL):
        source, version = (re.search(_FIELD % name, body) for name in ("source", "version"))
        if source and not source[1].startswith("."):
            found.append(dependency(source[1], version[1] if version else ""))
    folder = dirname(path)
    tests = any(name.endswith((".tftest.hcl", ".tftest.json")) for name in tree.paths)
    terratest = (
        "terratest" if any(re.search(r"(?:^|/)tests?/.*_test\.go$", n) for n in tree.paths) else ""
    )
    return Found(
        path=path,
        ecosystem="terraform",
        dependencies=tuple(dict.fromkeys(found)),
        entry_points=tree.first([beside(folder, "main.tf")]) if "/" not in path else (),
        build_system="terraform",
        test_framework=joined(["terraform test" if tests else "", terratest]),
    )
