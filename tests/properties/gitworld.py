"""Random repositories, and git's own verdict on every path in them."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from sutler.scan.root import Root
from sutler.scan.snapshot import ScanRules, Snapshot
from sutler.scan.walk import scan

GIT_ALONE = ScanRules(default_excludes=False, skip_file_bytes=None)
WITH_CREDENTIALS = ScanRules(default_excludes=False, skip_file_bytes=None, allow=("*",))

NAMES = [
    *[
        "a",
        "b",
        "c",
        "ab",
        "abc",
        "foo",
        "bar",
        "foo.c",
        "bar.o",
        "a.b.c",
        ".a",
        ".foo",
        "x y",
        "end ",
        "foobar",
    ],
    *[
        "A",
        "Foo",
        "é",
        "b\udcff",
        "#h",
        "!n",
        "[x]",
        "a*",
        "q?",
        "back\\slash",
        "-",
        "a-b",
        "]",
        "^",
        "{a}",
        "~",
    ],
]
PIECES = [
    *[
        "a",
        "b",
        "c",
        "ab",
        "foo",
        "bar",
        "x",
        ".",
        ".c",
        ".o",
        "*",
        "*",
        "**",
        "?",
        "/",
        "/",
        "**/",
        "/**",
    ],
    *[
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[]a]",
        "[!]a-]",
        "[[:alpha:]]",
        "[[:upper:]x]",
        "[[:nope:]]",
        "[\\]]",
    ],
    *[
        "[a-",
        "[",
        "]",
        "[--a]",
        "[b-a]",
        "[[:punct:]]",
        "[[:space:]]",
        "[a/b]",
        "\\*",
        "\\a",
        "\\",
        "\\/",
        " ",
        "\\ ",
    ],
    *[
        "é",
        "\udcff",
        "!",
        "#",
        "-",
        "{a,b}",
        "A",
        "F",
        "~",
        "***",
        "[[:digit:][:lower:]]",
        "[[a]",
        "[a\\-c]",
    ],
]


class Answer(NamedTuple):
    """Git's word on a path: ignored or not, and by which line of which file."""

    ignored: bool
    source: str
    line: int
    pattern: str


def pattern(rng: random.Random) -> str:
    if rng.random() < 0.25:
        body = rng.choice(NAMES)
    else:
        body = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 5)))
    if rng.random() < 0.2:
        body = "/" + body
    if rng.random() < 0.15:
        body += "/"
    if rng.random() < 0.25:
        body = "!" + body
    return body


def near(rng: random.Random, path: str) -> str:
    """A pattern made from a path by putting wildcards into it, so that it often matches and often
    just misses.
    """
    out = []
    for char in path:
        roll = rng.random()
        if roll < 0.72:
            out.append(char)
        elif roll < 0.8:
            out.append(rng.choice(["*", "**", "?", "***"]))
        elif roll < 0.86 and char not in "/]\\":
            out.append(
                rng.choice([f"[{char}]", f"[!{char}]", f"[a-{char}]", f"[{char}-z]", f"[^z{char}]"])
            )
        elif roll < 0.9:
            out.append("\\" + char)
        elif roll < 0.94 and char == "/":
            out.append(rng.choice(["/**/", "**/", "/**", "/*/", "//", "*"]))
        elif roll < 0.97:
            out.append(char + rng.choice(["*", "**", "/", "?"]))
    return (
        rng.choice(["", "", "", "/", "**/", "*/", "!"])
        + "".join(out)
        + rng.choice(["", "", "", "/", "/**", " "])
    )


def variant(rng: random.Random, path: str) -> str:
    """The path with a small change: a letter more or less, a folder more, another case."""
    parts = path.split("/")
    at = rng.randrange(len(parts))
    roll = rng.random()
    if roll < 0.3:
        parts.insert(at, rng.choice(NAMES))
    elif roll < 0.5:
        parts[at] += rng.choice(["a", "z", ".c", " ", "é"])
    elif roll < 0.65:
        parts[at] = parts[at][1:] or "b"
    elif roll < 0.8:
        parts[at] = parts[at].swapcase()
    elif len(parts) > 1:
        del parts[at]
    return "/".join(parts) if not {"", ".", "..", ".git"} & set(parts) else "a"


