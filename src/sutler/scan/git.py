"""Git's own files: a repository's place, its configuration and its index.

Git is never run here. In a hostile repository even `git status` and `git check-ignore` start
programs that `.git/config` names. These files are data: nothing in them is executed, and a
repository's own configuration cannot point us at a file outside that repository."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sutler.scan.root import DESCRIPTORS, canonical
from sutler.system import fs

_SMALL: Final = 1 << 20  # these files are lines that people write
_INCLUDES: Final = 10  # git's own limit
_DEEPEST: Final = 1000  # folders above a root


class Repository(Struct, frozen=True, gc=False):
    """Location of a repository. `top` is its work tree; `common` is shared by all its work trees;
    `above` is the number of folders from the queried folder up to `top`."""

    top: str
    git_dir: str
    common: str
    above: int = 0

    def below(self, folder: str) -> list[str]:
        """Names that lead from `top` to the queried folder."""
        return canonical(folder).split("/")[-self.above :] if self.above else []


class Tracked:
    """Paths that the index tracks, from the top of the work tree."""

    __slots__ = ("_links", "_order", "_paths", "_sparse")

    def __init__(
        self, paths: frozenset[str], links: frozenset[str], sparse: tuple[str, ...]
    ) -> None:
        self._paths = paths
        self._links = links
        self._sparse = sparse  # directories that represent all they hold, each with its final slash
        self._order: list[str] | None = None

    def file(self, path: str) -> bool:
        return path in self._paths or path.startswith(self._sparse)

    def link(self, path: str) -> bool:
        """Return whether this directory is the place of a submodule."""
        return path in self._links

    def below(self, directory: str) -> bool:
        """Return whether anything below this directory is tracked."""
        start = directory + "/"
        if start.startswith(self._sparse) or any(one.startswith(start) for one in self._sparse):
            return True
        if self._order is None:
            self._order = sorted(self._paths)
        at = bisect_left(self._order, start)
        return at < len(self._order) and self._order[at].startswith(start)


NOTHING: Final = Tracked(frozenset(), frozenset(), ())


def read_plain(path: str, limit: int = _SMALL, *, follow: bool = False) -> bytes | None:
    """Read a small regular file; None if it is absent, a link, special or too long."""
    flags = fs.O_RDONLY | fs.O_NONBLOCK | fs.O_CLOEXEC | (0 if follow else fs.O_NOFOLLOW)
    try:
        fd = fs.open(path, flags)
    except (OSError, ValueError):  # a NUL in a configured path names no file
        return None
    try:
        state = fs.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_size > limit:
            return None
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        fs.close(fd)


def find_repository(folder: str) -> Repository | None:
    """Return the repository whose work tree holds this folder, searched upward as git does. From a
    root's `anchor` the kernel goes up, so that no renamed folder can lead elsewhere."""
    anchored = folder.startswith(DESCRIPTORS)
    here = folder if anchored else os.path.realpath(folder)
    for levels in range(_DEEPEST):
        found = repository_at(here)
        if found is not None:
            return replace(found, above=levels)
        parent = f"{here}/.." if anchored else os.path.dirname(here)
        try:
            if parent == here or os.path.samefile(parent, here):
                return None
        except OSError:  # a closed folder above ends the search
            return None
        here = parent
    return None


def repository_at(top: str) -> Repository | None:
    """Return the repository whose work tree starts exactly here. A bare repository is a folder like
    any other."""
    git = os.path.join(top, ".git")
    try:
        mode = fs.stat(git).st_mode
    except (OSError, ValueError):  # no `.git` here, as in nearly every folder
        return None
    if stat.S_ISREG(mode):
        text = read_plain(git, follow=True)
        if text is None or not text.startswith(b"gitdir: "):
            return None
        git = os.path.join(top, os.fsdecode(text[8:].rstrip(b"\r\n")))
    if "\0" in git or not _is_git_directory(git):
        return None
    return Repository(top, git, _common(git))


def _common(git_dir: str) -> str:
    text = read_plain(os.path.join(git_dir, "commondir"))
    if text and b"\0" not in text:
        return os.path.join(git_dir, os.fsdecode(text.rstrip(b"\r\n")))
    return git_dir


_HEAD: Final = rb"ref:\s*refs/|[0-9a-fA-F]{40}"


def _is_git_directory(git: str) -> bool:
    head = os.path.join(git, "HEAD")
    try:
        if os.path.islink(head):
            good = fs.readlink(head).startswith("refs/")
        else:
            good = re.match(_HEAD, read_plain(head) or b"") is not None
    except OSError:  # an unreadable folder is no repository for git either
        return False
    common = _common(git)
    return good and all(
        fs.access(os.path.join(common, name), os.X_OK) for name in ("objects", "refs")
    )


