"""Parsing a whole template: text, tags and what may stand inside which tag."""

from __future__ import annotations

import re

from sutler.goals.tera.expressions import Expressions
from sutler.goals.tera.memory import MAX_DEPTH, Got
from sutler.goals.tera.nodes import (
    Block,
    Branch,
    Call,
    Comment,
    Expr,
    Extends,
    Filter,
    For,
    If,
    Import,
    Include,
    Jump,
    Macro,
    Node,
    Raw,
    Set,
    Show,
    Str,
    Super,
    TemplateError,
    Text,
    Trim,
)

_W = r"[ \t\r\n]"
_TEXT = re.compile(r"(?:(?!\{\{|\{%|\{#)[\s\S])+")
_COMMENT = re.compile(r"\{#(-?)(?:(?!-?#\})[\s\S])+(-?)#\}")
_SPACES = re.compile(_W + "+")
_OPEN = re.compile(r"\{%(-?)" + _W + "*")
_CLOSE = re.compile(_W + r"*(-?)%\}")
_RAW = re.compile(rf"\{{%(-?){_W}*raw{_W}*(-?)%\}}([\s\S]*?)\{{%(-?){_W}*endraw{_W}*(-?)%\}}")
_MISSING = re.compile(rf"ignore{_W}*missing")
_SUPER = re.compile(rf"\{{\{{-?{_W}*super\(\){_W}*-?\}}\}}")

_ORDER = ("include", "set", "set_global", "block", "if", "for", "break", "continue", "filter", "raw")
_ALLOWED = {
    "top": {"include", "set", "set_global", "block", "if", "for", "filter", "raw"},
    "block": {"include", "set", "set_global", "block", "if", "for", "filter", "raw"},
    "filter": {"include", "set", "set_global", "block", "if", "for", "filter", "raw"},
    "macro": {"include", "set", "set_global", "if", "for", "filter", "raw"},
    "for": {"include", "set", "set_global", "if", "for", "break", "continue", "filter", "raw"},
}


