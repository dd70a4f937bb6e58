"""Other tools on the same tasks, each in an environment of its own (`PEERS/name/bin/python`).

A driver runs in the tree of a task. It reads the task and the budgets as JSON, and answers with the
files in its order and, for each budget, with the lines that the tool would show. Tools without a
budget answer with one list of chunks, which is cut where the budget ends. Nothing here imports a
tool: what is missing is reported and left out.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict, cast

from bench.selection import lines, measure
from bench.selection.baseline import bm25
from bench.selection.data import Gold, Instance
from sutler.ranking.reader import Reader
from sutler.tokens.counter import counter_for

Chunk = tuple[str, int, int]
"""Path, first and last line."""


class Answer(TypedDict, total=False):
    """What a driver answers: `shown` by budget, or `chunks` to be cut."""

    name: str
    files: list[str]
    chunks: Sequence[Chunk]
    shown: dict[str, Sequence[Chunk]]


AIDER = r"""
import json, os, re, sys
from aider.repomap import RepoMap
class Voice:
    def read_text(self, name):
        with open(name, encoding="utf-8", errors="ignore") as file:
            return file.read()
    def tool_output(self, *words, **options): pass
    tool_warning = tool_error = tool_output
class Model:
    def token_count(self, text): return len(text) / 4
asked = json.load(sys.stdin)
root = os.getcwd()
files = [os.path.join(folder, name) for folder, folders, names in os.walk(root)
         if ".git" not in folder.split(os.sep) and ".aider" not in folder for name in names]
words = set(re.split(r"\W+", asked["query"]))
spoken = set(re.split(r"[\s`'\"(),]+", asked["query"]))
relative = [os.path.relpath(name, root) for name in files]
named = {name for name in relative if name in spoken or os.path.basename(name) in spoken}
map = RepoMap(root=root, main_model=Model(), io=Voice(), refresh="always")
order = [tag[0] for tag in map.get_ranked_tags([], files, named, words)]
shown = {}
for budget in asked["budgets"]:
    text = map.get_ranked_tags_map([], files, budget, named, words) or ""
    chunks, path, rest, at = [], "", [], 0
    for line in text.splitlines():
        if line.startswith("\u2502") and path:
            wanted = line[1:]
            for number in range(at, len(rest)):
                if rest[number][:99] == wanted:
                    chunks.append((path, number + 1, number + 1)); at = number + 1; break
        elif line.endswith(":") and os.path.isfile(line[:-1]):
            path, at = line[:-1], 0
            rest = Voice().read_text(path).splitlines()
    shown[budget] = chunks
json.dump({"files": order, "shown": shown}, sys.stdout)
"""
SEMBLE = r"""
import json, os, sys
from pathlib import Path
from semble.index import create
from semble.index.bm25 import BM25
from semble.index.files import get_extensions
from semble.index.types import make_chunk_id
from semble.search import _search_bm25
from semble.types import ContentType
asked = json.load(sys.stdin)
root = Path.cwd()
try:
    from semble import SembleIndex
    found = SembleIndex.from_path(root).search(asked["query"], top_k=200)
    name = "semble"
except Exception:
    files = create._stat_files(root, get_extensions((ContentType.CODE,)), root, {}, [])
    index, chunks, ids = BM25.empty(), [], []
    for file, done in zip(files, create._chunk_files([file[:2] for file in files])):
        for slot, (chunk, tokens) in enumerate(zip(*done) if done else ()):
            ids.append(make_chunk_id(file[1], slot))
            index.add_document(ids[-1], tokens)
            chunks.append(chunk)
    index.set_doc_order(ids)
    found = _search_bm25(asked["query"], index, chunks, 200, None)
    name = "semble, its BM25 alone"
