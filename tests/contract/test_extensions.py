"""A new output format, tool, secret format or ignore file is one module or one row.

Each test does what CONTRIBUTING says, in a copy of the package, and then uses the new entry through
the command line or the protocol. An incomplete entry fails when its table is imported.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Plant, grow
from tests.mcpkit import stdio

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src/sutler"
LIMIT = 60
LINES_OF_RECIPE = 12
"""Ten, and the fences of its example."""


def recipe(title: str) -> str:
    """The example under a heading of CONTRIBUTING.md."""
    page = (REPOSITORY / "CONTRIBUTING.md").read_text()
    section = page.partition(f"\n### {title}\n")[2].partition("\n##")[0]
    lines = [line for line in section.splitlines() if line]
    assert 0 < len(lines) <= LINES_OF_RECIPE, (title, len(lines))
    named = re.findall(r"`(src/sutler/[\w/.]+)`", section)
    assert all((REPOSITORY / path).exists() for path in named), named
    return section.partition("```")[2].partition("\n")[2].partition("```")[0]


class Copy:
    """A copy of the package that a contributor changes."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "sutler"
        self.env = {"PYTHONPATH": str(folder)}
        shutil.copytree(PACKAGE, self.package)

    def add(self, path: str, text: str) -> None:
        """A new module."""
        assert not (self.package / path).exists()
        (self.package / path).write_text(text)

    def change(self, path: str, old: str, new: str) -> None:
        """A line of a table with something more; `old` occurs once."""
        text = (self.package / path).read_text()
        assert text.count(old) == 1, (path, old)
        (self.package / path).write_text(text.replace(old, new))

    def python(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=cwd,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def sutler(self, *words: str, cwd: Path) -> str:
        """What a command of the changed program prints; it must succeed."""
        done = self.python("-m", "sutler", *words, cwd=cwd)
        assert done.returncode == 0, done
        return done.stdout

    def import_error(self, module: str) -> str:
        """The last line of what importing a module reports; it must fail."""
        done = self.python("-c", f"import {module}", cwd=self.package)
        assert done.returncode != 0
        return done.stderr.strip().rpartition("\n")[2]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "copy")


# output formats

_TAGS = (PACKAGE / "formats/xml.py").read_text()
BARE = (
    _TAGS.replace('NAME = "xml"', 'NAME = "bare"')
    .replace('ENDING = ".xml"', 'ENDING = ".bare"')
    .replace("tags around raw text, for models", "text between marks")
    .replace('<sutler-pack version="1">', "sutler pack, bare")
    .replace("import parser, xml", "import parser, bare")
    .replace("read_text(data, xml)", "read_text(data, bare)")
)


def add_format(copy: Copy, module: str) -> None:
    """One module and one row."""
    assert recipe("Format") == ""  # no example: the tests of this section do what it says
    copy.add("formats/bare.py", module)
    copy.change(
        "formats/__init__.py",
        "import claude, json, markdown, plain, xml",
        "import bare, claude, json, markdown, plain, xml",
    )
    copy.change(
        "formats/__init__.py",
        "table(markdown, xml, json, plain, claude)",
        "table(markdown, xml, json, plain, claude, bare)",
    )


def test_a_new_format_is_written_and_read_by_every_command(copy: Copy, plant: Plant) -> None:
    """pack, settings, --help, --split, unpack, verify and report find it in the table."""
    add_format(copy, BARE)
    folder = plant({"a.py": "x = 1\n", "b.md": "# B\n", "sutler.toml": 'format = "bare"\n'})
    assert "bare: text between marks" in " ".join(copy.sutler("pack", "--help", cwd=folder).split())
    assert "bare: text between marks" in " ".join(copy.sutler("pick", "--help", cwd=folder).split())
    text = copy.sutler("pack", cwd=folder)
    assert text.startswith("sutler pack, bare\n")
    assert copy.sutler("pack", "-f", "bare", "-o", "../whole.bare", cwd=folder) == ""
    assert (folder / "../whole.bare").read_text() == text
    assert copy.sutler("unpack", "../whole.bare", "-d", "../back", cwd=folder) == ""
    assert (folder / "../back/a.py").read_text() == "x = 1\n"
    copy.sutler("verify", "../whole.bare", cwd=folder)
    copy.sutler("report", "../whole.bare", "-o", "../page.html", cwd=folder)
    copy.sutler("pack", "--split", "200k", "-o", "../parts", cwd=folder)
    assert (folder / "../parts.1.bare").exists()