class _Parser(Expressions):
    def opened(self, pos: int, keyword: str, gap: bool) -> Got[bool]:
        """`{% keyword`, and white space behind it when `gap`; the value says if the tag trims to its left."""
        found = _OPEN.match(self.text, pos)
        end = self.word(found.end(), keyword) if found else None
        if not found or end is None:
            return None
        if gap:
            space = _SPACES.match(self.text, end)
            if not space:
                return None
            end = space.end()
        return found.group(1) == "-", end

    def closed(self, pos: int) -> Got[bool]:
        self.far = max(self.far, self.space(pos))
        found = _CLOSE.match(self.text, pos)
        return (found.group(1) == "-", found.end()) if found else None

    def simple(self, pos: int, keyword: str, named: bool = False) -> Got[Trim]:
        """A tag of one word, such as `{% endif %}`; `named` allows a name behind it."""
        left = self.opened(pos, keyword, gap=False)
        if not left:
            return None
        end = left[1]
        right = self.closed(end)
        if not right and named and (name := self.ident(self.space(end))):
            right = self.closed(name[1])
        return (Trim(left[0], right[0]), right[1]) if right else None

    def body(self, pos: int, kind: str) -> tuple[tuple[Node, ...], int]:
        nodes: list[Node] = []
        while found := self.content(pos, kind):
            nodes.append(found[0])
            pos = found[1]
        return tuple(nodes), pos

    def content(self, pos: int, kind: str) -> Got[Node]:
        head = self.text[pos : pos + 2]
        if head == "{{":
            if kind == "block" and (found := _SUPER.match(self.text, pos)):
                return Super(), found.end()
            return self.show(pos)
        if head == "{#":
            return self.comment(pos)
        if head == "{%":
            return self.tag(pos, kind)
        text = _TEXT.match(self.text, pos)
        return (Text(text.group()), text.end()) if text else None

    def comment(self, pos: int) -> Got[Node]:
        found = _COMMENT.match(self.text, pos)
        return (Comment(Trim(found.group(1) == "-", found.group(2) == "-")), found.end()) if found else None

    def show(self, pos: int) -> Got[Node]:
        left = self.text.startswith("{{-", pos)
        expr = self.any_expr(self.space(pos + (3 if left else 2)))
        if not expr:
            return None
        at = self.space(expr[1])
        for mark in ("-}}", "}}"):
            end = self.word(at, mark)
            if end is not None:
                return Show(Trim(left, mark == "-}}"), expr[0]), end
        return None

    def tag(self, pos: int, kind: str) -> Got[Node]:
        rules = {
            "include": self.include,
            "set": self.assign,
            "set_global": self.assign_everywhere,
            "block": self.block,
            "for": self.loop,
            "break": self.jump_break,
            "continue": self.jump_continue,
            "filter": self.filter_section,
            "raw": self.raw,
        }
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TemplateError(f"tags nested deeper than {MAX_DEPTH} levels", rule="template depth limit")
        for name in _ORDER:
            if name in _ALLOWED[kind]:
                found = self.branches(pos, kind) if name == "if" else rules[name](pos)
                if found:
                    self.depth -= 1
                    return found
        self.depth -= 1
        return None

    def include(self, pos: int) -> Got[Node]:
        left = self.opened(pos, "include", gap=True)
        names = self.string_list(left[1]) if left else None
        if not left or not names:
            return None
        end = self.space(names[1])
        mark = _MISSING.match(self.text, end)
        right = self.closed(mark.end() if mark else end)
        return (Include(Trim(left[0], right[0]), names[0], mark is not None), right[1]) if right else None

    def string_list(self, pos: int) -> Got[tuple[str, ...]]:
        if one := self.string(pos):
            return (one[0],), one[1]
        opened = self.word(pos, "[")
        names: list[str] = []
        while opened is not None:
            pos = self.space(opened)
            name = self.string(pos)
            if not name:
                break
            names.append(name[0])
            pos = self.space(name[1])
            opened = self.word(pos, ",")
        closed = self.word(pos, "]") if names or opened is not None else None
        return (tuple(names), closed) if closed is not None else None

    def assign(self, pos: int) -> Got[Node]:
        return self._assign(pos, "set")

    def assign_everywhere(self, pos: int) -> Got[Node]:
        return self._assign(pos, "set_global")

    def _assign(self, pos: int, keyword: str) -> Got[Node]:
        left = self.opened(pos, keyword, gap=True)
        name = self.ident(left[1]) if left else None
        equals = self.word(self.space(name[1]), "=") if name else None
        expr = self.any_expr(self.space(equals)) if equals is not None else None
        right = self.closed(expr[1]) if expr else None
        if not (left and name and expr and right):
            return None
        return Set(Trim(left[0], right[0]), name[0], expr[0], keyword == "set_global"), right[1]

    def block(self, pos: int) -> Got[Node]:
        left = self.opened(pos, "block", gap=True)
        name = self.ident(left[1]) if left else None
        right = self.closed(name[1]) if name else None
        if not (left and name and right):
            return None
        body, at = self.body(right[1], "block")
        end = self.simple(at, "endblock", named=True)
        return (Block(Trim(left[0], right[0]), name[0], body, end[0]), end[1]) if end else None

    def branches(self, pos: int, kind: str) -> Got[Node]:
        found: list[Branch] = []
        head = self._condition(pos, "if")
        while head:
            trim, test, at = head[0][0], head[0][1], head[1]
            body, pos = self.body(at, kind)
            found.append(Branch(trim, test, body))
            head = self._condition(pos, "elif")
        otherwise = self.simple(pos, "else") if found else None
        if otherwise:
            body, pos = self.body(otherwise[1], kind)
            found.append(Branch(otherwise[0], None, body))
        end = self.simple(pos, "endif") if found else None
        return (If(tuple(found), end[0]), end[1]) if end else None

    def _condition(self, pos: int, keyword: str) -> Got[tuple[Trim, Expr]]:
        left = self.opened(pos, keyword, gap=True)
        test = self.logic_expr(left[1]) if left else None
        right = self.closed(test[1]) if test else None
        return ((Trim(left[0], right[0]), test[0]), right[1]) if left and test and right else None

    def loop(self, pos: int) -> Got[Node]:
        head = self._loop_head(pos)
        if not head:
            return None
        (trim, names, container), at = head
        body, at = self.body(at, "for")
        empty: tuple[Node, ...] | None = None
        while otherwise := self.simple(at, "else"):
            empty, at = self.body(otherwise[1], "for")
        end = self.simple(at, "endfor")
        key = names[0] if len(names) == 2 else None
        return (For(trim, key, names[-1], container, body, empty, end[0]), end[1]) if end else None

    def _loop_head(self, pos: int) -> Got[tuple[Trim, list[str], Expr]]:
        left = self.opened(pos, "for", gap=True)
        name = self.ident(left[1]) if left else None
        if not left or not name:
            return None
        names, at = [name[0]], name[1]
        comma = self.word(at, ",")
        if comma is not None and (second := self.ident(self.space(comma))):
            names.append(second[0])
            at = second[1]
        gap = _SPACES.match(self.text, at)
        verb = self.word(gap.end(), "in") if gap else None
        gap = _SPACES.match(self.text, verb) if verb is not None else None
        container = (self.basic_expr_filter(gap.end()) or self.array_filter(gap.end())) if gap else None
        right = self.closed(container[1]) if container else None
        return ((Trim(left[0], right[0]), names, container[0]), right[1]) if container and right else None

    def jump_break(self, pos: int) -> Got[Node]:
        found = self.simple(pos, "break")
        return (Jump(found[0], "break"), found[1]) if found else None

    def jump_continue(self, pos: int) -> Got[Node]:
        found = self.simple(pos, "continue")
        return (Jump(found[0], "continue"), found[1]) if found else None

    def filter_section(self, pos: int) -> Got[Node]:
        left = self.opened(pos, "filter", gap=True)
        call = self.fn_call(left[1]) if left else None
        if left and not call and (name := self.ident(left[1])):
            call = Call(name[0], {}), name[1]
        right = self.closed(call[1]) if call else None
        if not (left and call and right):
            return None
        body, at = self.body(right[1], "filter")
        end = self.simple(at, "endfilter")
        return (Filter(Trim(left[0], right[0]), call[0], body, end[0]), end[1]) if end else None

    def raw(self, pos: int) -> Got[Node]:
        found = _RAW.match(self.text, pos)
        if not found:
            return None
        a, b, text, c, d = found.groups()
        return Raw(Trim(a == "-", b == "-"), text, Trim(c == "-", d == "-")), found.end()

    def macro(self, pos: int) -> Got[Node]:
        left = self.opened(pos, "macro", gap=True)
        name = self.ident(left[1]) if left else None
        args = self._macro_args(self.space(name[1])) if name else None
        right = self.closed(args[1]) if args else None
        if not (left and name and args and right):
            return None
        body, at = self.body(right[1], "macro")
        end = self.simple(at, "endmacro", named=True)
        return (Macro(Trim(left[0], right[0]), name[0], args[0], body, end[0]), end[1]) if end else None

    def _macro_args(self, pos: int) -> Got[dict[str, Expr | None]]:
        opened = self.word(pos, "(")
        if opened is None:
            return None
        args: dict[str, Expr | None] = {}
        pos = self.space(opened)
        name = self.ident(pos)
        while name:
            args[name[0]], pos = self._macro_default(name[1])
            pos = self.space(pos)
            comma = self.word(pos, ",")
            name = self.ident(self.space(comma)) if comma is not None else None
            if comma is not None and not name:
                return None
        closed = self.word(pos, ")")
        return (args, closed) if closed is not None else None

    def _macro_default(self, pos: int) -> tuple[Expr | None, int]:
        equals = self.word(pos, "=")
        if equals is None:
            return None, pos
        if found := self.boolean(equals):
            return Expr(found[0]), found[1]
        if text := self.string(equals):
            return Expr(Str(text[0])), text[1]
        number = self.number(equals)
        return (Expr(number[0]), number[1]) if number else (None, pos)

    def extends(self, pos: int) -> Got[Node]:
        left = self.opened(self.space(pos), "extends", gap=True)
        name = self.string(left[1]) if left else None
        right = self.closed(name[1]) if name else None
        if not (left and name and right):
            return None
        return Extends(Trim(left[0], right[0]), name[0]), self.space(right[1])

    def import_(self, pos: int) -> Got[Node]:
        left = self.opened(self.space(pos), "import", gap=True)
        name = self.string(left[1]) if left else None
        gap = _SPACES.match(self.text, name[1]) if name else None
        verb = self.word(gap.end(), "as") if gap else None
        gap = _SPACES.match(self.text, verb) if verb is not None else None
        space = self.ident(gap.end()) if gap else None
        right = self.closed(space[1]) if space else None
        if not (left and name and space and right):
            return None
        return Import(Trim(left[0], right[0]), name[0], space[0]), self.space(right[1])

    def template(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        pos = 0
        while comment := self.comment(pos):
            pos = comment[1]  # comments before everything else vanish without trimming
        parent = self.extends(pos)
        if parent:
            nodes.append(parent[0])
            pos = parent[1]
        while found := self.import_(pos):
            nodes.append(found[0])
            pos = found[1]
        if not parent and nodes and (late := self.extends(pos)):
            nodes.append(late[0])
            pos = late[1]
        while found := self.content(pos, "top") or self.macro(pos):
            nodes.append(found[0])
            pos = found[1]
        if pos != len(self.text):
            raise self.error(max(pos, self.far))
        return tuple(nodes)

    def error(self, pos: int) -> TemplateError:
        line = self.text.count("\n", 0, pos) + 1
        column = pos - (self.text.rfind("\n", 0, pos) + 1) + 1
        near = self.text[pos : pos + 20].split("\n")[0]
        what = f"near `{near}`" if near else "at the end"
        return TemplateError(f"line {line}, column {column}: the template cannot be parsed {what}")


def parse(text: str) -> tuple[Node, ...]:
    """The nodes of a template as written, before white space control is applied."""
    return _Parser(text).template()
