"""A path or a type that a task names with its whole path cannot be missed, in any language: of many
files that define the name, and many more that only say it, the right one comes first."""

from __future__ import annotations

from random import Random

import pytest

from sutler.languages.table import LANGUAGES
from sutler.ranking import Reader, build, rank
from sutler.ranking.index import bag_of
from tests.facts import extracted

C_LIKE = "class {n} {{\n  void {m}() {{}}\n}}\n"
DOTTED = "org.shop.{a}.{b}.{n}"
FORMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "rust": (
        "crates/{a}/src/{b}/{s}.rs",
        "pub struct {n} {{}}\n\nimpl {n} {{\n    fn {m}(&self) {{}}\n}}\n",
        ("{a}::{b}::{n}", "{a}::{b}::{n}::{m}", "{a}::{b}::{s}::{n}"),
    ),
    "php": (
        "src/{A}/{B}/{n}.php",
        "<?php\nnamespace App\\{A}\\{B};\nclass {n} {{ function {m}() {{}} }}\n",
        ("App\\{A}\\{B}\\{n}", "\\App\\{A}\\{B}\\{n}", "{A}\\{B}\\{n}::{m}"),
    ),
    "ruby": (
        "lib/{a}/{b}/{s}.rb",
        "module {A}\n  module {B}\n    class {n}\n      def {m}; end\n    end\n  end\nend\n",
        ("{A}::{B}::{n}", "{A}::{B}::{n}#{m}"),
    ),
    "python": (
        "src/{a}/{b}/{s}.py",
        "class {n}:\n    def {m}(self):\n        return 1\n",
        ("{a}.{b}.{s}.{n}", "{a}.{b}.{n}", "{a}.{b}.{s}.{n}.{m}"),
    ),
    "java": ("src/org/shop/{a}/{b}/{n}.java", C_LIKE, (DOTTED, DOTTED + "#{m}")),
    "kotlin": ("src/org/shop/{a}/{b}/{n}.kt", "class {n} {{\n  fun {m}() {{}}\n}}\n", (DOTTED,)),
    "scala": ("src/org/shop/{a}/{b}/{n}.scala", "class {n} {{\n  def {m} = 1\n}}\n", (DOTTED,)),
    "csharp": (
        "src/{A}/{B}/{n}.cs",
        "namespace Shop.{A}.{B} {{\n" + C_LIKE + "}}\n",
        ("Shop.{A}.{B}.{n}", "{A}.{B}.{n}.{m}"),
    ),
    "go": (
        "pkg/{a}/{b}/{s}.go",
        "package {b}\n\ntype {n} struct {{}}\n\nfunc (x *{n}) {m}() {{}}\n",
        ("{a}/{b}.{n}", "example.org/shop/pkg/{a}/{b}.{n}"),
    ),
    "cpp": (
        "src/{a}/{s}_{b}.cpp",
        "namespace {a} {{ namespace {b} {{\n" + C_LIKE + "}} }}\n",
        ("{a}::{b}::{n}", "{a}::{b}::{n}::{m}"),
    ),
    "c": ("src/{a}/{b}/{s}.c", "void {a}_{b}_{m}(void) {{}}\n", ("{a}_{b}_{m}",)),
    "typescript": ("packages/{a}/src/{b}/{s}.ts", "export " + C_LIKE, ("{a}/src/{b}/{s}",)),
    "tsx": ("packages/{a}/src/{b}/{s}.tsx", "export " + C_LIKE, ("{a}/src/{b}/{s}",)),
    "javascript": ("lib/{a}/{b}/{s}.js", "function {m}() {{}}\n", ("lib/{a}/{b}/{s}",)),
    "jsx": ("lib/{a}/{b}/{s}.jsx", "function {m}() {{}}\n", ("{a}/{b}/{s}",)),
    "lua": ("lua/{a}/{b}/{s}.lua", "function {m}()\nend\n", ("{a}.{b}.{s}",)),
    "swift": (
        "Sources/{A}/{B}/{n}.swift",
        "struct {n} {{\n  func {m}() {{}}\n}}\n",
        ("{A}.{B}.{n}",),
    ),
    "perl": ("lib/{A}/{B}/{n}.pm", "package {A}::{B}::{n};\nsub {m} {{ 1 }}\n", ("{A}::{B}::{n}",)),
    "shell": ("scripts/{a}/{b}/{s}.sh", "{m}() {{ true; }}\n", ("{a}/{b}/{s}",)),
}
NAMES = {"OrderBook": "order_book", "Sender": "sender", "LineItem": "line_item"}
OUTER = ("harbor", "meadow", "quartz", "lantern", "saddle", "timber")
INNER = ("inbound", "storage", "routing", "billing", "session", "widget")


def forest(language: str, random: Random) -> tuple[dict[str, str], str, dict[str, str]]:
    """A tree in which sixteen files define one name and more than a hundred talk about it; one of
    the sixteen, and its names."""
    place, text, _ = FORMS[language]
    name, method = random.choice(sorted(NAMES)), random.choice(["refresh", "total", "send"])
    pairs = [(a, b) for a in random.sample(OUTER, 4) for b in random.sample(INNER, 4)]
    tree: dict[str, str] = {}
    for a, b in pairs:
        parts = {"a": a, "b": b, "A": a.title(), "B": b.title()}
        parts |= {"n": name, "s": NAMES[name], "m": method}
        tree[place.format(**parts)] = text.format(**parts)
    for i in range(130):
        a, b = random.choice(pairs)
        line = f"{name} {method} {a} {b}, refused twice while the queue is empty\n"
        tree[f"{place.split('/')[0]}/use/user_{i}.{place.rpartition('.')[2]}"] = line * (i % 17 + 1)
    return tree, place.format(**parts), parts


def order(tree: dict[str, str], task: str) -> list[str]:
    index = build((path, path, bag_of(path, text)) for path, text in tree.items())
    return [file.path for file in rank(Reader(index, extracted(tree)), task)]


def test_every_language_with_a_grammar_is_tried() -> None:
    """Header files, CUDA and Cython are read like the language that they extend."""
    grown = {language.name for language in LANGUAGES if language.grammar is not None}
    assert grown - {"header", "cuda", "cython", "go module"} <= FORMS.keys()


@pytest.mark.parametrize("language", FORMS)
def test_a_whole_name_cannot_be_missed(language: str) -> None:
    for seed in range(2):
        tree, path, parts = forest(language, Random(seed))
        for form in (*FORMS[language][2], path.replace("{", "{{")):
            name = form.format(**parts)
            tasks = (
                f"{name} is refused twice\n",
                f"The queue is refused twice\n\nWhen it is empty, `{name}` is refused.\n",
                f"The queue is refused twice\n\nWhen it is empty, so is {name}.\n",
            )
            for task in tasks:
                assert order(tree, task)[0] == path, task
