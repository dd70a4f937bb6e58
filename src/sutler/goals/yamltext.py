"""YAML with scalars as written (`1.10` stays `1.10`) and the line of every value.

Uses the node API, because a typed loader discards the original text."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from sutler.errors import UsageError

_NULLS = ("", "~", "null", "Null", "NULL")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")


class Field:
    """A value of a file with its line, and conversions to types. All fields of a file share one
    list `warnings`."""

    def __init__(self, file: str, name: str, node: Any, warnings: list[str]) -> None:
        self.file = file
        self.name = name
        self.warnings = warnings
        self._node = node
        self.line: int = node.start_mark.line + 1

    def fail(self, what: str, next_step: str = "") -> NoReturn:
        raise UsageError(f"{self.file}:{self.line}: {what}", next_step=next_step)

    def _plain(self) -> str | None:
        """Return the text of a scalar without quotes, else None."""
        node = self._node
        if node.id == "scalar" and getattr(node, "style", None) is None:
            return str(node.value)
        return None

    def is_null(self) -> bool:
        return self._plain() in _NULLS

    def text(self) -> str:
        """Return any scalar, exactly as written."""
        if self._node.id != "scalar":
            self.fail(f"'{self.name}' must be a text, not a {self._node.id}")
        text = str(self._node.value)
        if not _SURROGATE.search(text):
            return text
        try:  # a surrogate pair: JSON's escape for characters above U+FFFF
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.fail(f"'{self.name}' holds half a character (a lone surrogate)")

    def optional_text(self) -> str | None:
        return None if self.is_null() else self.text()

    def boolean(self) -> bool:
        plain = self._plain()
        if plain not in _TRUE + _FALSE:
            self.fail(f"'{self.name}' must be true or false", "write true or false, without quotes")
        return plain in _TRUE

    def whole(self) -> int:
        plain = self._plain()
        if plain is None or not re.fullmatch(r"\+?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", plain):
            self.fail(f"'{self.name}' must be a whole number from 0")
        if len(plain) > 18:  # above every limit; int() rejects very long digits
            return sys.maxsize
        return int(plain, 0) if plain.startswith(("0x", "0o")) else int(plain)

    def items(self) -> list[Field]:
        if self.is_null():
            return []
        if self._node.id != "sequence":
            self.fail(f"'{self.name}' must be a list")
        return [
            Field(self.file, f"{self.name}[{n}]", node, self.warnings)
            for n, node in enumerate(self._node.value)
        ]

    def pairs(self) -> dict[str, Field]:
        """Return a mapping's fields in their order; a duplicate key is an error."""
        if self.is_null():
            return {}
        if self._node.id != "mapping":
            self.fail(
                f"'{self.name}' must be a mapping of keys to values"
                if self.name
                else "not a mapping"
            )
        fields: dict[str, Field] = {}
        for key_node, node in self._node.value:
            key = Field(self.file, "a key", key_node, self.warnings)
            name = key.text()
            if name in fields:
                key.fail(f"'{name}' is given twice")
            fields[name] = Field(self.file, name, node, self.warnings)
        return fields

    def record(self, keys: Sequence[str], *, compat: bool) -> dict[str, Field]:
        """Return the fields of a mapping with a fixed set of keys. Skip unknown keys with a warning
        and a hint; compat skips them silently."""
        fields = self.pairs()
        for name, field in fields.items():
            if name not in keys and not compat:
                close = difflib.get_close_matches(name, keys, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(keys)}"
                self.warnings.append(f"{field.file}:{field.line}: unknown key '{name}' ({hint})")
        return {name: field for name, field in fields.items() if name in keys}


def read_yaml(data: bytes, file: str) -> Field:
    """Parse one document and return its root field. Errors name the file and the line."""
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file}: not UTF-8 (byte {error.start})", next_step="save it as UTF-8"
        ) from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}" if mark else ""
        raise UsageError(
            f"{file}{where}: malformed YAML: {error.problem or error.context}"
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{file}: malformed YAML: {' '.join(str(error).split())}") from None
    if node is None:
        raise UsageError(f"{file}: the file is empty")
    return Field(file, "", node, [])
