"""The least a packer in plain Python can do: walk with ignore rules, read, check for text, write.
Nothing else.

No confinement, no order that can be relied on, no digests, no manifest, no record. Peers that
cannot be installed are estimated from its time: it meets the same interpreter, disk and kernel as
sutler.
"""

import fnmatch
import os
import re
import sys
from collections.abc import Iterator

_BLOCK = 1 << 20


def _rules(folder: str, above: tuple[re.Pattern[str], ...]) -> tuple[re.Pattern[str], ...]:
    """The rules of a folder: one expression for each ignore file, names only."""
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8") as stream:
            lines = [line.strip().strip("/") for line in stream]
    except (OSError, UnicodeError):
        return above
    names = [fnmatch.translate(line) for line in lines if line and line[0] not in "#!"]
    return (*above, re.compile("|".join(names))) if names else above


def _files(root: str) -> Iterator[str]:
    todo: list[tuple[str, tuple[re.Pattern[str], ...]]] = [(root, ())]
    seen: dict[tuple[str, int], bool] = {}
    while todo:
        folder, above = todo.pop()
        with os.scandir(folder) as listing:
            entries = list(listing)
        rules = (
            _rules(folder, above) if any(entry.name == ".gitignore" for entry in entries) else above
        )
        for entry in entries:
            key = (entry.name, len(rules))
            if key not in seen:
                seen[key] = entry.name[0] == "." or any(rule.match(entry.name) for rule in rules)
            if seen[key]:
                continue
            if entry.is_dir(follow_symlinks=False):
                todo.append((entry.path, rules))
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def main(root: str, out: str) -> None:
    target = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    waiting: list[bytes] = []
    size = 0
    for path in _files(root):
        fd = os.open(path, os.O_RDONLY)
        data = os.read(fd, os.fstat(fd).st_size + 1)
        os.close(fd)
        if b"\0" in data[:8192]:
            continue
        try:
            data.decode()
        except UnicodeDecodeError:
            continue
        waiting += (b">>>> ", os.fsencode(path), b"\n", data, b"\n")
        size += len(data)
        if size > _BLOCK:
            os.write(target, b"".join(waiting))
            waiting, size = [], 0
    os.write(target, b"".join(waiting))
    os.close(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
