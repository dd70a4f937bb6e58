"""The listing that gather offers to a model: only files that the scan admits."""

from __future__ import annotations

from stat import S_ISDIR, S_ISREG

from msgspec.structs import replace

from sutler.goals.context_files import secret_name
from sutler.goals.gather_options import Options
from sutler.goals.loader import MODEL_RULES, Clean, build_matcher, resolve
from sutler.paths import RelPath
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import ScanRules
from sutler.scan.walk import scan
from sutler.system import fs

EXCLUDED = frozenset(("node_modules", ".git", "dist", "build", ".next", "coverage", ".cache"))


def list_directory(
    root: str, options: Options, clean: Clean | None = None, rules: ScanRules = MODEL_RULES
) -> list[str]:
    """List files and folders below `dir`, sorted, down to `max_depth`. Leave out excluded files,
    links and names that hold a secret."""
    start = resolve(root, options.dir, ".")
    # A user who names such a folder in `dir` wants its files.
    exclusions = EXCLUDED if not EXCLUDED.intersection(options.dir.split("/")) else frozenset()
    wanted = build_matcher(options.filter)
    unwanted = build_matcher(options.exclude) if options.exclude else None
    entries: list[str] = []

    def walk(below: str, depth: int) -> None:
        if depth > options.max_depth:
            return
        for name, mode in _entries(base, f"{start}/{below}".strip("/")):
            path = f"{below}/{name}" if below else name
            full = f"{start}/{path}".removeprefix("./").lstrip("/") if start else path
            if name in exclusions or (unwanted and unwanted(name)):
                continue
            if clean and secret_name(path, clean):
                continue
            if S_ISDIR(mode) and not name.startswith(".") and f"{full}/" not in closed:
                entries.append(path)
                walk(path, depth + 1)
            elif S_ISREG(mode) and full in admitted and wanted(name):
                entries.append(path)

    with Root(root) as base:
        admitted, closed = _scanned(base, start, options, rules)
        walk("", 1)
    return entries


def _scanned(
    base: Root, start: RelPath, options: Options, rules: ScanRules
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the paths of admitted files, and of excluded folders, which end in `/`."""
    depth = min(max(0, int(options.max_depth) - 1), rules.depth or 1 << 30)
    snapshot = scan(base, replace(rules, depth=depth), [start] if start else [])
    closed = {exclusion.path for exclusion in snapshot.excluded if exclusion.reason != "depth"}
    return frozenset(entry.path for entry in snapshot.entries), frozenset(closed)


def _entries(base: Root, path: str) -> list[tuple[str, int]]:
    try:
        fd = base.open(RelPath(path), DIRECTORY)
    except OSError:
        return []
    try:
        with fs.scandir(fd) as listing:
            rows = [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in listing]
    except OSError:
        return []
    finally:
        fs.close(fd)
    return sorted(rows)