chunks = [(one.chunk.file_path, one.chunk.start_line, one.chunk.end_line) for one in found]
json.dump({"name": name, "files": [one[0] for one in chunks], "chunks": chunks}, sys.stdout)
"""


class Peer(NamedTuple):
    """A tool: the folder of its environment, the name of its rows, its driver."""

    folder: str
    name: str
    driver: str


PEERS = (Peer("aider-chat", "aider's map", AIDER), Peer("semble", "semble", SEMBLE))
TIMEOUT = 600


def installed(folder: str) -> tuple[list[Peer], list[str]]:
    """The peers that have an environment below a folder, and how to get the others."""
    present = [peer for peer in PEERS if os.path.exists(_python(folder, peer))]
    hints = [
        f"{peer.name} is missing: python -m venv {folder}/{peer.folder} && "
        f"{folder}/{peer.folder}/bin/pip install {peer.folder}"
        for peer in PEERS
        if peer not in present
    ]
    return present, hints


def _python(folder: str, peer: Peer) -> str:
    return os.path.abspath(os.path.join(folder, peer.folder, "bin", "python"))


def rows(
    peers: Sequence[Peer], folder: str, instance: Instance, git_dir: str, reader: Reader
) -> dict[str, dict[str, float]]:
    """The figures of each peer for one task, by name; plain BM25 takes whole files in its order."""
    figures: dict[str, dict[str, float]] = {}
    known = {doc.path for doc in reader.docs.values()}
    with tempfile.TemporaryDirectory() as tree:
        _unpack(git_dir, instance.base_commit, tree)
        gold = lines.gold_lines(instance.wanted, _texts(tree, instance.wanted))
        order = bm25(reader, instance.query)
        answer: Answer = {"files": order, "chunks": [(path, 1, 1 << 30) for path in order]}
        figures["plain BM25"] = _figures(instance, gold, tree, answer)
        for peer in peers:
            answer, spent = _asked(_python(folder, peer), peer.driver, instance.query, tree)
            answer["files"] = [path for path in dict.fromkeys(answer["files"]) if path in known]
            name = answer.get("name", peer.name)
            figures[name] = _figures(instance, gold, tree, answer) | {"cold s": spent}
    return figures


def _asked(python: str, driver: str, query: str, tree: str) -> tuple[Answer, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    asked = json.dumps({"query": query, "budgets": lines.FIXED})
    done = subprocess.run(
        [python, "-c", driver],
        input=asked,
        capture_output=True,
        text=True,
        cwd=tree,
        timeout=TIMEOUT,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise RuntimeError(f"a peer failed: {done.stderr.strip().splitlines()[-1:]}")
    answer = done.stdout[done.stdout.index("{") :]  # tools greet
    return cast("Answer", json.loads(answer)), spent


def _unpack(git_dir: str, commit: str, folder: str) -> None:
    words = ["git", "--git-dir", git_dir, "archive", commit]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(folder, filter="data")


def _texts(tree: str, wanted: Sequence[Gold]) -> dict[str, str]:
    texts = {}
    for item in wanted:
        path = os.path.join(tree, item.path)
        if os.path.isfile(path):
            texts[item.path] = _read(path)
    return texts


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


def _figures(
    instance: Instance, gold: Mapping[str, set[int]], tree: str, answer: Answer
) -> dict[str, float]:
    sizes = {path: os.path.getsize(os.path.join(tree, path)) for path in answer["files"]}
    row = measure.ranking_figures(answer["files"], instance.wanted, sizes)
    for limit in lines.FIXED:
        own = answer.get("shown")
        shown = within(own[str(limit)], None, tree) if own else None
        if shown is None:
            shown = within(answer["chunks"], limit, tree)
        row |= lines.line_figures(shown, gold, f"{limit // 1000}k")
    return row


def within(chunks: Sequence[Chunk], limit: int | None, tree: str) -> dict[str, set[int]]:
    """The lines that these chunks show until a limit in tokens is reached, with the last of them in
    part; a tool with a budget of its own has kept to it."""
    count = counter_for("tokens", "o200k_base")
    shown: dict[str, set[int]] = {}
    for path, start, end in chunks:
        name = os.path.join(tree, path)
        if not os.path.isfile(name) or (limit is not None and limit <= 0):
            continue
        text = _read(name).split("\n")[start - 1 : end]
        if limit is not None:
            cost = count("\n".join(text))
            if cost > limit:
                text = text[: len(text) * limit // cost]
            limit -= cost
        shown.setdefault(path, set()).update(range(start, start + len(text)))
    return shown
