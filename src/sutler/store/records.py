"""Who asked what, what policy said, what came of it: the nouns of the audited door.

Paths in these values are RelPaths; the store and the log keep their quoted form (`paths.quote`),
which is reversible, fits one line and holds no byte a database or a terminal could stumble over.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from sutler.paths import RelPath
from sutler.scan.snapshot import Tag

Verdict = Literal["allow", "ask", "deny"]
Effect = Literal["list", "read", "write"]
Standing = Literal["open", "ignored", "ai_denied", "hard_link"]
"""What the ignore files say of a path, whether or not it exists; or that it is another name of a
denied file."""
Phase = Literal["intent", "done", "refused"]
ApprovalState = Literal["pending", "approved", "denied", "used"]
Sensitivity = Literal["", "credentials", "ai_denied", "control"]

Fact = tuple[str, str, str, bytes]
"""What was found out about a content: its digest, the kind of fact, the version of the tool, and
the fact itself.
"""

GENESIS = "0" * 64
"""What the first entry of a chain names as its predecessor."""


class BackendProfile(Struct, frozen=True):
    """How much one answer may carry to this kind of backend. `free_lines` is what it gets without
    approval.
    """

    name: str
    free_lines: int
    max_lines: int
    max_chars: int
    context_lines: int = 0
    max_tokens: int = 1_000_000


LOCAL = BackendProfile("local", free_lines=80, max_lines=400, max_chars=16_000, max_tokens=6_000)
CLOUD = BackendProfile(
    "cloud",
    free_lines=2_000,
    max_lines=2_000,
    max_chars=120_000,
    context_lines=1,
    max_tokens=25_000,
)
REVIEW = BackendProfile(
    "review",
    free_lines=6_000,
    max_lines=6_000,
    max_chars=400_000,
    context_lines=3,
    max_tokens=100_000,
)
PERSON = BackendProfile("person", free_lines=1_000_000, max_lines=1_000_000, max_chars=1_000_000)
PROFILES = {profile.name: profile for profile in (LOCAL, CLOUD, REVIEW, PERSON)}


class Spent(Struct, frozen=True, gc=False):
    """What a caller has used up, or may use up (None of these is ever negative)."""

    reads: int = 0
    writes: int = 0
    bytes: int = 0
    tokens: int = 0


class Limits(Struct, frozen=True, gc=False):
    """A caller's budget in one session; None means unbounded."""

    reads: int | None = None
    writes: int | None = None
    bytes: int | None = None
    tokens: int | None = None


class Caller(Struct, frozen=True):
    """Identity as the front knows it from its transport, never from an argument. `scope` empty
    means everywhere.
    """

    id: str
    session: str
    profile: BackendProfile = CLOUD
    scope: tuple[str, ...] = ()
    limits: Limits = Limits()


class Call(Struct, frozen=True, kw_only=True):
    """One request at the door. `args` are for the log; `base` and `result` bind a write to exact
    bytes.
    """

    id: str
    tool: str
    effect: Effect
    path: RelPath
    args: tuple[tuple[str, str], ...] = ()
    lines: int = 0
    standing: Standing = "open"
    base: str = ""
    result: str = ""
    preview: str = ""


class Decision(Struct, frozen=True):
    """Policy's word, the rule that gave it, and what the caller can do next."""

    verdict: Verdict
    rule: str
    next_step: str = ""


class Version(Struct, frozen=True, kw_only=True):
    """One known content of a file: the seed's FileVersionMeta. `id` is the start of the raw
    content's digest. A file that was deleted has a version too, whose digest is empty. `mode` is 0
    when it was not read.
    """

    id: str
    path: RelPath
    digest: str
    size: int
    at: str
    author: str
    origin: Literal["seen", "written", "external"] = "seen"
    note: str = ""
    mode: int = 0
    call: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """What an effect came to: digests before and after, and what it cost. What it showed for the
    first time is kept with its row, in one step: the version that was seen, and facts as (digest,
    kind, tool, body).
    """

    ok: bool = True
    detail: str = ""
    before: str = ""
    after: str = ""
    first: int = 0
    last: int = 0
    bytes: int = 0
    tokens: int = 0
    seen: Version | None = None
    facts: tuple[Fact, ...] = ()


class FileChange(Struct, frozen=True, kw_only=True):
    """What a write did to one file: digests and sizes before and after, empty and 0 where there is
    no file.
    """

    path: str
    version: str
    before: str
    after: str
    size_before: int
    size_after: int
    merged: bool = False


class PatchResult(Struct, frozen=True, kw_only=True):
    """The answer to a write: the seed's fields, and what else its author should know."""

    success: bool
    message: str
    conflict: bool = False
    diff: str = ""
    version_id: str = ""
    merged: bool = False
    dry_run: bool = False
    files: tuple[FileChange, ...] = ()
    call: str = ""  # by which it can be rolled back
    notes: tuple[str, ...] = ()


