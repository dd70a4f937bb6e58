"""Resolve the words of a command to a root and the named paths below it."""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sutler.config import Layer, parse_toml
from sutler.errors import RefusedError, UsageError
from sutler.languages import MANIFESTS
from sutler.paths import RelPath, quote, unquote
from sutler.scan.git import find_repository
from sutler.scan.root import DESCRIPTORS
from sutler.system import fs

CONFIG_LIMIT = 1_000_000
"""Limit of a configuration file in bytes; a larger file is none."""


class Place(Struct, frozen=True):
    """A root directory, and the files and folders named below it; without names, the whole root."""

    root: str
    named: tuple[RelPath, ...] = ()


def locate(paths: Sequence[str], cwd: str) -> Place:
    """Choose the root. Inside the current repository, paths stay relative to the user's directory;
    one folder elsewhere, in another repository or in none, is its own root; several places share
    their common ancestor."""
    targets = [os.path.abspath(os.path.join(cwd, path)) for path in paths or ["."]]
    if "" in paths:
        raise UsageError(
            "an empty path was given", next_step="name a file or folder; '.' is this folder"
        )
    for path, target in zip(paths, targets, strict=False):
        if not os.path.lexists(target):
            raise UsageError(
                f"{quote(path)} does not exist",
                next_step=instead_of(path)
                or "check the spelling, or run it from another folder"
                + "; a text of several words needs quotes" * path.isalpha(),
            )
    root = _root_of(targets, cwd)
    if root == os.path.sep:
        raise RefusedError(
            "the root of the file system is not a project",
            rule="a pack has one project",
            next_step="name a folder",
        )
    named = [RelPath(os.path.relpath(target, root)) for target in targets if target != root]
    if len(named) == len(targets):
        return Place(root, tuple(sorted(set(named))))
    _require_project(root)
    return Place(root)


def instead_of(word: str) -> str:
    """Return advice for a word in the place of a path that means something else; "" if it looks
    like a path."""
    place = re.fullmatch(r"(.+):\d+(?:-\d+)?", word)
    if place and os.path.isfile(place[1]):
        return f"for lines of a file, write sutler read {quote(word)}"
    if word == "-":
        return "names of files are read from stdin with --stdin, a text with --goal -"
    if word.startswith(("–", "—")):
        return "an option begins with two hyphens, as in --goal"
    if re.search(r"[*?\[]", word):
        return f"a pattern is an option: -i {shlex.quote(word)}"
    if " " in word:
        return f"a task is an option: sutler pack --goal {shlex.quote(word)}"
    if os.path.lexists(slashed := word.replace("\\", "/")):
        return f"folders are separated by a slash: {quote(slashed)}"
    return ""


def _require_project(root: str) -> None:
    """Refuse a home folder, or one that holds homes, unless it is a project by its own files."""
    home = os.path.realpath(os.path.expanduser("~"))
    if not _below(home, os.path.realpath(root)):
        return
    try:
        names = sorted(os.listdir(root))
    except OSError:  # the scan itself reports the error
        return
    if ".git" in names or not MANIFESTS.isdisjoint(name.lower() for name in names):
        return
    folders = [name for name in names if os.path.isdir(os.path.join(root, name))]
    if not folders:
        return
    shown = ", ".join(quote(name) for name in folders[:5])
    more = f" and {len(folders) - 5:,} more" if len(folders) > 5 else ""
    raise RefusedError(
        f"{quote(root)} is or holds your home folder; text of {shown}{more} would leave",
        rule="a pack has one project",
        next_step="name a project folder below it",
    )


def _root_of(targets: Sequence[str], cwd: str) -> str:
    folders = [target if os.path.isdir(target) else os.path.dirname(target) for target in targets]
    home = repository_of(cwd)
    alone = len(targets) == 1 and not os.path.islink(targets[0])  # a link stays a link
    if alone and home is None and os.path.isdir(targets[0]):
        return folders[0]
    if all(_below(folder, cwd) and repository_of(folder) == home for folder in folders):
        return cwd
    return os.path.commonpath(folders)


def _below(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def repository_of(folder: str) -> str | None:
    """Return the nearest folder at or above that holds `.git`, by names alone: no file is read, no
    program run."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def config_home(environ: Mapping[str, str]) -> str:
    """Return the folder of the user's own configuration file."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(
        environ.get("HOME") or os.path.expanduser("~"), ".config"
    )
    return os.path.join(base, "sutler")


class ConfigFile(Struct, frozen=True):
    """A configuration file that applies to a project; `trusted` marks the user's own."""

    path: str
    origin: str
    text: str
    trusted: bool
    pyproject: bool = False


