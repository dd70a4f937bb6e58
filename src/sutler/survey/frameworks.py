"""Test frameworks that no manifest declares, by the imports of tests and by file names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sutler.languages import LANGUAGES
from sutler.scan.classify import Classified
from sutler.survey.evidence import Tree, joined

_BY_TREE: tuple[tuple[str, str], ...] = (
    (r"(?:^|/)\.busted$", "busted"),
    (r"\.bats$", "bats"),
    (r"(?:^|/)molecule/.+\.ya?ml$", "molecule"),
    (r"\.tftest\.hcl$", "terraform test"),
    (r"(?:^|/)spec/.+_spec\.lua$", "busted"),
    (r"(?:^|/)phpunit\.xml(?:\.dist)?$", "phpunit"),
    (r"(?:^|/)t/.+\.t$", "prove"),
)


_BY_COMMAND: tuple[tuple[str, str], ...] = (
    (r"PlenaryBusted", "plenary"),
    (r"\burchin\b", "urchin"),
    (r"\bshellspec\b", "shellspec"),
    (r"\bshunit2\b", "shunit2"),
    (r"\bbats\b", "bats"),
    (r"\bbusted\b", "busted"),
    (r"\bpytest\b", "pytest"),
)
_COMMANDS = ("Makefile", "GNUmakefile", "justfile", "package.json")


def framework_by_tree(tree: Tree, texts: Mapping[str, str]) -> str:
    """Return the frameworks that file names indicate, else those that commands at the root run."""
    by_name = joined(
        name for pattern, name in _BY_TREE if any(re.search(pattern, path) for path in tree.paths)
    )
    commands = "\n".join(texts.get(name, "") for name in _COMMANDS)
    return by_name or joined(name for pattern, name in _BY_COMMAND if re.search(pattern, commands))


def framework_in_use(
    kinds: list[str], entries: Sequence[Classified], texts: Mapping[str, str]
) -> str:
    """Return the frameworks that the available tests import, if no manifest declares one."""
    rows = [row for row in LANGUAGES if row.tests.frameworks and row.ecosystems == tuple(kinds[:1])]
    tests = {entry.path: facts.language for entry, facts in entries if facts.tag == "test"}
    for language in rows:
        beside = (
            tuple(f".{suffix}" for suffix in language.suffixes) if language.tests.inline else ()
        )
        looked = [
            path for path in sorted(texts) if path in tests or (beside and path.endswith(beside))
        ]
        for pattern, name in language.tests.frameworks:
            if not pattern and language.name in tests.values():
                return name
            if pattern and any(
                re.search(pattern, texts[path][:200_000], re.MULTILINE) for path in looked
            ):
                return name
    return ""
