"""Snapshots, full, summary and task packs, contracts, schemas and pack diffs, through the front
door.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sutler as api
from sutler.fronts.cli.main import run
from sutler.fronts.cli.setup import schemas
from tests.conftest import Plant, Ran, Sutler, Tree
from tests.limits import LIMIT

Capture = pytest.CaptureFixture[bytes]
KEY = "AKIAQ3EGRYZ5QJ7MTN4W"
SHOP: Tree = {
    "package.json": '{"name": "shop", "description": "Sells.", "main": "src/index.js",'
    ' "dependencies": {"express": "4"}, "devDependencies": {"jest": "29"}}\n',
    "src/index.js": "const app = require('express')();\napp.get('/api/items', list);\n",
    "src/api/auth.js": f"exports.login = () => {{}};\nconst awsKey = '{KEY}';\n",
    "README.md": "# Shop\n\nA shop for everyone.\n",
    "test/app.test.js": "test('x', () => {});\n",
    ".env": "TOKEN=1\n",
    "node_modules/left/index.js": "x\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0",
}
TASK = """\
id: T1
title: Repair the login
goal: Make the login work again.
acceptance:
  - id: a1
    text: The tests pass.
filesContract:
  allowed: ["src/**"]
  forbidden: ["src/gone/**"]
  allowNewFiles: false
context:
  files: [src/index.js]
  docs: [README.md]
issues:
  - {kind: test, message: "fails at src/api/auth.js:1", raw: "AssertionError: boom"}
