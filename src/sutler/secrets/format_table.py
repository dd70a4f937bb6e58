"""Tables of credentials: formats by their shape, and files that hold one by their name.

Formats are loaded from `formats.tsv`; each pattern is compiled on first use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from sutler.paths import basename, extension

_CLASSES = {
    "{B62}": "[A-Za-z0-9]",
    "{W}": "[A-Za-z0-9_-]",
    "{HEX}": "[0-9a-f]",
    "{XH}": "[0-9A-Fa-f]",
    "{UUID}": "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    "{B64}": "[A-Za-z0-9+/]",
}
_COLUMNS = ("id", "words", "pattern")
_ID = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_UNKNOWN = re.compile(r"\{[A-Z]\w*\}")
_RIGHT = "(?![A-Za-z0-9])"
_PREFIX = re.compile(r"[A-Za-z0-9_:/-]+(?![{?*+A-Za-z0-9_:/-])")
_LONG = re.compile(r",\d{4,}\}")
# Bounded before its first dot, so that a token glued to a name matches too
_SHORT_HEAD = "eyJ[\\w-]{8,400}"


class Format(NamedTuple):
    """One credential format: `core` is what both engines search, `words` gate it in the stdlib
    engine."""

    name: str
    words: tuple[str, ...]
    core: str

    @property
    def spans_lines(self) -> bool:
        return "\\s" in self.core.replace("[^\\s", "")


def formats() -> tuple[Format, ...]:
    """Return every format in file order; the position is the rule's number in the compiled
    database."""
    return _FORMATS


def parse_table(text: str) -> tuple[Format, ...]:
    """Parse the rows of a table. A malformed row is a ValueError that names its line and column."""
    rows: dict[str, Format] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            row = _parse(line, number)
            if row.name in rows:
                _malformed(number, 0, f"{row.name!r} is the id of an earlier row")
            rows[row.name] = row
    return tuple(rows.values())


@cache
def pattern(core: str) -> re.Pattern[str]:
    """Compile the core with its boundaries. The left one stands behind the literal prefix, so that
    `re` can still skip to it; otherwise it would read a run of prefixes again from each of them."""
    prefix = _PREFIX.match(core)
    width = len(prefix.group()) if prefix else 0
    before = "[\\w-]" if _LONG.search(core) and not core.startswith(_SHORT_HEAD) else "[A-Za-z0-9]"
    behind = f".{{{width}}}" if width else ""
    left = rf"(?:(?<!{before}{behind})|(?<=\\[nrt]{behind})|(?<=%[0-9A-Fa-f]{{2}}{behind}))"
    try:
        return re.compile(core[:width] + left + core[width:] + _RIGHT)
    except re.error as error:
        names = [row.name for row in formats() if row.core == core]
        raise ValueError(f"formats.tsv, {' '.join(names)}, column 3 (pattern): {error}") from None


@cache
def rules_digest() -> str:
    """Return the digest of the table, part of the key under which a compiled database is cached."""
    return sha256((_source() + _read("words.txt")).encode()).hexdigest()[:16]


@cache
def words(section: str) -> frozenset[str]:
    """Return a word list of `words.txt`."""
    lines = (
        line.partition(": ") for line in _read("words.txt").splitlines() if not line.startswith("#")
    )
    return frozenset(word for name, _, rest in lines if name == section for word in rest.split())


def _source() -> str:
    return _read("formats.tsv")


@cache
def _read(name: str) -> str:
    return beside(name).decode()


def beside(name: str) -> bytes:
    """Read a data file of this package."""
    # The loader reads package data wherever the package lives (a folder, a zip), without touching
    # paths.
    loader: Any = __spec__.loader
    data: bytes = loader.get_data((__spec__.origin or "").removesuffix("format_table.py") + name)
    return data


def _parse(line: str, number: int) -> Format:
    cells = line.split("\t")
    if len(cells) != len(_COLUMNS):
        width = f"the row has {len(cells)} columns and not {len(_COLUMNS)}"
        _malformed(number, min(len(cells), len(_COLUMNS) - 1), f"{width}, with a tab between two")
    name, words, core = cells
    if not _ID.fullmatch(name):
        _malformed(number, 0, f"{name!r} is not lower case letters, digits and hyphens")
    if not words.split():
        _malformed(number, 1, "there is no word, so the standard library's engine never looks")
    for short, full in _CLASSES.items():
        core = core.replace(short, full)
    if not core:
        _malformed(number, 2, "the pattern is empty")
    if unknown := _UNKNOWN.search(core):
        _malformed(number, 2, f"{unknown[0]} is none of {', '.join(_CLASSES)}")
    return Format(name, tuple(words.split()), core)


def _malformed(line: int, column: int, what: str) -> NoReturn:
    raise ValueError(f"formats.tsv, line {line}, column {column + 1} ({_COLUMNS[column]}): {what}")


# At import: a malformed row fails in every command, not in one that needs it.
_FORMATS = parse_table(_source())


# Files by name ---------------------------------------------------------------------


class FileRule(NamedTuple):
    """Files whose lower-case path matches `path` hold a secret wherever `value` matches; group `v`
    is the secret."""

    name: str
    path: str
    value: str


RULES = (
    FileRule("netrc", r"[._]netrc(?:\.\w+)?|\.authinfo", r"\b(?:password|account)[ \t\n]{1,8}(?P<v>[^\s\"]{1,200})"),
    FileRule("pgpass", r"\.?pgpass(?:\.conf)?", r"^(?!#)(?:[^:\n\\]|\\.){0,200}:(?:[^:\n]{0,60}:){3}(?P<v>[^\n]{1,200})$"),
    FileRule("password-file", r"\.?htpasswd[\w.-]{0,20}|\w{0,20}passwd|users\.htdigest|\.?shadow-?|gshadow", r"^[\w.@-]{1,64}:(?P<v>\$[^:\s]{8,200}|\{\w{2,10}\}[^:\s]{8,200}|[./A-Za-z0-9]{13}|[^:\s*!]{5,200}$)"),
    FileRule("npmrc", r"\.npmrc|\.yarnrc(?:\.yml)?", r"(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?(?P<v>(?!\$)[^\s\"']{4,400})"),
    FileRule("pypirc", r"\.pypirc", r"^[ \t]{0,8}password[ \t]{0,4}[=:][ \t]{0,4}(?P<v>\S{1,400})"),
    FileRule("git-credentials", r"\.git-credentials", r"://[^:\s]{1,100}:(?P<v>\S{1,400})@"),
    FileRule("docker-auth", r"\.dockercfg|\.?docker/config\.json|\.?dockerconfigjson", r"\"(?:auth|identitytoken|registrytoken|password)\"[ ]?:[ ]?\"(?P<v>[^\"\n]{4,4096})\""),
    FileRule("kubeconfig", r"kubeconfig[\w.-]{0,20}|\.?kube/config|config", r"^[ \t-]{0,16}(?:client-key-data|token|password):[ ]{1,4}[\"']?(?P<v>[\w+/=.:~-]{6,8192})"),
    FileRule("cloud-credentials", r"(?:\.aws/)?credentials|\.credentials|\.boto|\.s3cfg|\.passwd-s3fs|\.tugboat|\.oci/config", r"^[ \t]{0,8}(?:aws_)?(?:access_key(?:_id)?|secret(?:_access)?_key|secret_key|session_token|api_key|client_key|key_file_pass|pass_phrase|ssh_key_path_pass|gpg_passphrase|access_token|client_secret|gs_secret_access_key)[ \t]{0,4}[=:][ \t]{0,4}(?P<v>\S{6,2000})"),
    FileRule("passwd-s3fs", r"\.?passwd-s3fs", r"^[\w-]{1,128}:(?P<v>\S{8,200})"),
    FileRule("mail-password", r"\.(?:esmtp|msmtp|fetchmail|mutt|mb?sync|getmail)rc|\.?msmtp/config", r"(?:password|passwd|pass)[ \t=]{1,4}[\"']?(?P<v>[^\s\"']{3,200})"),
    FileRule("network-device", r"[\w-]{1,60}\.(?:cfg|conf|rsc)", r"^[ \t]{0,8}(?:enable |username \S{1,40} )?(?:password|secret|requirepass|masterauth|passphrase|snmp-server community)(?: [0-9])? [\"']?(?P<v>[^\s\"';#=]{4,200})[\"']?;?\s*$"),
    FileRule("key-file", r"master\.key|\.vault[_-]?(?:token|pass(?:word)?)|secret[_-]?key(?:\.txt)?|\.?secret_token|[\w.-]{0,40}\.(?:jwk|token|secret)", r"\A\s{0,8}(?P<v>[^\s{}<>]{12,512})\s{0,8}\Z"),
    FileRule("firefox-login", r"logins\.json", r"\"encrypted(?:Username|Password)\"[ ]?:[ ]?\"(?P<v>[^\"\n]{8,400})\""),
    FileRule("sftp-config", r"(?:sftp-config|sftp|\.remote-sync|\.ftpconfig|deployment-config|webservers|filezilla|recentservers|sitemanager)(?:\.json|\.xml)?", r"(?:\"(?:pass(?:word|phrase)?)\"[ ]?:[ ]?\"|<Pass[^>\n]{0,40}>|password=\")(?P<v>[^\"<\n]{2,200})"),
    FileRule("env-file", r"\.env|\.envrc|\.env\.(?!example|sample|template|dist)[\w.-]{1,20}", r"^[ \t]{0,4}(?:export )?\w{1,60}(?:KEYS?|SECRET|TOKEN|PASS|PASSWORD|PASSWD|PWD|CREDENTIALS?|AUTH|SALT|DSN)(?:_?(?:BASE|ID|VALUE|CODE|[0-9]{1,2}))?=[\"']?(?P<v>(?!\$|<|your)[^\s\"'#$]{4,400})"),
)  # fmt: skip
_SECRET_KIND = re.compile(r"^kind:[ ]{1,4}Secret\s*$", re.MULTILINE)
_SECRET_ENTRY = re.compile(
    r"^[ ]{2,8}(?![\w.-]{0,76}\.crt:)[\w.-]{1,80}:[ ]{1,4}[\"']?(?P<v>[A-Za-z0-9+/]{4,8192}={0,2})[\"']?[ ]*$",
    re.MULTILINE,
)
_SECRET_DATA = re.compile(
    r"^(?:data|stringData):[ ]*\n(?P<body>(?:[ ]{1,16}[^\n]{0,16384}\n?|[ ]*\n){1,400})",
    re.MULTILINE,
)


@cache
def _any_path() -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(f"(?:{rule.path})" for rule in RULES) + r")\Z")


@cache
def _compiled(rule: FileRule) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(rf"(?:{rule.path})\Z"), re.compile(rule.value, re.MULTILINE)


BELOW_A_FOLDER = ("config", "config.json", "credentials")
"""Names of files for which a rule also checks the folder."""


def file_rules(path: str) -> tuple[FileRule, ...]:
    """Return the rules for files of this name."""
    low = path.lower()
    name = low.rfind("/") + 1
    if not low.endswith(BELOW_A_FOLDER):
        return _rules_for_name(low[name:])
    # No rule reads more than the last folder and the name.
    folder = low.rfind("/", 0, max(0, name - 1)) + 1
    return tuple(
        rule for rule in RULES if any(_compiled(rule)[0].match(low, at) for at in (name, folder))
    )


@lru_cache(maxsize=1 << 12)
def _rules_for_name(name: str) -> tuple[FileRule, ...]:
    if _any_path().match(name):
        return tuple(rule for rule in RULES if _compiled(rule)[0].match(name))
    return ()


def vouches(path: str) -> bool:
    """Return whether a file of this name is read as a whole."""
    return bool(file_rules(path)) or path.endswith(_YAML)


_YAML = (".yaml", ".yml")


def file_values(text: str, path: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, rule) of every value that is a secret by the name of its file."""
    for rule in file_rules(path):
        for match in _compiled(rule)[1].finditer(text):
            yield match.start("v"), match.end("v"), rule.name
    if path.endswith(_YAML) and "kind: Secret" in text and _SECRET_KIND.search(text):
        for data in _SECRET_DATA.finditer(text):
            for entry in _SECRET_ENTRY.finditer(text, data.start("body"), data.end("body")):
                yield entry.start("v"), entry.end("v"), "kubernetes-secret"


_CODE = words("code-extension")


@lru_cache(maxsize=8192)
def quotes_only(path: str) -> bool:
    """Return whether a bare word after `=` or `:` is a name and not a value, as in code and
    JSON."""
    return extension(path) in _CODE and not basename(path).startswith(".env")
