"""Nothing that the redactor hides appears anywhere else: answers, errors, ledger, caches,
checkpoints, database.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import msgspec
import pytest

from sutler.access.registry import opening
from sutler.errors import SutlerError
from sutler.store.records import REVIEW
from sutler.tools import TOOLS, call
from tests.canaries import COUNT, Planted, needles, plant_canaries, written
from tests.doors import OpenDoor
from tests.goalkit import Capture, cli, program


def test_two_hundred_canaries_stay_in_their_files(open_door: OpenDoor, door_state: str) -> None:
    """Planted in bodies, long lines, names, removed lines and queries; every byte written or
    returned is searched.
    """
    rng = random.Random(3)
    canaries = [f"canary-{rng.getrandbits(48):012x}" for _ in range(COUNT)]
    parts = [canaries[n::5] for n in range(5)]
    tree: dict[str, str | bytes] = {
        "body.py": "".join(
            f"key_{n} = '{one}'\ndef f_{n}(): return '{one}'\n" for n, one in enumerate(parts[0])
        ),
        "long.txt": " ".join(f"{'x' * 500}{one}" for one in parts[1]),
        "utf16.txt": "".join(f"{one}\n" for one in parts[2]).encode("utf-16"),
        "removed.txt": "".join(f"{one}\n" for one in parts[3]),
        "README.md": f"# Title {canaries[0]}\n",
        **{f"names/{one}.txt": "x\n" for one in parts[4][:20]},
    }
    door = open_door(tree, profile=REVIEW)
    said = [repr(msgspec.to_builtins(opening(door)))]

    def say(tool: str, arguments: dict[str, object]) -> None:
        try:
            said.append(repr(msgspec.to_builtins(call(door, tool, arguments))))
        except SutlerError as refusal:
            said.append(str(refusal))

    for name in tree:
        for tool in TOOLS:
            given = dict(tool.example)
            if "path" in given:
                given["path"] = name
            say(tool.name, given)
    Path(door.root.host_path, "removed.txt").write_text("gone\n")
    say("get_diff", {"path": "removed.txt"})
    for one in canaries:
        say("search", {"query": one})
        say("read_file", {"path": f"../{one}"})
        say("read_file", {"path": f"missing-{one}", "cursor": one})
        say("get_diff", {"path": "body.py", "version1": one})
        say("read_file", {"path": "body.py", one: one})
    door.gate.store.close()
    written = b"".join(
        Path(folder, name).read_bytes()
        for folder, _, names in os.walk(door_state)
        for name in names
    )
    everything = "\n".join(said).encode("utf-8", "replace") + written
    assert len(said) > COUNT * 4
    assert b"REDACTED" in everything
    assert [
        one
        for one in canaries
        if one.encode() in everything or one.encode("utf-16-le") in everything
    ] == []


class Yard:
    """One planted project, a home and a place for output; everything that any command says or
    writes is kept.
    """

    def __init__(self, base: Path, capfd: Capture) -> None:
        self.base, self.out, self._capfd = base, base / "out", capfd
        self.out.mkdir()
        self.planted: Planted = plant_canaries(base / "project", 7)
        self.said: dict[str, bytes] = {}
        self.before = set(written(self.planted.folder))

    def run(self, *words: str, folder: Path | None = None) -> int:
        ran = cli(self._capfd, folder or self.planted.folder, *words)
        self.said[f"{len(self.said)} {' '.join(words)[:90]}"] = ran.out + ran.err.encode()
        return ran.code

    def one(self, place: str, number: int = 0) -> str:
        return self.planted.places[place][number].text

    def leaks(self) -> list[str]:
        """Which canary of which place appears where. The planted tree itself is exempt, but nothing
        may be added.
        """
        ours = self.planted.folder
        assert {name for name in written(ours) if ".git/" not in name} <= self.before
        everything = {**self.said, **written(self.base / "home", self.out, self.base / "tmp")}
        everything = {
            name: data for name, data in everything.items() if not name.endswith("mine/prompt.yaml")
        }
        where = {one.secrets: place for place, ones in self.planted.places.items() for one in ones}
        return sorted(
            {
                f"{where[one.secrets]} ({one.kind}): {name}"
                for name, data in everything.items()
                for one, needle in needles(self.planted.canaries)
                if needle in data
            }
        )


@pytest.fixture
def yard(tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch) -> Yard:
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return Yard(tmp_path, capfdbinary)


def test_every_place_is_planted(yard: Yard) -> None:
    """The search itself works: all two hundred are in the tree, and a leak would be seen."""
    assert len(yard.planted.canaries) == COUNT
    assert len({one.secrets for one in yard.planted.canaries}) == COUNT
    yard.said["leaky"] = yard.one("bodies").encode()
    assert yard.leaks() == ["bodies (aws): leaky"]


def test_packs_and_what_looks_at_them(yard: Yard) -> None:
    """Packs in every format, budget and destination; scan, tree, secrets, tokens, unpack,
    receipts.
    """
    goal = "fix the parser " + " ".join(one.text for one in yard.planted.places["goals"])
    for number, words in enumerate(
        (
            ("--no-budget", "-f", "markdown"),
            ("--no-budget", "-f", "xml", "-n", "--cut-over", "0"),
            ("--no-budget", "-f", "json", "--json"),
            ("--max-tokens", "3000", "--goal", goal),
            ("--max-tokens", "9000", "--goal", goal, "-f", "xml"),
            ("--max-chars", "20000", "--counter", "none"),
            ("--max-bytes", "90k", "--goal", goal, "--json", "-f", "json"),
            ("--no-budget", "--split", "60k"),
            ("--mode", "ignore", "src", "wide.txt", "old.txt"),
        )
    ):
        target = str(
            yard.out / f"{number} {yard.one('goals')}.md"
        )  # a secret in the output's own name, too
        assert (
            yard.run("pack", *words, "-o", target, "--receipt", f"{yard.out}/r{number}.json") == 0
        )
    yard.run("pack", "--goal", goal)
    for words in (
        ("scan",),
        ("scan", "--excluded"),
        ("scan", "--json"),
        ("tree",),
        ("tree", "--json", "-L", "2"),
        ("secrets",),
        ("secrets", "--json"),
        ("secrets", "--check"),
        ("tokens",),
        ("tokens", "--json"),
        ("unpack", "--list", f"{yard.out}/0 {yard.one('goals')}.md"),
        ("unpack", "-d", f"{yard.out}/again", f"{yard.out}/2 {yard.one('goals')}.md"),
        ("receipt", "list"),
        ("receipt", "list", "--json"),
        ("receipt", "show"),
        ("receipt", "verify"),
        ("log", "--packs"),
        ("rank", "--goal", goal, "-k", "60", "--signals"),
        ("rank", "--goal", goal, "--json"),
        ("outline", "src/part0.py"),
        ("outline", "src/part1.py", "--json"),
        ("config",),
        ("config", "--json"),
        ("doctor",),
    ):
        yard.run(*words)
    assert b"REDACTED" in b"".join(yard.said.values())
    assert "\n".join(yard.leaks()) == ""


def test_documents_tasks_diffs_and_logs(yard: Yard) -> None:
    """Summaries, wire documents, task packs, diffs with removed lines, commit subjects, and
    comparing packs.
    """
    goals = [one.text for one in yard.planted.places["goals"]]
    task = {
        "id": "T-1",
        "title": f"Use {goals[0]}",
        "goal": f"src/part0.py fails with {' '.join(goals[1:])}",
        "acceptance": [{"id": "A1", "text": goals[1]}],
        "filesContract": {"allowed": ["src/**"], "forbidden": [f"{goals[2]}/**"]},
        "errorOutput": f"Traceback: {goals[3]}",
        "repairTickets": [
            {"id": "R1", "message": goals[4], "hint": goals[5], "file": f"{goals[7]}.py"}
        ],
        "issues": [
            {
                "message": goals[8],
                "raw": goals[9],
                "file": f"src/{goals[10]}.py",
                "signature": goals[11],
            }
        ],
        "previousState": {"diff": f"-{goals[6]}"},
    }
    (yard.base / "task.json").write_text(json.dumps(task))
    tasked = ("--task", str(yard.base / "task.json"))
    for number, words in enumerate(
        (
            ("--type", "summary"),
            ("--type", "summary", "-f", "json"),
            ("--type", "full", "-f", "json"),
            ("--type", "auto", "-f", "msgpack"),
            tasked,
            (*tasked, "-f", "json", "--tier", "cheap"),
            ("--since", "HEAD~1", "--diff", "--log", "5"),
            ("--since", "HEAD~1", "--diff", "--log", "5", "--max-tokens", "4000", "-f", "xml"),
        )
    ):
        assert yard.run("pack", *words) == 0
        files = ("-o", f"{yard.out}/{number} {goals[8]}", "--receipt", f"{yard.out}/{number}.json")
        assert yard.run("pack", *words, "--json", *files) == 0
    yard.run("pack", "--since", goals[7])
    yard.run("diff-packs", f"{yard.out}/6 {goals[8]}", f"{yard.out}/7 {goals[8]}")
    yard.run("diff-packs", f"{yard.out}/{goals[9]}", f"{yard.out}/7 {goals[8]}")
    yard.run("contract", f"{yard.out}/{goals[9]}")
    yard.run("receipt", "show")
    assert "\n".join(yard.leaks()) == ""
    diff = yard.said["12 pack --since HEAD~1 --diff --log 5"].decode()
    assert re.search(r"^-.*\[REDACTED:", diff, re.MULTILINE)
    assert re.search(r"Take out .*\[REDACTED:", diff)


def test_names_rules_and_errors(yard: Yard) -> None:
    """Secrets as arguments, in ignore rules, in settings that are wrong and in names that do not
    exist.
    """
    for number in range(4):
        places = ("ignore patterns", "file names", "folder names")
        ignored, named, folder = (yard.one(place, number) for place in places)
        for words in (
            ("why", f"{ignored}.txt"),
            ("why", f"{ignored}.txt", "--json"),
            ("why", f"names/{named}.py"),
            ("why", f"names/{named}.py", "--json"),
            ("why", f"../{named}"),
            ("pack", f"names/{named}.py", "--mode", "strict"),
            ("pack", f"{folder}/inside.py"),
            ("pack", f"missing-{named}"),
            ("pack", "--max-tokens", named),
            ("pack", "--tier", named),
            ("pack", f"--x={named}"),
            ("pack", "-o", f"{yard.out}/no/such/{named}"),
            ("pack", "--profile", named),
            ("pack", "--counter", named),
            ("pack", "--include", f"{folder}/**", "--exclude", f"*{named}*"),
            ("pack", folder),
            ("outline", f"names/{named}.py"),
            ("outline", f"{named}.py"),
            ("read", f"{named}.py"),
            ("receipt", "show", named),
            ("receipt", "verify", "--file", f"{yard.out}/{named}"),
            ("unpack", f"{yard.out}/{named}"),
            ("config", named),
            ("completion", named),
            (named,),
        ):
            yard.run(*words)
    for number, value in enumerate(
        ("format = '{}'", "depth = '{}'", "{} = 1", "include = ['{}'", "max_bytes = '{}'")
    ):
        for command in ("pack", "scan", "config", "secrets", "doctor"):
            (yard.planted.folder / "sutler.toml").write_text(
                value.format(yard.one("settings", number))
            )
            yard.before.add(str(yard.planted.folder / "sutler.toml"))
            yard.run(command)
            yard.run(command, "--json")
    (yard.planted.folder / "sutler.toml").write_text(
        f"exclude = ['{yard.one('settings', 5)}/**']\n"
    )
    for line in ("config", "config --json", "pack", "scan --excluded", "doctor"):
        yard.run(*line.split())
    assert "\n".join(yard.leaks()) == ""


def test_the_door(yard: Yard) -> None:
    """Reading, listing, searching, summaries, sessions and the ledger, also when a secret is the
    question.
    """
    files = [
        "src/part0.py",
        "long.js",
        "book.ipynb",
        "wide.txt",
        "old.txt",
        "encoded.txt",
        "data/cut0.txt",
        "log.txt",
    ]
    for name in files:
        for words in (
            ("read", name),
            ("read", f"{name}:1-3"),
            ("read", f"{name}:4-40"),
            ("read", name, "--excerpt", "90"),
            ("summarize", name),
        ):
            yard.run(*words)
    (yard.planted.folder / "log.txt").write_text(
        "\n".join(one.text for one in yard.planted.places["removed lines"])
    )
    yard.run("read", "log.txt")
    (yard.planted.folder / "log.txt").write_text("started\ndone\n")
    for line in range(90, 112, 3):
        yard.run("read", f"data/cut1.txt:{line}-{line + 2}")
    for number in range(4):
        yard.run("search", yard.one("bodies", number))
        yard.run(
            "search",
            "-E",
            f"{yard.one('goals', number)}|lorem",
            f"{yard.one('file names', number)}*",
        )
        yard.run("read", f"names/{yard.one('file names', number)}.py")
        yard.run("ls", f"names/{yard.one('file names', number)}*")
        yard.run(
            "read",
            "README.md",
            "--cursor",
            yard.one("goals", number),
            "--known",
            yard.one("goals", 5),
        )
    for more in (
        ("search", "BEGIN RSA"),
        ("search", "password", "--json"),
        ("ls", "-l"),
        ("ls", "--json"),
        ("session", "--open"),
        ("session", "--json"),
        ("log", "-n", "500"),
        ("log", "--json"),
        ("log", "--export", f"{yard.out}/ledger.jsonl"),
        ("verify",),
        ("stats",),
        ("approve",),
        ("log", "--rotate", "3"),
    ):
        yard.run(*more)
    assert "\n".join(yard.leaks()) == ""


def test_goals_and_models(yard: Yard) -> None:
    """What a model command gets on stdin or as an argument, and every word on the way to it."""
    got = yard.out / "got"
    model = program(
        yard.base / "bin", "model", f'echo "$@" >> {got}; cat >> {got}; echo \'{{"done": true}}\''
    )
    asks = '{"done": false, "files": ["src/part0.py", "log.txt", "wide.txt", "names"], "reason": "look"}'
    curious = program(yard.base / "bin", "curious", f"cat >> {got}; echo '{asks}'")
    quiet = program(yard.base / "bin", "quiet", "cat > /dev/null")
    fails = program(yard.base / "bin", "fails", "cat >&2; exit 7")
    goals, home = (
        yard.planted.places["goals"],
        yard.base / "home" / ".config" / "sutler" / "goals" / "mine",
    )
    home.mkdir(parents=True)
    script = f"cat src/part2.py; echo {goals[3].text}; git log --format=%B; git remote -v; git diff HEAD~1 HEAD"
    (home / "prompt.yaml").write_text(
        f"name: M\ncontext_scripts:\n  x: |\n    {script}\n"
        f"prompt: '{goals[4].text} {{{{ Context.x }}}} {{{{ Args.k }}}}'\n"
    )
    everything = ("-c", "src", "book.ipynb", "wide.txt", "old.txt", "names", "--mode", "ignore")
    bad = ("-c", f"missing-{goals[6].text}", f"names/{yard.one('file names')}.py")
    tail = ("--", "--k", goals[5].text)
    for words in (
        ("dry-run", "mine", *everything, *tail),
        ("dry-run", "mine", *everything, "--json", *tail),
        ("dry-run", "mine", "-o", f"{yard.out}/prompt.txt", *everything, *tail),
        ("dry-run", "mine", "--mode", "strict", *bad, *tail),
        ("dry-run", "mine", "--mode", "ignore", *bad, *tail),
        ("dry-run", f"no/{goals[6].text}"),
        ("dry-run", "mine", "--", f"--x={goals[7].text}", "1"),
        (
            "run",
            "mine",
            "--command",
            str(model),
            *everything,
            "--receipt",
            f"{yard.out}/sent.json",
            *tail,
        ),
        (
            "run",
            "mine",
            "--command",
            f"{model} {{{{prompt}}}}",
            "--receipt",
            f"{yard.out}/sent2.json",
            *tail,
        ),
        (
            "run",
            "mine",
            "--command",
            f"{quiet} --key {goals[8].text}",
            "--receipt",
            f"{yard.out}/sent3.json",
            *tail,
        ),
        ("run", "mine", "--command", str(fails), *tail),
        ("run", "mine", "--command", f"absent/{goals[9].text}", *tail),
        ("run", "mine", "--print", *tail),
        ("goals", "list"),
        ("goals", "show", "mine"),
        ("goals", "show", "mine", "--json"),
        ("goals", "show", goals[6].text),
        ("gather", f"why does {goals[10].text} fail", "--command", str(curious)),
        ("gather", f"why does {goals[10].text} fail", "--command", str(curious), "--json"),
        (
            "gather",
            f"why {goals[11].text}",
            "--command",
            str(curious),
            "-o",
            f"{yard.out}/gathered.txt",
        ),
        ("gather", f"why {goals[11].text}", "--command", str(fails)),
        ("gather", "why", "--root", f"{goals[11].text}", "--command", str(curious)),
        ("trust", "--list"),
    ):
        yard.run(*words)
    assert b"REDACTED" in got.read_bytes()
    assert "\n".join(yard.leaks()) == ""