class ClashText(Struct, frozen=True):
    """One place where two changes of a file meet, from line `line` of the base on; clean text."""

    line: int
    base: str
    ours: str
    theirs: str


class Suggestion(Struct, frozen=True):
    """How two changes could be brought together, as a diff of the file as it is; never applied by
    itself.
    """

    by: Literal["structure", "review"]
    note: str
    diff: str


class Conflict(Struct, frozen=True, kw_only=True):
    """Why an edit was not applied, with all that is needed for the next try. `region` shows the
    file as it is.
    """

    path: str
    kind: Literal["stale", "overlap", "mismatch", "exists"]
    base_version: str
    current_version: str
    clashes: tuple[ClashText, ...] = ()
    region: str = ""
    proposals: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    others: tuple[Conflict, ...] = ()  # further files of the same call that did not take their edit


class Reading(Struct, frozen=True, kw_only=True):
    """Content that leaves: clean lines of one version of a file, marked as untrusted data."""

    path: str
    version: str
    first: int
    last: int
    total: int | None
    text: str
    truncated: bool = False
    next: str = ""
    unchanged: bool = False
    redactions: int = 0
    notes: tuple[str, ...] = ()
    trust: Literal["untrusted"] = "untrusted"


class Listing(Struct, frozen=True):
    """Paths that may be read, sorted, in their quoted form; `withheld` counts those that policy
    keeps back. Only a person sees the number: with a glob it would reveal whether a denied
    file exists.
    """

    paths: tuple[str, ...]
    withheld: int | None = None
    problems: int = 0
    next: str = ""


class RegistryRow(Struct, frozen=True, gc=False):
    """What the registry knows of a file without opening it again."""

    path: RelPath
    size: int
    digest: str
    mtime_ns: int
    version: str
    tags: tuple[Tag, ...] = ()
    sensitivity: Sensitivity = ""
    language: str = ""


class Approval(Struct, frozen=True, kw_only=True):
    """Consent to one exact effect. It binds tool, path, both digests, arguments, policy and caller;
    it is used once.
    """

    id: str
    tool: str
    path: RelPath
    base: str
    result: str
    args: str
    policy: str
    caller: str
    session: str
    created: str
    expires: str
    rule: str = ""
    preview: str = ""
    state: ApprovalState = "pending"
    settled_by: str = ""
    used_by: str = ""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One row of the ledger. `prev` is the hash of the row before it; arguments are redacted before
    they get here.
    """

    seq: int = 0
    prev: str = GENESIS
    call: str
    phase: Phase
    at: str
    caller: str
    session: str
    tool: str
    effect: Effect
    path: str
    args: tuple[tuple[str, str], ...] = ()
    verdict: Verdict
    rule: str
    approval: str = ""
    success: bool = True
    detail: str = ""
    before: str = ""
    after: str = ""
    first: int = 0
    last: int = 0
    bytes: int = 0
    tokens: int = 0
    micros: int = 0
    client: str | UnsetType = UNSET  # left out when unknown, so that older rows keep their hash
    trace: str | UnsetType = UNSET


class AuditRow(Struct, frozen=True, gc=False):
    """An entry as stored: its canonical body and the hash of that body, beside the columns that
    queries use.
    """

    seq: int
    call: str
    phase: str
    session: str
    path: str
    hash: str
    body: str


class Receipt(Struct, frozen=True, kw_only=True):
    """A pack that left: its id, when, and the transparency record as JSON."""

    pack: str
    at: str
    body: str


def canonical(value: object) -> str:
    """The one spelling of a value as JSON: sorted keys, ASCII, one line. What gets hashed is this
    text.
    """
    if isinstance(
        value, Struct
    ):  # ours hold texts and whole numbers: plain ones are spelt alike, and faster
        try:
            made = msgspec.json.encode(value, order="sorted")
        except UnicodeEncodeError:
            made = b"\x7f"
        if made.isascii() and b"\x7f" not in made:
            return made.decode()
    import json

    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(entry: AuditEntry, seq: int, prev: str) -> AuditRow:
    """Give an entry its place in the chain."""
    placed = msgspec.structs.replace(entry, seq=seq, prev=prev)
    body = canonical(placed)
    return AuditRow(seq, placed.call, placed.phase, placed.session, placed.path, sha256(body), body)


def unseal(row: AuditRow) -> AuditEntry:
    return msgspec.json.decode(row.body, type=AuditEntry)


def version_id(digest: str) -> str:
    """128 bits of the content's digest: short enough to show, long enough not to be forged."""
    return digest[:32]


def stamp(seconds: float) -> str:
    """A moment as the ledger writes it: UTC, microseconds, sorts as text."""
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_second(whole)}.{micros:06}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