def test_a_document_has_no_form_in_a_new_format(copy: Copy, plant: Plant) -> None:
    """A summary is a document; only what can write one does."""
    add_format(copy, BARE)
    folder = plant({"a.py": "x = 1\n"})
    done = copy.python("-m", "sutler", "pack", "--type", "summary", "-f", "bare", cwd=folder)
    assert (done.returncode, "a summary has no bare form" in done.stderr) == (2, True), done


def test_an_incomplete_format_fails_at_import(copy: Copy) -> None:
    """The message names the module and what it lacks."""
    add_format(copy, BARE.replace("ENDING =", "_ENDING =").replace("def read(", "def _read("))
    assert copy.import_error("sutler.formats").startswith(
        "TypeError: sutler.formats.bare is not a complete output format: it lacks ENDING, read."
    )


# tools

LINES = '''"""Count the lines of a file."""

from msgspec import Struct

from sutler.access.door import Door
from sutler.store.records import Outcome
from sutler.paths import RelPath


class LineCount(Struct, frozen=True):
    path: str
    lines: int


def count_lines(door: Door, path: str) -> LineCount:
    def perform(where: RelPath) -> tuple[LineCount, Outcome]:
        page = door.pages.whole(where)
        return LineCount(path, page.text.count("\\n")), Outcome(after=page.digest)

    return door.enter("count_lines", path, (), perform)
'''
ROW = """    Tool(
        name="count_lines",
        effect="read",
        help="Count the lines of a file.",
        params=(_PATH,),
        returns="the path and the number of lines",
        answer=LineCount,
        example={"path": "README.md"},
        run=count_lines,
    ),
"""


def test_the_example_of_a_tool_answers(copy: Copy, plant: Plant) -> None:
    """One row, as CONTRIBUTING prints it."""
    add_row(copy, recipe("Tool"))
    folder = plant({"a.py": "x = 1\n" * 20})
    answer = copy.sutler("call", "read_head", '{"path": "a.py"}', cwd=folder)
    assert 'at="a.py:1-10"' in answer
    assert answer.count("x = 1\n") == 10


def add_row(copy: Copy, row: str) -> None:
    """Add a row at the end of the table."""
    copy.change("tools/table.py", "\n)\n\nBY_NAME", f"\n{row})\n\nBY_NAME")


def add_tool(copy: Copy, row: str) -> None:
    """One module and one row."""
    copy.add("tools/line_count.py", LINES)
    first = "from sutler.tools.declaration import"
    copy.change(
        "tools/table.py",
        first,
        f"from sutler.tools.line_count import LineCount, count_lines\n{first}",
    )
    add_row(copy, row)


def test_a_new_tool_answers_on_the_command_line_and_in_the_manual(copy: Copy, plant: Plant) -> None:
    """`call`, `schema tools` and the generated page know it; the ledger records it by its name."""
    add_tool(copy, ROW)
    folder = plant({"a.py": "x = 1\ny = 2\n"})
    answer = copy.sutler("call", "count_lines", '{"path": "a.py"}', cwd=folder)
    assert json.loads(answer) == {"path": "a.py", "lines": 2}
    tools = {tool["name"]: tool for tool in json.loads(copy.sutler("schema", "tools", cwd=folder))}
    assert tools["count_lines"]["inputSchema"]["required"] == ["path"]
    assert "LineCount" in tools["count_lines"]["outputSchema"]["$defs"]
    assert "count_lines" in copy.sutler("log", cwd=folder)
    manual = copy.python("-m", "docs.make_file_access", cwd=REPOSITORY)
    assert "### `count_lines`" in manual.stdout


def test_a_new_tool_is_offered_to_agents(copy: Copy, plant: Plant) -> None:
    """By name with --tools; the standard set has no place left."""
    add_tool(copy, ROW)
    folder = plant({"a.py": "x = 1\n"})
    with stdio(folder, "--tools", "count_lines,read_file", env=copy.env) as wire:
        names = [tool["name"] for tool in wire.ask("tools/list")["result"]["tools"]]
        assert names == ["read_file", "count_lines"]
        assert wire.call("count_lines", path="a.py")["structuredContent"] == {
            "path": "a.py",
            "lines": 1,
        }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("        answer=LineCount,\n", "", "Missing required argument 'answer'"),
        ('{"path": "README.md"}', "{}", "tool count_lines: its example is not a valid call"),
        (
            'help="Count the lines of a file."',
            'help=""',
            "tool count_lines: `help` and `returns` are empty",
        ),
        (
            "    ),\n",
            "        standard=True,\n    ),\n",
            "13 tools are `standard`; a server offers at most 12",
        ),
    ],
    ids=["no answer type", "bad example", "no help", "a thirteenth standard tool"],
)
def test_an_incomplete_tool_fails_at_import(copy: Copy, old: str, new: str, message: str) -> None:
    add_tool(copy, ROW.replace(old, new))
    error = copy.import_error("sutler.tools")
    assert error.startswith("TypeError: ")
    assert message in error


