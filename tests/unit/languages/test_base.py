from __future__ import annotations

import pytest

from sutler.languages import language_named
from sutler.languages.extract import targets_of


def _targets(name: str, text: str) -> tuple[str, ...]:
    language = language_named(name)
    assert language is not None
    assert language.grammar is not None
    return targets_of(language.grammar, text)


@pytest.mark.parametrize(
    ("language", "text", "targets"),
    [
        ("python", "import a.b as c, d", ("a.b", "d")),
        ("python", "from .. import x", ("..", "..x")),
        ("python", "from a import (b, c as d)", ("a", "a.b", "a.c")),
        ("python", "from a import *", ("a",)),
        ("typescript", "import x from '@scope/pkg';", ("@scope/pkg",)),
        ("rust", "pub(crate) use a::b as c;", ("a::b",)),
        ("rust", "extern crate serde;", ("serde",)),
        ("java", "import static a.b.C.*;", ("a.b.C",)),
        ("csharp", "using A.B;", ("A.B",)),
        ("kotlin", "import a.b.C as D", ("a.b.C",)),
        ("php", "use function A\\b;", ("A\\b",)),
        ("c", "#include <sys/types.h>", ("sys/types.h",)),
        ("shell", "source", ()),
    ],
)
def test_targets(language: str, text: str, targets: tuple[str, ...]) -> None:
    assert _targets(language, text) == targets


def test_a_flood_of_names_is_cut() -> None:
    text = "from a import " + ", ".join(f"n{i}" for i in range(500))
    assert len(_targets("python", text)) == 40