def config_files(root: str, environ: Mapping[str, str]) -> list[ConfigFile]:
    """Return the user's file and the project's, weakest first. `sutler.toml` outranks
    `[tool.sutler]` in pyproject.toml."""
    files: list[ConfigFile] = []
    own = os.path.join(config_home(environ), "config.toml")
    text = _read(own, own=True)
    if text is not None:
        files.append(ConfigFile(own, own, text, True))
    for folder in dict.fromkeys((_top_of(root), root)):
        path = os.path.join(folder, "sutler.toml")
        text = _read(path)
        if text is not None:
            files.append(ConfigFile(path, "sutler.toml", text, False))
            continue
        path = os.path.join(folder, "pyproject.toml")
        text = _read(path, whole=False)
        if (
            text is not None and "[tool.sutler" in text
        ):  # spares most Python projects the TOML parser
            files.append(ConfigFile(path, "pyproject.toml", text, False, True))
    return files


def config_paths(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that `config_files` depends on, absent ones included: the configuration
    files, and the `.git` of each folder from the root up to the top of its repository."""
    top, folder = _top_of(root), root
    paths = [os.path.join(config_home(environ), "config.toml")]
    for place in (top, root):
        paths += [os.path.join(place, "sutler.toml"), os.path.join(place, "pyproject.toml")]
    for _ in range(64):  # deeper trees exist; their configuration is read when the server starts
        paths.append(os.path.join(folder, ".git"))
        if folder == top != root or _is_filesystem_root(folder):
            break
        folder = os.path.join(folder, "..")
    return tuple(paths)


def _is_filesystem_root(folder: str) -> bool:
    try:
        return os.path.samefile(folder, os.path.join(folder, ".."))
    except OSError:  # an unreadable folder must not be packed by mistake
        return True


def _top_of(root: str) -> str:
    """Return the top of the repository around a folder, or the folder. The kernel follows a root's
    anchor upward, not names."""
    if not root.startswith(DESCRIPTORS):
        return repository_of(root) or root
    repository = find_repository(root)
    return root if repository is None else repository.top


def layers_of(files: Sequence[ConfigFile], profile: str = "") -> list[Layer]:
    """Return the settings of the configuration files, in their order."""
    layers: list[Layer] = []
    for file in files:
        layers += parse_toml(
            file.text, file.origin, pyproject=file.pyproject, trusted=file.trusted, profile=profile
        )
    return layers


def project_config(root: str, environ: Mapping[str, str], profile: str = "") -> list[Layer]:
    """Return the settings of the user's file and of the project's, weakest first, with the named
    profile applied."""
    layers = layers_of(config_files(root, environ), profile)
    if profile and not any(f"[profiles.{profile}]" in layer.origin for layer in layers):
        raise UsageError(
            f"no profile named '{profile}'",
            next_step="add a [profiles.NAME] section to a config file",
        )
    return layers


def _read(path: str, *, own: bool = False, whole: bool = True) -> str | None:
    """Read a small regular file; None if it does not exist. An unreadable file is an error, since
    it may hold a denial. Links are followed for the user's own file alone: a project must not point
    us elsewhere. `whole` says that the file is ours alone; pyproject.toml belongs to other tools
    too, and may hold whatever they accept."""
    import stat

    shown = path if own else os.path.basename(path)
    try:
        fd = fs.open(
            path, fs.O_RDONLY | (0 if own else fs.O_NOFOLLOW) | fs.O_NONBLOCK | fs.O_CLOEXEC
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENOTDIR or (
            not whole and error.errno in (errno.ELOOP, errno.ENXIO)
        ):
            return None
        # A home that is closed to this user, as under sudo, holds no settings of theirs.
        if own and not os.path.lexists(path):
            return None
        why = (
            "it is a symbolic link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
        )
        raise _unreadable(shown, why) from None
    try:
        if not stat.S_ISREG(fs.fstat(fd).st_mode):
            if whole:
                raise _unreadable(shown, "it is not a regular file")
            return None
        data = os.read(fd, CONFIG_LIMIT + 1)
    except OSError as error:
        raise _unreadable(shown, os.strerror(error.errno or 0)) from None
    finally:
        fs.close(fd)
    if len(data) > CONFIG_LIMIT:
        raise UsageError(
            f"{quote(path)} is larger than {CONFIG_LIMIT:,} bytes", rule="a config file is small"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{quote(path)} is not UTF-8", next_step="save it as UTF-8") from error


def _unreadable(shown: str, why: str) -> UsageError:
    return UsageError(
        f"cannot read the settings in {quote(shown)}: {why}",
        rule="settings that are there are not passed over",
        next_step="make it a readable file, or move it away",
    )


def path_within(root: str, path: str) -> RelPath:
    """Return a path of the project below `root`, from the command line or in the quoted form of
    listings."""
    if not path:
        raise UsageError(
            "an empty path was given", next_step="name a file or folder of this project"
        )
    spelt = path if os.path.lexists(path) else unquote(path)
    target = os.path.relpath(os.path.abspath(spelt), root)
    if target == ".." or target.startswith("../"):
        raise UsageError(
            f"{quote(path)} lies outside this folder",
            rule="the command is about one project",
            next_step="run it from there",
        )
    return RelPath("" if target == "." else target)
