"""Consent through the client: one question of one form, and a request state that only this
installation can write."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from sutler.access.grants import SECONDS, Consent, folder_of, grantable
from sutler.paths import quote
from sutler.store.records import Approval, canonical

SHOWN = 6_000
"""Characters of a preview in a question; `sutler approve` shows all of it."""


def question(approval: Approval) -> dict[str, object]:
    """Return the parameters of `elicitation/create`: the action, its rule, and the exact lines."""
    preview = approval.preview
    if len(preview) > SHOWN:
        left = preview.count("\n", SHOWN) + 1
        preview = (
            f"{preview[:SHOWN]}\n({left} more lines; `sutler approve {approval.id}` shows them all)"
        )
    lines = [
        f"{approval.tool} on {quote(approval.path)} needs your approval ({approval.rule}).",
        f"Approval {approval.id}, until {approval.expires}.",
        *([preview] if preview else [f"Arguments: {approval.args}"]),
    ]
    fields: dict[str, object] = {
        "approve": {
            "type": "boolean",
            "title": "Allow this once",
            "description": "exactly this call, and no other",
        }
    }
    if grantable(approval):
        folder = folder_of(approval.path)
        fields["session"] = {
            "type": "boolean",
            "title": f"Allow writes to {quote(folder)} for this session",
            "description": f"for {SECONDS // 3_600} hours; control files still ask",
            "default": False,
        }
    return {
        "mode": "form",
        "message": "\n".join(lines),
        "requestedSchema": {"type": "object", "properties": fields, "required": ["approve"]},
    }


def verdict(answer: object) -> Consent | None:
    """Return yes, yes for the session, no, or None without an answer. Only an explicit yes
    counts."""
    if not isinstance(answer, dict):
        return None
    content = answer.get("content")
    if answer.get("action") == "accept":
        if not isinstance(content, dict) or content.get("approve") is not True:
            return False
        return "session" if content.get("session") is True else True
    return False if answer.get("action") == "decline" else None


def can_ask(capabilities: object) -> bool:
    """Return whether a client shows forms: with an empty `elicitation`, or one that names
    `form`."""
    forms = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(forms, dict) and (not forms or "form" in forms)


class Sealed:
    """Request state that the client carries between two requests: bound to session, tool and
    arguments."""

    def __init__(self, key: bytes, session: str, name: str, arguments: Mapping[str, Any]) -> None:
        self._key = key
        self._call = session, name, arguments

    def state(self, approval: str) -> str:
        about = canonical([*self._call[:2], dict(self._call[2])])
        sealed = f"sutler request state\n{approval}\n{about}".encode()
        return f"{approval}.{hmac.new(self._key, sealed, 'sha256').hexdigest()}"

    def approval(self, state: object) -> str:
        """Return the approval of a state; empty if the state was not made here for this very
        call."""
        # It comes from the client, and ours are shorter.
        if not isinstance(state, str) or len(state) > 200:
            return ""
        id = state.partition(".")[0]
        if hmac.compare_digest(self.state(id).encode(), state.encode("utf-8", "replace")):
            return id
        return ""
