"""Measures of the source tree: sizes, lines, cycles, names and words."""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sutler

PACKAGE = Path(sutler.__file__).parent
FORBIDDEN = re.compile(
    r"\b(whoever|somebody|nobody|on its way|gives way|is told|comes back|gives? away|said|spoken"
    r"|came|went|heard|handed|held against|let go|in one go|made anew)\b",
    re.IGNORECASE,
)
# First words that hide the subject: a free relative, a pronoun without a referent.
RIDDLE = re.compile(
    r"(?:What(?:ever)?|Everything|Who(?:ever)?|Those|These|Told|Where|Why|In steps|Now and then)\b"
)
# First words of a noun phrase or a clause, in a function that is no property: a verb says more.
VERBLESS = re.compile(r"(?:The|An?|Whether|How|Which|Every|All|Each|Some|Any|At most|As many)\b")
VAGUE = frozenset("one found made known given said told came kept shown".split())
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function


@cache
def sources() -> dict[str, str]:
    """The text of every module by its path below the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def trees() -> dict[str, ast.Module]:
    return {path: ast.parse(text) for path, text in sources().items()}


def functions() -> Iterator[tuple[str, Function]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


def function_lengths() -> list[int]:
    """Lines of each function from `def` to its end, in ascending order."""
    return sorted((node.end_lineno or 0) - node.lineno + 1 for _, node in functions())


def percentile(values: list[int], share: float) -> int:
    """`values` are in ascending order."""
    return values[min(len(values) - 1, int(len(values) * share))]


def median(values: list[int]) -> float:
    return statistics.median(values)


def module_name(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return ".".join(["sutler", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def imports() -> dict[str, set[str]]:
    """Modules of ours that each module imports, at any depth: lazy and for type checking too."""
    names = {module_name(path) for path in trees()}
    graph: dict[str, set[str]] = {}
    for path, tree in trees().items():
        wanted = set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                wanted.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted.update(name if name in names else node.module for name in full)
        graph[module_name(path)] = (wanted & names) - {module_name(path)}
    return graph


def cycles() -> list[list[str]]:
    """Groups of modules that import each other, by Tarjan's algorithm."""
    graph, order, low = imports(), dict[str, int](), dict[str, int]()
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            cut = stack.index(name)
            if len(stack) - cut > 1:
                groups.append(sorted(stack[cut:]))
            del stack[cut:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return groups


def repeated_names() -> dict[str, list[str]]:
    """Module names that occur in more than one package, with their paths."""
    by_name: dict[str, list[str]] = {}
    for path in sources():
        name = path.rpartition("/")[2]
        if name not in ("__init__.py", "__main__.py"):
            by_name.setdefault(name, []).append(path)
    return {name: paths for name, paths in by_name.items() if len(paths) > 1}


def unannotated() -> list[str]:
    """Functions with a parameter or an answer that has no type."""
    bare = []
    for path, node in functions():
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        extra = [item for item in (node.args.vararg, node.args.kwarg) if item is not None]
        own = [item for item in arguments if item.arg not in ("self", "cls")] + extra
        if node.returns is None or any(item.annotation is None for item in own):
            bare.append(f"{path}:{node.lineno} {node.name}")
    return bare


def comments() -> Iterator[tuple[str, int, str]]:
    for path, text in sources().items():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield path, token.start[0], token.string


def docstrings() -> Iterator[tuple[str, int, str]]:
    """Docstrings, and the strings below constants and fields that document them."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, Documented):
                continue
            for statement in node.body:
                value = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield path, value.lineno, value.value


def comment_share() -> float:
    """Comments beside each line of code, without directives to tools."""
    reasons = [text for _, _, text in comments() if not re.match(r"#\s*(?:noqa|type:)", text)]
    return len(reasons) / sum(text.count("\n") for text in sources().values())


def forbidden_words() -> list[str]:
    """Where a docstring or a comment uses a word that the style refuses."""
    prose = [*comments(), *docstrings()]
    return [
        f"{path}:{line} {match[0]}"
        for path, line, text in prose
        for match in FORBIDDEN.finditer(" ".join(text.split()))
    ]


def riddles() -> list[str]:
    """Where the first word of a docstring hides its subject."""
    return [
        f"{path}:{line} {' '.join(text.split())[:60]}"
        for path, line, text in docstrings()
        if RIDDLE.match(text.lstrip())
    ]


def verbless_functions() -> list[str]:
    """Where the docstring of a function begins without a verb. A property reads as a value."""
    return [
        f"{path}:{node.lineno} {node.name}: {' '.join(text.split())[:60]}"
        for path, node in functions()
        if (text := ast.get_docstring(node)) and VERBLESS.match(text)
        if not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


def bindings() -> Iterator[tuple[str, int, str]]:
    """Every name that is bound: variables, parameters, functions, attributes of self."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield path, node.lineno, node.id
            elif isinstance(node, ast.arg):
                yield path, node.lineno, node.arg
            elif isinstance(node, Function | ast.ClassDef):
                yield path, node.lineno, node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield path, node.lineno, node.attr


def vague_bindings() -> tuple[list[str], float]:
    """Where a vague name is bound, and their share of all bindings."""
    every = list(bindings())
    vague = [f"{path}:{line} {name}" for path, line, name in every if name.strip("_") in VAGUE]
    return vague, len(vague) / len(every)