# Configuration ----------------------------------------------------------------------

# Compiled when a configuration file exists.
_SECTION: Final = r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]'
_BLANK: Final = r"\s*(?:[#;][^\n]*)?(?:\n|\Z)"
_KEY: Final = r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*"
_VALUE: Final = r'\\(\r?\n|[nbt"\\])|(")|([#;])|(\r?\n|\Z)|([^\\"#;\r\n]+|.)'
_WANTED: Final = (b"excludesfile", b"ignorecase", b"objectformat", b"include")
_ESCAPES: Final = {"n": "\n", "b": "\b", "t": "\t", '"': '"', "\\": "\\"}


def _value(text: str, at: int) -> tuple[str, int]:
    """Parse one value from `at`: quotes, escapes, continued lines, comments; return it with the
    position after it."""
    parts: list[str] = []
    length = keep = 0  # what was quoted or escaped up to `keep` is not trimmed
    quoted = False
    token_at = re.compile(_VALUE).match
    while (match := token_at(text, at)) is not None:
        at = match.end()
        escape, quote, comment, end, plain = match.groups()
        if end is not None:
            break
        if comment and not quoted:
            at = text.find("\n", at) + 1 or len(text)
            break
        piece = _ESCAPES.get(escape, "") if escape else (plain or comment or "")
        parts.append(piece)
        length += len(piece)
        if quote:
            quoted = not quoted
        if quote or quoted or (piece and escape):
            keep = length
    whole = "".join(parts)
    return whole[:keep] + whole[keep:].rstrip(), at


def parse_config(data: bytes, *, whole: bool = False) -> list[tuple[str, str]]:
    """Return pairs of `section.key` (lower case, except sub-sections) and value, in order, up to
    the first malformed line."""
    lowered = data.lower()
    if not whole and not any(word in lowered for word in _WANTED):
        # most files hold no relevant key, and four expressions need not be compiled
        return []
    text = os.fsdecode(data.removeprefix(b"\xef\xbb\xbf"))
    pairs: list[tuple[str, str]] = []
    section, at = "", 0
    blank_at, section_at, key_at = (re.compile(one).match for one in (_BLANK, _SECTION, _KEY))
    while at < len(text):
        blank = blank_at(text, at)
        if blank is not None and blank.end() > at:
            at = blank.end()
            continue
        head = section_at(text, at)
        if head is not None:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            at = head.end()
            continue
        key = key_at(text, at)
        if key is None or not section:
            break
        if key[2]:
            value, at = _value(text, key.end())
        else:
            value, at = "true", text.find("\n", key.end()) + 1 or len(text)
        pairs.append((f"{section}.{key[1].lower()}", value))
    return pairs


def _home(path: str) -> str:
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path


def _with_includes(path: str, depth: int = 0) -> list[tuple[str, str]]:
    """Read a user's own configuration file, with its `include.path` files in place."""
    data = read_plain(path, follow=True)
    if data is None or depth > _INCLUDES:
        return []
    pairs: list[tuple[str, str]] = []
    for key, value in parse_config(data):
        pairs.append((key, value))
        if key == "include.path" and value:
            pairs += _with_includes(os.path.join(os.path.dirname(path), _home(value)), depth + 1)
    return pairs


def user_config() -> dict[str, str]:
    """Return git settings of the system and the user, the later ones winning, from git's own
    locations."""
    env = os.environ
    config_home = env.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = []
    if env.get("GIT_CONFIG_NOSYSTEM", "").lower() in ("", "0", "false", "no", "off"):
        files.append(env.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in env:
        files.append(env["GIT_CONFIG_GLOBAL"])
    else:
        files += [os.path.join(config_home, "git/config"), os.path.expanduser("~/.gitconfig")]
    return dict(pair for file in files for pair in _with_includes(file))


def repository_config(repository: Repository) -> dict[str, str]:
    """Return the repository's own settings. Its includes are not followed: they could name any file
    on the host."""
    data = read_plain(os.path.join(repository.common, "config"))
    return dict(parse_config(data)) if data is not None else {}


def global_excludes(settings: dict[str, str]) -> str:
    """Return the path of the user's own ignore file, from the settings or git's default."""
    named = settings.get("core.excludesfile")
    if named is not None:
        return _home(named)
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config_home, "git/ignore")


def truth(value: str) -> bool:
    return value.strip().lower() in ("true", "yes", "on", "1")