previousState: {iteration: 2, diffSummary: "src/index.js | +1 -1"}
"""


@pytest.fixture
def sutler(
    sutler: Sutler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture
) -> Sutler:
    """The same front door without a new process each time; a run that needs its own environment
    gets one.
    """

    def inside(
        *words: str,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        if env is not None:
            return sutler(*words, cwd=cwd, stdin=stdin, env=env)
        capfdbinary.readouterr()
        with monkeypatch.context() as patch, io.TextIOWrapper(io.BytesIO(stdin)) as given:
            patch.chdir(cwd or tmp_path)
            patch.setattr(sys, "stdin", given)
            code = run(words)
        found = capfdbinary.readouterr()
        return Ran(code, found.out, found.err.decode())

    return inside


def ok(ran: Ran) -> Any:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def valid(name: str, document: Any) -> None:
    jsonschema.Draft202012Validator(schemas()[name]()).validate(document)


# the snapshot


def test_scan_json_is_the_project_snapshot(sutler: Sutler, plant: Plant) -> None:
    """Tree, totals, metadata, exclusions and statistics, valid by the published schema; no path of
    the machine.
    """
    folder = plant(SHOP)
    ran = sutler("scan", "--json", cwd=folder)
    found = ok(ran)
    valid("project-snapshot", found)
    assert found["total_files"] == 5
    assert found["total_size_bytes"] == sum(one["size_bytes"] for one in found["files"])
    assert found["directory_tree"]["children"][-1]["name"] == "test"
    reasons = {one["path"]: one["reason"] for one in found["excluded_files"]}
    assert reasons == {
        ".env": "credentials",
        "logo.png": "binary",
        "node_modules/": "dependency_dir",
    }
    assert found["exclusion_stats"] == {
        "by_pattern": 1,
        "by_size": 0,
        "by_binary": 1,
        "by_credentials": 1,
    }
    assert str(folder).encode() not in ran.out
    assert found["scan_timestamp"].endswith("Z")


def test_plain_scan_still_lists_files(sutler: Sutler, plant: Plant) -> None:
    """Without --json a scan is a list for people."""
    assert "src/index.js" in sutler("scan", cwd=plant(SHOP)).text


def test_a_tree_too_deep_for_json_is_refused_with_a_way_out(sutler: Sutler, plant: Plant) -> None:
    """Folders nested beyond what one document can carry: a refusal that names --depth, not a
    traceback.
    """
    folder = plant({"a.py": "x\n"})
    here = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(1_500):
            os.mkdir("d")
            os.chdir("d")
        Path("f.py").write_text("x\n")
    finally:
        os.chdir(here)
    try:
        ran = sutler("scan", "--json", cwd=folder)
        assert (ran.code, "--depth" in ran.err, "Traceback" in ran.err) == (3, True, False)
        assert sutler("scan", "--json", "--depth", "5", cwd=folder).code == 0
    finally:  # shutil, and so pytest, cannot remove what is nested this deep
        subprocess.run(["rm", "-rf", str(folder / "d")], check=True, timeout=LIMIT)


# full and summary packs


@pytest.mark.parametrize(("kind", "name"), [("full", "full-pack"), ("summary", "summary-pack")])
def test_a_typed_json_pack_is_the_wire_document(
    sutler: Sutler, plant: Plant, kind: str, name: str
) -> None:
    """--type with json gives seed 004's shape, valid by its schema; msgpack gives the very same
    document.
    """
    folder = plant(SHOP)
    ran = sutler("pack", "--type", kind, "-f", "json", cwd=folder)
    found = ok(ran)
    valid(name, found)
    assert found["type"] == found["metadata"]["pack_type"] == kind
    assert found["manifest"]["project_name"] == "shop"
    assert found["manifest"]["test_framework"] == "jest"
    packed = sutler("pack", "--type", kind, "-f", "msgpack", cwd=folder)
    assert api.deserialize(packed.out) == api.deserialize(ran.out)


def test_a_full_pack_shows_every_text_and_nothing_secret(sutler: Sutler, plant: Plant) -> None:
    """The contents are the five texts, key files repeat some of them; the credential file is in the
    index as excluded.
    """
    found = ok(sutler("pack", "--type", "full", "-f", "json", cwd=plant(SHOP)))
    texts = {item["path"]: item["content"] for item in found["contents"]}
    assert found["key_files"]
    assert all(texts[key["path"]] == key["content"] for key in found["key_files"])
    assert sorted(texts) == [
        "README.md",
        "package.json",
        "src/api/auth.js",
        "src/index.js",
        "test/app.test.js",
    ]
    row = next(row for row in found["file_index"] if row["path"] == ".env")
    assert (row["included"], row["exclusion_reason"]) == (False, "credentials")


def test_same_tree_same_bytes(sutler: Sutler, plant: Plant) -> None:
    """Two runs of each document, with other hash seeds, give the same bytes."""
    folder = plant({**SHOP, "task.yaml": TASK})
    for words in (
        ["--type", "full", "-f", "json"],
        ["--type", "summary"],
        ["--task", "task.yaml", "-f", "msgpack"],
    ):
        one, two = (
            sutler("pack", *words, cwd=folder, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")
        )
        assert one.out == two.out != b""


def test_untyped_json_stays_the_pack_that_unpack_reads(
    sutler: Sutler, plant: Plant, tmp_path: Path
) -> None:
    """Without --type, json is the rendered pack."""
    sutler("pack", "-f", "json", "-o", str(tmp_path / "p.json"), cwd=plant(SHOP))
    assert sutler("unpack", "--list", str(tmp_path / "p.json")).code == 0


def test_a_summary_reads_as_markdown_inside_the_budget(sutler: Sutler, plant: Plant) -> None:
    """Facts for people and models; under a small budget the last entries give way and the text says
    so.
    """
    folder = plant({**SHOP, **{f"lib/part{n}.js": f"exports.f{n} = 1;\n" for n in range(60)}})
    whole = sutler("pack", "--type", "summary", "--goal", "Explain it", cwd=folder).text
    assert "# shop: summary" in whole
    assert "GET /api/items" in whole
    assert whole.endswith("## Goal\n\nExplain it\n")
    short = sutler("pack", "--type", "summary", "--max-bytes", "900", cwd=folder).out
    assert len(short) <= 900
    assert b"left out for the budget" in short
    assert sutler("pack", "--type", "summary", "--max-bytes", "20", cwd=folder).code == 3


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ([], "full", "within every limit"),
        (["--max-files", "2"], "summary", "exceed max_files of 2"),
        (["--max-bytes", "50"], "summary", "exceed max_content_bytes of 50"),
        (["--provider-limit", "tiny=10"], "summary", "the limit for provider tiny of 10"),
    ],
)
def test_auto_records_why(
    sutler: Sutler, plant: Plant, tmp_path: Path, words: list[str], kind: str, reason: str
) -> None:
    """--type auto is the PackSelector; its reason is in the receipt, which is valid by its
    schema.
    """
    receipt = tmp_path / "receipt.json"
    ran = sutler(
        "pack", "--type", "auto", "-f", "json", "--receipt", str(receipt), *words, cwd=plant(SHOP)
    )
    assert ok(ran)["type"] == kind
    found = json.loads(receipt.read_text())
    assert found["context_pack_info"]["type"] == kind
    assert reason in found["context_pack_info"]["selection_reason"]
    valid("receipt", found)
    valid("context-pack-info", found["context_pack_info"])


def test_auto_in_markdown_is_rendered_or_summarised(sutler: Sutler, plant: Plant) -> None:
    """In a rendered format, auto gives the budgeted pack or the summary in Markdown."""
    folder = plant(SHOP)
    assert sutler("pack", "--type", "auto", cwd=folder).text.startswith("# sutler pack")
    assert sutler("pack", "--type", "auto", "--max-files", "1", cwd=folder).text.startswith(
        "# shop: summary"
    )


def test_type_is_a_setting(sutler: Sutler, plant: Plant) -> None:
    """A project may say that its packs are summaries; a flag outranks it."""
    folder = plant({**SHOP, "sutler.toml": 'type = "summary"\n'})
    assert sutler("pack", cwd=folder).text.startswith("# shop: summary")
    assert sutler("pack", "--type", "full", cwd=folder).text.startswith("# sutler pack")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--type", "summary", "-f", "xml"], "no xml form"),
        (["-f", "prompt"], "needs a task"),
        (["--type", "full", "-f", "json", "--goal", "x"], "no place for a goal"),
        (["--type", "full", "-f", "json", "--max-tokens", "9"], "cannot be limited in tokens"),
        (["--type", "summary", "--split", "10k", "-o", "x"], "--split is for rendered packs"),
        (["--type", "auto", "--provider-limit", "x"], "not a provider's limit"),
        (["--type", "summary", "--diff"], "for rendered packs"),
        (["--type", "half"], "invalid choice"),
        (["--tier", "huge"], "invalid choice"),
    ],
)
def test_what_does_not_go_together_is_said(
    sutler: Sutler, plant: Plant, words: list[str], what: str
) -> None:
    """A usage error, exit 2, that names the conflict."""
    ran = sutler("pack", *words, cwd=plant({"a.py": "x\n"}))
    assert (ran.code, what in ran.err) == (2, True), ran.err


def test_the_report_of_a_document_is_valid(sutler: Sutler, plant: Plant) -> None:
    """--json answers with the report, by its schema."""
    found = ok(sutler("pack", "--type", "summary", "--json", cwd=plant(SHOP)))
    valid("report", found["report"])
    assert found["report"]["type"] == "summary"


@pytest.mark.parametrize(
    "words", [["--type", "full", "-f", "json"], ["--task", "-", "-f", "json"]], ids=["full", "task"]
)
def test_hidden_characters_and_hard_links_are_reported(
    sutler: Sutler, plant: Plant, tmp_path: Path, words: list[str]
) -> None:
    """What was made visible and which file has another name: in the receipt of a document as of any
    pack.
    """
    folder = plant({"a.py": "a = 1\u200b\n"})
    os.link(folder / "a.py", tmp_path / "elsewhere.py")
    receipt = tmp_path / "r.json"
    task = b"id: T\ngoal: g\ncontext: {files: [a.py]}\n"
    ran = sutler("pack", *words, "--receipt", str(receipt), cwd=folder, stdin=task)
    assert b"\xe2\x80\x8b" not in ran.out
    assert sum(json.loads(receipt.read_text())["hidden"].values()) == 1
    assert "1 hard links" in ran.err


# task packs


def test_a_task_pack_is_seed_002s_shape(sutler: Sutler, plant: Plant) -> None:
    """camelCase, valid by its schema; context first, issue files high, documents apart."""
    folder = plant({**SHOP, "task.yaml": TASK})
    found = ok(sutler("pack", "--task", "task.yaml", "-f", "json", cwd=folder))
    valid("context-pack", found)
    assert found["task"]["acceptance"] == [
        {"id": "a1", "text": "The tests pass.", "type": "behavior"}
    ]
    assert found["constraints"] == {
        "allowedGlobs": ["src/**"],
        "forbiddenGlobs": ["src/gone/**"],
        "allowNewFiles": False,
    }
    assert [(one["path"], one["priority"]) for one in found["files"]] == [
        ("src/index.js", "medium"),
        ("src/api/auth.js", "high"),
    ]
    assert [one["path"] for one in found["docs"]] == ["README.md"]
    assert found["previousState"]["iteration"] == 2
    packed = sutler("pack", "--task", "task.yaml", "-f", "msgpack", cwd=folder).out
    assert api.deserialize(packed) == api.deserialize(json.dumps(found))


def test_a_task_from_stdin_in_json_gives_the_prompt(sutler: Sutler, plant: Plant) -> None:
    """The default form is the prompt, with the contract's sentences; its length is totalChars."""
    task = {"id": "T", "goal": "g", "filesContract": {"allowed": ["src/**"], "forbidden": ["*.md"]}}
    ran = sutler("pack", "--task", "-", cwd=plant(SHOP), stdin=json.dumps(task).encode())
    assert "You may only modify files matching: src/**" in ran.text
    assert "Do NOT modify files matching: *.md" in ran.text
    found = ok(
        sutler(
            "pack", "--task", "-", "-f", "json", cwd=plant(SHOP), stdin=json.dumps(task).encode()
        )
    )
    assert found["totalChars"] == len(ran.text)


