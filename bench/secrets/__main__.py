"""How well and how fast secrets are found.

    python -m bench.secrets formats [--count 50] [--peer-rules gitleaks.toml]
    python -m bench.secrets corpus FOLDER --labels FOLDER [--peers] [--by-repository]
    python -m bench.secrets clean FOLDER            over-redaction, one line per sub-folder
    python -m bench.secrets parses FOLDER           what a parser no longer reads after redaction
    python -m bench.secrets speed FOLDER            MB per CPU second, one thread, both engines
    python -m bench.secrets canaries --count 1000 --seed 1      planted values at every door

No data is part of the repository: the labelled corpus is a folder of files with CSV labels beside
it.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from bench.secrets import canaries, corpus, parses, peers, samples
from sutler.secrets.engines import Engine, compile_database, hyperscan_engine, stdlib_engine
from sutler.secrets.format_table import formats
from sutler.secrets.redactor import redact

KEY = b"bench" * 8


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        if ".git" not in file.parts and file.is_file() and not file.is_symlink():
            try:
                yield str(file.relative_to(folder)), file.read_bytes().decode()
            except UnicodeDecodeError:
                continue


def bench_formats(engine: Engine, count: int, peer_rules: Path | None) -> None:
    _recall("own table", [(one.name, one.core) for one in formats()], engine, count)
    if peer_rules:
        kinds = []
        for rule in tomllib.loads(peer_rules.read_text())["rules"]:
            source = (
                rule.get("regex", "")
                .replace("(?i)", "")
                .replace("(?-i:", "(?:")
                .replace(r"\z", r"\Z")
            )
            prefix = re.search(r"\((?!\?)", source)
            if prefix and "keywords" in rule:
                body = _first_group(source, prefix.start())
                kinds.append((rule["id"], body, rule["keywords"][0]))
        _contextual("peer's kinds", kinds, engine, count)


def _first_group(source: str, start: int) -> str:
    depth, in_class, at = 0, False, start
    while at < len(source):
        char = source[at]
        if char == "\\":
            at += 1
        elif char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        elif not in_class:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                break
        at += 1
    return source[start + 1 : at]


def _recall(title: str, kinds: list[tuple[str, str]], engine: Engine, count: int) -> None:
    found = total = 0
    worst: list[tuple[float, str]] = []
    for name, source in kinds:
        made = list(samples.lines_for(name, source, count, seed=1))
        gone = sum(
            one.secret not in redact(one.line, "notes.txt", key=KEY, engine=engine).text
            for one in made
        )
        found, total = found + gone, total + len(made)
        worst.append((gone / len(made), name))
    print(f"{title}: {len(kinds)} types, recall {corpus.ratio(found, total)}")
    print("  worst:", ", ".join(f"{name} {share:.2f}" for share, name in sorted(worst)[:12]))


def _contextual(title: str, kinds: list[tuple[str, str, str]], engine: Engine, count: int) -> None:
    """Kinds of a peer: drawn from its pattern, assigned to a name made of its keyword."""
    import random

    found = total = 0
    worst: list[tuple[float, str]] = []
    forms = (
        '{k}_key = "{v}"',
        "{K}_TOKEN={v}",
        '"{k}Secret": "{v}",',
        "  {k}_api_key: {v}",
        "export {K}_KEY='{v}'",
    )
    for name, source, keyword in kinds:
        rng = random.Random(name)
        word = re.sub(r"\W", "_", keyword)
        gone = 0
        for number in range(count):
            try:
                value = samples.draw(source, rng)
            except (re.error, KeyError, IndexError):
                break
            line = forms[number % len(forms)].format(k=word, K=word.upper(), v=value)
            gone += value not in redact(line, "notes.txt", key=KEY, engine=engine).text
        else:
            found, total = found + gone, total + count
            worst.append((gone / count, name))
    print(f"{title}: {len(worst)} types, recall {corpus.ratio(found, total)}")
    print("  worst:", ", ".join(f"{name} {share:.2f}" for share, name in sorted(worst)[:12]))


def bench_corpus(engine: Engine, arguments: argparse.Namespace) -> None:
    """One detector after the other on the same files; ours repository by repository too."""
    labels = corpus.read_labels(arguments.labels)

    def own(text: str, path: str) -> str:
        return redact(text, path, key=KEY, engine=engine).text

    modules = arguments.node_modules or os.environ.get("SUTLER_NODE_MODULES", "node_modules")
    contestants: list[tuple[str, corpus.Detect]] = [("sutler", own)]
    if arguments.peers:
        contestants += peers.installed(modules, arguments.peer_rules)
    for name, detect in contestants:
        began = time.process_time()
        result = corpus.score(arguments.folder, labels, detect)
        print(f"{name}  ({time.process_time() - began:.1f} CPU-s)", *result.report(), sep="\n  ")
    if arguments.by_repository:
        for repo in sorted({label.repo for label in labels}):
            rows = [label for label in labels if label.repo == repo]
            result = corpus.score(arguments.folder, rows, own)
            left = corpus.ratio(result.left, result.values)
            print(f"{repo}  {result.findings.line()}  readable {left}")


def bench_clean(engine: Engine, folder: Path) -> None:
    lines = changed = 0
    for project in sorted(path for path in folder.iterdir() if path.is_dir()):
        here = gone = 0
        for path, text in texts(project):
            after = redact(text, path, key=KEY, engine=engine).text
            here += text.count("\n") + 1
            gone += len(corpus.flagged_lines(text, after))
        print(f"{project.name:30} {here:9} lines  {100 * gone / max(1, here):.4f} %")
        lines, changed = lines + here, changed + gone
    print(f"{'all':30} {lines:9} lines  {100 * changed / max(1, lines):.4f} %")


def bench_parses(engine: Engine, folder: Path) -> None:
    def clean(text: str, path: str) -> str:
        return redact(text, path, key=KEY, engine=engine).text

    read, worse = parses.broken(texts(folder), clean)
    print(f"touched and well formed before: {sum(read.values())} files {dict(read)}")
    print(f"no longer well formed: {len(worse)}", *worse, sep="\n  ")


def bench_speed(engine: Engine, folder: Path) -> None:
    files = list(texts(folder))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for _, text in files) / 1e6
    for name, scan in (("hyperscan", engine), ("stdlib", stdlib_engine())):
        began = time.process_time()
        for path, text in files:
            redact(text, path, key=KEY, engine=scan)
        spent = time.process_time() - began
        print(f"{name:10} {size:.1f} MB in {spent:.2f} CPU-s: {size / spent:.1f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.secrets", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "what", choices=("formats", "corpus", "clean", "parses", "speed", "canaries")
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--peer-rules", type=Path)
    parser.add_argument("--peers", action="store_true", help="run every peer that is installed")
    parser.add_argument("--node-modules", default="", help="npm packages, for secretlint")
    parser.add_argument("--by-repository", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.what == "canaries":
        raise SystemExit(canaries.run(arguments.seed, arguments.count) > 2)
    began = time.process_time()
    database = compile_database()
    print(f"database: {len(database)} bytes, compiled in {time.process_time() - began:.2f} CPU-s")
    engine = hyperscan_engine(database)
    if arguments.what == "formats":
        bench_formats(engine, arguments.count, arguments.peer_rules)
    elif arguments.what == "corpus":
        bench_corpus(engine, arguments)
    elif arguments.what == "clean":
        bench_clean(engine, arguments.folder)
    elif arguments.what == "parses":
        bench_parses(engine, arguments.folder)
    else:
        bench_speed(engine, arguments.folder)


if __name__ == "__main__":
    main()
