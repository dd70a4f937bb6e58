"""A new language is one module and one row of the table; an incomplete one fails at import with a
clear message."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Plant

PACKAGE = Path(__file__).parents[2] / "src" / "sutler"
LIMIT = 60
LAST = "    *DATA_ONLY,\n"

MODULE = '''
from sutler.languages.base import Comments, Entries, Grammar, Language, Uses
from sutler.languages.base import offered, top
from sutler.languages.base import dotted
from sutler.languages.base import BY_AFFIX

_QUERY = """
(function_definition name: (identifier) @n) @d.function
(import_statement) @i
"""

SHOP = Language(
    display="Shop",
    name="shop",
    kind="program",
    suffixes=("shop",),
    files=("shopfile",),
    shebangs=("shop",),
    comments=Comments(("#",)),
    grammar=Grammar("tree_sitter_python", _QUERY, dotted, offered(top)),
    shapes=None,
    tests=BY_AFFIX,
    entries=Entries(names=("counter.shop",)),
    uses=Uses(),
    manifests=("shop.lst",),
    ecosystems=("shop",),
)
'''
TREE = {
    "cart.shop": "import price\n\ndef total_of_cart(items):\n    return sum(items)\n",
    "price.shop": "def price_of(item):\n    return 1\n",
    "cart_test.shop": "def check():\n    pass\n",
    "other.py": "def unrelated():\n    return 2\n",
}
GOAL = "total_of_cart is wrong"


class Checkout(NamedTuple):
    """A contributor's checkout, and a project to use it on."""

    source: Path
    project: Path

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.project,
            env={**os.environ, "PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "sutler", *words)


def checkout(folder: Path, project: Path, module: str) -> Checkout:
    """The package with one more module and one more row; every other file is linked."""
    target = folder / "src" / "sutler"
    shutil.copytree(
        PACKAGE, target, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    (target / "languages" / "shop.py").write_text(module)
    table = target / "languages" / "table.py"
    text = table.read_text()
    assert text.count(LAST) == 1
    table.unlink()
    imports = "from sutler.languages.shop import SHOP\n\nLANGUAGES: "
    table.write_text(text.replace("\nLANGUAGES: ", imports).replace(LAST, LAST + "    SHOP,\n"))
    return Checkout(folder / "src", project)


@pytest.fixture
def project(plant: Plant) -> Path:
    return plant(TREE)


@pytest.fixture
def shop(tmp_path: Path, project: Path) -> Checkout:
    return checkout(tmp_path / "checkout", project, MODULE)


def test_outline_parses_the_new_language(shop: Checkout) -> None:
    """`sutler outline` shows imports and signatures."""
    body = json.loads(shop.run("outline", "cart.shop", "--json").stdout)
    assert (body["language"], body["status"]) == ("shop", "parsed")
    assert (
        shop.run("outline", "cart.shop").stdout == "1: import price\n3: def total_of_cart(items)\n"
    )


def test_a_pack_for_a_goal_ranks_the_new_language(shop: Checkout) -> None:
    """The file that defines what the goal names is packed and ranked first."""
    done = shop.run("pack", "--goal", GOAL)
    assert (done.returncode, "def total_of_cart(items)" in done.stdout) == (0, True), done
    assert shop.run("rank", "--goal", GOAL).stdout.split()[2] == "cart.shop"


def test_an_index_made_before_the_language_is_made_again(shop: Checkout) -> None:
    """The version of the facts follows from the table: symbols that an old index lacks are
    found."""
    before = shop._replace(source=PACKAGE.parent).run("rank", "--goal", GOAL, "--signals")
    after = shop.run("rank", "--goal", GOAL, "--signals")
    assert ("defines" in before.stdout, "defines" in after.stdout) == (False, True), (before, after)


def test_the_classifier_knows_the_new_language(shop: Checkout) -> None:
    """Fences carry its name; its tests, entry points and manifests are recognised."""
    assert "```shop" in shop.run("pack", "--no-budget").stdout
    names = ("cart.shop", "cart_test.shop", "counter.shop", "Shopfile", "shop.lst")
    code = (
        "from sutler.scan.classify import facts_of\n"
        f"for f in map(facts_of, {names!r}): print(f.language, f.category, f.role)"
    )
    assert shop.python("-c", code).stdout.splitlines() == [
        "shop source source",
        "shop test test",
        "shop entrypoint source",
        "shop source source",
        " config build",
    ]


def test_a_grammar_that_is_not_installed_costs_only_the_symbols(
    tmp_path: Path, project: Path
) -> None:
    """The shape of the lines is read instead, and a pack for a goal is still made."""
    absent = checkout(
        tmp_path / "absent", project, MODULE.replace("tree_sitter_python", "tree_sitter_shop")
    )
    assert absent.run("outline", "cart.shop").stdout == "3: def total_of_cart(items):\n"
    done = absent.run("pack", "--goal", GOAL)
    assert (done.returncode, "def total_of_cart(items)" in done.stdout) == (0, True), done


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    tests=BY_AFFIX,\n", "", "language Shop: lacks tests"),
        ("    shapes=None,\n    tests=BY_AFFIX,\n", "", "language Shop: lacks shapes, tests"),
        (
            "@d.function",
            "@d.procedure",
            "language Shop: the query marks @d.procedure, which is no kind of symbol",
        ),
        (
            '("shop",),\n    files',
            '("py",),\n    files',
            "languages Python and Shop: both claim suffixes 'py'",
        ),
    ],
    ids=["part", "parts", "query", "suffix"],
)
def test_an_incomplete_language_fails_at_import(
    tmp_path: Path, project: Path, old: str, new: str, message: str
) -> None:
    """The message names the language and what it lacks, and no command runs with it."""
    assert MODULE.count(old) == 1
    broken = checkout(tmp_path / "broken", project, MODULE.replace(old, new))
    imported = broken.python("-c", "import sutler.languages")
    assert (imported.returncode, imported.stderr.rstrip().endswith(message)) == (1, True), imported
    packed = broken.run("pack")
    assert (packed.returncode, message in packed.stderr) == (1, True), packed
