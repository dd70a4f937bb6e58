"""One entry goes into a settings file, and everything else stays, comments too."""

from __future__ import annotations

import json
import tomllib

import pytest

from sutler.fronts.mcp.settings import Entry, read_json, with_json, with_toml

ENTRY: Entry = {"command": "/bin/sutler", "args": ["mcp", "--root", "/p"]}
JSON = [
    "",
    "{}",
    "{ }",
    '{"a": 1}',
    '{\n  "a": [1, {"b": "}"}],\n  "mcpServers": {}\n}\n',
    '{"mcpServers": {"other": {"command": "x"}}}',
    '{\n\t"mcpServers": {\n\t\t"sutler": {"command": "old", "args": [1, 2]},\n\t\t"other": {}\n\t}\n}',
    '// first\n{\n  /* mine */ "a": 1, // one\n  "mcpServers": { // servers\n    "x": {"u": "http://y//z"},\n  },\n}\n',
    '{"mcpServers": {/* nothing yet */}}',
    "{\n  // nothing at all\n}",
]


@pytest.mark.parametrize("text", JSON)
def test_json_gains_one_entry_and_loses_nothing(text: str) -> None:
    after = with_json(text, "mcpServers", "sutler", ENTRY)
    old = read_json(text) if text else {}
    assert read_json(after) == {**old, "mcpServers": {**old.get("mcpServers", {}), "sutler": ENTRY}}
    for comment in (
        "// first",
        "/* mine */",
        "// one",
        "// servers",
        "/* nothing yet */",
        "// nothing at all",
    ):
        assert after.count(comment) == text.count(comment)
    assert with_json(after, "mcpServers", "sutler", ENTRY) == after


def test_plain_json_stays_plain() -> None:
    after = with_json('{\n    "a": 1\n}\n', "servers", "sutler", ENTRY)
    assert json.loads(after) == {"servers": {"sutler": ENTRY}, "a": 1}
    assert '\n    "servers": {\n        "sutler": {' in after


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"a"}', '{"a": 1 "b": 2}', '{"a": 1, "a": 2}', "{'a': 1}", "{} x", '{"a": }'],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


TOML = [
    "",
    'model = "x" # mine\n',
    '# mine\n[mcp_servers.other]\ncommand = "y"\n',
    '[mcp_servers.sutler]\ncommand = "old"\nargs = []\n\n# mine\n[tail]\na = 1\n',
    'a = 1\n[mcp_servers."sutler"]\ncommand = "old"',
]


@pytest.mark.parametrize("text", TOML)
def test_toml_gains_one_table_and_loses_nothing(text: str) -> None:
    after = with_toml(text, "mcp_servers", "sutler", ENTRY)
    old = tomllib.loads(text)
    assert tomllib.loads(after) == {
        **old,
        "mcp_servers": {**old.get("mcp_servers", {}), "sutler": ENTRY},
    }
    assert after.count("# mine") == text.count("# mine")
    assert with_toml(after, "mcp_servers", "sutler", ENTRY) == after
