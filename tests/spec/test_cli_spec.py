"""The command line's manners: flags, machine-readable answers, terminals, pipes, signals,
completion.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import sutler as api
from tests.conftest import Plant, Sutler
from tests.limits import Lines
from tests.terminals import on_terminal

SUTLER = [sys.executable, "-m", "sutler"]
TREE = {"README.md": "# Wheel\n", "src": {"axle.py": "AXLES = 2\n"}, ".env": "TOKEN=abc\n"}


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["pack"], {"report", "destination"}),
        (
            ["scan"],
            {
                "root_path",
                "scan_timestamp",
                "directory_tree",
                "total_files",
                "total_directories",
                "total_size_bytes",
                "files",
                "excluded_files",
                "exclusion_stats",
            },
        ),
        (["tree"], {"root", "total", "directories", "files"}),
        (["tokens"], {"tokens", "counter"}),
        (["why", "src/axle.py"], {"path", "state", "reason", "bytes"}),
        (["why", ".env"], {"path", "state", "reason", "rule"}),
        (["config"], {"settings"}),
        (["doctor"], {"checks"}),
        (["schema"], {"schemas"}),
        (["init"], {"path"}),
        (["completion", "bash"], {"shell", "script"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_answer_as_json_names_its_schema_version(
    plant: Plant, sutler: Sutler, words: list[str], keys: set[str]
) -> None:
    ran = sutler(*words, "--json", cwd=plant(TREE))
    assert ran.code == 0
    body = json.loads(ran.out)
    assert body.pop("schema_version") == 1
    assert set(body) == keys


def test_the_schema_describes_the_report(plant: Plant, sutler: Sutler) -> None:
    """`sutler schema report` validates what `sutler pack --json` prints, and refuses what it does
    not.
    """
    schema = json.loads(sutler("schema", "report").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    folder = plant({**TREE, **{f"f{i}.py": f"x = {i}\n" * 50 for i in range(20)}})
    for words in ([], ["--max-tokens", "900"], ["--no-budget", "-f", "xml"], ["--counter", "none"]):
        report = json.loads(sutler("pack", "--json", *words, cwd=folder).out)["report"]
        jsonschema.validate(report, schema)
    del report["pack_id"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema)


def test_json_answers_match_what_is_packed(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    written = sutler("pack", "--json", "-o", "../pack.md", cwd=folder)
    body = json.loads(written.out)
    assert body["destination"] == "../pack.md"
    pack = api.parse((folder.parent / "pack.md").read_bytes())
    assert [one["path"] for one in body["report"]["shown"]] == [
        section.path for section in pack.sections
    ]
    assert json.loads(sutler("pack", "--json", cwd=folder).out)["destination"] == "nowhere"


def test_tokens_is_the_count_of_the_very_text(plant: Plant, sutler: Sutler) -> None:
    """A number and nothing else: frame, tree and manifest included."""
    from sutler.tokens.counter import token_counter

    folder = plant(TREE)
    text = sutler("pack", "--no-budget", cwd=folder).text
    ran = sutler("tokens", cwd=folder)
    assert (ran.text, ran.err) == (f"{token_counter('o200k_base')(text)}\n", "")
    ran = sutler("tokens", "--counter", "cl100k_base", "--max-chars", "2k", cwd=folder)
    text = sutler("pack", "--max-chars", "2k", cwd=folder).text
    assert ran.text == f"{token_counter('cl100k_base')(text)}\n"


def test_quiet_is_silent_but_not_about_errors(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    for words in (
        ["pack"],
        ["scan"],
        ["tree"],
        ["tokens"],
        ["why", ".env"],
        ["pack", "-o", "../x.md"],
    ):
        for flag in ("-q", "--quiet"):
            ran = sutler(*words, flag, cwd=folder)
            assert (ran.code, ran.err) == (0, "")
    assert "does not exist" in sutler("pack", "-q", "nowhere", cwd=folder).err


@pytest.mark.parametrize(
    ("env", "words", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color=always"], True),
    ],
    ids=str,
)
def test_colours_are_asked_for(
    plant: Plant, sutler: Sutler, env: dict[str, str], words: list[str], colored: bool
) -> None:
    """Into a pipe there are none unless asked for; data never has any."""
    folder = plant(TREE)
    ran = sutler("pack", *words, cwd=folder, env=env)
    assert (("\x1b[" in ran.err), (b"\x1b" in ran.out)) == (colored, False)
    if "never" in words or not env:
        assert "\x1b" not in sutler("pack", "nowhere", *words, cwd=folder, env=env).err


def test_colours_on_a_terminal(plant: Plant) -> None:
    folder = plant(TREE)
    words = [*SUTLER, "pack", "-o", "../pack.md"]
    assert b"\x1b[36m" in on_terminal(words, folder)[1]
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b" not in on_terminal(words, folder, env=env)[1]


def test_a_hostile_word_does_not_colour_the_error(plant: Plant) -> None:
    """T38: names in an error message are spelled out even where colours are on."""
    code, seen = on_terminal([*SUTLER, "pa\x1b[8mck\x1b]0;own\x07"], plant(TREE))
    assert code == 2
    assert seen.replace(b"\x1b[31m", b"").replace(b"\x1b[0m", b"").count(b"\x1b") == 0
    assert "⟨U+001B⟩[8m".encode() in seen


def test_output_to_a_file_is_whole_and_leaves_stdout_empty(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    plain = sutler("pack", cwd=folder)
    ran = sutler("pack", "-o", "../pack.md", cwd=folder)
    assert ran.out == b""
    assert "-> ../pack.md" in ran.err
    assert (folder.parent / "pack.md").read_bytes() == plain.out
    assert sutler("pack", "-o", "-", cwd=folder).out == plain.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pack", "-o", ""], "-o names no file"),
        (["pack", "--copy", "-o", "x.md"], "keep one destination"),
        (["pack", ""], "an empty path was given"),
        (["why", ""], "an empty path was given"),
        (["why", "nowhere"], "nowhere does not exist"),
        (["pack", "--depth", "-1"], "not a number from 0 up"),
        (["pack", "--max-tokens", "1" * 5_000], "digits"),
        (["tree", "-L", "0"], "not a number from 1"),
        (["tokens", "--counter", "none"], "counts nothing"),
        (["completion", "nosuchshell"], "invalid choice"),
        (["help", "nope"], "unknown command 'nope'"),
        (["unpack"], "required: FILE"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_mistakes_are_exit_2_with_a_sentence(
    plant: Plant, sutler: Sutler, words: list[str], message: str
) -> None:
    ran = sutler(*words, cwd=plant(TREE))
    assert (ran.code, ran.out) == (2, b"")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_bytes_that_are_no_text_on_the_command_line(plant: Plant) -> None:
    """A goal, a name or a profile that is not UTF-8 is refused in one sentence, as text and as
    JSON.
    """
    folder = plant(TREE)
    for words in (
        [b"pack", b"--goal", b"\xff"],
        [b"pak\xff"],
        [b"config", b"--profile", b"\xff"],
        [b"pack", b"\xff"],
    ):
        for extra in ([], [b"--json"]):
            done = subprocess.run(
                [*map(os.fsencode, SUTLER), *words, *extra],
                cwd=folder,
                capture_output=True,
                check=False,
                timeout=60,
            )
            assert (done.returncode, done.stdout) == (2, b""), words
            assert b"Traceback" not in done.stderr
            if extra:
                assert json.loads(done.stderr)["error"]["exit_code"] == 2


def test_two_dashes_end_the_flags(plant: Plant, sutler: Sutler) -> None:
    """A file may be called -n."""
    folder = plant({**TREE, "-n": "dash\n"})
    assert [
        section.path for section in api.parse(sutler("pack", "--", "-n", cwd=folder).out).sections
    ] == ["-n"]


def test_why_speaks_of_folders_and_of_names_that_begin_with_dots(
    plant: Plant, sutler: Sutler
) -> None:
    folder = plant({**TREE, "..odd": "x\n", "node_modules": {"a": {"b.js": "x\n"}}})
    assert "..odd: in (full)" in sutler("why", "..odd", cwd=folder).text
    assert "a folder: 1 file in" in sutler("why", "src", cwd=folder).text
    assert "node_modules/a/b.js: out" in sutler("why", "node_modules/a/b.js", cwd=folder).text
    assert sutler("why", ".", cwd=folder).text.startswith(".: in")


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_make_no_traceback(plant: Plant, tmp_path: Path, closing: str) -> None:
    """A stream that is closed is no reason to crash, and its number is not lent to a file of
    ours.
    """
    command = f"exec {' '.join(SUTLER)} pack -q -o {tmp_path}/pack.md {closing}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=plant(TREE), capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(api.parse((tmp_path / "pack.md").read_bytes()).sections) == 2
    command = f"exec {' '.join(SUTLER)} pack -q {closing}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == (1 if closing.startswith(">") else 0)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["pack -q", "--version", "tree -q", "scan --json"])
def test_a_full_disk_behind_stdout(plant: Plant, words: str) -> None:
    command = f"exec {' '.join(SUTLER)} {words} > /dev/full"
    done = subprocess.run(
        ["bash", "-c", command], cwd=plant(TREE), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f"cd gone && rmdir ../gone && exec {' '.join(SUTLER)} pack"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert b"the current folder is gone" in done.stderr


def test_names_mean_the_same_in_every_locale(plant: Plant, sutler: Sutler) -> None:
    """Where Python would read names as ASCII, they are UTF-8 all the same, and a terminal still
    gets its answer.
    """
    folder = plant({"na\u00efve.py": "x\n"})
    plain = sutler("pack", cwd=folder)
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert sutler("pack", cwd=folder, env=ascii_only).out == plain.out
    code, seen = on_terminal([*SUTLER, "tree"], folder, env=ascii_only)
    assert code == 0
    assert "na\u00efve.py".encode() in seen


SLOW = """
import sys, time
from sutler.scan import root
real = root.Reader.read
def read(self, path, limit=None):
    time.sleep(0.02)
    return real(self, path, limit)
