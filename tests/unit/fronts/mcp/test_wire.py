"""Bytes become messages, or a fault that says what is wrong and carries the id where there is
one.
"""

from __future__ import annotations

import pytest

from sutler.fronts.mcp.approvals import Sealed, can_ask, verdict
from sutler.fronts.mcp.wire import MAX_DEPTH, MAX_MESSAGE, Fault, parse


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"", -32700, None),
        (b"\xff", -32700, None),
        (b"{" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"5", -32600, None),
        (b'{"id": 1}', -32600, 1),
        (b'{"jsonrpc": "2.0"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "x"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "x"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "x"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "%s", "method": "x"}' % (b"y" * 300), -32600, None),
        (b'{"jsonrpc": "2.0", "id": 3, "method": 5}', -32600, 3),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "x", "params": [1]}', -32602, 3),
        (
            b'{"jsonrpc": "2.0", "id": 3, "method": "x", "params": '
            + b'{"a":' * 70
            + b"1"
            + b"}" * 71,
            -32600,
            3,
        ),
        (b" " * (MAX_MESSAGE + 1), -32600, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_message_is_a_fault(line: bytes, code: int, id: object) -> None:
    with pytest.raises(Fault) as found:
        parse(line)
    assert (found.value.code, found.value.id) == (code, id)


def test_depth_is_counted_from_the_message() -> None:
    inside = MAX_DEPTH - 2
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":'
        + b'{"a":' * inside
        + b"1"
        + b"}" * (inside + 1)
    )
    assert parse(line).id == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "content": {"approve": True}}, True),
        ({"action": "accept", "content": {"approve": "true"}}, False),
        ({"action": "accept", "content": {"approve": 1}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_only_an_explicit_yes_is_one(answer: object, said: bool | None) -> None:
    assert verdict(answer) is said


def test_request_state_is_bound_to_its_call() -> None:
    """T57: what goes through the client comes back as it was, for the same session, tool and
    arguments.
    """
    sealed = Sealed(b"k", "s", "write_file", {"path": "a"})
    state = sealed.state("approval1")
    assert sealed.approval(state) == "approval1"
    assert sealed.approval(state.replace("approval1", "approval2")) == ""
    assert sealed.approval(None) == ""
    for other in (
        Sealed(b"other", "s", "write_file", {"path": "a"}),
        Sealed(b"k", "t", "write_file", {"path": "a"}),
        Sealed(b"k", "s", "edit", {"path": "a"}),
        Sealed(b"k", "s", "write_file", {"path": "b"}),
    ):
        assert other.approval(state) == ""


def test_a_client_that_only_opens_pages_cannot_be_asked() -> None:
    assert can_ask({"elicitation": {}})
    assert can_ask({"elicitation": {"form": {}}})
    assert not can_ask({"elicitation": {"url": {}}})
    assert not can_ask({})
    assert not can_ask(None)


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"', b'"}}', 7),
        (b'{"id": "k-1", "jsonrpc": "2.0", "params": {"a": "', b'"}}', "k-1"),
        (b'{"method":"tools/call","params":{"a":"', b'"},"jsonrpc":"2.0","id":12}', 12),
        (b'{"method":"tools/call","params":{"a":"', b'\\"},\\"id\\":12}"}}', None),
        (b'{"params":{"id":3,"a":"', b'"}}', None),
        (b"\xff\xff", b"", None),
    ],
)
def test_a_message_that_is_too_large_is_answered_under_its_own_id(
    head: bytes, tail: bytes, id: object
) -> None:
    """Clients put the id before or behind the params; what a text holds is no id."""
    with pytest.raises(Fault) as caught:
        parse(head + b"x" * MAX_MESSAGE + tail)
    assert (caught.value.code, caught.value.id) == (-32600, id)
