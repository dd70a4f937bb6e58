"""Built-in name rules: credentials, and the other names that seed 004 excludes.

One table for packs, goals, gather and agents alike.

A name in `CERTAIN` is a credential, whatever the file holds. A name in `RESEMBLING` only looks like
one: `handler_oauth2_token.go` is source. So a file of code or prose with such a name, or in a
folder with such a name, is judged by its content (redaction), and any other file is excluded.
`strict` gives the literal behaviour of the patterns: every match is excluded.

The other rules name folders of dependencies, build output and caches, and endings of binary files.
`handwritten` is their exception for files that git tracks: sccache keeps source in `src/dist/`."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from functools import lru_cache
from typing import Final

from sutler.languages import language_of_name
from sutler.scan.classify import extractable, facts_of
from sutler.scan.snapshot import Reason, Rule

RESEMBLING: Final = ("credentials*", "secrets*", "*_secret*", "*_token*", "*.asc")

CERTAIN: Final = (
    "*.pem", "*.key", "*.crt", "*.p12", ".env*", "*.keystore",
    # Seed 004's list ends here. These are private keys, key stores, password files and the
    # configuration of tools that keep a login, by their usual names.
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass",
    ".git-credentials", ".htpasswd", "*.kdbx", "*.pfx", "*.jks", "*.ppk", "*.env", "*.p8",
    "*.gpg", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".my.cnf", ".pypirc", ".dockercfg",
    "kubeconfig", ".vault-token", ".npmrc", ".yarnrc.yml", "*.secret", "*.secrets", "*.token",
    "*.tfstate", "*.tfstate.*", "*.tfvars", "service-account*.json", "client_secret*.json",
)  # fmt: skip

IN_FOLDER: Final = {"config.json": ".docker", "config": ".kube"}
"""Names that are credentials only in the folder of their tool."""

_JUDGED: Final = frozenset(("program", "schema", "style", "doc"))
_NOT_JUDGED: Final = ("text", "roff")
_DATA_ENDINGS: Final = (".edn", ".hcl")  # of programming languages, but they hold values


class NameGlobs:
    """Globs of names, sorted by shape: every decision checks all of them for every part of a
    path."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        self._globs = globs
        folded = [glob.casefold() for glob in globs]
        self._exact = frozenset(glob for glob in folded if "*" not in glob)
        self._tails = tuple(glob[1:] for glob in folded if glob.rfind("*") == 0)
        self._heads = tuple(glob[:-1] for glob in folded if glob.find("*") == len(glob) - 1)
        simple = {
            *self._exact,
            *(f"*{tail}" for tail in self._tails),
            *(f"{head}*" for head in self._heads),
        }
        rest = [fnmatch.translate(glob) for glob in folded if glob not in simple]
        self._rest = re.compile("|".join(rest)) if rest else None

    def find(self, name: str) -> str:
        """Return the first glob that matches a folded name, or ""."""
        if (
            name in self._exact
            or name.endswith(self._tails)
            or name.startswith(self._heads)
            or (self._rest is not None and self._rest.match(name))
        ):
            return next(glob for glob in self._globs if fnmatch.fnmatchcase(name, glob.casefold()))
        return ""


_certain, _resembling = NameGlobs(CERTAIN), NameGlobs(RESEMBLING)


@lru_cache(maxsize=1 << 16)
def _name(name: str) -> tuple[str, str]:
    """Return the certain and the resembling pattern that a name matches in any spelling."""
    spellings = [name.lower()]
    if not name.isascii():
        spellings.append(unicodedata.normalize("NFKC", name).casefold())
    for spelling in spellings:
        if certain := _certain.find(spelling):
            return certain, ""
    return "", next(filter(None, map(_resembling.find, spellings)), "")


@lru_cache(maxsize=1 << 14)
def judged_by_content(name: str) -> bool:
    """Return whether a file is code or prose by its name, so that redaction decides and not the
    name.

    Plain text is neither: `api_token.txt` is what its name says."""
    low = name.lower()
    language = language_of_name(low)
    if language is None or language.name in _NOT_JUDGED or low.endswith(_DATA_ENDINGS):
        return False
    return language.kind in _JUDGED


def resembles(name: str) -> bool:
    """Return whether a folder's name resembles credentials: only code and prose in it pass."""
    return bool(_name(name)[1])


def credential(path: str, *, directory: bool = False, strict: bool = False) -> Rule | None:
    """Return the rule by which a path is a credential, or None. The path need not exist."""
    above, _, name = path.rpartition("/")
    rule, guard = _folders(above) if above else (None, "")
    if rule is not None:
        return rule
    certain, resembling = _name(name)
    if certain:
        return Rule("default", f"**/{certain}")
    if above and name.lower() in IN_FOLDER and (rule := _in_folder(above.rpartition("/")[2], name)):
        return rule
    guard = guard or resembling
    if not guard or (not strict and (directory or judged_by_content(name))):
        return None
    return Rule("default", f"**/{guard}")


