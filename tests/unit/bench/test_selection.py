from __future__ import annotations

import subprocess
from pathlib import Path

from bench.selection.data import Gold, Instance, list_tree
from bench.selection.kept import Shelf
from bench.selection.measure import visible_share
from bench.selection.packs import Bench, visible_lines
from sutler.ranking import rank
from tests.limits import LIMIT

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
FUNCTION = "def part_{0}(order):\n    value = order.price_{0}\n    return value\n\n\n"


def _repository(folder: Path) -> str:
    (folder / "shop.py").write_text("".join(FUNCTION.format(i) for i in range(400)))
    (folder / "other.py").write_text("def nothing():\n    return None\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True, timeout=LIMIT)
    return subprocess.run(
        [*GIT, "rev-parse", "HEAD"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    ).stdout


def test_what_is_visible_is_read_from_the_rendered_pack(tmp_path: Path) -> None:
    tree_folder = tmp_path / "tree"
    tree_folder.mkdir()
    commit = _repository(tree_folder).strip()
    git_dir = str(tree_folder / ".git")
    instance = Instance("one", "tune", "a/b", commit, "part_7 returns a wrong value", [])
    shelf = Shelf(str(tmp_path / "cache"))
    tree = list_tree(git_dir, commit)
    reader, built = shelf.reader(instance, git_dir, tree)
    kept, again = shelf.reader(instance, git_dir, tree)
    assert (kept.docs, again) == (reader.docs, 0.0)
    assert built > 0
    with Bench(instance, git_dir, tree, reader) as bench:
        text = bench.pack(rank(reader, instance.query, shelf.past(instance, git_dir)), 4_000)
        shown = visible_lines(text, bench)
        assert 0.97 * 4_000 <= len(text) <= 4_000
        assert {36, 37, 38} <= shown["shop.py"]
        assert 1_999 not in shown["shop.py"]
        for number in shown["shop.py"]:
            assert bench.source("shop.py")[number - 1] in text


def test_a_range_counts_when_all_of_it_is_visible() -> None:
    wanted = [Gold("a.py", "M", [[3, 5], [8, 8]]), Gold("b.py", "M", [[1, 1]])]
    assert visible_share({"a.py": {3, 4, 5}}, wanted) == 1 / 3
    assert visible_share({"a.py": {3, 4, 8}, "b.py": {1}}, wanted) == 2 / 3
    assert visible_share({}, wanted) == 0