root.Reader.read = read
from sutler.fronts.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def test_progress_on_a_terminal_only(plant: Plant) -> None:
    """Long work shows how far it is on stderr, on a terminal, and leaves nothing behind; --quiet
    shows nothing.
    """
    folder = plant({f"f{i}.py": "x\n" for i in range(80)})
    words = [sys.executable, "-c", SLOW, "pack", "-o", "../pack.md"]
    code, seen = on_terminal(words, folder, stdout=False)
    assert code == 0
    assert re.search(rb"reading and redacting \d+ of 80 files \[#+-*\]\x1b\[K", seen)
    assert b"\r\x1b[K" in seen
    assert seen.rindex(b"\r\x1b[K") > seen.rindex(b" of 80 files [")
    assert b"reading" not in seen[seen.rindex(b"\r\x1b[K") :]
    assert b"reading" not in on_terminal([*words, "--quiet"], folder, stdout=False)[1]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=True, timeout=60)
    assert b"reading" not in done.stderr


@pytest.mark.parametrize(
    ("words", "bar"),
    [
        (("scan",), rb"scanning \d+ files"),
        (("pack", "--goal", "wheels", "-o", "../pack.md"), rb"indexing \d+ of 40 files \[#"),
        (("rank", "--goal", "wheels"), rb"indexing \d+ of 40 files \[#"),
        (("secrets",), rb"looking through \d+ of 40 files \[#"),
        (("tree",), rb"reading and redacting \d+ of 40 files \[#"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_long_work_has_its_bar(plant: Plant, words: tuple[str, ...], bar: bytes) -> None:
    """Scanning counts, for nobody knows the whole yet; indexing and redacting fill a bar."""
    folder = plant({f"f{i}.py": f"wheels = {i}\n" for i in range(40)})
    eager = "from sutler.fronts.console import Progress; Progress.DELAY = Progress.PAUSE = 0; "
    start = (
        f"import sys; {eager}from sutler.fronts.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    code, seen = on_terminal([sys.executable, "-c", start, *words], folder, stdout=False)
    assert code == 0
    assert re.search(bar, seen)


def test_bars_in_the_tree(plant: Plant, sutler: Sutler) -> None:
    """Each share of the whole as a bar; the longest is the whole, and nothing that is there has
    none.
    """
    folder = plant({"large.py": "wheel = 4\n" * 300, "small.py": "x\n"})
    title, large, small = sutler("tree", "--bars", cwd=folder).text.splitlines()
    assert title.count("█") == 20
    assert 15 < large.count("█") < 20
    assert any(mark in small for mark in "▏▎▍▌▋▊▉")
    assert [line.split()[-1] for line in (large, small)] == ["large.py", "small.py"]


def test_progress_does_not_write_over_the_data(plant: Plant) -> None:
    """Once the pack itself is on the screen there is no progress line between its lines."""
    folder = plant({f"f{i}.py": "x\n" for i in range(60)})
    code, seen = on_terminal([sys.executable, "-c", SLOW, "pack", "--no-budget"], folder)
    assert code == 0
    assert b"reading" not in seen[seen.index(b"# sutler pack") :]


def test_short_work_shows_no_progress(plant: Plant) -> None:
    from sutler.fronts.console import Progress

    assert Progress.DELAY >= 0.5


def test_an_interrupt_is_130_and_keeps_the_old_file(plant: Plant, tmp_path: Path) -> None:
    folder = plant({f"f{i}.py": "x\n" for i in range(400)})
    target = tmp_path / "pack.md"
    target.write_text("old\n")
    told = "(print('reading', file=sys.stderr, flush=True), real(self, path, limit))[1]"
    slow = SLOW.replace("real(self, path, limit)", told)
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "pack", "-o", str(target)],
        cwd=folder,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    lines = Lines(process.stderr)
    assert lines.line() == b"reading\n"
    process.send_signal(signal.SIGINT)
    err = lines.rest()
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert err.rstrip().endswith(b"sutler: interrupted")
    assert target.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pack.md", "project"]


def test_copy_asks_the_terminal(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    """Without a clipboard program the pack goes to the terminal by OSC 52, in base64, and to
    nowhere else.
    """
    folder = plant(TREE)
    env = {"PATH": str(tmp_path), "WAYLAND_DISPLAY": "", "DISPLAY": ""}
    code, seen = on_terminal([*SUTLER, "pack", "--copy"], folder, env=env)
    assert code == 0
    start = seen.index(b"\x1b]52;c;") + 7
    data = base64.b64decode(seen[start : seen.index(b"\x07", start)])
    assert data == sutler("pack", cwd=folder).out
    assert b"clipboard (terminal)" in seen
    assert b"# sutler pack" not in seen


def test_copy_uses_the_desktops_program_and_does_not_wait_for_it(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """xclip and its like stay in the background with our pipes in hand; that must not hang us."""
    program = tmp_path / "bin" / "wl-copy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/clip\n/bin/sleep 45 &\n")
    program.chmod(0o755)
    folder = plant(TREE)
    start = time.monotonic()
    ran = sutler(
        "pack", "--copy", cwd=folder, env={"PATH": f"{program.parent}:/bin", "WAYLAND_DISPLAY": "w"}
    )
    assert (ran.code, ran.out) == (0, b"")
    assert time.monotonic() - start < 40
    assert (tmp_path / "clip").read_bytes() == sutler("pack", cwd=folder).out


def test_copy_without_a_way_says_so(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "WAYLAND_DISPLAY": "", "DISPLAY": ""}
    done = subprocess.run(
        [*SUTLER, "pack", "--copy"],
        cwd=plant(TREE),
        capture_output=True,
        check=False,
        timeout=60,
        start_new_session=True,  # no controlling terminal
        env={**os.environ, **env},
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no terminal to ask" in done.stderr
    big = plant({"big.txt": "x" * 150_000})
    code, seen = on_terminal([*SUTLER, "pack", "--copy", "--cut-over", "0"], big, env=env)
    assert code == 3
    assert b"a terminal takes 100,000" in seen


def test_bash_completes_commands_and_flags(sutler: Sutler, tmp_path: Path) -> None:
    """The script is sourced by a real shell, and completes."""
    (tmp_path / "complete.bash").write_bytes(sutler("completion", "bash").out)
    ask = """
set -eu
source complete.bash
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_sutler; echo "${COMPREPLY[*]}"; }
try sutler pa
try sutler pack --max-t
try sutler pack --format x
"""
    done = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert done.stderr == b""
    commands, flags, formats = done.stdout.decode().split("\n")[:3]
    assert "pack" in commands.split()
    assert flags.split() == ["--max-tokens"]
    assert formats.split() == ["xml"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_script(sutler: Sutler, tmp_path: Path) -> None:
    (tmp_path / "_sutler").write_bytes(sutler("completion", "zsh").out)
    ask = "fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D && autoload +X _sutler && echo $_comps[sutler]"
    done = subprocess.run(
        ["zsh", "-fc", ask], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"_sutler\n", b"")
    assert (
        subprocess.run(["zsh", "-n", "_sutler"], cwd=tmp_path, check=False, timeout=60).returncode
        == 0
    )


def test_init_writes_a_file_that_changes_nothing_and_never_over_one(
    plant: Plant, sutler: Sutler
) -> None:
    folder = plant(TREE)
    before = sutler("config", "--json", cwd=folder).out
    ran = sutler("init", cwd=folder)
    assert ran.text == f"{folder / 'sutler.toml'}\n"
    assert sutler("config", "--json", cwd=folder).out == before
    text = (folder / "sutler.toml").read_text()
    again = sutler("init", cwd=folder)
    assert (again.code, again.out) == (2, b"")
    assert "exists already" in again.err
    assert (folder / "sutler.toml").read_text() == text
    assert sutler("init", "--print", cwd=folder).text == text


def test_every_key_of_the_template_can_be_uncommented(plant: Plant, sutler: Sutler) -> None:
    """A line of the template that has a value is valid TOML for that key."""
    folder = plant(TREE)
    text = sutler("init", "--print", "--user", cwd=folder).text
    keys = json.loads(sutler("config", "--json", cwd=folder).out)["settings"]
    text = text.partition("# [profiles")[0]
    lines = [
        line[2:]
        for line in text.split("\n")
        if line[2:].split(" = ")[0] in keys and not line.endswith("...")
    ]
    assert len(lines) > 8
    home = folder.parent / "config" / "sutler"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("\n".join(lines))
    ran = sutler("config", "--json", cwd=folder, env={"XDG_CONFIG_HOME": str(home.parent)})
    assert ran.code == 0
    settings = json.loads(ran.out)["settings"]
    assert all(settings[name]["value"] == keys[name]["value"] for name in keys)


def test_doctor_finds_this_installation_well(plant: Plant, sutler: Sutler) -> None:
    checks = json.loads(sutler("doctor", "--json", cwd=plant(TREE)).out)["checks"]
    assert {"version", "confinement", "tokens", "config", "encoding"} <= {
        check["name"] for check in checks
    }
    assert all(check["ok"] for check in checks)


def test_doctor_names_what_is_wrong(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("doctor", cwd=plant({"sutler.toml": "nonsense = 1\n"}))
    assert ran.code == 1
    assert "BAD  config" in ran.text
    assert "unknown key 'nonsense'" in ran.text


def test_help_and_version(sutler: Sutler) -> None:
    from sutler.fronts.cli.command_table import BY_NAME

    overview = sutler("--help").text
    assert sutler().text == sutler("help").text == overview
    for name in BY_NAME:
        assert f"\n  {name}" in overview
    assert sutler("--version").text == f"sutler {api.__version__}\n" == sutler("-V").text
    assert sutler("help", "pack").text == sutler("pack", "--help").text
    assert "130 interrupted" in sutler("pack", "--help").text


def test_a_prompt_needs_a_terminal_and_takes_no_for_an_answer(plant: Plant) -> None:
    """flexible mode asks about a named file that cannot be packed; without an answer that is yes,
    nothing leaves.
    """
    folder = plant({"a.py": "x\n", "b.bin": b"\0\1\2" * 50})
    code, seen = on_terminal(
        ["bash", "-c", f"echo n | {' '.join(SUTLER)} pack a.py b.bin -q"], folder
    )
    assert code == 3
    assert b"b.bin: binary" in seen
    assert b"Continue" not in seen
