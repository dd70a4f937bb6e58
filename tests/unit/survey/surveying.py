"""Manifests looked at in the tests: trees as dict literals."""

from __future__ import annotations

from msgspec import UNSET

from sutler.paths import RelPath
from sutler.scan.classify import classified
from sutler.scan.snapshot import FileEntry, Snapshot
from sutler.survey.evidence import Found, tree_of
from sutler.survey.manifest import Surveyed, survey_manifest
from sutler.survey.manifests import read_all


def survey(files: dict[str, str]) -> Surveyed:
    entries = tuple(
        FileEntry(RelPath(path), len(text), mode=0o100755 if text[:2] == "#!" else 0o100644)
        for path, text in sorted(files.items())
    )
    return survey_manifest(classified(Snapshot(entries, (), ())), files, "folder")


def only(files: dict[str, str]) -> Found:
    found, problems = read_all(files, tree_of(files))
    assert problems == []
    return found[0]


def dependencies(surveyed: Surveyed) -> list[tuple[str, str, str]]:
    rows = surveyed.manifest.dependencies
    return [(row.name, row.type, "" if row.version is UNSET else row.version) for row in rows]
