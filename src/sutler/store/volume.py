"""Detect network file systems. A write-ahead log needs local locks and shared memory."""

from __future__ import annotations

import os
import re

from sutler.errors import RefusedError

NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gpfs", "beegfs",
     "9p", "orangefs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone",
     "fuse.davfs2", "davfs", "fuse.gcsfuse",
     "glusterfs")
)  # fmt: skip
"""Network file systems, by the kernel's names."""

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(r"\\([0-7]{3})")


def refuse_network(path: str, mounts: str = _MOUNTS) -> None:
    """Raise RefusedError if `path` is on a network file system."""
    kind = kind_of(path, mounts)
    if kind in NETWORK:
        raise RefusedError(
            f"the store would lie on a network file system ({kind})",
            rule="a write-ahead log needs a local disk",
            next_step=(
                "set XDG_STATE_HOME to a local directory, or SUTLER_STORE to a PostgreSQL URL"
            ),
        )


def kind_of(path: str, mounts: str = _MOUNTS) -> str:
    """Return the type of the file system of `path`; empty if it is unknown."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    real, best, kind = os.path.realpath(path), -1, ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not rest:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), words[4])
        # `>=`: a later mount at the same point hides an earlier one.
        if f"{real}/".startswith(f"{point.rstrip('/')}/") and len(point) >= best:
            best, kind = len(point), rest.split(" ", 1)[0]
    return kind
