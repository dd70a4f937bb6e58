"""Measure the survey on labelled projects: `python -m bench.survey --checkouts DIR`.

DIR holds a checkout of each project in a folder of the repository's name. Projects without one are
skipped and named. Labels are facts that a person wrote down; `null` for entries means that the
label leaves them open.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

import sutler
from sutler.pack.delivery import send
from sutler.pack.documents import constraints_of, make_summary
from sutler.ranking.resolution import Links
from sutler.scan.classify import facts_of
from sutler.survey.starts import is_own
from sutler.survey.wire import Manifest, SummaryPack

LABELS = Path(__file__).with_name("labels.json")
LIMIT = 60_000
TOP = 20


def checks(label: dict[str, Any], manifest: Manifest) -> Iterator[tuple[str, bool, str]]:
    """Each fact of a label: its name, whether the manifest agrees, and what the manifest says."""
    yield "name", manifest.project_name.lower() == label["name"].lower(), manifest.project_name
    yield "type", manifest.project_type == label["type"], manifest.project_type
    purpose = manifest.purpose_guess
    yield "purpose", label["purpose"].lower() in purpose.lower(), purpose
    for name, said in (("build", manifest.build_system), ("test", manifest.test_framework)):
        names = {part for part in ("" if said is UNSET else str(said)).split(", ") if part}
        yield name, names == set(label[name]), ", ".join(sorted(names))
    if label["entries"] is not None:
        entries = manifest.entry_points
        yield "entries", set(entries) == set(label["entries"]), ", ".join(entries)
    if label["dependencies"]:
        kinds = {item.name: item.type for item in manifest.dependencies}
        wrong = {
            n: kinds.get(n) for n, kind in label["dependencies"].items() if kinds.get(n) != kind
        }
        yield "dependencies", not wrong, str(wrong)


def most_imported(project: sutler.Project) -> list[str]:
    """The most imported files by the ranking's own resolution: not the survey's graph."""
    reader = project.ranking(project.scan(), "survey").reader
    links = Links(reader)
    counts: Counter[str] = Counter()
    for number, doc in reader.docs.items():
        if is_own(doc.path, facts_of(doc.path)):
            for hit in links.needed(number):
                path = reader.docs[hit].path
                if is_own(path, facts_of(path)):
                    counts[path] += 1
    return [path for path, _ in sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:TOP]]


def measure(folder: Path, label: dict[str, Any], imported: bool) -> tuple[int, int, int, int, int]:
    """Facts right, facts in all, false entry points, most imported files described, and in all."""
    os.chdir(folder)
    settings = sutler.Project().settings
    project = sutler.Project(settings=settings)
    started = time.perf_counter()
    made = make_summary(project, constraints_of(settings))
    took = time.perf_counter() - started
    document = made.document
    assert isinstance(document, SummaryPack)
    rows = list(checks(label, document.manifest))
    for name, right, said in rows:
        if not right:
            print(f"   {folder.name}: {name} is {label.get(name)!r}, the survey says {said!r}")
    wrong = set(document.manifest.entry_points) - set(label["entries"] or ())
    false = len(wrong) if label["entries"] is not None else 0
    top = most_imported(project) if imported else []
    text = summary_text(project)
    named = sum(path in text for path in top)
    agreed = sum(row[1] for row in rows)
    print(
        f"{folder.name}: {agreed} of {len(rows)} facts, {false} false entry points, "
        f"{named} of {len(top)} most imported described, {took:.1f} s"
    )
    return agreed, len(rows), false, named, len(top)


def summary_text(project: sutler.Project) -> str:
    """The part of the summary that describes files, within the limit."""
    from sutler.config import layer_from_table

    limited = sutler.Project(
        settings=project.settings.overlaid(layer_from_table({"max_chars": LIMIT}, "bench"))
    )
    made = make_summary(limited, constraints_of(limited.settings))
    text = send(limited, made, "markdown", count_tokens=False).data.decode()
    return text.partition("## Other files")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkouts", required=True, type=Path, help="folder of checkouts")
    parser.add_argument(
        "--no-imported", action="store_true", help="leave out the most imported files"
    )
    parser.add_argument("projects", nargs="*", help="names of repositories; all without")
    args = parser.parse_args()
    labels = msgspec.json.decode(LABELS.read_bytes())
    checkouts = args.checkouts.resolve()
    totals: Counter[str] = Counter()
    for repository, label in sorted(labels.items()):
        folder = checkouts / repository.partition("/")[2]
        if args.projects and folder.name not in args.projects:
            continue
        if not folder.is_dir():
            print(f"{repository}: no checkout, skipped")
            continue
        figures = measure(folder, label, not args.no_imported)
        totals.update(dict(zip(("right", "facts", "false", "named", "top"), figures, strict=True)))
        totals["projects"] += 1
    share = totals["right"] / max(totals["facts"], 1)
    print(
        f"\n{totals['projects']} projects: {totals['right']} of {totals['facts']} facts ({share:.1%}), "
        f"{totals['false']} false entry points, "
        f"{totals['named']} of {totals['top']} most imported files described in {LIMIT:,} characters"
    )


if __name__ == "__main__":
    main()
