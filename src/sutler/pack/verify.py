"""Compare a pack with its folder: every digest is computed again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256

from sutler.errors import RefusedError
from sutler.formats.document import Pack
from sutler.pack import receipts
from sutler.pack.delivery import document_id
from sutler.pack.diff import AnyPack, pack_digests, read_pack, verify, whole_texts
from sutler.pack.project import Project
from sutler.paths import parse_relpath, rel_of
from sutler.scan.snapshot import Problem
from sutler.scan.text import decode
from sutler.secrets.markers import shows
from sutler.survey.wire import PackCheck

MAX_BYTES = 64 * 1024 * 1024
"""A larger file cannot be the one that was packed."""


def check_pack(data: bytes, root_path: str, environ: Mapping[str, str]) -> PackCheck:
    """Return the files that changed since, and the texts that differ although their file has not
    changed."""
    pack = read_pack(data)
    project = Project(root_path)
    recorded = pack_digests(pack)
    texts = whole_texts(pack)
    clean = project.clean(sum(map(len, texts.values())))
    current: dict[str, str] = {}
    altered: list[str] = []
    with project.opened().reader() as reader:
        for path in sorted(recorded):
            try:
                blob = reader.read(parse_relpath(rel_of(path)), MAX_BYTES)
            except RefusedError:  # no valid path, so it is not in this folder
                continue
            if isinstance(blob, Problem):
                continue
            current[path] = sha256(blob.data).hexdigest()
            decoded = (
                decode(blob.data) if current[path] == recorded[path] and path in texts else None
            )
            if decoded is None or texts[path] == decoded.text:
                continue
            if not shows(texts[path], decoded.text, clean(decoded.text, rel_of(path)).text):
                altered.append(path)
    moved = verify(pack, current)
    pack_id = pack_id_of(data, pack)
    receipt = receipts.proved(pack_id, project.place.root, environ)
    left = f"{receipt.at} -> {receipt.destination}" if receipt else ""
    return PackCheck(pack_id, len(recorded), moved, tuple(altered), left)


def pack_id_of(data: bytes, pack: AnyPack) -> str:
    """Return a pack's id: a rendered pack ends with its digest, which reading has verified; a
    document's is computed."""
    if not isinstance(pack, Pack):
        return document_id(pack)
    found = re.findall(rb'"digest"\s*:\s*"([0-9a-f]{64})"', data[-4_096:])
    return str(found[-1].decode()) if found else ""
