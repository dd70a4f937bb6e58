"""Names of files, components and definitions lead to files without a path in the task."""

from __future__ import annotations

import pytest

from sutler.ranking import Reader, build
from sutler.ranking.index import bag_of
from sutler.ranking.namesakes import namesakes, scoped, spelled, twins
from sutler.ranking.query import analyse
from sutler.ranking.resolution import Links
from sutler.ranking.signals import Scores
from tests.facts import extracted

TREE = {
    "lib/rules/no-unused-labels.js": "module.exports = 1;\n",
    "tests/lib/rules/no-unused-labels.js": "module.exports = 2;\n",
    "web/pdf_history.js": "class PDFHistory {}\n",
    "src/select/index.ts": "export const a = 1;\n",
    "src/option.ts": "export const b = 1;\n",
    "regex-lite/src/pool.rs": "fn take_value() {}\n",
    "regex-syntax/src/ast.rs": "fn take() {}\n",
    "include/uv/queue.h": "int uv_queue(void);\n",
    "src/queue.c": "int uv_queue(void) { return 1; }\n",
    "test/queue.c": "int main(void) { return 1; }\n",
}
READER = Reader(
    build((path, path, bag_of(path, text)) for path, text in TREE.items()), extracted(TREE)
)
LINKS = Links(READER)
NUMBERS = {doc.path: number for number, doc in READER.docs.items()}


def paths_of(scores: Scores) -> set[str]:
    """The paths with the highest score."""
    top = max(scores.values(), default=0.0)
    return {READER.docs[number].path for number, score in scores.items() if score == top}


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ("Autofix of `no-unused-labels` changes a program", "lib/rules/no-unused-labels.js"),
        ("The rule NoUnusedLabels crashes", "lib/rules/no-unused-labels.js"),
        ("Wrong entry\n\nThe class PDFHistory forgets it.", "web/pdf_history.js"),
        ("Select does not open", "src/select/index.ts"),
    ],
)
def test_a_name_in_any_spelling_leads_to_the_file_of_that_name(task: str, path: str) -> None:
    assert paths_of(namesakes(analyse(task), LINKS, READER)) == {path}


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("fix(lite): value is lost", "regex-lite/src/pool.rs"),
        ("[Bug]: [Select] does not open", "src/select/index.ts"),
        ("select, xyz: do not open", "src/select/index.ts"),
        ("src/option.ts: remove it", "src/option.ts"),
    ],
)
def test_the_component_before_the_title_leads_to_its_files(title: str, path: str) -> None:
    assert path in paths_of(scoped(analyse(title), LINKS, READER))


@pytest.mark.parametrize("title", ["TypeError: no value", "When using select: nothing", "Select"])
def test_a_title_without_a_component_names_none(title: str) -> None:
    assert scoped(analyse(title), LINKS, READER) == {}


@pytest.mark.parametrize("title", ["fix(select): open it", "[Bug]: open it", "Feature: open it"])
def test_the_kind_of_a_change_is_no_word_of_the_task(title: str) -> None:
    assert analyse(title).title.keys() <= {"select", "open"}


def test_a_header_follows_its_source_and_a_test_does_not() -> None:
    scores = twins([(NUMBERS["src/queue.c"], 1.0)], LINKS, READER)
    assert paths_of(scores) == {"include/uv/queue.h"}


def test_a_definition_named_in_the_words_of_a_task_wins() -> None:
    worth = {"tak": 2.0, "valu": 2.0}
    found = spelled(READER, worth, list(READER.docs))
    assert paths_of(found) == {"regex-lite/src/pool.rs"}
