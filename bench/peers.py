"""Who is measured: how to find each tool, which class of work it does, and with which words.

default = the command as people type it, with default flags; whole = the same without a ceiling;
goal = a pack for a task, with default flags. The other classes hold the work equal: raw = walk, read, sniff, render to one file; tokens = raw + a token count; full = tokens + a secret
scan; budgeted = sutler's own pack for a goal, against the start of the interpreter.
"""

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

WORK = ("default", "whole", "goal", "raw", "tokens", "full", "budgeted")

# In a recipe TREE is the folder, OUT the output file, LIST the list of text files.
# A recipe without OUT writes to standard output, which then goes to that file.
_PACK = ("pack", "TREE", "--no-budget", "--quiet")
_GOAL = "QuerySet.bulk_create ignores unique constraints when update_conflicts is set"
SUTLER = {
    "default": ("pack", "TREE", "-o", "OUT"),
    "whole": ("pack", "TREE", "--no-budget", "-o", "OUT"),
    "goal": ("pack", "TREE", "--goal", _GOAL, "-o", "OUT"),
    "raw": (*_PACK, "--counter", "none", "--no-redact", "-o", "OUT"),
    "tokens": (
        *_PACK,
        "--counter",
        "o200k_base",
        "--no-redact",
        "-o",
        "OUT",
    ),  # --quiet alone counts nothing
    "full": (*_PACK, "--counter", "o200k_base", "-o", "OUT"),
    "budgeted": ("pack", "TREE", "--goal", _GOAL, "--max-chars", "60000", "--quiet", "-o", "OUT"),
}
SUTLER_TINY = ("pack", "TREE", "--quiet", "--counter", "o200k_base", "-o", "OUT")

# One pass through the Rust core; the binding's own generate() would render everything a second
# time.
_BINDING = """
import sys
from code2prompt_rs import Code2Prompt
text = Code2Prompt(path=sys.argv[1]).session().with_token_encoding("cl100k").generate()
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write(text)
"""


class Tool(NamedTuple):
    """A tool as it will be measured. `proof` is a pattern its streams must show for the class to
    count.
    """

    name: str
    recipes: Mapping[str, tuple[str, ...]]
    install: str
    states: Mapping[str, tuple[str, ...]] = {}
    proof: Mapping[str, str] = {}


class Found(NamedTuple):
    tool: Tool
    words: tuple[str, ...]
    version: str


_CACHED = ("cold", "warm")
TOOLS = (
    Tool(
        "sutler",
        SUTLER,
        "pip install sutler, or run with PYTHONPATH=src",
        {
            **dict.fromkeys(("default", "whole", "goal"), _CACHED),
            "raw": ("cold",),
            "tokens": _CACHED,
            "full": _CACHED,
            "budgeted": ("warm",),
        },
    ),
    Tool(
        "files-to-prompt",
        dict.fromkeys(("default", "raw"), ("TREE", "-o", "OUT")),
        "pip install files-to-prompt",
    ),
    Tool(
        "yek",
        {
            "default": ("TREE",),
            "raw": ("--no-config", "--max-size", "1000GB", "TREE"),
            "tokens": ("--no-config", "--tokens", "4000000k", "TREE"),
        },
        "a Rust binary: cargo install yek, or a release of bodo-run/yek on PATH",
    ),
    Tool(
        "code2prompt",
        {
            "tokens": (
                "TREE",
                "--quiet",
                "--token-format",
                "raw",
                "--encoding",
                "cl100k",
                "-O",
                "OUT",
            )
        },
        "a Rust binary: cargo install code2prompt; or its binding: pip install code2prompt-rs",
    ),
    Tool(
        "code2prompt-py",
        {
            "raw": ("--path", "TREE", "--output", "OUT"),
            "tokens": ("--path", "TREE", "--output", "OUT", "--tokens"),
        },
        "pip install code2prompt (0.8, plain Python)",
        proof={"tokens": r"Token count: [1-9]"},
    ),
    Tool(
        "gitingest",
        dict.fromkeys(("default", "tokens"), ("TREE", "-o", "OUT")),
        "pip install gitingest",
        proof={"tokens": r"Estimated tokens: [0-9]"},
    ),
    Tool(
        "repomix",
        {"default": ("TREE", "-o", "OUT"), "full": ("TREE", "--quiet", "-o", "OUT")},
        "npm install repomix",
        {"default": _CACHED, "full": _CACHED},
    ),
    Tool("plain Python", {"raw": ("TREE", "OUT")}, ""),
    Tool("python -c pass", {"budgeted": ("-c", "pass")}, ""),
)

