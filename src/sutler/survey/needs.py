"""Choose the files that the survey needs, so that the caller reads no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sutler.scan.classify import Classified
from sutler.scan.snapshot import FileFacts, Problem
from sutler.survey.keys import key_files
from sutler.survey.manifests import MAX_MANIFEST_BYTES, rank_of, reader_of, too_large
from sutler.survey.readme import is_readme
from sutler.survey.starts import is_own
from sutler.survey.subjects import subjects

MAX_MANIFESTS = 300
MAX_CODE = 60
MAX_CENTRAL = 120
FEW = 40
"""A project with fewer sources is read completely."""
MAX_TESTS = 12
MAX_CODE_BYTES = 500_000


class Needs(Struct, frozen=True):
    """Paths to read, sorted; and manifests that are too large to be read."""

    paths: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def survey_needs(
    entries: Sequence[Classified], central: Mapping[str, int] | None = None, *, code: bool = True
) -> Needs:
    """Return manifests, the README, key files and a few tests; with `code` also the largest
    sources, for hotspots."""
    manifests = [pair for pair in entries if reader_of(pair[0].path) and _ours(pair[1])]
    manifests.sort(key=lambda pair: rank_of(pair[0].path))
    large = [entry for entry, _ in manifests if entry.size > MAX_MANIFEST_BYTES]
    wanted = [entry.path for entry, _ in manifests if entry.size <= MAX_MANIFEST_BYTES][
        :MAX_MANIFESTS
    ]
    readmes = [entry.path for entry, _ in entries if is_readme(entry.path)]
    top = [path for path in readmes if "/" not in path]
    wanted += top or [path for path in readmes if path.count("/") <= 2][:MAX_TESTS]
    wanted += [
        entry.path
        for entry, facts in entries
        if facts.category == "entrypoint" and entry.path.count("/") < 4
    ][:MAX_CODE]
    used = central or {}
    wanted += [entry.path for entry, _ in key_files(entries, used)]
    readable = [pair for pair in entries if 0 < pair[0].size <= MAX_CODE_BYTES and _ours(pair[1])]
    if code:
        sources = [
            pair for pair in readable if pair[1].tag == "code" and is_own(pair[0].path, pair[1])
        ]
        sources.sort(key=lambda pair: (-pair[0].size, pair[0].path))
        wanted += [entry.path for entry, _ in sources[:MAX_CODE]]
        sources.sort(key=lambda pair: -used.get(pair[0].path, 0))
        wanted += [
            entry.path
            for entry, _ in sources[:MAX_CENTRAL]
            if used.get(entry.path) or len(sources) < FEW
        ]
        of_subject = subjects(entries)
        shown = [entry for entry, _ in entries if entry.path in of_subject]
        shown.sort(key=lambda entry: (-entry.size, entry.path))
        wanted += [entry.path for entry in shown[:MAX_CENTRAL]]
    tests = [
        entry
        for entry, facts in readable
        if facts.tag == "test" and facts.language and entry.size > 200
    ]
    tests.sort(key=lambda entry: (entry.path.count("/"), entry.size, entry.path))
    wanted += [entry.path for entry in tests if entry.path.endswith(_TEST_ENDS)][:MAX_TESTS]
    huge = {entry.path for entry in large}
    return Needs(
        tuple(sorted(set(wanted) - huge)),
        tuple(too_large(entry.path, entry.size) for entry in large),
    )


_TEST_ENDS = (".py", ".js", ".ts", ".rs", ".java", ".kt", ".rb", ".swift", ".go")


def _ours(facts: FileFacts) -> bool:
    return facts.category not in ("dependency", "build")
