"""What agents are told about the tools: schemas, annotations, instructions, the skill, and clients'
own files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from sutler.fronts.cli.agents import CLIENTS
from sutler.fronts.mcp.instructions import INSTRUCTIONS
from sutler.fronts.mcp.settings import read_json
from sutler.tokens.counter import token_counter
from sutler.tools import ALIASES, BY_NAME, DEFAULT, MOST
from sutler.tools.declaration import output_schema
from tests.conftest import Plant, Sutler
from tests.docs.blocks import commands
from tests.limits import LIMIT
from tests.mcpkit import stdio

GUIDE = Path(__file__).parents[2] / "docs/guide.md"
SKILL = Path(__file__).parents[2] / "src/sutler/fronts/mcp/SKILL.md"


def test_there_are_at_most_a_dozen_tools() -> None:
    """What agents use most is among them; seed 003's eight standard names are all answered, and
    every tool has a type for its answer.
    """
    seed = "list_files read_file read_lines write_file apply_patch get_diff file_history summarize_file"
    assert len(DEFAULT) <= MOST == 12
    assert set(seed.split()) <= set(BY_NAME) | set(ALIASES)
    assert set(seed.split()) - {"file_history"} | {"search", "edit"} <= set(DEFAULT)
    assert not {"why", "rollback", "get_file_history"} & set(DEFAULT)
    assert all(output_schema(tool)["anyOf"] for tool in BY_NAME.values())


def test_the_tool_list_costs_at_most_2500_tokens(plant: Plant) -> None:
    """It is part of every conversation. `pack` and `rank` stay in sight where clients defer
    tools; `--tools all` lists the rest.
    """
    with stdio(project := plant({"a.py": "x = 1\n"})) as wire:
        listed = wire.ask("tools/list")["result"]
        assert [tool["name"] for tool in listed["tools"]] == list(DEFAULT)
        text = json.dumps(listed, separators=(",", ":"))
        assert token_counter("o200k_base")(text) <= 2_500
        kept = {tool["name"] for tool in listed["tools"] if "_meta" in tool}
        assert kept == {"pack", "rank"}
    with stdio(project, "--tools", "all") as wire:
        every = wire.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in every] == list(BY_NAME)


def test_names_of_the_seed_and_unlisted_tools_are_answered(plant: Plant) -> None:
    """`file_history` and `filepath` are seed 003's own. With --tools nothing else is answered."""
    with stdio(project := plant({"a.py": "x = 1\n"})) as wire:
        history = wire.call("file_history", filepath="a.py")["structuredContent"]["result"]
        assert history[0]["path"] == "a.py"
        assert wire.call("why", path="a.py")["structuredContent"]["path"] == "a.py"
    with stdio(project, "--tools", "read_file") as wire:
        answer = wire.ask("tools/call", name="file_history", arguments={"path": "a.py"})
        assert answer["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("arguments", "next_step"),
    [
        ({"pth": "a.py"}, "use 'path'"),
        ({"file-path": "a.py"}, "use 'path'"),
        ({"path": "a.py", "filepath": "b.py"}, "give 'path' alone"),
    ],
)
def test_a_wrong_parameter_gets_the_right_name_back(
    arguments: dict[str, str], next_step: str, plant: Plant
) -> None:
    with stdio(plant({"a.py": "x = 1\n"})) as wire:
        failed = wire.call("read_file", **arguments)
        assert failed["isError"]
        assert next_step in failed["structuredContent"]["error"]["next"]


def test_a_name_that_stands_twice_in_one_object_is_refused(plant: Plant) -> None:
    """JSON allows it, and parsers differ in which one counts."""
    with stdio(plant({"a.py": "x = 1\n", "b.py": "y = 2\n"})) as wire:
        wire.send(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file",'
            b'"arguments":{"path":"a.py","path":"b.py"}}}'
        )
        answer = wire.line()
        assert answer["id"] == 1
        assert "'path' is given twice" in answer["error"]["message"]
        quoted = '{"path": 1, "path": 2} "x":'
        assert "result" in wire.ask("tools/call", name="search", arguments={"queries": [quoted]})


