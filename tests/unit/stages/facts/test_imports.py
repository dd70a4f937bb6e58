from __future__ import annotations

import pytest

from sutler.stages.facts.imports import targets_of


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
        ("bash", "source", ()),
    ],
)
def test_targets(language: str, text: str, targets: tuple[str, ...]) -> None:
    assert targets_of(language, text) == targets


def test_a_flood_of_names_is_cut() -> None:
    text = "from a import " + ", ".join(f"n{i}" for i in range(500))
    assert len(targets_of("python", text)) == 40
