"""Proof of the ledger: a hash chain in the store and signed checkpoints in a file beside it.

Every row has the hash of the row before, over canonical JSON, so an edit, a deletion, an insertion
or a swap breaks the chain. A chain alone cannot show that its tail was cut or that all of it was
rewritten; the checkpoints show that. With every 128th row, and whenever the door closes, the head's
number and hash go to a file outside the database, signed with the installation's key. The
transaction that appends such a row signs the previous head before it commits, so that no
interruption leaves a checkpoint missing or one that the chain does not hold. The signature is an
HMAC: key and file belong to the same user on the same machine, where a public-key signature would
prove no more, since its private half would be in the same place.

The claim: tampering is evident with the checkpoints and the key. Rows younger than the last
checkpoint (at most 128 and those of one call) can be cut off by a process that can write both
tables of the database. Nothing more."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.store.home import private_file
from sutler.store.records import GENESIS, AuditEntry, AuditRow, canonical, sha256
from sutler.store.sql import Store
from sutler.system import fs

EVERY = 128  # signing each row would slow each call; so many rows may be cut off unseen
_PAGE = 5_000  # a ledger of millions of rows is verified in constant memory
_TAIL = 8_192  # dozens of checkpoints; the file grows for as long as the project is used
_LARGEST_CALL = 1_000  # rows that one transaction appends: a patch has at most 200 files


class Checkpoint(Struct, frozen=True):
    """`head`: this row was the last of the chain. `base`: everything up to this row was archived
    and removed."""

    kind: Literal["head", "base"]
    project: str
    seq: int
    hash: str
    at: str
    mac: str = ""


class Verification(Struct, frozen=True):
    """Result of `verify`. `bad` is the number of the first invalid row, 0 if all are valid."""

    ok: bool
    rows: int
    head: int
    checkpoint: int
    bad: int = 0
    detail: str = ""


class _BrokenError(Exception):
    def __init__(self, seq: int, detail: str) -> None:
        self.seq, self.detail = seq, detail


class Ledger:
    """A project's checkpoints: their file and the key that signs them."""

    def __init__(self, store: Store, directory: str, key: bytes, *, shared: bool = False) -> None:
        """`shared`: other machines append too and sign in files of their own, so a checkpoint may
        be missing here."""
        self.store = store
        self.directory = directory
        self._path = os.path.join(directory, "checkpoints.jsonl")
        self._shared = shared
        self.key = key
        self._signed: tuple[str, int, str] | None = None
        store.witness(EVERY, self._sign_head)

    def _sign_head(self, seq: int, hash: str, at: str) -> None:
        self.sign("head", seq, hash, at)

    def sign(self, kind: Literal["head", "base"], seq: int, hash: str, at: str) -> None:
        if self._signed != (kind, seq, hash):  # a transaction that is tried again signs once
            self.store.flush()  # a checkpoint must not outlive its row in a power cut
            self._write(kind, seq, hash, at)
            self._signed = kind, seq, hash

    def _write(self, kind: Literal["head", "base"], seq: int, hash: str, at: str) -> None:
        plain = Checkpoint(kind, self.store.project, seq, hash, at)
        line = canonical(msgspec.structs.replace(plain, mac=self._mac(plain))) + "\n"
        try:
            self._append(line.encode())
        except OSError as fault:
            raise SutlerError(
                f"the ledger's checkpoint cannot be written: {os.strerror(fault.errno or 0)}",
                rule="what is not recorded does not happen",
                next_step="free some disk space, then try again",
            ) from None

    def _append(self, line: bytes) -> None:
        private_file(self._path)
        fd = fs.open(self._path, fs.O_RDWR | fs.O_APPEND | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        try:
            _drop_torn(fd)
            with open(fd, "wb", closefd=False) as file:
                file.write(line)  # by one call as a rule: appends of several processes do not mix
            fs.fsync(fd)
        finally:
            fs.close(fd)

    def _mac(self, checkpoint: Checkpoint) -> str:
        plain = canonical(msgspec.structs.replace(checkpoint, mac=""))
        return hmac.new(self.key, b"sutler checkpoint\n" + plain.encode(), "sha256").hexdigest()

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, each with a valid signature; an invalid one is tampering."""
        try:
            with open(self._path, "rb") as file:
                # text after the last line end was torn by a power cut
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:  # a project has none before its first 128 rows
            return []
        checkpoints: list[Checkpoint] = []
        for number, line in enumerate(lines, 1):
            try:
                checkpoint = msgspec.json.decode(line, type=Checkpoint)
            except msgspec.DecodeError:
                raise _BrokenError(0, f"checkpoint {number} cannot be read") from None
            # In constant time, as with every secret.
            if not hmac.compare_digest(checkpoint.mac, self._mac(checkpoint)):
                raise _BrokenError(
                    checkpoint.seq, f"checkpoint {number} is not signed by this installation"
                )
            if checkpoint.project == self.store.project:
                checkpoints.append(checkpoint)
        return checkpoints

    def check(self) -> None:
        """Compare the newest checkpoint with the store. It is cheap enough for every start, and
        detects a store that was cut, rewritten, or replaced by an older copy."""
        newest = self._newest()
        if newest is None:
            return
        row = next(iter(self.store.audit(newest.seq - 1, 1)), None)
        differs = row is not None and row.seq == newest.seq and row.hash != newest.hash
        # A row that is merely absent may have been rotated away, here or on another machine:
        # `verify` judges that.
        if differs or self.store.head()[0] < newest.seq:
            raise RefusedError(
                f"the ledger does not hold its signed row {newest.seq}",
                rule="a ledger that was cut or replaced is not continued",
                next_step=(
                    "restore the store from a backup, or move the project's state directory aside"
                    " to start anew"
                ),
            )

    def _newest(self) -> Checkpoint | None:
        """Return the last checkpoint of this project among the file's last lines, if its signature
        is valid."""
        try:
            fd = fs.open(self._path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        except FileNotFoundError:  # no head was signed yet
            return None
        try:
            size = fs.fstat(fd).st_size
            tail = os.pread(fd, _TAIL, max(0, size - _TAIL)).splitlines()
        finally:
            fs.close(fd)
        newest: Checkpoint | None = None
        for line in tail if size <= _TAIL else tail[1:]:
            try:
                checkpoint = msgspec.json.decode(line, type=Checkpoint)
            except msgspec.DecodeError:
                continue  # `verify` names it; a torn line must not lock anyone out
            signed = (
                hmac.compare_digest(checkpoint.mac, self._mac(checkpoint))
                and checkpoint.project == self.store.project
            )
            if signed and (newest is None or checkpoint.seq >= newest.seq):
                newest = checkpoint
        return newest

    def close(self, at: str) -> None:
        """Sign the head, unless it is signed already."""
        (seq, hash), newest = self.store.head(), self._newest()
        if seq and (newest is None or newest.seq < seq):
            self.sign("head", seq, hash, at)

    def verify(self) -> Verification:
        """Walk the whole chain and compare every checkpoint with it. A fault is a result, never an
        exception."""
        last, rows, signed = (0, GENESIS), 0, 0
        seen: dict[int, str] = {}
        try:
            checkpoints = self.checkpoints()
            signed = max((checkpoint.seq for checkpoint in checkpoints), default=0)
            wanted = {checkpoint.seq for checkpoint in checkpoints}
            bases = {
                checkpoint.seq: checkpoint.hash
                for checkpoint in checkpoints
                if checkpoint.kind == "base"
            }
            for last in chain(self._rows(), {0: GENESIS} | bases):
                rows += 1
                if last[0] in wanted:
                    seen[last[0]] = last[1]
            if not rows and bases:
                last = max(bases.items())
            self._hold(checkpoints, seen, last)
        except _BrokenError as broken:
            return Verification(
                False, rows, self.store.head()[0], signed, broken.seq or last[0] + 1, broken.detail
            )
        return Verification(True, rows, last[0], signed)

    def _hold(
        self, checkpoints: list[Checkpoint], seen: dict[int, str], last: tuple[int, str]
    ) -> None:
        head = (
            self.store.head()
        )  # queried last: others may append meanwhile, and then it is further than this walk
        base = max(
            (checkpoint.seq for checkpoint in checkpoints if checkpoint.kind == "base"), default=0
        )
        if head[0] < last[0]:
            raise _BrokenError(
                head[0] + 1, f"the chain goes on to row {last[0]} but the store counts {head[0]}"
            )
        if head[0] == last[0] and head[1] != last[1]:
            raise _BrokenError(last[0], "the last row is not the one that the store calls its head")
        if head[0] > last[0] and not self.store.audit(last[0], 1):
            raise _BrokenError(
                last[0] + 1, f"the store counts {head[0]} rows but the chain ends at {last[0]}"
            )
        for checkpoint in checkpoints:
            if checkpoint.seq > last[0]:
                raise _BrokenError(
                    last[0] + 1, f"the chain ends before the checkpoint at row {checkpoint.seq}"
                )
            if checkpoint.seq in seen and seen[checkpoint.seq] != checkpoint.hash:
                raise _BrokenError(checkpoint.seq, "the chain differs from a signed checkpoint")
            if checkpoint.seq not in seen and checkpoint.seq > base:
                raise _BrokenError(checkpoint.seq, "a row that a checkpoint names is missing")
        if not self._shared:
            self._due(max((checkpoint.seq for checkpoint in checkpoints), default=0), last[0])

    def _due(self, newest: int, last: int) -> None:
        """Raise unless the missing checkpoints were due in one call: a call that appends a row that
        is due signs the head before its own first row."""
        due = last - last % EVERY
        if due <= newest:
            return
        rows = self.store.audit(newest, due - newest) if due - newest <= _LARGEST_CALL else ()
        if len({(row.call.partition(".")[0], row.phase) for row in rows}) != 1:
            raise _BrokenError(newest + 1, "checkpoints that must exist are missing")

    def _rows(self) -> Iterator[AuditRow]:
        after = 0
        while page := self.store.audit(after, _PAGE):
            yield from page
            after = page[-1].seq

    def set_aside(self, suffix: str) -> None:
        """Rename the file of checkpoints; a restored ledger starts with new ones."""
        with suppress(FileNotFoundError):
            os.rename(self._path, f"{self._path}.{suffix}")
        self._signed = None

    def rotate(self, keep: int, at: str) -> str:
        """Archive and remove all but the newest `keep` rows; the chain continues from a signed
        base. Return the file."""
        if keep < 0:
            raise UsageError("a negative number of rows to keep")
        checked = self.verify()
        if not checked.ok:
            raise RefusedError(
                f"the ledger does not verify at row {checked.bad}: {checked.detail}",
                rule="only a sound ledger is rotated",
                next_step="export it and inspect that row first",
            )
        last = checked.head - keep
        rows = [row for row in self._rows() if row.seq <= last]
        if not rows:
            return ""
        path = os.path.join(self.directory, f"audit-{rows[0].seq:09d}-{last:09d}.jsonl")
        _write_private(path, "".join(line for line in export(rows)))
        # First the archive, then the signed base, then the deletion: a crash between leaves rows
        # twice, never none.
        self.sign("base", last, rows[-1].hash, at)
        self.store.drop_audit(last)
        return path


def _drop_torn(fd: int) -> None:
    """Remove the torn last line of a power cut or a full disk, which no reader relies on."""
    size = fs.fstat(fd).st_size
    tail = os.pread(fd, _TAIL, max(0, size - _TAIL))
    if tail and not tail.endswith(b"\n"):
        os.ftruncate(fd, size - len(tail) + tail.rfind(b"\n") + 1)


def _write_private(path: str, text: str) -> None:
    temporary = f"{path}.{os.urandom(8).hex()}"
    private_file(temporary, text.encode())
    os.replace(temporary, path)
    fd = fs.open(os.path.dirname(path), fs.O_RDONLY | fs.O_DIRECTORY)
    try:
        fs.fsync(fd)
    finally:
        fs.close(fd)


def chain(rows: Iterable[AuditRow], starts: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Check each row against itself and the one before; yield (seq, hash) of the valid ones."""
    expected: tuple[int, str] | None = None
    for row in rows:
        try:
            entry = msgspec.json.decode(row.body, type=AuditEntry)
        except msgspec.DecodeError:
            raise _BrokenError(row.seq, "the row's body cannot be read") from None
        columns = (
            entry.seq,
            entry.call,
            entry.phase,
            entry.session,
            entry.path,
            canonical(entry),
            sha256(row.body),
        )
        if columns != (row.seq, row.call, row.phase, row.session, row.path, row.body, row.hash):
            raise _BrokenError(row.seq, "the row does not match its own hash or columns")
        if expected is None:
            expected = (entry.seq - 1, starts.get(entry.seq - 1, "nothing signed"))
        if (entry.seq - 1, entry.prev) != expected:
            raise _BrokenError(expected[0] + 1, "the row does not follow the one before it")
        expected = (row.seq, row.hash)
        yield expected


def export(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield one JSON line for each row: its hash and its body, enough to verify the chain
    elsewhere."""
    for row in rows:
        yield f'{{"hash":"{row.hash}","entry":{row.body}}}\n'


def verify_export(lines: Iterable[str]) -> tuple[int, str]:
    """Verify an exported or archived file on its own; return (rows, fault or "")."""
    count = 0
    try:
        rows = list(map(_exported, lines))
        first = msgspec.json.decode(rows[0].body, type=AuditEntry) if rows else None
        for _ in chain(rows, {first.seq - 1: first.prev} if first else {}):
            count += 1
    except (msgspec.DecodeError, _BrokenError) as fault:
        return count, str(getattr(fault, "detail", fault))
    return count, ""


class _Line(Struct):
    hash: str
    entry: AuditEntry


def _exported(line: str) -> AuditRow:
    exported = msgspec.json.decode(line, type=_Line)
    entry, start = exported.entry, len('{"hash":"') + len(exported.hash) + len('","entry":')
    body = line[start:].rstrip("\n")[:-1]
    return AuditRow(
        entry.seq, entry.call, entry.phase, entry.session, entry.path, exported.hash, body
    )


Clock = Callable[[], float]