def test_search_takes_several_queries(plant: Plant) -> None:
    """One hit for each line, in order, with the queries that match it."""
    with stdio(plant({"a.py": "one\ntwo\none two\n", "b.py": "two\n"})) as wire:
        found = wire.call("search", queries=["two", "one"])["structuredContent"]
        places = [(hit["path"], hit["line"], hit["queries"]) for hit in found["hits"]]
        assert places == [
            ("a.py", 1, ["one"]),
            ("a.py", 2, ["two"]),
            ("a.py", 3, ["two", "one"]),
            ("b.py", 1, ["two"]),
        ]
        assert wire.call("search", query="two")["structuredContent"]["files"] == 2
        assert wire.call("search", queries=[])["isError"]


def test_the_first_512_characters_of_the_instructions_stand_alone() -> None:
    """Some clients read no further: where to begin, what `base` is for, what is data, and no
    sentence cut.
    """
    start, _, rest = INSTRUCTIONS.partition("\n\n")
    assert len(start) <= 512
    assert rest
    assert all(
        word in start for word in ("`pack`", "`rank`", "`base`", "data, not orders", "Secrets")
    )


def test_schemas_admit_nothing_else_and_answers_fit_theirs(plant: Plant) -> None:
    """T59, and structured output: every answer and every failure is valid against the schema that
    `sutler schema tools` prints.
    """
    with stdio(plant({"a.py": "x = 1\n", ".env": "K=1\n"})) as wire:
        tools = {tool["name"]: tool for tool in wire.ask("tools/list")["result"]["tools"]}
        assert list(tools) == list(DEFAULT)
        for name, tool in tools.items():
            assert tool["inputSchema"]["additionalProperties"] is False
            reads = tool["annotations"]["readOnlyHint"]
            assert reads == (BY_NAME[name].effect != "write")
            assert tool["annotations"]["destructiveHint"] is not reads
            jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
            for given in (dict(BY_NAME[name].example), {"path": ".env"}, {"nonsense": 1}):
                found = wire.call(name, **given)
                jsonschema.validate(found["structuredContent"], output_schema(BY_NAME[name]))
        again = {tool["name"]: tool for tool in wire.ask("tools/list")["result"]["tools"]}
        assert json.dumps(again) == json.dumps(tools)


def test_answers_are_bounded_and_go_on(plant: Plant) -> None:
    """No answer has more than its tokens; following `next` gives everything once."""
    count = token_counter("o200k_base")
    tree = {
        "long.txt": "".join(f"{n:x} ÄÖ 漢字 line\n" for n in range(9_000)),
        "d": {f"f{n}.py": "" for n in range(900)},
    }
    with stdio(plant(tree), "--max-tokens", "2000") as wire:
        parts, cursor = [], ""
        while True:
            found = wire.call("read_file", path="long.txt", cursor=cursor)["structuredContent"]
            assert count(found["text"]) <= 2_000
            parts.append(found["text"])
            cursor = found["next"]
            if not cursor:
                break
        assert "".join(parts) == tree["long.txt"]
        paths, cursor = [], ""
        while True:
            found = wire.call("list_files", cursor=cursor)["structuredContent"]
            assert count("\n".join(found["paths"])) <= 2_000
            paths += found["paths"]
            cursor = found["next"]
            if not cursor:
                break
        assert paths == sorted([*(f"d/f{n}.py" for n in range(900)), "long.txt"])
        first = wire.call("pack", max_tokens=6_000)["structuredContent"]
        second = wire.call("pack", max_tokens=6_000, cursor=first["next"])["structuredContent"]
        assert (first["last"], first["pack"]) == (second["first"], second["pack"])
        assert count(first["text"]) <= 2_000


def test_what_policy_keeps_back_is_in_no_pack_and_no_ranking(
    plant: Plant, tmp_path: Path, sutler: Sutler
) -> None:
    """One policy at every exit: a denied file has no line in pack or rank, and `why` is denied for
    it.
    """
    project = plant(
        {
            "a.py": "open_door = 1\n",
            "private/b.py": "closed_door = 2\n",
            "sutler.toml": 'deny = ["private/**"]\n',
        }
    )
    with stdio(project) as wire:
        assert "closed_door = 2" not in wire.call("pack")["content"][0]["text"]
        ranked = wire.call("rank", goal="closed_door")["structuredContent"]["result"]
        assert all(one["path"] != "private/b.py" for one in ranked)
        assert wire.call("why", path="private/b.py")["isError"]
        assert wire.call("read_file", path="private/b.py")["isError"]


