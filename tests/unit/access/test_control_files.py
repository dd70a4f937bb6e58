from __future__ import annotations

import random

import pytest

from sutler.access.control_files import ANYWHERE, FILES, TABLE
from sutler.access.policy import PolicyRule, Rules, decide
from sutler.paths import RelPath
from sutler.store.records import LOCAL, Call, Caller

EVERYTHING = Rules((PolicyRule("allow", "**"),), write="allow")
ISSUE = (
    ".cargo/config.toml .yarn/releases/yarn-4.cjs gradlew gradle/wrapper/gradle-wrapper.properties mvnw .mvn/jvm.config "
    "configure .eslintrc.js vite.config.ts jest.config.cjs webpack.config.js .gdbinit .bazelrc Taskfile.yml .vimrc x.pth "
    "karma.conf.js gradle/wrapper/gradle-wrapper.jar"
)


def written(path: str) -> str:
    call = Call(id="1", tool="write_file", effect="write", path=RelPath(path))
    return decide(call, EVERYTHING, Caller("c", "s", LOCAL)).verdict


@pytest.mark.parametrize("path", ISSUE.split())
def test_a_file_that_a_tool_runs_asks(path: str) -> None:
    assert written(path) == "ask"


@pytest.mark.parametrize("seed", range(40))
def test_names_generated_from_the_table_ask_in_every_spelling(seed: int) -> None:
    """A row matches at any depth, below a folder of that name, and in any case."""
    rng = random.Random(seed)
    spell = (str, str.upper, str.title, "a/b/{}".format, "{}/inside.txt".format, "{}.".format)
    for glob in (*ANYWHERE, *FILES):
        name = glob.replace("*", rng.choice(["x", "my-app", "release.2"]))
        spelt = rng.choice(spell)(name)
        folder = spelt.endswith("/inside.txt") and glob in FILES
        assert written(spelt) == ("allow" if folder else "ask"), (glob, name)


@pytest.mark.parametrize(
    "path",
    ["src/main.py", "src/config.ts", "lib/configure.py", "docs/makefile.md", "src/build/step.go",
     "app/service.ts", "test/gradle_test.py", "src/settings.py", "README.md", "src/config/app.ts"],
)  # fmt: skip
def test_ordinary_source_does_not_ask(path: str) -> None:
    assert written(path) == "allow"


def test_a_name_has_one_row_and_every_row_a_reason() -> None:
    assert len({*ANYWHERE, *FILES}) == len(ANYWHERE) + len(FILES)
    assert all(row.reason and row.globs for row in TABLE)