def test_a_task_pack_in_markdown_is_context_md(sutler: Sutler, plant: Plant) -> None:
    """For a person: the task, its constraints, and files by name."""
    text = sutler(
        "pack", "--task", "task.yaml", "-f", "markdown", cwd=plant({**SHOP, "task.yaml": TASK})
    ).text
    assert "# Context for T1" in text
    assert "- src/index.js (full), medium priority: task.context.files" in text
    assert "require('express')" not in text


def test_the_tier_bounds_the_prompt_and_says_so(sutler: Sutler, plant: Plant) -> None:
    """cheap is 25,000 characters; what is cut is marked; all error output stays."""
    big = {f"src/m{n}.js": f"// module {n}\n" + "x = 1;\n" * 2_000 for n in range(10)}
    folder = plant({**SHOP, **big, "task.yaml": TASK})
    text = sutler("pack", "--task", "task.yaml", "--tier", "cheap", cwd=folder).text
    assert len(text) <= 25_000
    assert "[context truncated:" in text
    assert "AssertionError: boom" in text
    longer = sutler("pack", "--task", "task.yaml", "--tier", "strong", cwd=folder).text
    assert 60_000 < len(longer) <= 120_000


def test_what_must_be_included_is_never_cut(sutler: Sutler, plant: Plant) -> None:
    """A goal beyond the limit refuses, exit 3."""
    task = json.dumps({"id": "T", "goal": "word " * 6_000})
    ran = sutler("pack", "--task", "-", "--tier", "cheap", cwd=plant(SHOP), stdin=task.encode())
    assert (ran.code, "never cut" in ran.err, ran.out) == (3, True, b"")


