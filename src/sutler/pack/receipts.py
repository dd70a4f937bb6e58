"""Transparency records: one receipt for each pack that leaves, kept outside the tree and verifiable
later.

New receipts wait in the project's private directory, one file each, until its store is opened the
next time: opening a database takes longer than many packs."""

from __future__ import annotations

import hmac
import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.pack.report import WHOLE, Report, capped
from sutler.paths import quote
from sutler.store import home, location
from sutler.system import fs
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.formats.transparency import ContextPackInfo
    from sutler.store.records import ReceiptRow
    from sutler.store.sql import Store

_GROUPS = {
    "credentials": "credentials",
    "binary": "binary",
    "undecodable": "binary",
    "size_limit": "size",
    "budget": "size",
    "cap": "size",
}
"""Seed 004's four groups of exclusions; all other reasons count as a pattern or a rule."""


FOLDER = "receipts"
MOST = 32
"""Maximum number of waiting receipts. Each holds a list of files, which the store keeps once per
pack."""
_DAMAGED = ".damaged"
PROMPT = "prompt"
Info = dict[str, str | int | dict[str, int]]


class Sent(Struct, frozen=True):
    """One file as it left: its display path, its level, and the digest of the text that was
    sent."""

    path: str
    level: str
    sha256: str


class Receipt(Struct, frozen=True, kw_only=True):
    """Record of what left the machine, when, where to, and under which protection. `seal` is keyed
    by this installation."""

    context_pack_info: Info  # seed 004's fields and no others
    pack_id: str
    at: str
    destination: str
    caller: str
    project: str
    format: str
    counter: str
    tokens: int | None
    budget: str
    redacted: bool
    findings: dict[str, int]
    files: tuple[Sent, ...]
    # Invisible characters made visible, by kind.
    hidden: dict[str, int] = msgspec.field(default_factory=dict)
    # Groups of exclusions whose count stopped at a limit: there are so many or more.
    capped: tuple[str, ...] = ()
    sutler: str = VERSION
    schema_version: int = 1
    seal: str = ""


def pack_info(report: Report) -> Info:
    """Return seed 004's `context_pack_info` of a pack."""
    from sutler.formats.transparency import ContextPackInfo, ExclusionsByReason

    tally: Counter[str] = Counter()
    for item in report.excluded:
        if item.rule.source != "git":  # as `Report.scanned`: the inside of `.git` is no file
            tally[_GROUPS.get(item.reason, "pattern")] += item.count
    info = ContextPackInfo(
        type=report.type,
        selection_reason=report.selection_reason,
        files_scanned=report.scanned,
        files_included=len(report.shown),
        files_excluded=sum(tally.values()),
        exclusions_by_reason=ExclusionsByReason(
            tally["credentials"], tally["binary"], tally["size"], tally["pattern"]
        ),
        content_bytes=report.content_bytes,
        truncated_files=sum(1 for one in report.shown if one.level not in WHOLE),
    )
    return _fields(info)


def _fields(info: ContextPackInfo) -> Info:
    fields: Info = msgspec.to_builtins(info)
    del fields["schema_version"]  # the receipt has its own
    return fields


def _capped(report: Report) -> tuple[str, ...]:
    """Return the groups of exclusions that were counted up to a limit only."""
    return tuple(sorted({_GROUPS.get(reason, "pattern") for reason in capped(report.excluded)}))


def receipt_of(report: Report, *, project: str, destination: str, redacted: bool) -> Receipt:
    budget = report.budget
    limit = "no limit" if budget.limit is None else f"{report.used} of {budget.limit} {budget.unit}"
    rules = Counter(rule for one in report.shown for rule in one.rules)
    return Receipt(
        context_pack_info=pack_info(report),
        pack_id=report.pack_id,
        at=_now(),
        destination=destination,
        caller=f"uid {fs.getuid()}",
        project=quote(project),
        format=report.format,
        counter=budget.counter,
        tokens=report.tokens,
        budget=limit,
        redacted=redacted,
        findings=dict(sorted(rules.items())),
        hidden=report.hidden(),
        capped=_capped(report),
        files=tuple(Sent(quote(one.path), one.level, one.sha256) for one in report.shown),
    )


