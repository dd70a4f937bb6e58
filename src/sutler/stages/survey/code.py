"""What a source file offers, needs and holds: exports, imports, definitions, read without running it.

Python is parsed; the other languages are read by line patterns that know their declarations.
"""

from __future__ import annotations

import ast
import re

from msgspec import Struct

from sutler.stages.survey.found import one_line, tame

MAX_NAMES = 40
LONG_FUNCTION = 60


class Definition(Struct, frozen=True):
    """A function or class, 1-based lines inclusive; `end` is 0 where only the start is known."""

    kind: str
    name: str
    line: int
    end: int = 0

    @property
    def length(self) -> int:
        return self.end - self.line + 1 if self.end else 0


class CodeFacts(Struct, frozen=True):
    """`doc` is the first sentence of the file's own comment or docstring."""

    lines: int = 0
    doc: str = ""
    exports: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()
    parsed: bool = False


def code_facts(language: str, text: str) -> CodeFacts:
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    if language == "python":
        module = _parse(text)
        if module is not None:
            return _python(module, lines)
    return _by_patterns(language, tame(text), lines)


def _parse(text: str) -> ast.Module | None:
    if len(text) > 1_000_000:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python(module: ast.Module, lines: int) -> CodeFacts:
    doc = (ast.get_docstring(module) or "").split("\n\n")[0]
    return CodeFacts(
        lines=lines,
        doc=sentence(doc),
        exports=_python_exports(module),
        imports=_python_imports(module),
        definitions=tuple(_python_definitions(module)),
        parsed=True,
    )


def _python_exports(module: ast.Module) -> tuple[str, ...]:
    names: list[str] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name):
                if target.id == "__all__" and isinstance(node, ast.Assign | ast.AnnAssign):
                    return _literal_names(node.value)
                names.append(target.id)
    return tuple(dict.fromkeys(name for name in names if not name.startswith("_")))[:MAX_NAMES]


def _literal_names(node: ast.expr | None) -> tuple[str, ...]:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    found = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return tuple(found)[:MAX_NAMES]


def _python_imports(module: ast.Module) -> tuple[str, ...]:
    """Imports in any block. Only statements are visited: expressions import nothing and are most nodes."""
    names: set[str] = set()
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names.update([base] if node.module else [base + alias.name for alias in node.names])
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            stack += inner if isinstance(inner, list) else ()
    return tuple(sorted(names))


def _python_definitions(module: ast.Module) -> list[Definition]:
    """Functions and classes at the top, and methods one level down."""
    out: list[Definition] = []
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            out.append(Definition("class", node.name, node.lineno, node.end_lineno or 0))
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for item in inner:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                out.append(Definition("function", prefix + item.name, item.lineno, item.end_lineno or 0))
    return out