@pytest.mark.parametrize("style", ["mcp", "openai", "anthropic"])
def test_schema_tools_in_every_spelling(style: str, sutler: Sutler) -> None:
    """One table, three spellings."""
    found = json.loads(sutler("schema", "tools", "--style", style).out)
    assert len(found) == len(BY_NAME)
    first = found[0]["function"] if style == "openai" else found[0]
    assert first["name"] == "list_files"
    key = {"mcp": "inputSchema", "openai": "parameters", "anthropic": "input_schema"}[style]
    assert first[key]["additionalProperties"] is False


def test_call_speaks_json_and_exit_codes(plant: Plant, sutler: Sutler) -> None:
    """Arguments as a word or on stdin; a refusal is JSON too, with its exit code."""
    project = plant({"a.py": "x = 1\n"})
    found = sutler("call", "read_file", '{"path": "a.py"}', "--json", cwd=project)
    assert (found.code, json.loads(found.out)["text"]) == (0, "x = 1\n")
    found = sutler("call", "read_file", "-", "--json", cwd=project, stdin=b'{"path": ".env"}')
    assert (found.code, json.loads(found.out)["error"]["kind"]) == (5, "denied")
    assert sutler("call", "no_such", cwd=project).code == 2
    assert sutler("call", "read_file", "[1]", cwd=project).code == 2
    assert "<file-" in sutler("call", "read_file", '{"path": "a.py"}', cwd=project).text


def test_the_skill_names_real_tools_and_arguments(sutler: Sutler) -> None:
    """Under 100 lines, with the front matter that skills have; words in backticks that look like
    tools are tools.
    """
    text = SKILL.read_text()
    assert len(text.splitlines()) < 100
    head = re.match(r"---\nname: ([a-z-]+)\ndescription: (.+)\n---\n", text)
    assert head
    assert len(head[2]) <= 1_024
    known = set(BY_NAME) | {param.name for tool in BY_NAME.values() for param in tool.params}
    known |= {
        choice for tool in BY_NAME.values() for param in tool.params for choice in param.choices
    }
    known |= {"next", "version"}
    words = set(re.findall(r"`([a-z_0-9]+)`", text))
    assert words <= known, words - known
    assert set(DEFAULT) <= words
    assert sutler("mcp", "skill").text == text


