"""Parsing Tera's expressions by ordered choice, so that what Tera accepts is accepted and nothing else.

Each rule takes a position and returns a value with the position behind it, or None. The order of alternatives
is the language: `trueish` is `true` followed by rubbish, `not (a == b)` is an error. Results are remembered
by rule and position, which keeps nested calls linear where plain backtracking would be exponential.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sutler.goals.tera.memory import Got, remembered
from sutler.goals.tera.nodes import (
    Array,
    Bool,
    Call,
    Concat,
    Expr,
    In,
    Logic,
    MacroCall,
    Math,
    Num,
    Path,
    Str,
    TemplateError,
    Test,
    Val,
)

_SPACE = re.compile(r"[ \t\r\n]*")
_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_IDENT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MORE = re.compile(r"\.([a-zA-Z0-9_]+)")
_BOOL = re.compile(r"true|false|True|False")
_OR = re.compile(r"or[ \t\r\n]")
_AND = re.compile(r"and[ \t\r\n]")
_NOT = re.compile(r"not[ \t\r\n]")
_COMPARE = re.compile(r"<=|>=|>|<|==|!=")
_MATH = re.compile(r"[+\-*/%]")
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "or": 1, "and": 2}


class Expressions:
    """The rules for expressions over one template's text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.far = 0
        self.depth = 0
        self.memory: dict[tuple[str, int], Any] = {}

    def space(self, pos: int) -> int:
        found = _SPACE.match(self.text, pos)
        return found.end() if found else pos

    def word(self, pos: int, literal: str) -> int | None:
        """The position behind `literal`, or None; notes how far anyone ever got, for the error message."""
        self.far = max(self.far, pos)
        return pos + len(literal) if self.text.startswith(literal, pos) else None

    def token(self, pos: int, pattern: re.Pattern[str]) -> Got[str]:
        self.far = max(self.far, pos)
        found = pattern.match(self.text, pos)
        return (found.group(), found.end()) if found else None

    def ident(self, pos: int) -> Got[str]:
        return self.token(pos, _IDENT)

    def string(self, pos: int) -> Got[str]:
        found = self.token(pos, _STRING)
        return (found[0][1:-1], found[1]) if found else None

    def number(self, pos: int) -> Got[Num]:
        if found := self.token(pos, _FLOAT):
            return Num(float(found[0])), found[1]
        if found := self.token(pos, _INT):
            value = int(found[0])
            if not -(2**63) <= value < 2**63:
                raise TemplateError(f"integer out of bounds: `{found[0]}`")
            return Num(value), found[1]
        return None

    def boolean(self, pos: int) -> Got[Bool]:
        found = self.token(pos, _BOOL)
        return (Bool(found[0].lower() == "true"), found[1]) if found else None

    def path(self, start: int) -> Got[Path]:
        found = self.ident(start)
        if not found:
            return None
        parts: list[str | Path] = [found[0]]
        pos = found[1]
        while True:
            if more := _MORE.match(self.text, pos):
                parts.append(more.group(1))
                pos = more.end()
            elif bracket := self._bracket(pos):
                parts.append(bracket[0])
                pos = bracket[1]
            else:
                return Path(self.text[start:pos], tuple(parts)), pos

    def _bracket(self, pos: int) -> Got[str | Path]:
        inner = self.word(pos, "[")
        if inner is None:
            return None
        part: Got[str] | Got[Path] = self.token(inner, _INT) or self.string(inner) or self.path(inner)
        if self.text.startswith("`", inner):
            return None  # Tera parses `a[\`b\`]` and can never resolve it
        end = self.word(part[1], "]") if part else None
        return (part[0], end) if part and end is not None else None

    @remembered
    def fn_call(self, pos: int) -> Got[Call]:
        name = self.ident(pos)
        args = self._arguments(self.space(name[1])) if name else None
        return (Call(name[0], args[0]), args[1]) if name and args else None

    @remembered
    def macro_call(self, pos: int) -> Got[MacroCall]:
        space = self.ident(pos)
        colons = self.word(self.space(space[1]), "::") if space else None
        name = self.ident(self.space(colons)) if colons is not None else None
        args = self._arguments(self.space(name[1])) if name else None
        return (MacroCall(space[0], name[0], args[0]), args[1]) if space and name and args else None

    def _arguments(self, pos: int) -> Got[dict[str, Expr]]:
        """`(key=value, …)` with an optional comma at the end of a list that is not empty."""
        opened = self.word(pos, "(")
        if opened is None:
            return None
        args: dict[str, Expr] = {}
        pos = self.space(opened)
        pair = self._pair(pos)
        while pair:
            args[pair[0][0]] = pair[0][1]
            pos = self.space(pair[1])
            comma = self.word(pos, ",")
            if comma is None:
                break
            pos = self.space(comma)
            pair = self._pair(pos)
        closed = self.word(pos, ")")
        return (args, closed) if closed is not None else None

    def _pair(self, pos: int) -> Got[tuple[str, Expr]]:
        name = self.ident(pos)
        equals = self.word(self.space(name[1]), "=") if name else None
        value = self.any_expr(self.space(equals)) if equals is not None else None
        return ((name[0], value[0]), value[1]) if name and value else None

    def any_expr(self, pos: int) -> Got[Expr]:
        return self.logic_expr(pos) or self.array_filter(pos)

    @remembered
    def test(self, pos: int) -> Got[Test]:
        subject = self.path(pos)
        verb = self.word(self.space(subject[1]), "is") if subject else None
        if not subject or verb is None:
            return None
        negation = self.word(self.space(verb), "not")
        if negation is not None and (call := self._test_call(self.space(negation))):
            return Test(subject[0], call[0][0], call[0][1], True), call[1]
        call = self._test_call(self.space(verb))
        return (Test(subject[0], call[0][0], call[0][1], False), call[1]) if call else None

    def _test_call(self, pos: int) -> Got[tuple[str, tuple[Expr, ...]]]:
        name = self.ident(pos)
        if not name:
            return None
        bare: Got[tuple[str, tuple[Expr, ...]]] = ((name[0], ()), name[1])
        opened = self.word(self.space(name[1]), "(")
        args: list[Expr] = []
        while opened is not None:
            arg = self.any_expr(self.space(opened))
            if not arg:
                return bare
            args.append(arg[0])
            pos = self.space(arg[1])
            opened = self.word(pos, ",")
        closed = self.word(pos, ")") if args else None
        if closed is None:
            return bare
        if any(isinstance(arg.val, Array) for arg in args):
            raise TemplateError(f"the test `{name[0]}` cannot take an array literal: set it to a variable first")
        return (name[0], tuple(args)), closed

    def basic_val(self, pos: int) -> Got[Val]:
        return (
            self.boolean(pos)
            or self.test(pos)
            or self.macro_call(pos)
            or self.fn_call(pos)
            or self.path(pos)
            or self.number(pos)
        )

    def _basic_term(self, pos: int) -> Got[Val]:
        opened = self.word(pos, "(")
        inner = self.basic_expr(self.space(opened)) if opened is not None else None
        closed = self.word(self.space(inner[1]), ")") if inner else None
        if inner and closed is not None:
            return inner[0], closed
        return self.basic_val(pos)

    @remembered
    def basic_expr(self, pos: int) -> Got[Val]:
        def term(at: int) -> Got[Expr]:
            found = self._basic_term(at)
            return (Expr(found[0]), found[1]) if found else None

        climbed = self._climb(pos, term)
        return (climbed[0].val, climbed[1]) if climbed else None

    def _climb(self, pos: int, term: Callable[[int], Got[Expr]]) -> Got[Expr]:
        """Terms joined by arithmetic: read flat, then fold by strength, left to right."""
        first = term(pos)
        if not first:
            return None
        terms, ops, end = [first[0]], [], first[1]
        while op := self.token(self.space(end), _MATH):
            following = term(self.space(op[1]))
            if not following:
                break
            ops.append(op[0])
            terms.append(following[0])
            end = following[1]
        return fold(terms, ops, lambda left, op, right: Expr(Math(left, op, right))), end

    def _filters(self, pos: int) -> tuple[tuple[Call, ...], int]:
        found: list[Call] = []
        while (bar := self.word(self.space(pos), "|")) is not None:
            at = self.space(bar)
            call = self.fn_call(at)
            if not call:
                name = self.ident(at)
                if not name:
                    break
                call = Call(name[0], {}), name[1]
            found.append(call[0])
            pos = call[1]
        return tuple(found), pos

    @remembered
    def basic_expr_filter(self, pos: int) -> Got[Expr]:
        found = self.basic_expr(pos)
        if not found:
            return None
        filters, end = self._filters(found[1])
        return Expr(found[0], filters), end

    @remembered
    def string_expr_filter(self, pos: int) -> Got[Expr]:
        found: Got[Concat | Str] = self._concat(pos)
        if not found and (text := self.string(pos)):
            found = Str(text[0]), text[1]
        if not found:
            return None
        filters, end = self._filters(found[1])
        return Expr(found[0], filters), end

    def _concat_part(self, pos: int) -> Got[Str | Num | Path | Call]:
        if found := self.fn_call(pos) or self.number(pos):
            return found
        if text := self.string(pos):
            return Str(text[0]), text[1]
        return self.path(pos)

    def _concat(self, pos: int) -> Got[Concat | Str]:
        part = self._concat_part(pos)
        parts: list[Str | Num | Path | Call] = []
        end = pos
        while part:
            parts.append(part[0])
            end = part[1]
            tilde = self.word(self.space(end), "~")
            part = self._concat_part(self.space(tilde)) if tilde is not None else None
        if len(parts) < 2:
            return None
        if all(isinstance(part, Str) for part in parts):
            return Str("".join(part.text for part in parts if isinstance(part, Str))), end
        return Concat(tuple(parts)), end

    @remembered
    def comparison_val(self, pos: int) -> Got[Expr]:
        return self._climb(pos, self.basic_expr_filter)

    @remembered
    def comparison_expr(self, pos: int) -> Got[Expr]:
        left = self.string_expr_filter(pos) or self.comparison_val(pos)
        if not left:
            return None
        if op := self.token(self.space(left[1]), _COMPARE):
            at = self.space(op[1])
            if right := self.string_expr_filter(at) or self.comparison_val(at):
                return Expr(Logic(left[0], op[0], right[0])), right[1]
        return left

    @remembered
    def in_cond(self, pos: int) -> Got[Expr]:
        left = self.string_expr_filter(pos) or self.basic_expr_filter(pos)
        if not left:
            return None
        at = self.space(left[1])
        negation = self.token(at, _NOT)
        verb = self.word(self.space(negation[1]) if negation else at, "in")
        right = self._container(self.space(verb)) if verb is not None else None
        return (Expr(In(left[0], right[0], negation is not None)), right[1]) if right else None

    def _container(self, pos: int) -> Got[Expr]:
        if found := self.string_expr_filter(pos) or self.array_filter(pos):
            return found
        path = self.path(pos)
        return (Expr(path[0]), path[1]) if path else None

    @remembered
    def logic_val(self, pos: int) -> Got[Expr]:
        negation = self.token(pos, _NOT)
        at = self.space(negation[1]) if negation else pos
        if found := self.in_cond(at) or self.comparison_expr(at):
            # Overwrites a negation inside parentheses as well: `(not a)` means `a`, as in Tera.
            return Expr(found[0].val, found[0].filters, negation is not None), found[1]
        opened = self.word(pos, "(")
        inner = self.logic_expr(self.space(opened)) if opened is not None else None
        closed = self.word(self.space(inner[1]), ")") if inner else None
        return (Expr(inner[0].val, inner[0].filters), closed) if inner and closed is not None else None

    @remembered
    def logic_expr(self, pos: int) -> Got[Expr]:
        first = self.logic_val(pos)
        if not first:
            return None
        terms, ops, end = [first[0]], [], first[1]
        while op := self.token(self.space(end), _OR) or self.token(self.space(end), _AND):
            following = self.logic_val(self.space(op[1]))
            if not following:
                break
            ops.append(op[0].strip())
            terms.append(following[0])
            end = following[1]
        return fold(terms, ops, lambda left, op, right: Expr(Logic(left, op, right))), end

    @remembered
    def array_filter(self, pos: int) -> Got[Expr]:
        opened = self.word(pos, "[")
        if opened is None:
            return None
        items: list[Expr] = []
        pos = self.space(opened)
        while item := self.logic_val(pos):
            items.append(item[0])
            pos = self.space(item[1])
            comma = self.word(pos, ",")
            if comma is None:
                break
            pos = self.space(comma)
        closed = self.word(pos, "]")
        if closed is None:
            return None
        filters, end = self._filters(closed)
        return Expr(Array(tuple(items)), filters), end


def fold(terms: list[Expr], ops: list[str], join: Callable[[Expr, str, Expr], Expr]) -> Expr:
    """Operands and operators of two strengths to one tree, left to right within a strength."""
    merged, weak = [terms[0]], []
    for op, term in zip(ops, terms[1:], strict=True):
        if _STRENGTH[op] == 2:
            merged[-1] = join(merged[-1], op, term)
        else:
            weak.append(op)
            merged.append(term)
    tree = merged[0]
    for op, term in zip(weak, merged[1:], strict=True):
        tree = join(tree, op, term)
    return tree