# tiktoken looks up a vocabulary by the SHA-1 of its address; repomix's tokenizer ships the same
# files.
_VOCABULARIES = {
    "cl100k_base.tiktoken": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base.tiktoken": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


def search_path(folders: Sequence[str]) -> list[str]:
    """Folders that may hold commands: below each given folder, this environment, then PATH."""
    patterns = ("", "bin", "*/bin", "node_modules/.bin", "*/node_modules/.bin")
    below = [
        p
        for f in folders
        for pattern in patterns
        for p in sorted(glob.glob(os.path.join(f, pattern)))
    ]
    return list(dict.fromkeys([*below, os.path.dirname(sys.executable), *os.get_exec_path()]))


def find(folders: Sequence[str]) -> tuple[list[Found], list[Tool]]:
    """(tools that are here, tools that are not), both in the order of TOOLS."""
    path = search_path(folders)
    found = [here for tool in TOOLS if (here := _locate(tool, path, folders)) is not None]
    names = {here.tool.name for here in found}
    return found, [tool for tool in TOOLS if tool.name not in names]


def environment(tool: str, cache: str, vocabularies: str | None) -> dict[str, str]:
    """A child's environment: every cache it may keep goes to `cache`, no colours, no settings of
    the user.
    """
    # PYTHON*: without written bytecode the sources are compiled in every run; unbuffered streams
    # are slow.
    foreign = ("SUTLER_", "REPOMIX_", "XDG_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    sources = os.environ.get("PYTHONPATH", "")
    if sources and tool.startswith(("sutler", "python")):
        # Children run in another folder, where a relative path would point at nothing.
        env["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sources.split(os.pathsep)))
    for name in ("CACHE", "STATE", "DATA", "CONFIG"):
        env[f"XDG_{name}_HOME"] = os.path.join(cache, name.lower())
    env.update(HOME=cache, TMPDIR=cache, NO_COLOR="1", TERM="dumb", PYTHONUSERBASE=_user_base())
    env["REPOMIX_TOKEN_CACHE_PATH"] = os.path.join(cache, "repomix", "token-counts.json")
    if vocabularies is not None:
        env.setdefault("TIKTOKEN_CACHE_DIR", vocabularies)
    return env


def vocabularies(folders: Sequence[str], into: str) -> str | None:
    """A tiktoken cache for the Python peers, made from the files that repomix's tokenizer brings.

    Without it, and without a network, those peers count nothing and would be timed for less work.
    """
    for folder in folders:
        for data in sorted(
            glob.glob(os.path.join(folder, "**/gpt-tokenizer/data"), recursive=True)
        ):
            os.makedirs(into, exist_ok=True)
            for name, key in _VOCABULARIES.items():
                shutil.copyfile(os.path.join(data, name), os.path.join(into, key))
            return into
    return None


def fill(words: Sequence[str], tree: str, out: str, listing: str = "") -> tuple[str, ...]:
    """A recipe with its places filled in."""
    places = {"TREE": tree, "OUT": out, "LIST": listing}
    return tuple(places.get(word, word) for word in words)


def python_of(words: Sequence[str]) -> str:
    """The interpreter of the environment that a Python command was installed into."""
    if words[0] == sys.executable:
        return sys.executable
    beside = os.path.join(os.path.dirname(os.path.realpath(words[0])), "python")
    return beside if os.access(beside, os.X_OK) else sys.executable


def _user_base() -> str:
    import site

    return site.getuserbase()


def _locate(tool: Tool, path: Sequence[str], folders: Sequence[str]) -> Found | None:
    if tool.name == "sutler":
        return _sutler(tool, path)
    if tool.name == "python -c pass":
        return Found(tool, (sys.executable,), sys.version.split()[0])
    if tool.name == "plain Python":
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plain.py")
        return Found(tool, (sys.executable, script), sys.version.split()[0])
    if tool.name.startswith("code2prompt"):
        return _code2prompt(tool, path, folders)
    for command in _commands(tool.name, path):
        return Found(tool, (command,), _version(command))
    return None


def _commands(name: str, path: Sequence[str]) -> Iterator[str]:
    for folder in path:
        command = os.path.join(folder, name)
        if os.path.isfile(command) and os.access(command, os.X_OK):
            yield command


def _sutler(tool: Tool, path: Sequence[str]) -> Found | None:
    """The command of this environment; else the package as this interpreter imports it; else any on
    the path.

    So PYTHONPATH=src measures the sources at hand, not a sutler installed elsewhere.
    """
    here = os.path.dirname(sys.executable)
    for command in _commands("sutler", [here]):
        return Found(tool, (command,), _version(command))
    if importlib.util.find_spec("sutler") and importlib.util.find_spec("sutler.__main__"):
        words = (sys.executable, "-m", "sutler")
        return Found(tool, words, _answer((*words, "--version")))
    for command in _commands("sutler", path):
        return Found(tool, (command,), _version(command))
    return None


def _code2prompt(tool: Tool, path: Sequence[str], folders: Sequence[str]) -> Found | None:
    """Two programs share one name: the old Python one stayed below 1.0, the Rust one is above."""
    wants_python = tool.name == "code2prompt-py"
    for command in _commands("code2prompt", path):
        version = _version(command)
        if version.startswith("0.") == wants_python:
            return Found(tool, (command,), version)
    return None if wants_python else _binding(tool, folders)


def _binding(tool: Tool, folders: Sequence[str]) -> Found | None:
    for folder in folders:
        for package in sorted(
            glob.glob(os.path.join(folder, "*/lib/python*/site-packages/code2prompt_rs"))
        ):
            python = os.path.join(package.split("/lib/python")[0], "bin", "python")
            ask = "import importlib.metadata as m; print(m.version('code2prompt-rs'))"
            recipes = {"tokens": ("-c", _BINDING, "TREE", "OUT")}
            return Found(tool._replace(recipes=recipes), (python,), _answer((python, "-c", ask)))
    return None


def _version(command: str) -> str:
    """What the tool says of itself, or what its environment knows of the package of that name."""
    said = _answer((command, "--version"))
    if said != "unknown":
        return said
    ask = f"import importlib.metadata as m; print(m.version({os.path.basename(command)!r}))"
    return _answer((python_of((command,)), "-c", ask))


def _answer(words: Sequence[str]) -> str:
    """The first version number in what a command prints, or "unknown"."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    number = re.search(r"\d+(\.\d+)+\S*", done.stdout)
    return number.group() if done.returncode == 0 and number else "unknown"