def receipt_of_prompt(
    goal: str, destination: str, size: int, digest: str, files: Mapping[str, str]
) -> Receipt:
    """Build the receipt of a goal's prompt: its own digest is its id; `files` maps embedded files
    to digests."""
    from sutler.formats.transparency import ContextPackInfo, ExclusionsByReason

    info = ContextPackInfo(
        type="full",
        selection_reason=f"goal {goal}",
        files_scanned=len(files),
        files_included=len(files),
        files_excluded=0,
        exclusions_by_reason=ExclusionsByReason(),
        content_bytes=size,
        truncated_files=0,
    )
    return Receipt(
        context_pack_info=_fields(info),
        pack_id=digest,
        at=_now(),
        destination=destination,
        caller=f"uid {fs.getuid()}",
        project=goal,
        format=PROMPT,
        counter="none",
        tokens=None,
        budget="no limit",
        redacted=True,
        findings={},
        files=tuple(Sent(quote(path), "full", found) for path, found in sorted(files.items())),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def sealed(receipt: Receipt, key: bytes) -> Receipt:
    """Seal a receipt: without this installation's key it can be neither changed nor forged."""
    return msgspec.structs.replace(receipt, seal=_seal(receipt, key))


def _seal(receipt: Receipt, key: bytes) -> str:
    bare = msgspec.json.encode(msgspec.structs.replace(receipt, seal=""), order="sorted")
    return hmac.new(key, b"sutler receipt 1\0" + bare, "sha256").hexdigest()


def _row(done: Receipt) -> ReceiptRow:
    """Convert a receipt for the store. A pack's id covers its manifest: the same id, the same
    files."""
    bare, files = done, b""
    if done.format != PROMPT:
        bare = msgspec.structs.replace(done, files=())
        files = msgspec.msgpack.encode(
            [(one.path, one.level, bytes.fromhex(one.sha256)) for one in done.files]
        )
    return done.pack_id, done.at, msgspec.json.encode(bare).decode(), files


def receipts(
    root: str, environ: Mapping[str, str], limit: int = 100, *, start: str = "", files: bool = True
) -> list[Receipt]:
    """Return the newest receipts of a project, newest first, of packs whose id begins with `start`.
    With `files`, they include the lists of files."""
    store, _, _ = open_store(root, environ)
    try:
        found = [_decoded(*row) for row in store.receipts(limit, start)]
        return [_filled(one, store) for one in found] if files else found
    finally:
        store.close()


def _decoded(pack: str, body: str) -> Receipt:
    try:
        return msgspec.json.decode(body, type=Receipt)
    except msgspec.MsgspecError as error:
        raise _damaged(pack, error) from None


def _filled(receipt: Receipt, store: Store) -> Receipt:
    """Add the files that the store holds apart; receipts of early versions hold them themselves."""
    if receipt.files:
        return receipt
    packed = store.sent(receipt.pack_id)
    try:
        rows = msgspec.msgpack.decode(packed, type=list[tuple[str, str, bytes]]) if packed else []
    except msgspec.MsgspecError as error:
        raise _damaged(receipt.pack_id, error) from None
    return msgspec.structs.replace(
        receipt, files=tuple(Sent(path, level, raw.hex()) for path, level, raw in rows)
    )


def _damaged(pack: str, error: Exception) -> SutlerError:
    return SutlerError(
        f"the receipt of pack {pack[:16]} is damaged: {error}",
        rule="receipts are kept as they were sealed",
        next_step="see 'sutler verify' for the state of the ledger",
    )


def find(root: str, environ: Mapping[str, str], start: str) -> Receipt:
    """Return the newest receipt whose pack id starts with `start`."""
    for receipt in receipts(root, environ, 1, start=start):
        return receipt
    raise UsageError(f"no receipt of a pack {quote(start)}", next_step="see 'sutler receipt list'")


def verify(receipt: Receipt, environ: Mapping[str, str]) -> None:
    """Refuse a receipt that differs from what this installation sealed."""
    if not hmac.compare_digest(_seal(receipt, home.key(environ)), receipt.seal):
        raise RefusedError(
            f"the receipt of pack {receipt.pack_id[:16]} does not match its seal",
            rule="a receipt is sealed with this installation's key",
            next_step="compare it with a copy; it was changed, or made by another installation",
        )


def proved(pack_id: str, root: str, environ: Mapping[str, str]) -> Receipt | None:
    """Return the receipt of this very pack, if this installation sealed one; None if the ledger
    cannot be read."""
    try:
        receipt = find(root, environ, pack_id)
        verify(receipt, environ)
    except (SutlerError, OSError):
        return None
    return receipt


def matches(receipt: Receipt, sections: Mapping[str, str]) -> list[str]:
    """Return the paths at which a pack (display path -> digest) and its receipt disagree."""
    sent = {one.path: one.sha256 for one in receipt.files}
    return sorted(
        path for path in sent.keys() | sections.keys() if sent.get(path) != sections.get(path)
    )


def recorded(receipt: Receipt, root: str, environ: Mapping[str, str]) -> tuple[Receipt, str]:
    """Seal a receipt and store it: at once in a shared store, else the next time that the project's
    store is opened. A failure is a note and no error: the pack has already left."""
    try:
        directory, _, key = home.project_folder(root, environ)
        receipt = sealed(receipt, key)
        waiting = _leave(directory, _row(receipt))
    except (SutlerError, OSError) as error:
        return msgspec.structs.replace(receipt, seal=""), _trouble("was not stored", error)
    try:
        if waiting > MOST or environ.get("SUTLER_STORE"):
            open_store(root, environ)[0].close()
    except (SutlerError, OSError) as error:
        return receipt, _trouble("waits for the store", error)
    return receipt, ""


def recorded_in(store: Store, key: bytes, receipt: Receipt) -> tuple[Receipt, str]:
    """Store a receipt like `recorded`, in a store that is open already."""
    done = sealed(receipt, key)
    try:
        store.put_receipt(_row(done))
        return done, ""
    except (SutlerError, OSError) as error:
        return receipt, _trouble("was not stored", error)


def _trouble(what: str, error: Exception) -> str:
    return f"the receipt {what}: {str(error).splitlines()[0]}"


def open_store(root: str, environ: Mapping[str, str]) -> tuple[Store, str, bytes]:
    """Open a project's store as `location` does, and move its waiting receipts into it."""
    store, directory, key = location.open_store(root, environ)
    try:
        _take_in(os.path.join(directory, FOLDER), store)
    except BaseException:
        store.close()
        raise
    return store, directory, key


def _leave(directory: str, row: ReceiptRow) -> int:
    """Write a receipt to a project's private directory and sync it. Return how many are waiting."""
    folder = os.path.join(directory, FOLDER)
    with suppress(FileExistsError):
        fs.mkdir(folder, 0o700)
    path = os.path.join(folder, f"{row[0][:16]}-{os.urandom(8).hex()}")
    home.replace_private(path, msgspec.msgpack.encode(row))
    # The name is durable only with its folder.
    fd = fs.open(folder, fs.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    try:
        fs.fsync(fd)
    finally:
        fs.close(fd)
    return len(_waiting(folder))


def _take_in(folder: str, store: Store) -> None:
    """Move waiting receipts into the store. Two processes may do so at once, because the store
    ignores a duplicate. A damaged receipt is renamed."""
    from sutler.store.records import ReceiptRow

    for path in _waiting(folder):
        try:
            row = msgspec.msgpack.decode(home.read_kept(path), type=ReceiptRow)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, msgspec.MsgspecError):
            fs.rename(path, path + _DAMAGED)
            continue
        store.put_receipt(row)
        with suppress(FileNotFoundError):
            fs.unlink(path)


def _waiting(folder: str) -> list[str]:
    """Return the waiting receipts; remove old unfinished files of killed processes."""
    paths: list[str] = []
    try:
        names = sorted(fs.listdir(folder))
    except FileNotFoundError:  # no pack was made yet
        return []
    for name in names:
        path = os.path.join(folder, name)
        if home.is_unfinished(name):
            with suppress(FileNotFoundError):
                if os.lstat(path).st_mtime < time.time() - home.UNFINISHED:
                    fs.unlink(path)
        elif not name.endswith(_DAMAGED):
            paths.append(path)
    return paths
