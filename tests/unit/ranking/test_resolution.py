from __future__ import annotations

import pytest

from sutler.ranking.index import bag_of, build
from sutler.ranking.reader import Reader, extracted
from sutler.ranking.resolution import Links


def links_over(files: dict[str, str]) -> tuple[Links, dict[str, int]]:
    index = build((path, path, bag_of(path, text)) for path, text in files.items())
    reader = Reader(index, extracted(files))
    return Links(reader), {doc.path: number for number, doc in reader.docs.items()}


@pytest.mark.parametrize(
    ("importer", "text", "target"),
    [
        ("pkg/a.py", "from .b import c\n", "pkg/b.py"),
        ("pkg/a.py", "from pkg.sub import thing\n", "pkg/sub/__init__.py"),
        ("pkg/sub/a.py", "from ..b import x\n", "pkg/b.py"),
        ("src/a.js", "import x from './lib/b.js';\n", "src/lib/b.js"),
        ("src/a.ts", "import { x } from '../lib/c';\n", "lib/c.ts"),
        ("src/a.ts", "import x from './widgets';\n", "src/widgets/index.ts"),
        ("cmd/main.go", 'package main\n\nimport "example.com/m/pkg/store"\n', "pkg/store/store.go"),
        (
            "src/main/java/o/s/A.java",
            "package o.s;\nimport o.s.util.Tool;\n",
            "src/main/java/o/s/util/Tool.java",
        ),
        ("src/a.c", '#include "list.h"\n', "include/list.h"),
        ("lib/a.rb", 'require_relative "shop/cart"\n', "lib/shop/cart.rb"),
        ("src/main.rs", "use crate::store::disk;\n", "src/store/disk.rs"),
        ("src/A.php", "<?php\nuse Shop\\Base\\Box;\n", "src/Shop/Base/Box.php"),
    ],
)
def test_imports_lead_to_files(importer: str, text: str, target: str) -> None:
    links, numbers = links_over({importer: text, target: "", "other/unrelated.txt": ""})
    assert links.imported(numbers[importer]) == [numbers[target]]


def test_an_import_of_a_folder_tells_less_of_each_of_its_files() -> None:
    files = {f"pkg/store/s{i}.go": "package store\n" for i in range(4)}
    main = 'package main\n\nimport "example.com/m/pkg/store"\nimport "example.com/m/pkg/one"\n'
    links, numbers = links_over({"cmd/main.go": main, "pkg/one/one.go": "package one\n", **files})
    found = links.needed(numbers["cmd/main.go"])
    assert found == {numbers["pkg/one/one.go"]: 1.0, **{numbers[path]: 0.25 for path in files}}


@pytest.mark.parametrize(
    ("mention", "path"),
    [
        ("shop/cart.py", "src/shop/cart.py"),
        ("/usr/lib/site-packages/shop/cart.py", "src/shop/cart.py"),
        ("cart.py", "src/shop/cart.py"),
    ],
)
def test_mentioned_paths(mention: str, path: str) -> None:
    links, numbers = links_over({"src/shop/cart.py": "", "src/shop/api.py": ""})
    assert [number for number, _ in links.mentioned(mention)] == [numbers[path]]


def test_a_foreign_frame_of_the_same_name_is_not_ours() -> None:
    links, _ = links_over({"src/shop/core.py": ""})
    assert links.mentioned("usr/lib/numpy/lib/core.py") == []


def test_dotted_names_prefer_the_longest_module() -> None:
    links, numbers = links_over({"pkg/a.py": "", "pkg/a/b.py": "", "pkg/b.py": ""})
    assert [number for number, _ in links.dotted("pkg.a.b.Thing")] == [numbers["pkg/a/b.py"]]
