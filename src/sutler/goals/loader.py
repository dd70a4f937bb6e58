"""The context loader's API: files into a mapping, and the mapping into assign lines.

Names, order, messages and the mutation of the mapping follow the specification (seed 000). Two
additions: files outside the root are never read, whatever the caller or a model requests; and
here-doc tokens derive from the content, so that the same files give the same text.

    options = LoadOptions(root="/project", filter="*.py", max_files=8)
    read_include_files(["README.md"], files, options)
    read_requested_files(["src/a.py"], files, options)
    text = build_context_assign_string(files, root="/project")"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping

from msgspec import Struct

from sutler.errors import RefusedError
from sutler.formats.assign import assign_text, build_here_doc_token, build_safe_base_name
from sutler.goals.context_files import Clean, secret_name, unchanged
from sutler.paths import RelPath, parse_relpath, quote
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem, ScanRules
from sutler.scan.text import decode
from sutler.scan.walk import explain, scan

__all__ = [
    "LoadOptions",
    "build_context_assign_string",
    "build_here_doc_token",
    "build_matcher",
    "build_safe_base_name",
    "load_options",
    "read_include_files",
    "read_requested_files",
]

MODEL_RULES = ScanRules(skip_file_bytes=None)
"""Scan rules for requests of a model, unless the caller has settings of its own."""
_MESSAGES = {
    "missing": "no such file or directory",
    "vanished": "no such file or directory",
    "denied": "permission denied",
    "special": "not a regular file",
    "loop": "a symbolic link is not followed",
}


def build_matcher(pattern: str | None) -> Callable[[str], bool]:
    """Compile a pattern: `*` is any text, `?` any character, nothing else is special. An empty
    pattern matches everything.

    There is no backtracking: a pattern with many stars cannot take exponential time."""
    if not pattern:
        return lambda value: True
    first, *others = (re.escape(piece).replace(r"\?", ".") for piece in pattern.split("*"))
    # The leftmost place of a piece leaves the most room for the others; an atomic group keeps it.
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1])
    last = f".*{others[-1]}" if others else ""
    matches = re.compile(first + middle + last).fullmatch
    return lambda value: matches(value) is not None


class Marker(str):
    """A message in place of a file's content: the file was skipped, withheld or unreadable."""

    __slots__ = ()


class LoadOptions(Struct, frozen=True, kw_only=True):
    """The options of the specification, and three additions: the root that confines every read, the
    redactor, and the scan rules."""

    dir: str = "."
    filter: str | None = None
    max_files: float | None = None
    max_file_size: float | None = None
    root: str = "."
    clean: Clean = unchanged
    rules: ScanRules = MODEL_RULES


DEFAULTS = LoadOptions()
_ORIGINAL_NAMES = {"maxFiles": "max_files", "maxFileSize": "max_file_size"}


def load_options(options: LoadOptions | Mapping[str, object]) -> LoadOptions:
    """Convert a mapping to LoadOptions. Keys may have the specification's names (`maxFiles`) or the
    field names. Keys of other functions, such as `maxDepth`, are skipped; None means the
    default."""
    if isinstance(options, LoadOptions):
        return options
    named = {_ORIGINAL_NAMES.get(key, key): value for key, value in options.items()}
    fields = {
        key: value
        for key, value in named.items()
        if key in LoadOptions.__struct_fields__ and value is not None
    }
    # The caller's values stay unchecked, as in the original.
    return LoadOptions(**fields)  # type: ignore[arg-type]


def read_requested_files(
    file_paths: Iterable[str],
    read_files: MutableMapping[str, str],
    options: LoadOptions | Mapping[str, object] = DEFAULTS,
) -> None:
    """Read the files that a model requests into `read_files`, in order.

    The rules of a scan apply: a model cannot read an ignored file by naming it.

    Stop at `max_files` entries. Skip present entries and, silently, names that do not match
    `filter`. For a file over `max_file_size`, or one that cannot be read, store a message in place
    of its content."""
    options = load_options(options)
    matches = build_matcher(options.filter) if options.filter else None
    with Root(options.root) as base:
        for file_path in file_paths:
            if options.max_files is not None and len(read_files) >= options.max_files:
                break
            if file_path in read_files:
                continue
            if matches and not matches(file_path.rsplit("/", 1)[-1]):
                continue
            if secret_name(file_path, options.clean):
                continue
            read_files[file_path] = _content(base, file_path, options, named=False)


