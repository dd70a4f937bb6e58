"""What a template parses into. Values are plain JSON: None, bool, int, float, str, list and dict."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from sutler.values.errors import UsageError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"


class TemplateError(UsageError):
    """A template that cannot be parsed or rendered; the message names the template and the line."""


class Str(Struct, frozen=True):
    text: str


class Num(Struct, frozen=True):
    value: int | float


class Bool(Struct, frozen=True):
    value: bool


class Path(Struct, frozen=True):
    """`a.b["c"][d.e]`: `raw` is the spelling, each part a name or a path whose value is the name."""

    raw: str
    parts: tuple[str | Path, ...]


class Call(Struct, frozen=True):
    """A function or a filter with its keyword arguments."""

    name: str
    args: dict[str, Expr]


class MacroCall(Struct, frozen=True):
    space: str
    name: str
    args: dict[str, Expr]


class Test(Struct, frozen=True):
    subject: Path
    name: str
    args: tuple[Expr, ...]
    negated: bool


class Math(Struct, frozen=True):
    left: Expr
    op: str
    right: Expr


class Logic(Struct, frozen=True):
    left: Expr
    op: str
    right: Expr


class In(Struct, frozen=True):
    left: Expr
    right: Expr
    negated: bool


class Concat(Struct, frozen=True):
    parts: tuple[Str | Num | Path | Call, ...]


class Array(Struct, frozen=True):
    items: tuple[Expr, ...]


Val: TypeAlias = Str | Num | Bool | Path | Call | MacroCall | Test | Math | Logic | In | Concat | Array


class Expr(Struct, frozen=True):
    val: Val
    filters: tuple[Call, ...] = ()
    negated: bool = False


class Trim(Struct, frozen=True):
    """Which side of a tag eats the white space next to it."""

    left: bool = False
    right: bool = False


class Text(Struct, frozen=True):
    text: str


class Raw(Struct, frozen=True):
    start: Trim
    text: str
    end: Trim


class Show(Struct, frozen=True):
    trim: Trim
    expr: Expr


class Comment(Struct, frozen=True):
    trim: Trim


class Set(Struct, frozen=True):
    trim: Trim
    name: str
    expr: Expr
    everywhere: bool


class Include(Struct, frozen=True):
    trim: Trim
    names: tuple[str, ...]
    optional: bool


class Extends(Struct, frozen=True):
    trim: Trim
    name: str


class Import(Struct, frozen=True):
    trim: Trim
    name: str
    space: str


class Jump(Struct, frozen=True):
    """`break` or `continue`."""

    trim: Trim
    kind: str


class Super(Struct, frozen=True):
    pass


class Branch(Struct, frozen=True):
    trim: Trim
    test: Expr | None  # None is the `else` branch
    body: tuple[Node, ...]


class If(Struct, frozen=True):
    branches: tuple[Branch, ...]
    end: Trim


class For(Struct, frozen=True):
    start: Trim
    key: str | None
    name: str
    container: Expr
    body: tuple[Node, ...]
    empty: tuple[Node, ...] | None
    end: Trim


class Filter(Struct, frozen=True):
    start: Trim
    call: Call
    body: tuple[Node, ...]
    end: Trim


class Block(Struct, frozen=True):
    start: Trim
    name: str
    body: tuple[Node, ...]
    end: Trim


class Macro(Struct, frozen=True):
    start: Trim
    name: str
    args: dict[str, Expr | None]
    body: tuple[Node, ...]
    end: Trim


Node: TypeAlias = (
    Text | Raw | Show | Comment | Set | Include | Extends | Import | Jump | Super | If | For | Filter | Block | Macro
)
