"""Every door decides as one plain reference does, and `why` answers as the doors decide.

10,000 cases of path, door and configuration on real trees with a real git index; SUTLER_FUZZ=10
gives ten times as many.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

import sutler.config as config
from sutler.access.admission import Admission
from sutler.access.policy import PolicyRule, Rules
from sutler.config import Settings
from sutler.pack.project import Project
from sutler.pack.why import decide, for_agent, verdict
from sutler.paths import RelPath
from sutler.scan.judge import DOORS, DoorName, rules_for
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry
from sutler.scan.walk import scan
from sutler.store.records import CLOUD, Caller
from tests.conftest import FUZZ
from tests.properties.decision_reference import World, reasons

FOLDERS = [
    "src", "lib", "dist", "vendor", "logs", "node_modules", "secrets", ".ssh", ".hid", "__pycache__",
]  # fmt: skip
FILES = [
    "a.py", "b.txt", "a.js", "README.md", "secrets.yaml", "api_token.go", "credentials.md", "my_secret.txt", ".env",
    "key.pem", "x.sql", "app.min.js", "package-lock.json", "data.bin", ".npmrc", "terraform.tfvars", "note.secret",
]  # fmt: skip
FLAGS = ["default_excludes", "hidden", "strict_patterns", "redact"]
TREES, PATHS = 75, 24


def _path(rng: random.Random) -> str:
    return "/".join([*rng.choices(FOLDERS, k=rng.choice((0, 1, 1, 2, 2, 3))), rng.choice(FILES)])


def _globs(rng: random.Random, paths: list[str]) -> tuple[str, ...]:
    """A path, a folder with `/**`, or a bare name."""
    globs = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        path = rng.choice(paths)
        folder, _, name = path.rpartition("/")
        globs.append(rng.choice((path, f"{folder or 'lib'}/**", name)))
    return tuple(globs)


def _world(rng: random.Random, paths: list[str]) -> World:
    def some(names: list[str], most: int) -> frozenset[str]:
        return frozenset(rng.sample(names, rng.randint(0, most)))

    tracked = frozenset(path for path in paths if rng.random() < 0.6)
    return World(
        some([*FOLDERS, *FILES], 3), some(["lib", "a.py", "b.txt", "x.sql"], 1),
        some(["src", "a.py", "README.md", "api_token.go"], 1), tracked,
        _globs(rng, paths), _globs(rng, paths), frozenset(flag for flag in FLAGS if rng.random() < 0.7),
    )  # fmt: skip


def _plant(top: Path, world: World, paths: list[str]) -> None:
    for path in paths:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("x\n")
    files = {
        ".gitignore": world.git_ignored,
        ".sutlerignore": world.own_ignored,
        ".cursorignore": world.denied_to_ai,
    }
    for name, lines in files.items():
        (top / name).write_text("".join(f"{line}\n" for line in sorted(lines)))
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "init", "-q"], cwd=top, check=True, env=env)
    tracked = "\0".join(sorted(world.tracked))
    adding = ["git", "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"]
    if tracked:
        subprocess.run(adding, cwd=top, check=True, env=env, input=tracked.encode())


def _settings(world: World) -> Settings:
    table: dict[str, object] = {flag: flag in world.flags for flag in FLAGS}
    return config.resolve([config.layer_from_table({**table, "allow": world.allow}, "test")])


@pytest.mark.parametrize("seed", range(int(TREES * FUZZ)))
def test_every_door_decides_as_the_reference(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    paths = sorted({_path(rng) for _ in range(PATHS)})
    world = _world(rng, paths)
    _plant(tmp_path, world, paths)
    settings = _settings(world)
    with Root(str(tmp_path)) as root:
        for door in DOORS:
            for path in paths:
                _check(root, settings, world, door, path)
        _check_agent(root, settings, world, paths)
        for door in DOORS:
            whole = {entry.path for entry in scan(root, rules_for(settings, door)).entries}
            wanted = {
                path for path in paths if not reasons(_without_policy(world), path, door, False)
            }
            assert whole & set(paths) == wanted, (seed, door, world)


def _without_policy(world: World) -> World:
    return world._replace(deny=())


def _check(root: Root, settings: Settings, world: World, door: DoorName, path: str) -> None:
    for named in (False, True) if door in ("pack", "goal") else (False,):
        wanted = reasons(_without_policy(world), path, door, named)
        decision = decide(root, settings, door, RelPath(path), named=named)
        if isinstance(decision, Excluded):
            assert decision.reason in wanted, (door, path, named, decision, wanted, world)
        else:
            assert isinstance(decision, FileEntry)
            assert not wanted, (door, path, named, wanted, world)
        if door in ("goal", "gather") and not named:
            answer = verdict(Project(cwd=root.host_path), root, RelPath(path), door)
            assert (answer.state == "in") == (not reasons(_defaults(world), path, door, False))


def _defaults(world: World) -> World:
    """The world under default settings, which `why` reads for a project without a config file."""
    return world._replace(allow=(), deny=(), flags=frozenset(FLAGS) - {"strict_patterns"})


def _check_agent(root: Root, settings: Settings, world: World, paths: list[str]) -> None:
    scan_rules = rules_for(settings, "agent")
    denied = tuple(PolicyRule("deny", glob) for glob in world.deny)
    policy = Rules(rules=denied, allow=scan_rules.allow, strict_patterns=scan_rules.strict_patterns)
    caller = Caller("c", "s", CLOUD)
    admission = Admission(root, rules_for(settings), lambda: policy, lambda: caller)
    for path in paths:
        wanted = reasons(world, path, "agent", False)
        state = "in" if not wanted else "ask" if wanted == {"ignored"} else "out"
        answer = for_agent(admission, RelPath(path))
        assert answer.state == state, (path, answer, wanted, world)
        if wanted:
            assert answer.reason.replace(" ", "_") in wanted, (path, answer, wanted)