def read_include_files(
    include_paths: Iterable[str] | None,
    read_files: MutableMapping[str, str],
    options: LoadOptions | Mapping[str, object] = DEFAULTS,
) -> None:
    """Read the files that the user includes: without filter and `max_files`, but with the size
    limit."""
    # A text is iterable too, but its characters are not paths.
    if not include_paths or isinstance(include_paths, str):
        return
    options = load_options(options)
    with Root(options.root) as base:
        for file_path in include_paths:
            if file_path not in read_files and not secret_name(file_path, options.clean):
                read_files[file_path] = _content(base, file_path, options, named=True)


def _content(base: Root, file_path: str, options: LoadOptions, *, named: bool) -> str:
    """Return a file's text, or the Marker in its place."""
    try:
        path = resolve(base.host_path, options.dir, file_path)
    except RefusedError as error:
        return Marker(f"[Error reading file: {error.what}]")
    verdict = _decision(base, path, options, named)
    if isinstance(verdict, Excluded):
        rule = options.clean(str(verdict.rule), "")
        return Marker(f"[Error reading file: withheld ({verdict.reason}, {rule}): {quote(path)}]")
    limit = options.max_file_size
    blob = base.read(path, None if limit is None else int(limit))
    if isinstance(blob, Problem):
        if blob.kind == "too_large" and limit is not None:
            size = _size(base, path)
            return Marker(f"[Skipped: file size {size} bytes exceeds maxFileSize {_number(limit)}]")
        message = _MESSAGES.get(blob.kind, blob.detail)
        return Marker(f"[Error reading file: {message}: {quote(path)}]")
    text = _text(blob.data)
    return options.clean(text, path)


def _decision(
    base: Root, path: RelPath, options: LoadOptions, named: bool
) -> FileEntry | Excluded | Problem:
    """Return the scan's decision about a file. Naming an excluded folder as `dir` opens that
    folder, for a model too; exclusions below it still apply."""
    verdict = explain(base, options.rules, path, named=named)
    if named or not isinstance(verdict, Excluded):
        return verdict
    start = resolve(base.host_path, options.dir, ".")
    if not start or not isinstance(explain(base, options.rules, start), Excluded):
        return verdict
    snapshot = scan(base, options.rules, [start])
    return next((entry for entry in snapshot.entries if entry.path == path), verdict)


def _text(data: bytes) -> str:
    """Decode as UTF-8, as the specification does. Detect UTF-16 and UTF-32 as well: with a NUL
    between letters no redaction rule would match."""
    decoded = decode(data) if b"\0" in data[:4096] else None
    return data.decode("utf-8", "replace") if decoded is None else decoded.text


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _size(base: Root, path: RelPath) -> int:
    fd = base.open(path)
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def resolve(root: str, dir: str, file_path: str) -> RelPath:
    """Resolve a requested path to a path below the root, relative to `dir` unless absolute. Raise
    RefusedError if it leads outside."""
    spelled = file_path.replace("\\", "/") if os.sep == "\\" else file_path
    if spelled.startswith("/"):
        return parse_relpath(_below(root, spelled))
    folder = _below(root, dir) if dir.startswith("/") else dir or "."
    joined = posixpath.normpath(posixpath.join(folder, spelled))
    if joined == ".." or joined.startswith(("../", "/")):
        raise _outside(file_path)
    return RelPath("") if joined == "." else parse_relpath(joined)


def _below(root: str, path: str) -> str:
    """Make an absolute path relative to the root, whose links may be resolved in it or not."""
    normal = posixpath.normpath(path)
    for host in dict.fromkeys((os.path.abspath(root), os.path.realpath(root))):
        if normal == host:
            return "."
        if normal.startswith(host.rstrip("/") + "/"):
            return normal[len(host.rstrip("/")) + 1 :]
    raise _outside(path)


def _outside(path: str) -> RefusedError:
    return RefusedError(
        f"outside the project: {quote(path)}", rule="nothing outside the root is read"
    )


def build_context_assign_string(
    read_files: Mapping[str, str], *, root: str = ".", dir: str = ".", compat: bool = False
) -> str:
    """Render the files as assign lines, in the mapping's order, with paths relative to `root`. No
    files give an empty text.

    `compat` ignores `dir` and lets two files of one stem share one name, as the original does."""
    folder = "." if compat else dir
    return assign_text(
        ((_from_root(root, folder, path), text) for path, text in read_files.items()), compat=compat
    )


def _from_root(root: str, dir: str, file_path: str) -> str:
    """Return the path relative to the root; a path outside keeps its spelling."""
    host = os.path.abspath(root)
    full = os.path.normpath(os.path.join(host, dir, file_path))
    path = os.path.relpath(full, host).replace(os.sep, "/")
    return file_path if path.startswith("../") else path