# secret formats

SECRETS = next(PACKAGE.rglob("formats.tsv")).relative_to(PACKAGE)
TOKEN = "acmepat" + "q7Zr2Lk9vXw4Tn8bYc3mHd5P"


def add_secret_format(copy: Copy, row: str) -> int:
    """One row; returns its line."""
    table = copy.package / SECRETS
    table.write_text(f"{table.read_text().rstrip()}\n{row}\n")
    return len(table.read_text().splitlines())


@pytest.mark.parametrize("lines", [1, 20_000], ids=["small", "large"])
def test_a_new_secret_format_is_redacted(copy: Copy, plant: Plant, lines: int) -> None:
    """The compiled probes do not know the format, so they are not used until they are rebuilt."""
    add_secret_format(copy, recipe("Secret format").strip())
    folder = plant({"a.txt": "nothing to see here\n" * lines + f"see {TOKEN} there\n"})
    assert "acme-token" in copy.sutler("secrets", cwd=folder)
    assert TOKEN not in copy.sutler("pack", "--no-budget", cwd=folder)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("acme-token\tacmepat", "column 3 (pattern): the row has 2 columns and not 3"),
        ("acme-token\t\tacmepat", "column 2 (words): there is no word"),
        ("acme-token\tacmepat\tacmepat{B65}", "column 3 (pattern): {B65} is none of"),
        ("acme token\tacmepat\tacmepat{B62}", "column 1 (id): 'acme token' is not lower case"),
    ],
    ids=["no pattern", "no words", "unknown class", "bad id"],
)
def test_an_incomplete_secret_format_fails_at_import(copy: Copy, row: str, message: str) -> None:
    """The message names the table's line and column."""
    line = add_secret_format(copy, row)
    error = copy.import_error(".".join(("sutler", *SECRETS.parent.parts, "format_table")))
    assert error.startswith(f"ValueError: formats.tsv, line {line}, {message}")


# ignore files

IGNORE = "scan/ignore.py"
FIRST = '    IgnoreFile(".sutlerignore", denies=False),\n'
LAST = '    IgnoreFile(".repomixignore", denies=True),\n'


@pytest.mark.parametrize(
    ("before", "denies", "reason"),
    [(FIRST, "False", "ignored"), (LAST, "True", "ai denied")],
    ids=["selection", "denial"],
)
def test_a_new_ignore_file_is_honoured_and_protected(
    copy: Copy, plant: Plant, before: str, denies: str, reason: str
) -> None:
    """The scan follows its rules, and an agent that may write everything cannot empty it."""
    copy.change(IGNORE, before, before + recipe("Ignore file").replace("True", denies))
    grow(Path(os.environ["HOME"]) / ".config/sutler", {"config.toml": 'writable = ["**"]\n'})
    folder = plant({".clineignore": "private.txt\n", "private.txt": "mine\n", "open.txt": "-\n"})
    why = copy.sutler("why", "private.txt", cwd=folder)
    assert ".clineignore:1: private.txt" in why
    assert reason in why.replace("_", " ")
    assert "mine" not in copy.sutler("pack", cwd=folder)
    call = json.dumps({"path": ".clineignore", "content": "", "base": "any"})
    done = copy.python("-m", "sutler", "call", "write_file", call, cwd=folder)
    assert done.returncode == 5
    assert "control file: .clineignore" in done.stderr + done.stdout
    assert (folder / ".clineignore").read_text() == "private.txt\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('IgnoreFile(".clineignore")', "missing 1 required positional argument: 'denies'"),
        ('IgnoreFile(".cursorignore", denies=True)', "the name has two rows"),
        ('IgnoreFile("clineignore", denies=True)', "not a file name that starts with a dot"),
        ('IgnoreFile(".clineignore", denies=False)', "move it before the rows with `denies=True`"),
    ],
    ids=["no meaning", "twice", "not a dot file", "selection after denials"],
)
def test_an_incomplete_ignore_file_fails_at_import(copy: Copy, row: str, message: str) -> None:
    copy.change(IGNORE, LAST, f"{LAST}    {row},\n")
    error = copy.import_error("sutler.scan.ignore")
    assert error.startswith("TypeError: ")
    assert message in error