@pytest.mark.parametrize(
    ("task", "what"),
    [
        ("id: [1", "cannot be read"),
        ("- a\n- b\n", "a mapping is expected"),
        ("goal: x\n", "task.id is missing"),
        ("id: T\n", "task.goal is missing"),
        ("id: T\ngoal: g\nmodelTier: giant\n", "a tier is one of strong, default, cheap"),
        ("id: T\ngoal: g\nfilesContract: 7\n", "a mapping is expected"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x]\n"
            + "".join(
                f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n"
                for n in range(8)
            ),
            "expands to more than",
        ),
        ("id: " + "x" * 5_000_000, "characters"),
    ],
    ids=["syntax", "list", "no id", "no goal", "tier", "contract", "yaml bomb", "huge"],
)
def test_a_malformed_task_is_a_clear_error(
    sutler: Sutler, plant: Plant, task: str, what: str
) -> None:
    """Exit 2, the field or the limit named, nothing on stdout."""
    ran = sutler("pack", "--task", "-", cwd=plant({"a.py": "x\n"}), stdin=task.encode())
    assert (ran.code, ran.out, what in ran.err, "Traceback" in ran.err) == (2, b"", True, False), (
        ran.err
    )


def test_missing_files_and_idle_globs_are_on_record(sutler: Sutler, plant: Plant) -> None:
    """A missing context file, a denied one and a glob that matches nothing: named in the pack;
    strict mode refuses.
    """
    task = "id: T\ngoal: g\ncontext: {files: [gone.js, .env, ../up.js]}\nfilesContract: {allowed: ['lib/**']}\n"
    folder = plant(SHOP)
    ran = sutler("pack", "--task", "-", cwd=folder, stdin=task.encode())
    assert "gone.js: missing" in ran.text
    assert ".env: denied, credentials" in ran.text
    assert "../up.js: denied" in ran.text
    assert "lib/**: missing, allowed contract glob matches no file" in ran.text
    assert "TOKEN=1" not in ran.text
    assert (
        sutler("pack", "--task", "-", "--mode", "strict", cwd=folder, stdin=task.encode()).code == 3
    )