_JS_EXPORT = (
    r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?P<kind>function\*?|class|const|let|var|interface|type|enum|namespace)\s+(?P<name>[\w$]+)"
)
_JVM = (
    r"^[ \t]{0,8}(?:@\w+(?:\([^)\n]*\))?\s+)*"
    r"(?:(?:public|open|abstract|final|static|sealed|data|partial|export)\s+)*"
    r"(?P<kind>class|interface|enum|record|object|struct|trait)\s+(?P<name>\w+)"
)
_C_FUNCTION = (
    r"^(?!static\b)(?:[A-Za-z_][\w:<>,*& ]{0,80}?[\s*&])(?P<name>[A-Za-z_][\w:~]*)"
    r"\([^;{}\n]{0,300}\)\s*(?:const\s*)?\{"
)
_EXPORTS: dict[str, tuple[str, ...]] = {
    "javascript": (_JS_EXPORT, r"^(?:module\.)?exports\.(?P<name>[\w$]+)\s*="),
    "go": (
        r"^func\s+(?:\([^)\n]{0,100}\)\s*)?(?P<name>[A-Z]\w*)\s*[(\[]",
        r"^(?P<kind>type|var|const)\s+(?P<name>[A-Z]\w*)",
    ),
    "rust": (
        r"^[ \t]{0,4}pub\s+(?:async\s+|unsafe\s+|const\s+)*"
        r"(?P<kind>fn|struct|enum|trait|mod|type|static|union)\s+(?P<name>\w+)",
    ),
    "java": (_JVM,),
    "kotlin": (
        _JVM,
        r"^(?:public\s+|suspend\s+|inline\s+)*fun\s+(?:<[^>\n]*>\s*)?(?:[\w<>]+\.)?(?P<name>\w+)\s*\(",
    ),
    "csharp": (_JVM,),
    "ruby": (
        r"^[ \t]{0,4}(?P<kind>class|module)\s+(?P<name>[A-Z][\w:]*)",
        r"^def\s+(?:self\.)?(?P<name>\w+[?!]?)",
    ),
    "php": (_JVM, r"^function\s+(?P<name>\w+)\s*\("),
    "c": (_C_FUNCTION,),
    "cpp": (_C_FUNCTION, r"^(?P<kind>class|struct)\s+(?:\w+\s+)?(?P<name>\w+)\s*(?:final\s*)?[:{]"),
    "swift": (
        r"^[ \t]{0,4}(?:@\w+\s+)*(?:public|open)\s+(?:final\s+|static\s+)*"
        r"(?P<kind>class|struct|enum|protocol|func|actor|var|let)\s+(?P<name>\w+)",
    ),
    "elixir": (
        r"^[ \t]*(?P<kind>defmodule)\s+(?P<name>[\w.]+)",
        r"^[ \t]{2,4}(?P<kind>def|defmacro)\s+(?P<name>\w+[?!]?)",
    ),
}
_IMPORTS: dict[str, tuple[str, ...]] = {
    "javascript": (
        r"^[ \t]*(?:import|export)\b[^'\"\n;]{0,300}?from\s+['\"]([^'\"\n]+)['\"]",
        r"^[ \t]*import\s+['\"]([^'\"\n]+)['\"]",
        r"^[ \t]*\}\s*from\s+['\"]([^'\"\n]+)['\"]",
        r"\b(?:require|import)\(\s*['\"]([^'\"\n]+)['\"]\s*\)",
    ),
    "go": (r"^import\s+(?:[\w.]+\s+)?\"([^\"\n]+)\"", r"^\t(?:[\w.]+\s+)?\"([\w.~/-]+)\"\s*$"),
    "rust": (r"^[ \t]*(?:pub\s+)?use\s+((?:::)?\w+(?:::\w+)?)", r"^[ \t]*extern\s+crate\s+(\w+)"),
    "java": (r"^import\s+(?:static\s+)?([\w.]+)",),
    "kotlin": (r"^import\s+([\w.]+)",),
    "csharp": (r"^[ \t]*(?:global\s+)?using\s+(?:static\s+)?([\w.]+)\s*;",),
    "ruby": (r"^[ \t]*require(?:_relative)?\s*\(?\s*['\"]([^'\"\n]+)['\"]",),
    "php": (r"^[ \t]*use\s+([\w\\]+)", r"\b(?:require|include)(?:_once)?\s*\(?\s*['\"]([^'\"\n]+)['\"]"),
    "c": (r"^[ \t]*#\s*include\s*[<\"]([^>\"\n]+)[>\"]",),
    "cpp": (r"^[ \t]*#\s*include\s*[<\"]([^>\"\n]+)[>\"]",),
    "swift": (r"^[ \t]*(?:@\w+\s+)*import\s+(?:class\s+|struct\s+|func\s+)?([\w.]+)",),
    "elixir": (r"^[ \t]*(?:alias|import|use|require)\s+([A-Z][\w.]*)",),
    "python": (r"^[ \t]*import\s+([\w.]+)", r"^[ \t]*from\s+(\.*[\w.]*)\s+import"),
}
_SAME = {
    "typescript": "javascript", "tsx": "javascript", "jsx": "javascript", "vue": "javascript",
    "svelte": "javascript", "cuda": "cpp", "objective-c": "c", "groovy": "java", "scala": "java",
    "fsharp": "csharp",
}  # fmt: skip


def _by_patterns(language: str, text: str, lines: int) -> CodeFacts:
    language = _SAME.get(language, language)
    found: list[Definition] = []
    for pattern in _EXPORTS.get(language, ()):
        for match in re.finditer(pattern, text, re.MULTILINE):
            kind = match.groupdict().get("kind") or "function"
            start = match.start("name")
            found.append(Definition(kind, match.group("name"), text.count("\n", 0, start) + 1))
            if len(found) > 500:
                break
    found.sort(key=lambda item: (item.line, item.name))
    names = [item.name for item in found]
    if language == "javascript":
        for group in re.findall(r"^export\s*\{([^}]{0,2000})\}", text, re.MULTILINE):
            names += [part.split(" as ")[-1].strip() for part in group.split(",") if part.strip()]
    imports = {name for pattern in _IMPORTS.get(language, ()) for name in re.findall(pattern, text, re.MULTILINE)}
    return CodeFacts(
        lines=lines,
        doc=_leading_comment(text),
        exports=tuple(dict.fromkeys(names))[:MAX_NAMES],
        imports=tuple(sorted(imports)),
        definitions=tuple(found),
    )


_COMMENT_LINE = re.compile(r"\s*(?://[/!]?|#(?![!\[])|;;+|--|\*(?!/)|/\*[*!]?|<!--)\s?(.*)$")
_LICENCE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights reserved|eslint|prettier|ts-check|-\*-|vim:|coding[:=]|pragma",
    re.IGNORECASE,
)


def _leading_comment(text: str) -> str:
    """The first sentence of the comment a file opens with, the licence skipped."""
    block: list[str] = []
    for line in text.splitlines()[:60]:
        match = _COMMENT_LINE.match(line[:400])
        content = match.group(1).removesuffix("*/").removesuffix("-->").strip() if match else ""
        if content:
            block.append(content)
        elif block:
            if not _LICENCE.search(" ".join(block)):
                return sentence(" ".join(block))
            block = []
        elif line.strip() and match is None and not line.startswith(("#!", "package ", "<?php", '"use')):
            break
    return sentence(" ".join(block)) if block and not _LICENCE.search(" ".join(block)) else ""


def sentence(text: str) -> str:
    """The first sentence, on one line."""
    line = one_line(text, 400)
    match = re.match(r".+?[.!?](?=\s|$)", line)
    return one_line(match.group() if match else line, 200)
