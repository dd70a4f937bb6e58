"""Expressions to values. Tera asks an expression for a value, for a truth or for a number, and each way of
asking has its own rules: an unknown name is false as a truth and an error as a value."""

from __future__ import annotations

from typing import Protocol

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
    Value,
)
from sutler.goals.tera.numbers import calculate, exact, is_number, plain, same, truthy

_SKIPPED = ("safe", "default")


class Scope(Protocol):
    """What an expression may reach: names, calls and macros. The renderer is one."""

    def lookup(self, path: Path) -> Value: ...

    def call(self, call: Call) -> Value: ...

    def filtered(self, value: Value, call: Call) -> Value: ...

    def macro(self, call: MacroCall) -> str: ...

    def test(self, name: str, value: Value, defined: bool, args: list[Value]) -> bool: ...


class Evaluator:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def arguments(self, call: Call) -> dict[str, Value]:
        return {name: self.value(expr) for name, expr in call.args.items()}

    def value(self, expr: Expr) -> Value:
        if isinstance(expr.val, Path):
            found, missing = self._named(expr, expr.val)
            if missing:
                return True  # `not unknown`
        else:
            found = self._value(expr)
        for call in expr.filters:
            if call.name not in _SKIPPED:
                found = self.scope.filtered(found, call)
        return not truthy(found) if expr.negated else found

    def _named(self, expr: Expr, path: Path) -> tuple[Value, bool]:
        has_default = bool(expr.filters) and expr.filters[0].name == "default"
        try:
            found = self.scope.lookup(path)
        except TemplateError:
            if has_default:
                return self._default(expr.filters[0]), False
            if expr.negated:
                return None, True
            raise
        return (self._default(expr.filters[0]) if found is None and has_default else found), False

    def _default(self, call: Call) -> Value:
        if "value" not in call.args:
            raise TemplateError("the `default` filter requires a `value` argument")
        return self.value(call.args["value"])

    def _value(self, expr: Expr) -> Value:
        match expr.val:
            case Str(text):
                return text
            case Num(value) | Bool(value):
                return value
            case Array(items):
                return [self.value(item) for item in items]
            case Concat():
                return self._joined(expr.val)
            case In():
                return self._within(expr.val)
            case Test():
                return self._tested(expr.val)
            case Call():
                return self.scope.call(expr.val)
            case MacroCall():
                return self.scope.macro(expr.val)
            case Logic():
                return self.truth(expr)
            case Math():
                number = self.number(expr.val)
                return "NaN" if number is None else number
            case _:
                raise TemplateError("this expression has no value")

    def _joined(self, concat: Concat) -> str:
        out: list[str] = []
        for part in concat.parts:
            match part:
                case Str(text):
                    out.append(text)
                case Num(value):
                    out.append(plain(value))
                case _:
                    found = self.scope.lookup(part) if isinstance(part, Path) else self.scope.call(part)
                    what = part.raw if isinstance(part, Path) else part.name
                    if isinstance(found, bool) or not isinstance(found, str | int | float):
                        raise TemplateError(f"`~` joins texts and numbers, and `{what}` is neither")
                    out.append(found if isinstance(found, str) else exact(found))
        return "".join(out)

    def _within(self, node: In) -> bool:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(right, list):
            return any(same(left, item) for item in right) != node.negated
        if not isinstance(right, str | dict):
            raise TemplateError("`in` looks into texts, arrays and objects only")
        if not isinstance(left, str):
            raise TemplateError("only a text can be looked for in a text or an object")
        return (left in right) != node.negated

    def _tested(self, node: Test) -> bool:
        args = [self.value(arg) for arg in node.args]
        defined = True
        found: Value = None
        try:
            found = self.scope.lookup(node.subject)
        except TemplateError:
            defined = False
        result = self.scope.test(node.name, found, defined, args)
        return result != node.negated

    def truth(self, expr: Expr) -> bool:
        if isinstance(expr.val, Path):
            return self._named_truth(expr)
        if isinstance(expr.val, Logic) and expr.val.op in ("==", "!="):
            equal = self._equal(expr.val)
            # A number and something else: false for == and !=, and for `not` of either. So it is in Tera.
            return False if equal is None else (equal == (expr.val.op == "==")) != expr.negated
        return self._truth(expr) != expr.negated

    def _named_truth(self, expr: Expr) -> bool:
        try:
            return truthy(self.value(expr))
        except TemplateError:
            return False

    def _truth(self, expr: Expr) -> bool:
        match expr.val:
            case Logic():
                return self._compared(expr.val)
            case Math() | Num():
                return bool(self.number(expr.val))
            case In():
                return self._within(expr.val)
            case Test():
                return self._tested(expr.val)
            case Bool(value):
                return value
            case Str(text):
                return bool(text)
            case Call(name):
                answer = self.scope.call(expr.val)
                if not isinstance(answer, bool):
                    raise TemplateError(f"function `{name}` is used as a condition but does not return a bool")
                return answer
            case Concat():
                return truthy(self.value(Expr(expr.val, expr.filters)))
            case MacroCall():
                return bool(self.scope.macro(expr.val))
            case _:
                raise TemplateError("this expression cannot be a condition")

    def _compared(self, node: Logic) -> bool:
        if node.op == "or":
            return self.truth(node.left) or self.truth(node.right)
        if node.op == "and":
            return self.truth(node.left) and self.truth(node.right)
        return self._ordered(node)

    def _equal(self, node: Logic) -> bool | None:
        """Whether both sides are equal; None when only one of them is a number."""
        left, right = self.value(node.left), self.value(node.right)
        if is_number(left) and is_number(right):
            return float(left) == float(right)  # type: ignore[arg-type]  # checked above
        return None if is_number(left) or is_number(right) else same(left, right)

    def _ordered(self, node: Logic) -> bool:
        a, b = self.number_of(node.left), self.number_of(node.right)
        if a is None or b is None:
            raise TemplateError("comparison to NaN")
        left, right = float(a), float(b)
        results = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return results[node.op]

    def number_of(self, expr: Expr) -> int | float | None:
        if not expr.filters:
            return self.number(expr.val)
        found = self.value(expr)
        if not is_number(found):
            raise TemplateError("arithmetic with an expression that is not a number")
        return found  # type: ignore[return-value]  # checked above

    def number(self, val: Val) -> int | float | None:
        match val:
            case Num(value):
                return value
            case Math(left, op, right):
                a, b = self.number_of(left), self.number_of(right)
                return None if a is None or b is None else calculate(a, op, b)
            case Path():
                found, what = self.scope.lookup(val), val.raw
            case Call():
                found, what = self.scope.call(val), val.name
            case _:
                raise TemplateError("arithmetic and ordering work on numbers only")
        if not is_number(found):
            raise TemplateError(f"`{what}` is used in arithmetic or ordering but is not a number")
        return found  # type: ignore[return-value]  # checked above


def container_name(expr: Expr) -> str:
    match expr.val:
        case Path(raw):
            return raw
        case Call(name):
            return name
        case Array():
            return "the array"
        case _:
            raise TemplateError("a loop needs a name, a function call or an array")
