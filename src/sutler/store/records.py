"""Types of the audited door: callers, calls, decisions, outcomes, and the rows of the ledger.

Paths in these values are RelPaths. The store and the log hold their quoted form (`paths.quote`),
which is reversible, fits one line and is safe for databases and terminals."""

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
IgnoreStatus = Literal["open", "ignored", "ai_denied", "hard_link"]
"""Ignore status of a path, whether or not it exists; `hard_link` is another name of a denied file.
"""
Phase = Literal["intent", "done", "refused"]
ApprovalState = Literal["pending", "approved", "denied", "used"]
Sensitivity = Literal["", "credentials", "ai_denied", "control"]

Fact = tuple[str, str, str, bytes]
"""A fact about a content: digest, kind of fact, version of the tool, and the encoded fact."""

ReceiptRow = tuple[str, str, str, bytes]
"""The pack's id, the time it was sent, the receipt, and the list of its files."""

GENESIS = "0" * 64
"""Predecessor hash of the first entry of a chain."""


class BackendProfile(Struct, frozen=True):
    """Limits of one answer to this kind of backend. `free_lines` is the number of lines that need
    no approval."""

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
    """Usage of a caller; no field is ever negative."""

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
    """Identity that the front derives from its transport, never from an argument. An empty `scope`
    means the whole project. `person` is the member of the team that was authenticated; empty on a
    machine of one user."""

    id: str
    session: str
    profile: BackendProfile = CLOUD
    scope: tuple[str, ...] = ()
    limits: Limits = Limits()
    person: str = ""


class Call(Struct, frozen=True, kw_only=True):
    """A request at the door. `args` are for the log; `base` and `result` bind a write to exact
    bytes."""

    id: str
    tool: str
    effect: Effect
    path: RelPath
    args: tuple[tuple[str, str], ...] = ()
    lines: int = 0
    ignore_status: IgnoreStatus = "open"
    base: str = ""
    result: str = ""
    preview: str = ""


class Decision(Struct, frozen=True):
    """A verdict of the policy, its rule, and the next step for the caller."""

    verdict: Verdict
    rule: str
    next_step: str = ""


class Version(Struct, frozen=True, kw_only=True):
    """One known content of a file: the seed's FileVersionMeta. `id` is the start of the raw
    content's digest. A file that was deleted has a version too, whose digest is empty. `mode` is 0
    when it was not read."""

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
    """Result of an effect: digests before and after, and its cost. `seen` (a version read for the
    first time) and `facts` are stored in the same transaction as the row."""

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
    """Effect of a write on one file: digests and sizes before and after, empty and 0 if there is no
    file."""

    path: str
    version: str
    before: str
    after: str
    size_before: int
    size_after: int
    merged: bool = False


class PatchResult(Struct, frozen=True, kw_only=True):
    """Result of a write: the seed's fields, and further information for its author."""

    success: bool
    message: str
    conflict: bool = False
    diff: str = ""
    version_id: str = ""
    merged: bool = False
    dry_run: bool = False
    files: tuple[FileChange, ...] = ()
    call: str = ""  # the id to roll it back by
    notes: tuple[str, ...] = ()


class ClashText(Struct, frozen=True):
    """A region where two changes of a file overlap, from line `line` of the base; redacted text."""

    line: int
    base: str
    ours: str
    theirs: str


class Suggestion(Struct, frozen=True):
    """A proposal to merge two changes, as a diff against the current file; never applied
    automatically."""

    by: Literal["structure", "review"]
    note: str
    diff: str


class Conflict(Struct, frozen=True, kw_only=True):
    """Reason why an edit was not applied, with the data for the next try. `region` is from the
    current file."""

    path: str
    kind: Literal["stale", "overlap", "mismatch", "exists"]
    base_version: str
    current_version: str
    clashes: tuple[ClashText, ...] = ()
    region: str = ""
    proposals: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    others: tuple[Conflict, ...] = ()  # further files of the call with a conflict


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
    file exists."""

    paths: tuple[str, ...]
    withheld: int | None = None
    problems: int = 0
    next: str = ""


class RegistryRow(Struct, frozen=True, gc=False):
    """Registry entry of a file; valid without opening the file again."""

    path: RelPath
    size: int
    digest: str
    mtime_ns: int
    version: str
    tags: tuple[Tag, ...] = ()
    sensitivity: Sensitivity = ""
    language: str = ""


class Approval(Struct, frozen=True, kw_only=True):
    """Consent to one exact effect. Bound to tool, path, both digests, arguments, policy and caller;
    valid for one use."""

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
    """An entry of the ledger. `prev` is the hash of the previous row; the arguments are already
    redacted."""

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
    client: str | UnsetType = UNSET  # omitted if unknown, so that older rows keep their hash
    trace: str | UnsetType = UNSET
    person: str | UnsetType = UNSET

    @property
    def wrote(self) -> bool:
        """Whether this is the outcome of a write that changed its file."""
        written = self.phase == "done" and self.success and self.effect == "write"
        return written and self.before != self.after


class AuditRow(Struct, frozen=True, gc=False):
    """A stored entry: its canonical body, the hash of the body, and the columns for queries."""

    seq: int
    call: str
    phase: str
    session: str
    path: str
    hash: str
    body: str


def canonical(value: object) -> str:
    """Encode a value as canonical JSON: sorted keys, ASCII, one line. Hashes are over this text."""
    # msgspec is faster, and equal to `json` for the texts and integers of our structs if all is
    # ASCII without DEL.
    if isinstance(value, Struct):
        try:
            encoded = msgspec.json.encode(value, order="sorted")
        except UnicodeEncodeError:
            encoded = b"\x7f"
        if encoded.isascii() and b"\x7f" not in encoded:
            return encoded.decode()
    import json

    return json.dumps(
        msgspec.to_builtins(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(entry: AuditEntry, seq: int, prev: str) -> AuditRow:
    """Place an entry in the chain: set its number and predecessor, and hash it."""
    placed = msgspec.structs.replace(entry, seq=seq, prev=prev)
    body = canonical(placed)
    return AuditRow(seq, placed.call, placed.phase, placed.session, placed.path, sha256(body), body)


def unseal(row: AuditRow) -> AuditEntry:
    return msgspec.json.decode(row.body, type=AuditEntry)


def version_id(digest: str) -> str:
    """Return 128 bits of the content's digest: short enough to display, long enough against
    forgery."""
    return digest[:32]


def stamp(seconds: float) -> str:
    """Format a time for the ledger: UTC, with microseconds, sortable as text."""
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return f"{_second(whole)}.{micros:06}Z"


@lru_cache(maxsize=16)  # the rows of a moment have the same second
def _second(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