def ignore_file(rng: random.Random, most: int = 8) -> bytes:
    lines = [pattern(rng) for _ in range(rng.randint(0, most))]
    for _ in range(rng.randint(0, 2)):
        lines.insert(
            rng.randint(0, len(lines)),
            rng.choice(["", "# note", "  ", "\\#h", "\\!n", "a\0b", "*.o  ", "\r"]),
        )
    end = rng.choice(["\n", "\n", "\n", "\r\n"])
    text = end.join(lines) + rng.choice(["", end])
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + os.fsencode(text)


def init(top: str, config: str = "") -> None:
    """The least that git takes for a repository; quicker than starting git."""
    for folder in ("objects", "refs/heads", "info"):
        os.makedirs(os.path.join(top, ".git", folder))
    write(top, ".git/HEAD", b"ref: refs/heads/main\n")
    write(top, ".git/config", b"[core]\n\trepositoryformatversion = 0\n" + os.fsencode(config))


def write(top: str, path: str, data: bytes = b"x\n") -> None:
    full = os.path.join(top, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as stream:
        stream.write(data)


def tree(rng: random.Random, top: str, count: int) -> list[str]:
    """Random files in random folders; every path made, folders included, as git is to be asked."""
    files: set[str] = set()
    folders: set[str] = set()
    for _ in range(count):
        parts = [rng.choice(NAMES) for _ in range(rng.randint(1, 5))]
        path = "/".join(parts)
        parents = {"/".join(parts[:n]) for n in range(1, len(parts))}
        if path in folders or parents & files:
            continue
        files.add(path)
        folders |= parents
        write(top, path)
    for folder in sorted(folders):
        if rng.random() < 0.35:
            write(top, f"{folder}/.gitignore", ignore_file(rng, 4))
            files.add(f"{folder}/.gitignore")
    write(top, ".gitignore", ignore_file(rng))
    write(top, ".git/info/exclude", ignore_file(rng, 3))
    return sorted({*files, *folders, ".gitignore"})


def git(top: str, *words: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["git", "-C", top, *words], input=stdin, capture_output=True, timeout=60)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr.decode())
    return done.stdout


def git_answers(top: str, paths: Iterable[str]) -> dict[str, Answer]:
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = os.fsdecode(
        git(top, "check-ignore", "-z", "-v", "-n", "--no-index", "--stdin", stdin=stdin)
    ).split("\0")
    answers = {}
    for at in range(0, len(fields) - 1, 4):
        source, line, text, path = fields[at : at + 4]
        ignored = bool(text) and not text.startswith("!")
        answers[path] = (
            Answer(True, source, int(line), text) if ignored else Answer(False, "", 0, "")
        )
    return answers


def our_answers(snapshot: Snapshot, paths: Iterable[str], excludes: str = "") -> dict[str, Answer]:
    """What a scan decided, path by path: a folder that was pruned answers for all below it."""
    out = {one.path.rstrip("/"): one for one in snapshot.excluded if one.reason == "ignored"}
    answers = {}
    for path in paths:
        answers[path] = Answer(False, "", 0, "")
        parts = path.split("/")
        for n in range(1, len(parts) + 1):
            one = out.get("/".join(parts[:n]))
            if one is not None:
                source = one.rule.source.replace("core.excludesFile", excludes)
                answers[path] = Answer(True, source, one.rule.line, one.rule.pattern)
                break
    return answers


def our_scan(top: str, rules: ScanRules = GIT_ALONE) -> Snapshot:
    with Root(top) as root:
        return scan(root, rules)


def git_files(top: str, *, present: bool = True) -> set[str]:
    """Tracked and untracked files that git would not ignore, those that exist."""
    found = os.fsdecode(git(top, "ls-files", "-c", "-o", "-z", "--exclude-standard")).split("\0")
    return {path for path in found if path and os.path.lexists(os.path.join(top, path))}


def our_files(snapshot: Snapshot) -> set[str]:
    """The same set from a scan: git lists links too, and another repository as one folder."""
    listed = {one.path for one in snapshot.excluded if one.reason in ("symlink", "submodule")}
    return {*listed, *(str(one.path) for one in snapshot.entries)}