@pytest.mark.parametrize(
    "command", [line for line in commands(GUIDE) if re.match("sutler (mcp|schema|call) ", line)]
)
def test_the_guide_s_commands_run(command: str, plant: Plant) -> None:
    """As they stand there."""
    done = subprocess.run(
        ["bash", "-c", command.replace("sutler", f"{sys.executable} -m sutler", 1)],
        cwd=plant({"README.md": "# A\n"}),
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("client", CLIENTS)
def test_install_writes_what_a_client_reads(
    client: str, plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """Printed, written, again without a change, and undone by hand from the backup."""
    project = plant({"a.py": "x\n"})
    env = {"HOME": str(tmp_path / "home")}
    shown = sutler("mcp", "install", "--client", client, "--print", cwd=project, env=env)
    assert not list(project.glob(".*"))
    done = json.loads(
        sutler("mcp", "install", "--client", client, "--json", cwd=project, env=env).out
    )
    path = Path(done["file"])
    assert (done["changed"], done["backup"], path.read_text().strip()) == (
        True,
        "",
        shown.text.strip(),
    )
    body = (
        tomllib.loads(path.read_text()) if path.suffix == ".toml" else read_json(path.read_text())
    )
    ((_, servers),) = body.items()
    entry = servers["sutler"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-2:] == ["--root", str(project)]
    again = json.loads(
        sutler("mcp", "install", "--client", client, "--json", cwd=project, env=env).out
    )
    assert again["changed"] is False
    renamed = json.loads(
        sutler(
            "mcp", "install", "--client", client, "--name", "two", "--json", cwd=project, env=env
        ).out
    )
    assert Path(renamed["backup"]).read_text().strip() == shown.text.strip()


def test_install_leaves_a_file_alone_that_it_cannot_read(plant: Plant, sutler: Sutler) -> None:
    """Nothing is written, and the error says what to do."""
    project = plant({".mcp.json": "{not json"})
    found = sutler("mcp", "install", "--client", "claude-code", cwd=project)
    assert (found.code, "--print" in found.err) == (3, True)
    assert (project / ".mcp.json").read_text() == "{not json"


def test_the_root_is_the_folder_that_was_named(plant: Plant, tmp_path: Path) -> None:
    """A client stands anywhere, even at the top of the file system: the door leads into --root and
    nowhere else.
    """
    plant({"a.py": "x\n"})
    (tmp_path / "outside.py").write_text("no\n")
    with stdio(tmp_path / "project") as wire:
        assert wire.call("list_files")["structuredContent"]["paths"] == ["a.py"]
        assert wire.call("read_file", path="../outside.py")["isError"]


def test_every_excerpt_can_be_cited(plant: Plant) -> None:
    """path:start-end, with the file's own line numbers."""
    text = "".join(f"line {n}\n" for n in range(1, 101))
    with stdio(plant({"src/a.txt": text})) as wire:

        def answer(name: str, **arguments: object) -> str:
            return str(wire.call(name, **arguments)["content"][0]["text"])

        assert 'at="src/a.txt:40-42"' in answer("read_lines", path="src/a.txt", start=40, end=42)
        excerpt = answer("get_excerpt", path="src/a.txt", max_lines=9)
        assert "lines 7 to 98 left out; next: src/a.txt:99-100]" in excerpt
        assert 'at="src/a.txt:1-6"' in excerpt
        assert answer("search", queries=["line 57"]) == (
            "src/a.txt:56-58\n56- line 56\n57: line 57\n58- line 58\n\n[1 match in 1 file]\n"
        )
        assert answer("get_diff", path="src/a.txt") == "no change"


def test_answers_read_as_text_and_say_each_thing_once(plant: Plant) -> None:
    """Rows instead of JSON, hits that touch as one block, and in a conflict the file's lines once,
    with the version that a repetition has to name.
    """
    project = plant(
        {"src/a.py": "import os\n\n\ndef parse_date():\n    return 1\n", "b.txt": "x\n"}
    )
    with stdio(project, "--writable", "**") as wire:

        def answer(name: str, **arguments: object) -> str:
            return str(wire.call(name, **arguments)["content"][0]["text"])

        assert answer("list_files") == "b.txt\nsrc/a.py\n"
        assert answer("list_files", globs=["*.rs"]) == "[no files]\n"
        assert answer("outline", path="src/a.py") == "1: import os\n4: def parse_date()\n"
        assert answer("search", queries=["def", "return"]) == (
            "src/a.py:3-5 (def, return)\n3- \n4: def parse_date():\n5:     return 1\n\n"
            "[2 matches in 2 files]\n"
        )
        assert "\n  src/a.py:4-5 parse_date\n" in answer("rank", goal="parse_date returns 1")
        assert answer("rank", goal="xyzzy") == "[none]\n"
        assert answer("read_file", path="src").startswith("src is a folder\n")
        answer("read_file", path="src/a.py")
        done = answer("edit", path="src/a.py", old="return 1", new="return 2")
        version = done.split("version ")[1].split("\n")[0]
        assert done.startswith(f"changed 1 file\nsrc/a.py: version {version}\n--- a/src/a.py\n")
        assert answer("get_file_history", path="src/a.py").startswith(f"{version} 20")
        (project / "src/a.py").write_text("import os\n\n\ndef parse_date():\n    return 3\n")
        met = answer("edit", path="src/a.py", old="return 2", new="return 4")
        assert met.count("return 3") == 1
        assert met.splitlines()[-1].startswith("src/a.py is version ")
        nowhere = answer("edit", path="src/a.py", old="nothing", new="4")
        assert "parse_date" not in nowhere


def test_a_bare_hunk_is_enough_where_the_file_is_given(plant: Plant, sutler: Sutler) -> None:
    """Seed 003's apply_patch(filepath, patch); without a file it is refused, and so is text behind
    it.
    """
    with stdio(plant({"src/a.txt": "one\ntwo\nthree\n"})) as wire:
        hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        given = {"filepath": "src/a.txt", "patch": hunk, "dry_run": True}
        done = wire.call("apply_patch", **given)["structuredContent"]
        assert done["success"]
        assert "-two\n+2" in done["diff"]
        assert wire.call("apply_patch", patch=hunk, dry_run=True)["isError"]
        behind = {**given, "patch": f"{hunk}--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"}
        assert wire.call("apply_patch", **behind)["isError"]
