"""Rendering: a stack of frames, one for the template, each include, loop and macro call.

A template sees JSON values and the built-ins, nothing of Python. Work is counted, so a template that loops
for ever or includes itself ends in an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from sutler.goals.tera.builtins import FUNCTIONS, TESTS, World
from sutler.goals.tera.evaluate import Evaluator, container_name
from sutler.goals.tera.filters import FILTERS
from sutler.goals.tera.graphemes import graphemes
from sutler.goals.tera.nodes import (
    Block,
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
    MacroCall,
    Node,
    Path,
    Raw,
    Set,
    Show,
    Super,
    TemplateError,
    Text,
    Value,
)
from sutler.goals.tera.numbers import show
from sutler.goals.tera.parse import parse
from sutler.goals.tera.trim import trim

MAX_STEPS = 2_000_000
MAX_FRAMES = 60


class Template(Struct, frozen=True):
    name: str
    nodes: tuple[Node, ...]
    parent: str | None
    blocks: dict[str, Block]
    macros: dict[str, Macro]
    imports: tuple[Import, ...]


class Frame(Struct):
    """`kind` is origin, include, loop or macro. A loop keeps its items and where it stands."""

    kind: str
    template: Template
    values: dict[str, Value]
    name: str = ""
    key: str | None = None
    keys: list[str] = []
    items: list[Value] = []
    index: int = 0
    jump: str = ""


_MISSING = object()


def compile_template(name: str, text: str) -> Template:
    """Parse a template; an error names it."""
    try:
        nodes = trim(parse(text))
        blocks: dict[str, Block] = {}
        _find_blocks(name, nodes, blocks)
    except TemplateError as error:
        raise TemplateError(f"template '{name}': {error.what}", rule=error.rule) from None
    macros: dict[str, Macro] = {}
    for node in nodes:
        if isinstance(node, Macro):
            if node.name in macros:
                raise TemplateError(f"template '{name}': macro `{node.name}` is defined twice")
            macros[node.name] = node
    parents = [node.name for node in nodes if isinstance(node, Extends)]
    imports = tuple(node for node in nodes if isinstance(node, Import))
    return Template(name, nodes, parents[-1] if parents else None, blocks, macros, imports)


def _find_blocks(name: str, nodes: tuple[Node, ...], found: dict[str, Block]) -> None:
    for node in nodes:
        if isinstance(node, Block):
            if node.name in found:
                raise TemplateError(f"block `{node.name}` is defined twice")
            found[node.name] = node
            _find_blocks(name, node.body, found)


class Renderer:
    def __init__(self, template: Template, load: Callable[[str], Template | None], world: World) -> None:
        self.load = load
        self.world = world
        self.eval = Evaluator(self)
        self.context: Mapping[str, Value] = {}
        self.chain = self._chain(template)
        self.frames = [Frame("origin", template, {})]
        self.blocks: list[tuple[str, str, int]] = []
        self.steps = 0

    def _chain(self, template: Template) -> list[Template]:
        """The template and its parents, nearest first."""
        chain = [template]
        while (name := chain[-1].parent) is not None:
            parent = self.load(name)
            if parent is None:
                raise TemplateError(f"template '{chain[-1].name}' extends '{name}', which does not exist")
            if any(parent.name == known.name for known in chain):
                raise TemplateError(f"template '{name}' extends itself: {' -> '.join(t.name for t in chain)}")
            chain.append(parent)
        return chain

    def render(self, context: Mapping[str, Value]) -> str:
        self.context = context
        self._check_imports(self.chain[0], set())
        return self.body(self.chain[-1].nodes)

    def _check_imports(self, template: Template, seen: set[str]) -> None:
        for node in template.imports:
            if (imported := self.load(node.name)) is None:
                raise TemplateError(f"template '{template.name}' imports '{node.name}', which does not exist")
            if node.name not in seen:
                self._check_imports(imported, seen | {node.name})

    @property
    def template(self) -> Template:
        return self.frames[-1].template

    def body(self, nodes: tuple[Node, ...]) -> str:
        out: list[str] = []
        for node in nodes:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TemplateError(f"more than {MAX_STEPS} steps", rule="template work limit")
            out.append(self.node(node))
            if self.frames[-1].jump:
                break
        return "".join(out)

    def node(self, node: Node) -> str:
        match node:
            case Text() | Raw():
                return node.text
            case Show():
                return show(self.eval.value(node.expr))
            case Set():
                self._target(node.everywhere).values[node.name] = self.eval.value(node.expr)
            case If():
                for branch in node.branches:
                    if branch.test is None or self.eval.truth(branch.test):
                        return self.body(branch.body)
            case For():
                return self.loop(node)
            case Include():
                return self.include(node)
            case Filter():
                return self.section(node)
            case Block():
                return self.block(node, 0)
            case Super():
                return self.super_block()
            case Jump():
                self.frames[-1].jump = node.kind
            case Extends():
                if self.frames[-1].kind == "include":
                    raise TemplateError(f"an included template cannot extend another (`{node.name}`)")
            case Comment() | Import() | Macro():
                pass
        return ""

    def _target(self, everywhere: bool) -> Frame:
        frame = self.frames[-1]
        if everywhere and frame.kind == "loop":
            return next(f for f in reversed(self.frames) if f.kind != "loop")
        return frame

    def section(self, node: Filter) -> str:
        body = self.body(node.body)
        return body if node.call.name == "safe" else show(self.filtered(body, node.call))

    def push(self, frame: Frame) -> None:
        if len(self.frames) >= MAX_FRAMES:
            trail = " -> ".join(f.template.name for f in self.frames[-4:])
            raise TemplateError(
                f"templates nested deeper than {MAX_FRAMES} levels (… {trail})",
                rule="include and macro depth limit",
                next_step="look for a file that includes itself",
            )
        self.frames.append(frame)

    def loop(self, node: For) -> str:
        frame = self._loop_frame(node)
        if not frame.items:
            return self.body(node.empty) if node.empty is not None else ""
        out: list[str] = []
        self.push(frame)
        for index in range(len(frame.items)):
            frame.index = index
            frame.values.clear()
            frame.jump = ""
            out.append(self.body(node.body))
            if frame.jump == "break":
                break
        self.frames.pop()
        return "".join(out)

    def _loop_frame(self, node: For) -> Frame:
        what = container_name(node.container)
        held = self.eval.value(node.container)
        frame = Frame("loop", self.template, {}, name=node.name, key=node.key)
        if isinstance(held, dict):
            if node.key is None:
                raise TemplateError(f"`{what}` is an object: loop over it with a key and a value")
            frame.keys = sorted(held)
            frame.items = [held[key] for key in frame.keys]
        elif isinstance(held, list | str):
            if node.key is not None:
                raise TemplateError(f"`{what}` is not an object: loop over it with one name")
            frame.items = held if isinstance(held, list) else list(graphemes(held))
        else:
            raise TemplateError(f"`{what}` cannot be looped over")
        return frame

    def include(self, node: Include) -> str:
        for name in node.names:
            template = self.load(name)
            if template is None:
                continue
            self._check_imports(template, set())
            self.push(Frame("include", template, {}))
            text = self.body(template.nodes)
            self.frames.pop()
            return text
        if node.optional:
            return ""
        raise TemplateError(
            f"included template not found: {', '.join(node.names)}",
            next_step="names are relative to the goal",
        )

    def block(self, node: Block, level: int) -> str:
        chain = self.chain if self.template is self.chain[0] else [self.template]
        for at in range(level, len(chain)):
            if (defined := chain[at].blocks.get(node.name)) is not None:
                self.blocks.append((node.name, chain[at].name, at))
                return self.body(defined.body)
        return self.body(node.body)

    def super_block(self) -> str:
        name, _, level = self.blocks[-1]
        for at in range(level + 1, len(self.chain)):
            if (defined := self.chain[at].blocks.get(name)) is not None:
                self.blocks.append((name, self.chain[at].name, at))
                text = self.body(defined.body)
                self.blocks.pop()
                if at >= len(self.chain) - 1:
                    self.blocks.pop()
                return text
        raise TemplateError("super() has no parent block to show")

    def macro(self, call: MacroCall) -> str:
        home, macro = self._find_macro(call)
        values: dict[str, Value] = {}
        for name, default in macro.args.items():
            given: Expr | None = call.args.get(name, default)
            if given is None:
                raise TemplateError(f"macro `{call.name}` needs the argument `{name}`")
            values[name] = self.eval.value(given)
        self.push(Frame("macro", home, values))
        text = self.body(macro.body)
        self.frames.pop()
        return text

    def _find_macro(self, call: MacroCall) -> tuple[Template, Macro]:
        if self.blocks:
            active = self._must_load(self.blocks[-1][1])
        elif len(self.chain) > 1:
            active = self.chain[-1]
        else:
            active = self.template
        spaces = self._spaces(active, set())
        if active is self.chain[0]:
            for parent in self.chain[1:]:
                spaces = self._spaces(parent, set()) | spaces
        home = spaces.get(call.space)
        if home is None:
            raise TemplateError(f"macro namespace `{call.space}` is not imported in '{active.name}'")
        if call.name not in home.macros:
            raise TemplateError(f"macro `{call.space}::{call.name}` does not exist in '{home.name}'")
        return home, home.macros[call.name]

    def _spaces(self, template: Template, seen: set[str]) -> dict[str, Template]:
        """Namespaces a template can call: its own macros as `self`, its imports, and what those import."""
        own = {"self": template} if template.macros else {}
        inherited: dict[str, Template] = {}
        for node in template.imports:
            imported = self._must_load(node.name)
            own[node.space] = imported
            if node.name not in seen:
                inherited = self._spaces(imported, seen | {node.name}) | inherited
        return inherited | own

    def _must_load(self, name: str) -> Template:
        template = self.chain[0] if name == self.chain[0].name else self.load(name)
        if template is None:
            raise TemplateError(f"template '{name}' does not exist")
        return template

    def lookup(self, path: Path) -> Value:
        parts = [part if isinstance(part, str) else self._index(part, path) for part in path.parts]
        for frame in reversed(self.frames):
            found = _in_frame(frame, parts)
            if found is not _MISSING:
                return found  # type: ignore[return-value]  # checked above
            if frame.kind == "macro":
                break
        if parts[0] in self.context:
            found = _descend(self.context[parts[0]], parts[1:])
            if found is not _MISSING:
                return found  # type: ignore[return-value]  # checked above
        raise TemplateError(f"Variable `{path.raw}` not found in context while rendering '{self.template.name}'")

    def _index(self, part: Path, whole: Path) -> str:
        value = self.lookup(part)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TemplateError(f"`{part.raw}` in `{whole.raw}` must be a text or a number")
        return value if isinstance(value, str) else show(value)

    def call(self, call: Call) -> Value:
        function = FUNCTIONS.get(call.name)
        if function is None:
            raise TemplateError(f"function `{call.name}` does not exist")
        return function(self.world, self.eval.arguments(call))

    def filtered(self, value: Value, call: Call) -> Value:
        function = FILTERS.get(call.name)
        if function is None:
            raise TemplateError(f"filter `{call.name}` does not exist")
        return function(value, self.eval.arguments(call))

    def test(self, name: str, value: Value, defined: bool, args: list[Value]) -> bool:
        function = TESTS.get(name)
        if function is None:
            raise TemplateError(f"test `{name}` does not exist")
        return function(value, defined, args)


def _in_frame(frame: Frame, parts: list[str]) -> object:
    if parts[0] in frame.values and (found := _descend(frame.values[parts[0]], parts[1:])) is not _MISSING:
        return found
    if frame.kind != "loop":
        return _MISSING
    if frame.key is not None and parts == [frame.key]:
        return frame.keys[frame.index]
    if parts[0] == "loop":
        facts: dict[str, object] = {
            "index": frame.index + 1,
            "index0": frame.index,
            "first": frame.index == 0,
            "last": frame.index == len(frame.items) - 1,
        }
        return facts.get(parts[1], _MISSING) if len(parts) == 2 else _MISSING
    return _descend(frame.items[frame.index], parts[1:]) if parts[0] == frame.name else _MISSING


def _descend(value: Value, parts: list[str]) -> object:
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _is_index(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and (part == "0" or not part.startswith("0"))