def test_a_file_that_the_task_names_bypasses_ignore_rules(sutler: Sutler, plant: Plant) -> None:
    """As a file named on the command line does; never a denial."""
    folder = plant(
        {
            **SHOP,
            ".git": {"HEAD": "ref: refs/heads/main\n", "objects": {}, "refs": {}},
            ".gitignore": "gen/\n",
        }
    )
    (folder / "gen").mkdir()
    (folder / "gen/types.js").write_text("exports.generated = 1;\n")
    task = "id: T\ngoal: g\ncontext: {files: [gen/types.js]}\n"
    assert (
        "exports.generated" in sutler("pack", "--task", "-", cwd=folder, stdin=task.encode()).text
    )


def test_windows_spellings_in_a_task_mean_the_same_files(sutler: Sutler, plant: Plant) -> None:
    """Backslashes and drive letters give the same pack, byte for byte."""
    folder = plant(SHOP)
    posix = "id: T\ngoal: g\ncontext: {files: ['src/api/auth.js']}\nfilesContract: {allowed: ['src/**']}\n"
    windows = posix.replace("src/api/auth.js", "src\\api\\auth.js")
    one, two = (
        sutler("pack", "--task", "-", cwd=folder, stdin=text.encode()).out
        for text in (posix, windows)
    )
    assert one == two


def test_task_packs_leave_receipts(sutler: Sutler, plant: Plant) -> None:
    """Each pack that leaves is in the ledger."""
    folder = plant({**SHOP, "task.yaml": TASK})
    sutler("pack", "--task", "task.yaml", "-o", "out.md", cwd=folder)
    found = ok(sutler("receipt", "list", "--json", cwd=folder))["receipts"]
    assert [one["destination"] for one in found] == ["out.md"]
    shown = ok(sutler("receipt", "show", cwd=folder))["receipt"]
    assert shown["format"] == "prompt"
    assert {one["path"] for one in shown["files"]} == {
        "src/index.js",
        "src/api/auth.js",
        "README.md",
    }


# contracts


@pytest.mark.parametrize(
    ("words", "stdin", "reasons"),
    [
        (["--changed", "src/index.js"], "", {}),
        (["--changed", "README.md", "src\\index.js"], "", {"README.md": "not_allowed"}),
        (["--new", "src/n.js"], "", {"src/n.js": "new_file_disallowed"}),
        (
            ["--stdin"],
            "M\tsrc/index.js\nA\tsrc/n.js\nD\tsrc/gone/x.js\n",
            {"src/n.js": "new_file_disallowed", "src/gone/x.js": "forbidden"},
        ),
        (
            ["--diff", "-"],
            "diff --git a/src/n.js b/src/n.js\nnew file mode 100644\n--- /dev/null\n+++ b/src/n.js\n"
            "@@ -0,0 +1 @@\n+x\ndiff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n"
            "@@ -1 +1 @@\n-a\n+b\n",
            {"src/n.js": "new_file_disallowed", "README.md": "not_allowed"},
        ),
    ],
    ids=["kept", "names", "new", "status", "diff"],
)
def test_contract_check(
    sutler: Sutler, plant: Plant, words: list[str], stdin: str, reasons: dict[str, str]
) -> None:
    """New, forbidden, not allowed: each file once, exit 3 when there are any; valid by the
    schema.
    """
    folder = plant({**SHOP, "task.yaml": TASK})
    ran = sutler(
        "contract", "check", "task.yaml", *words, "--json", cwd=folder, stdin=stdin.encode()
    )
    assert ran.code == (3 if reasons else 0), ran.err
    found = json.loads(ran.out)
    valid("contract-report", found)
    assert {one["file"]: one["reason"] for one in found["violations"]} == reasons
    assert found["idleGlobs"] == ["src/gone/**"]


def test_contract_check_without_a_change_is_a_usage_error(sutler: Sutler, plant: Plant) -> None:
    """Without git there is no working tree to compare."""
    ran = sutler("contract", "check", "task.yaml", cwd=plant({"task.yaml": TASK}))
    assert (ran.code, "no change is given" in ran.err) == (2, True)


def test_contract_check_looks_at_the_working_tree(sutler: Sutler, plant: Plant) -> None:
    """Changed, deleted and new files count, those too that a pack leaves out; ignored files and
    the task itself do not.
    """
    folder = plant({**SHOP, ".gitignore": "*.log\n", ".env": "A=1\n", "old.py": "x = 1\n"})

    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-Af")
    git("commit", "-qm", "Start")
    (folder / "task.yaml").write_text(TASK)
    assert (
        json.loads(sutler("contract", "check", "task.yaml", "--json", cwd=folder).out)["checked"]
        == 0
    )
    (folder / ".env").write_text("A=2\n")
    (folder / "old.py").unlink()
    (folder / "src/n.js").write_text("x\n")
    (folder / "a.log").write_text("x\n")
    ran = sutler("contract", "check", "task.yaml", "--json", cwd=folder)
    reasons = {one["file"]: one["reason"] for one in json.loads(ran.out)["violations"]}
    assert reasons == {
        ".env": "not_allowed",
        "old.py": "not_allowed",
        "src/n.js": "new_file_disallowed",
    }
    assert ran.code == 3


