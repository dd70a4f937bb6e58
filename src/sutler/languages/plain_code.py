"""Programming languages without a grammar here, one row each, read by the shape of their lines.

A language that gets a grammar moves to a module of its own."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from sutler.languages.base import (
    AFFIX,
    BY_SPEC,
    C_USES,
    CAMEL,
    DASHES,
    DOTNET_USES,
    HASH,
    JAVASCRIPT_USES,
    JVM_USES,
    MARKUP,
    PERCENT,
    PREFIX,
    SEMICOLON,
    SLASHES,
    SPEC,
    Comments,
    Entries,
    Language,
    Shapes,
    Tests,
    Uses,
    row,
)
from sutler.languages.shapes import CODE

_SCRIPT_IMPORT = r"[ \t]*(?:import|export|\}).*?from\s+['\"]([^'\"\n]+)['\"]"
_SCRIPT = replace(CODE, imports=(_SCRIPT_IMPORT, r"[ \t]*import\s+['\"]([^'\"\n]+)['\"]"))
_ELIXIR = replace(CODE, imports=(r"[ \t]*(?:alias|import|use|require)\s+([A-Z][\w.]*)",))
_ELIXIR_ROUTE = r"^[ \t]*(get|post|put|patch|delete|live|resources)\s+\"(/[^\"\n]*)\""
_FSHARP = Shapes(
    definition=(
        r"(?P<kind>module|namespace|type|let|member)\s+(?:rec |inline |\w+\.)?(?P<name>[\w.]+)"
    ),
    depth="indent",
    imports=(r"[ \t]*open\s+([\w.]+)",),
)
_OBJECTIVE_C = Shapes(
    definition=(
        r"(?P<kind>@interface|@implementation|@protocol|[-+] ?\([^)]{1,80}\)) ?(?P<name>\w+)"
    ),
    depth="indent",
    imports=(r"[ \t]*#\s*(?:include|import)\s*[<\"]([^>\"\n]+)[>\"]",),
)
_HASKELL = Shapes(
    definition=(
        r"(?P<kind>module|data|newtype|type|class|instance) "
        r"(?:[^=\n]{1,200}? => )?(?P<name>[\w.']+)"
        r"|(?P<constant>[a-z_][\w']*) +::"
    ),
    depth="flat",
    imports=(r"import\s+(?:qualified\s+)?([A-Z][\w.]*)",),
)
_GROOVY_TESTS = Tests(stem=rf"{AFFIX}|{SPEC}|{CAMEL}|{PREFIX}|.*[a-z0-9]IT", spec_folder=True)

_code = partial(row, "program", shapes=CODE)
_schema = partial(row, "schema", shapes=CODE)

PLAIN_CODE: tuple[Language, ...] = (
    _code("ada", "adb ads", DASHES),
    _code("apex", "cls trigger", SLASHES),
    _code("applescript", "applescript", DASHES, shebangs="osascript"),
    _code("assembly", "asm s nasm", SEMICOLON),
    _code("astro", "astro", SLASHES, ecosystems="node", uses=JAVASCRIPT_USES),
    _code("awk", "awk", HASH, shebangs="awk gawk"),
    _code("ballerina", "bal", SLASHES),
    _code("batch", "bat cmd", Comments(("REM", "::"))),
    _code("bicep", "bicep", SLASHES),
    _code("cljs", "cljs", SEMICOLON),
    _code(
        "clojure",
        "clj cljc edn",
        SEMICOLON,
        shebangs="clojure bb",
        manifests="project.clj deps.edn",
    ),
    _code("cobol", "cob cbl cpy", Comments(("*>",))),
    _code("coffeescript", "coffee litcoffee", HASH, tests=BY_SPEC),
    _code("common-lisp", "lisp lsp asd", SEMICOLON, shebangs="sbcl"),
    _code("crystal", "cr", HASH, shebangs="crystal", tests=BY_SPEC),
    _code("cue", "cue", SLASHES),
    _code("d", "d di", SLASHES),
    _code(
        "dart",
        "dart",
        SLASHES,
        shebangs="dart",
        manifests="pubspec.yaml",
        tests=BY_SPEC,
        uses=Uses(imports=r"(?m)^(?:import|export|part)\s+['\"]([^'\"]+)['\"]", beside=True),
        entries=Entries(main=r"(?m)^(?:void\s+|Future<void>\s+)?main\s*\("),
    ),
    _code("elisp", "el", SEMICOLON, files=".emacs"),
    _code(
        "elixir",
        "ex exs",
        HASH,
        files="mix.lock",
        shebangs="elixir",
        manifests="mix.exs",
        ecosystems="elixir",
        entries=Entries(routes=(_ELIXIR_ROUTE,)),
        shapes=_ELIXIR,
        uses=Uses(
            definitions=r"\bdef(?:module|protocol)\s+([A-Z][\w.]+)",
            mentions=r"[A-Z]\w*(?:\.[A-Z]\w*)+",
        ),
    ),
    _code("elm", "elm", DASHES, tests=BY_SPEC),
    _code("erb", "erb", MARKUP, ecosystems="ruby"),
    _code(
        "erlang",
        "erl hrl",
        PERCENT,
        files="rebar.config",
        shebangs="escript",
        manifests="rebar.config",
    ),
    _code("fish", "fish", HASH, shebangs="fish"),
    _code("fortran", "f f77 f90 f95 f03 f08 for", Comments(("!",))),
    _code(
        "fsharp",
        "fs fsi fsx",
        SLASHES,
        ecosystems="fsharp",
        entries=Entries(names=("program.fs",)),
        shapes=_FSHARP,
        uses=DOTNET_USES,
    ),
    _code("gdscript", "gd", SLASHES),
    _code("gherkin", "feature", HASH),
    _code("glsl", "glsl vert frag geom comp tesc tese", SLASHES),
    _code("gradle", "gradle", SLASHES),
    _code(
        "groovy",
        "groovy gvy",
        SLASHES,
        files="jenkinsfile",
        shebangs="groovy",
        manifests="jenkinsfile",
        ecosystems="java",
        tests=_GROOVY_TESTS,
        uses=JVM_USES,
        entries=Entries(main=r"\bstatic\s+void\s+main\s*\("),
    ),
    _code("haml", "haml", MARKUP),
    _code("handlebars", "hbs handlebars", MARKUP),
    _code(
        "haskell",
        "hs lhs",
        DASHES,
        shebangs="runghc runhaskell stack",
        manifests="stack.yaml cabal.project",
        shapes=_HASKELL,
        tests=BY_SPEC,
        uses=Uses(imports=r"(?m)^import\s+(?:qualified\s+)?([A-Z][\w.]*)", dotted=True),
        entries=Entries(main=r"(?m)^main\s*::\s*IO\b", compiled=True),
    ),
    _code("haxe", "hx", SLASHES),
    _code("hcl", "hcl nomad", HASH),
    _code("hlsl", "hlsl fx", SLASHES),
    _code("html", "html htm xhtml", MARKUP),
    _code("idris", "idr", DASHES),
    _code("janet", "janet", HASH),
    _code("jinja", "jinja jinja2 j2", MARKUP),
    _code("jsonnet", "jsonnet libsonnet", SLASHES),
    _code("jsp", "jsp", MARKUP),
    _code(
        "julia",
        "jl",
        HASH,
        shebangs="julia",
        manifests="project.toml",
        tests=Tests(stem=f"{AFFIX}|{CAMEL}|runtests"),
    ),
    _code("just", "", HASH, files="justfile .justfile", shebangs="just", manifests="justfile"),
    _code("lean", "lean", DASHES),
    _code("lex", "l", SLASHES),
    _code("liquid", "liquid", MARKUP),
    _code("makefile", "mk mak", HASH, files="makefile gnumakefile kbuild", shebangs="make"),
    _code("matlab", "mlx", PERCENT),
    _code("metal", "metal", SLASHES),
    _code("mojo", "mojo", HASH),
    _code("nim", "nim nims nimble", HASH, shebangs="nim"),
    _code("nix", "nix", HASH, shebangs="nix-shell", manifests="flake.nix default.nix"),
    _code("objective-c", "m", SLASHES, ecosystems="swift", shapes=_OBJECTIVE_C, uses=C_USES),
    _code("objective-cpp", "mm", SLASHES),
    _code(
        "ocaml",
        "ml mli mll mly",
        Comments((), (("(*", "*)"),)),
        shebangs="ocaml",
        manifests="dune-project",
    ),
    _code("odin", "odin", SLASHES),
    _code("pascal", "pas pp dpr lpr", SLASHES),
    _code(
        "perl",
        "pl pm t pod",
        HASH,
        shebangs="perl",
        uses=Uses(imports=r"(?m)^\s*(?:use|require)\s+([A-Z]\w*(?:::\w+)*)", dotted=True),
    ),
    _code("powershell", "ps1 psm1 psd1", HASH, shebangs="pwsh"),
    _code("prisma", "prisma", SLASHES),
    _code("prolog", "pro", PERCENT),
    _code("pug", "pug jade", MARKUP),
    _code("puppet", "epp", HASH),
    _code("purescript", "purs", DASHES, tests=BY_SPEC),
    _code("qml", "qml", SLASHES),
    _code("r", "r rmd", HASH, shebangs="rscript"),
    _code("racket", "rkt", SEMICOLON, shebangs="racket"),
    _code("raku", "raku rakumod p6 pm6", HASH, shebangs="raku"),
    _code("razor", "cshtml razor", MARKUP, ecosystems="csharp", uses=DOTNET_USES),
    _code("reasonml", "re rei", SLASHES),
    _code("rescript", "res resi", SLASHES),
    _code("robotframework", "robot", HASH),
    _code("scheme", "scm ss sld", SEMICOLON, shebangs="guile"),
    _code("smalltalk", "st", Comments((), (('"', '"'),))),
    _code("smithy", "smithy", SLASHES),
    _code("solidity", "sol", SLASHES),
    _code(
        "starlark",
        "bzl star bazel",
        HASH,
        files="build workspace tiltfile",
        manifests="module.bazel workspace",
    ),
    _code(
        "svelte",
        "svelte",
        SLASHES,
        ecosystems="node",
        tests=BY_SPEC,
        shapes=_SCRIPT,
        uses=JAVASCRIPT_USES,
    ),
    _code("systemverilog", "sv svh", SLASHES),
    _code("tcl", "tcl tk", HASH, shebangs="tclsh wish expect"),
    _code(
        "terraform",
        "tf tfvars",
        HASH,
        uses=Uses(imports=r"\bsource\s*=\s*\"(\.[^\"]+)\""),
        shapes=Shapes(
            definition=(
                r"(?P<kind>resource|data|module|variable|output|provider|check)\s+"
                r"(?:\"[^\"]*\"\s+)?\"(?P<name>[^\"]+)\""
            ),
            depth="flat",
        ),
    ),
    _code("thrift", "thrift", SLASHES),
    _code("twig", "twig", MARKUP, ecosystems="php"),
    _code("vala", "vala vapi", SLASHES),
    _code("vb", "vb vbs bas", Comments(("'",)), ecosystems="vb", uses=DOTNET_USES),
    _code("verilog", "v vh", SLASHES),
    _code("vhdl", "vhd vhdl", DASHES),
    _code("vim", "vim vimrc", Comments(('"',)), files=".vimrc"),
    _code(
        "vue",
        "vue",
        SLASHES,
        ecosystems="node",
        tests=BY_SPEC,
        shapes=_SCRIPT,
        uses=JAVASCRIPT_USES,
    ),
    _code("vyper", "vy", HASH),
    _code("wat", "wat wast", SEMICOLON),
    _code("wgsl", "wgsl", SLASHES),
    _code("yacc", "y yy", SLASHES),
    _code(
        "zig",
        "zig zon",
        SLASHES,
        manifests="build.zig build.zig.zon",
        uses=Uses(imports=r"@import\(\"([^\"]+)\"\)", beside=True),
        entries=Entries(main=r"(?m)^pub\s+fn\s+main\s*\(", compiled=True),
    ),
    _schema("graphql", "graphql gql graphqls", SLASHES),
    _schema("plsql", "pks pkb plsql", DASHES),
    _schema("protobuf", "proto", SLASHES),
    _schema("sql", "sql psql ddl", DASHES),
)