@lru_cache(maxsize=1 << 12)  # siblings are looked up one after the other
def _folders(path: str) -> tuple[Rule | None, str]:
    """Return the rule by which one of these folders is a credential; and the first that resembles
    one."""
    guard = before = ""
    for part in path.split("/"):
        certain, resembling = _name(part)
        if certain:
            return Rule("default", f"**/{certain}"), ""
        if before and (rule := _in_folder(before, part)):
            return rule, ""
        guard, before = guard or resembling, part
    return None, guard


def _in_folder(folder: str, name: str) -> Rule | None:
    """Return the rule for a name that is a credential only in its tool's folder."""
    if IN_FOLDER.get(name.lower()) == folder.lower():
        return Rule("default", f"**/{folder}/{name}".lower())
    return None


# Folders and endings ------------------------------------------------------------

_DIRECTORIES: Final[dict[str, Reason]] = {
    **dict.fromkeys(
        ("node_modules", "vendor", ".venv", "venv", "env", "__pypackages__"), "dependency_dir"
    ),
    **dict.fromkeys(
        ("dist", "build", "out", "target", ".next", ".nuxt", "coverage"), "build_output"
    ),
    **dict.fromkeys((".cache", "__pycache__", ".pytest_cache", ".sutler-fleet"), "cache"),
    "logs": "pattern_match",
}
TRACKED_PASS: Final = frozenset(("dependency_dir", "build_output", "pattern_match"))
"""Reasons of built-in name rules that a hand-written file passes if git tracks it."""

INSTALLED: Final = frozenset(
    ("node_modules", ".venv", "__pypackages__", ".next", ".nuxt", ".git", ".svn", ".hg")
)
"""Folders that only tools fill: files that git tracks there are copies too."""

VENDORED: Final = frozenset((
    "modules.txt", "autoload.php", "pyvenv.cfg", "package.json", "composer.json", "bower.json",
    "cargo.toml", "go.mod", "setup.py", "pyproject.toml", ".cargo-checksum.json", "cachedir.tag",
    "license", "license.txt", "license.md", "licence", "copying",
))  # fmt: skip
"""Names in a dependency folder that mark a copy of another project."""

_VERSION_CONTROL: Final = frozenset((".git", ".svn", ".hg"))
_NAMES: Final[dict[str, Reason]] = {".eslintcache": "cache", ".tsbuildinfo": "cache"}
_EXTENSIONS: Final[dict[str, Reason]] = {
    "pyc": "cache",
    **dict.fromkeys(("sql", "db", "log"), "pattern_match"),
    **dict.fromkeys(("exe", "dll", "so", "dylib", "wasm", "bin", "o", "a"), "binary"),
    **dict.fromkeys(
        ("png", "jpg", "jpeg", "gif", "ico", "svg", "mp4", "mp3", "pdf", "zip", "gz"), "binary"
    ),
}
_OPEN_ENDED: Final[tuple[tuple[str, Reason], ...]] = (
    (".sqlite", "pattern_match"),
    (".tar", "binary"),
)


def version_control(name: str) -> Rule | None:
    """Return the rule for `.git` and its kin, in any case: their contents belong to the tool."""
    if name[0] == "." and (folded := name.casefold()) in _VERSION_CONTROL:
        return Rule("default", f"**/{folded}/**")
    return None


def default_exclusion(name: str, directory: bool) -> tuple[Reason, Rule] | None:
    """Return the default pattern, other than a credential's, that excludes this name."""
    if directory and name in _DIRECTORIES:
        return _DIRECTORIES[name], Rule("default", f"**/{name}/**")
    dot = name.rfind(".")
    if dot < 0:
        return None
    folded = name.lower()
    if folded[dot + 1 :] in _EXTENSIONS:
        return _EXTENSIONS[folded[dot + 1 :]], Rule("default", f"**/*{folded[dot:]}")
    if dot == 0:
        rule = version_control(name)
        if rule is not None:
            return "pattern_match", rule
        if name in _NAMES:
            return _NAMES[name], Rule("default", f"**/{name}")
    for mark, reason in _OPEN_ENDED:
        if mark in folded:
            return reason, Rule("default", f"**/*{mark}*")
    return None


def handwritten(path: str) -> bool:
    """Return whether a file that git tracks in a build or dependency folder is source by its name:
    text, not generated, not minified, no lock file, no copy of another project's script."""
    facts, alone = facts_of(path), facts_of(path.rpartition("/")[2])
    copied = facts.generated or facts.lock or facts.role == "generated" or alone.role == "vendor"
    return extractable(facts) and not copied