def test_contract_check_sees_what_a_pack_leaves_out_by_name(sutler: Sutler, plant: Plant) -> None:
    """A new file below dist/ counts; a file whose line ends git converts on checkout does not."""
    folder = plant({"src/a.js": "x\n", "crlf.txt": "a\nb\n", ".gitattributes": "*.txt eol=crlf\n"})

    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "Start")
    (folder / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (folder / "dist").mkdir()
    (folder / "dist/new.js").write_text("x\n")
    (folder / "task.yaml").write_text(TASK)
    ran = sutler("contract", "check", "task.yaml", "--json", cwd=folder)
    found = [(item["file"], item["reason"]) for item in json.loads(ran.out)["violations"]]
    assert found == [("dist/new.js", "new_file_disallowed")]
    (folder / "crlf.txt").write_bytes(b"a\r\nc\r\n")
    ran = sutler("contract", "check", "task.yaml", "--json", cwd=folder)
    assert "crlf.txt" in [item["file"] for item in json.loads(ran.out)["violations"]]


def test_a_task_pack_numbers_lines(sutler: Sutler, plant: Plant) -> None:
    """`-n` numbers every file of a task pack; a file whose line an issue cites has numbers anyway."""
    files = {"a.py": "x\ny\n", "b.py": "z\n"}
    task = "id: t\ngoal: g\ncontext: {files: [a.py, b.py]}\nissues: ['fails at a.py:2']\n"
    folder = plant({**files, "task.yaml": task})
    plain = sutler("pack", "--task", "task.yaml", cwd=folder).text
    assert "    2| y\n" in plain
    assert "\nz\n" in plain
    assert "    1| z\n" in sutler("pack", "--task", "task.yaml", "-n", cwd=folder).text


@pytest.mark.parametrize("command", ["verify", "unpack"])
@pytest.mark.parametrize("words", [["--type", "summary"], ["--task", "task.yaml"]])
def test_a_text_that_cannot_be_read_back_is_refused_with_the_formats(
    sutler: Sutler, plant: Plant, command: str, words: list[str]
) -> None:
    folder = plant({**SHOP, "task.yaml": TASK})
    assert sutler("pack", *words, "-o", "../out.md", cwd=folder).code == 0
    ran = sutler(command, "../out.md", cwd=folder)
    assert ran.code == 2
    assert "markdown, xml, json, plain, claude" in ran.err
    assert "a summary in markdown and a task's prompt" in ran.err


def test_a_bare_contract_is_enough(sutler: Sutler, plant: Plant) -> None:
    """A file with allowed and forbidden and nothing else."""
    folder = plant({"a.py": "x\n", "c.json": '{"forbidden": ["*.lock"]}'})
    assert (
        sutler("contract", "check", "c.json", "--changed", "a.py", cwd=folder).text
        == "1 file checked, none breaks the contract\n"
    )
    assert sutler("contract", "check", "c.json", "--changed", "x.lock", cwd=folder).code == 3


# hostile projects


def test_a_circular_workspace_and_a_huge_manifest_are_problems(
    sutler: Sutler, plant: Plant
) -> None:
    """Neither hangs nor hides: both are on record, and the rest of the manifest is read."""
    folder = plant(
        {
            "package.json": '{"name": "top", "workspaces": ["a"], "dependencies": {"x": "1"}}',
            "a/package.json": '{"name": "a", "workspaces": [".."]}',
            "b/package.json": '{"name": "b", "dependencies": {'
            + ",".join(f'"d{n}": "1"' for n in range(200_000))
            + "}}",
        }
    )
    ran = sutler("pack", "--type", "summary", "-f", "json", "--skip-over", "0", cwd=folder)
    found = ok(ran)
    assert found["manifest"]["project_name"] == "top"
    assert "a/package.json: loop" in ran.err
    assert "b/package.json: too_large" in ran.err
    ran = sutler("pack", "--type", "full", "-f", "json", cwd=folder)
    row = next(row for row in ok(ran)["file_index"] if row["path"] == "b/package.json")
    assert row["exclusion_reason"] == "size_limit"


def test_a_yaml_bomb_in_a_manifest_is_a_problem(sutler: Sutler, plant: Plant) -> None:
    """Seen, not run."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    folder = plant({"package.json": '{"name": "p"}', "pnpm-workspace.yaml": "\n".join(lines)})
    ran = sutler("pack", "--type", "summary", "-f", "json", cwd=folder)
    assert ok(ran)["manifest"]["project_name"] == "p"
    assert "pnpm-workspace.yaml: malformed" in ran.err


def test_content_that_is_binary_after_all_is_excluded_as_binary(
    sutler: Sutler, plant: Plant
) -> None:
    """A text name over binary content: out, with the reason."""
    found = ok(
        sutler(
            "pack",
            "--type",
            "full",
            "-f",
            "json",
            cwd=plant({"a.py": "x\n", "b.py": b"\0\1\2\xff" * 50}),
        )
    )
    row = next(row for row in found["file_index"] if row["path"] == "b.py")
    assert (row["included"], row["exclusion_reason"]) == (False, "binary")


def test_a_canary_never_leaves(sutler: Sutler, plant: Plant) -> None:
    """In bodies, manifests, names and every field of a task: no form of any document or its notes
    shows it.
    """
    task = json.dumps(
        {
            "id": f"T-{KEY}",
            "title": KEY,
            "goal": f"use {KEY}",
            "acceptance": [{"id": KEY, "text": KEY}],
            "filesContract": {"allowed": ["src/**", f"lib/{KEY}/**"]},
            "context": {"files": [f"{KEY}.js"], "docs": [KEY]},
            "issues": [{"kind": KEY, "message": KEY, "file": KEY, "raw": KEY, "signature": KEY}],
            "previousState": {"diffSummary": KEY},
            "errorOutput": [KEY],
            "repairTickets": [{"issueId": KEY, "message": KEY, "hint": KEY, "file": KEY}],
        }
    )
    folder = plant(
        {
            **SHOP,
            "package.json": json.dumps(
                {"name": "shop", "description": f"token {KEY}", "dependencies": {"x": KEY}}
            ),
            f"src/{KEY}.js": "x\n",
            "README.md": f"# Shop {KEY}\n\nUse `{KEY}` to log in.\n",
        }
    )
    runs = [sutler("scan", "--json", cwd=folder)]
    runs += [
        sutler("pack", "--type", kind, "-f", form, cwd=folder)
        for kind in ("full", "summary", "auto")
        for form in ("json", "msgpack", "markdown")
    ]
    runs += [
        sutler("pack", "--task", "-", "-f", form, cwd=folder, stdin=task.encode())
        for form in ("json", "msgpack", "markdown", "prompt")
    ]
    for ran in runs:
        assert ran.code == 0, ran.err
        assert KEY.encode() not in ran.out
        assert KEY not in ran.err
    assert b"REDACTED" in runs[1].out


# packs beside each other, and beside the folder


def written(sutler: Sutler, folder: Path, name: str, *words: str) -> str:
    target = str(folder.parent / name)
    ran = sutler("pack", *words, "-o", target, cwd=folder)
    assert ran.code == 0, ran.err
    return target


FORMS = {
    "markdown": [],
    "xml": ["-f", "xml"],
    "json": ["-f", "json"],
    "full": ["--type", "full", "-f", "json"],
    "msgpack": ["-f", "msgpack"],
}


@pytest.mark.parametrize("form", FORMS)
def test_diff_packs_says_what_moved_and_why(sutler: Sutler, plant: Plant, form: str) -> None:
    """Entered, left, changed level, changed text; in every format of packs."""
    folder = plant({"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
    before = written(sutler, folder, "before", *FORMS[form])
    assert sutler("diff-packs", before, before).text == "the packs show the same\n"
    (folder / "a.py").write_text("a = 2\n")
    (folder / "b.py").unlink()
    (folder / "c.py").write_text("".join(f"c{n} = {n}\n" for n in range(9_000)))
    (folder / "d.py").write_text("d = 1\n")
    after = written(sutler, folder, "after", *FORMS[form])
    found = ok(sutler("diff-packs", before, after, "--json"))
    valid("pack-diff", found)
    groups = {
        name: [one["path"] for one in found[name]]
        for name in ("entered", "left", "level_changed", "content_changed")
    }
    assert groups == {
        "entered": ["d.py"],
        "left": ["b.py"],
        "level_changed": ["c.py"],
        "content_changed": ["a.py"],
    }
    assert all(one["why"] for name in groups for one in found[name])
    assert "entered   d.py  [full]" in sutler("diff-packs", before, after).text


@pytest.mark.parametrize("form", FORMS)
def test_verify_says_what_moved_on(sutler: Sutler, plant: Plant, form: str) -> None:
    """0 while the folder is as it was, 4 once files moved on, each named; the receipt is found by
    the pack's id.
    """
    folder = plant({"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": f"key = '{KEY}'\n"})
    pack = written(sutler, folder, "pack", *FORMS[form])
    ran = sutler("verify", pack, "--json", cwd=folder)
    found = ok(ran)
    valid("pack-check", found)
    assert found["files"] == 3
    assert found["receipt"].endswith(f"-> {pack}")
    (folder / "a.py").write_text("a = 2\n")
    (folder / "b.py").unlink()
    ran = sutler("verify", pack, cwd=folder)
    assert ran.code == 4
    assert "changed  a.py" in ran.text
    assert "gone     b.py" in ran.text


def test_verify_finds_a_text_that_was_changed(sutler: Sutler, plant: Plant) -> None:
    """A document whose file is as it was and whose text is not: exit 3, the file named."""
    folder = plant({"a.py": "a = 1\n"})
    pack = Path(written(sutler, folder, "pack.json", "--type", "full", "-f", "json"))
    pack.write_text(pack.read_text().replace("a = 1", "a = 9"))
    ran = sutler("verify", str(pack), cwd=folder)
    assert (ran.code, "altered  a.py" in ran.text) == (3, True)
    rendered = Path(written(sutler, folder, "pack.md"))
    rendered.write_text(rendered.read_text().replace("a = 1", "a = 9"))
    assert sutler("verify", str(rendered), cwd=folder).code == 3


def test_verify_without_a_pack_is_the_ledger(sutler: Sutler, plant: Plant) -> None:
    """The ledger's own check stays as it was."""
    assert "rows hold" in sutler("verify", cwd=plant({"a.py": "x\n"})).text


def test_verify_never_looks_outside(sutler: Sutler, plant: Plant) -> None:
    """A pack that names paths above the folder learns nothing about them."""
    folder = plant({"a.py": "a = 1\n"})
    (folder.parent / "outside.py").write_text("secret = 1\n")
    pack = Path(written(sutler, folder, "pack.json", "--type", "full", "-f", "json"))
    pack.write_text(pack.read_text().replace("a.py", "../outside.py"))
    ran = sutler("verify", str(pack), "--json", cwd=folder)
    assert (ran.code, json.loads(ran.out)["moved"][0]["now"]) == (4, "")


def test_what_is_no_pack_is_said(sutler: Sutler, plant: Plant, tmp_path: Path) -> None:
    """A snapshot, an unknown document and a missing file: usage errors."""
    folder = plant({"a.py": "x\n"})
    (tmp_path / "s.json").write_bytes(sutler("scan", "--json", cwd=folder).out)
    (tmp_path / "x.json").write_text("{}")
    for name in ("s.json", "x.json", "absent"):
        ran = sutler("diff-packs", str(tmp_path / name), str(tmp_path / name))
        assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err


# schemas, and the same from Python


def test_every_schema_is_listed_and_is_one(sutler: Sutler) -> None:
    """Any spelling of a name; each is a JSON Schema by its own meta-schema."""
    names = sutler("schema").text.split()
    assert {
        "report",
        "receipt",
        "full-pack",
        "summary-pack",
        "context-pack",
        "project-snapshot",
    } <= {*names}
    for name in {*names} - {"tools"}:  # those are a list, of tools and their schemas
        jsonschema.Draft202012Validator.check_schema(ok(sutler("schema", name)))
    assert sutler("schema", "FullPack").out == sutler("schema", "full_pack").out


def test_the_same_from_python(plant: Plant) -> None:
    """Project and ContextPacker give the documents themselves."""
    project = api.Project(plant(SHOP))
    assert project.snapshot().total_files == 5
    assert project.select_pack()[0] == "full"
    assert project.select_pack(api.PackConstraints(prefer_summary=True)) == (
        "summary",
        "prefer_summary is set",
    )
    full = project.full_pack(api.PackConstraints(max_content_bytes=150))
    assert full.metadata.total_content_bytes <= 150
    assert full.metadata.truncation_applied
    assert project.summary_pack().manifest.project_type == "node"
    pack = api.ContextPacker(project, tier="cheap").build(
        {"id": "T", "goal": "g", "context": {"files": ["README.md"]}}
    )
    assert [one.path for one in pack.files] == ["README.md"]
    assert api.deserialize(api.serialize(pack)) == pack
