"""What stays out unless somebody asks: seed 004's exclusion patterns, seed 001's directories and extensions.

Every pattern there speaks of a name at any depth (`**/x` or `**/x/**`), so a name alone decides.
Credentials are compared without regard to case and in Unicode's compatibility form (`.ENV`, fullwidth letters),
so that a spelling cannot slip through; version-control folders and extensions without regard to case.
"""

from __future__ import annotations

from typing import Final

from sutler.values.snapshot import Reason, Rule

CREDENTIALS: Final = (
    "*.pem", "*.key", "*.crt", "*.p12", ".env*",
    "credentials*", "secrets*", "*_secret*", "*_token*", "*.keystore",
    # Seed 004's list ends here. These are private keys, key stores and password files by their usual names.
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd",
    "*.kdbx", "*.pfx", "*.jks", "*.ppk",
)  # fmt: skip

_DIRECTORIES: Final[dict[str, Reason]] = {
    **dict.fromkeys(("node_modules", "vendor", ".venv", "venv", "env", "__pypackages__"), "dependency_dir"),
    **dict.fromkeys(("dist", "build", "out", "target", ".next", ".nuxt", "coverage"), "build_output"),
    **dict.fromkeys((".cache", "__pycache__", ".pytest_cache"), "cache"),
    "logs": "pattern_match",
}
_VERSION_CONTROL: Final = frozenset((".git", ".svn", ".hg"))
_NAMES: Final[dict[str, Reason]] = {".eslintcache": "cache", ".tsbuildinfo": "cache"}
_EXTENSIONS: Final[dict[str, Reason]] = {
    "pyc": "cache",
    **dict.fromkeys(("sql", "db", "log"), "pattern_match"),
    **dict.fromkeys(("exe", "dll", "so", "dylib", "wasm", "bin", "o", "a"), "binary"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "ico", "svg", "mp4", "mp3", "pdf", "zip", "gz"), "binary"),
}
_OPEN_ENDED: Final[tuple[tuple[str, Reason], ...]] = ((".sqlite", "pattern_match"), (".tar", "binary"))

_STARTS: Final = (".env", "credentials", "secrets")
_ENDS: Final = (".pem", ".key", ".crt", ".p12", ".keystore", ".kdbx", ".pfx", ".jks", ".ppk")
_WHOLE: Final = frozenset(pattern for pattern in CREDENTIALS if "*" not in pattern)


def credential(name: str) -> Rule | None:
    """The credential pattern that this name matches in any spelling."""
    if name.isascii():
        return _credential(name.lower())
    import unicodedata  # a library of its own, and most names are ASCII

    return _credential(name.lower()) or _credential(unicodedata.normalize("NFKC", name).casefold())


def _credential(name: str) -> Rule | None:
    # Few calls for the many, all patterns for the few; a test holds the two together.
    if not (
        name.startswith(_STARTS) or name.endswith(_ENDS) or "_secret" in name or "_token" in name or name in _WHOLE
    ):
        return None
    return next((Rule("default", f"**/{pattern}") for pattern in CREDENTIALS if _is(name, pattern)), None)


def _is(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern that has a star at its ends at most."""
    core = pattern.strip("*")
    if not pattern.startswith("*"):
        return name.startswith(core) if pattern.endswith("*") else name == core
    return core in name if pattern.endswith("*") else name.endswith(core)


def version_control(name: str) -> Rule | None:
    """`.git` and its kin, in any case: what lies there is the tool's, not the project's."""
    if name[0] == "." and (folded := name.casefold()) in _VERSION_CONTROL:
        return Rule("default", f"**/{folded}/**")
    return None


def default_exclusion(name: str, directory: bool) -> tuple[Reason, Rule] | None:
    """The default pattern, other than a credential's, that keeps this name out."""
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
