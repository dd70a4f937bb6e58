"""Tables: which language a name speaks, as a fence's info string, and what kind of thing an extension is."""

from __future__ import annotations

# language: its extensions. The language is the info string that Markdown renderers and models know.
_CODE = """
ada: adb ads
apex: cls trigger
assembly: asm s nasm
astro: astro
awk: awk
ballerina: bal
batch: bat cmd
bicep: bicep
c: c
clojure: clj cljc edn
cljs: cljs
cobol: cob cbl cpy
coffeescript: coffee litcoffee
common-lisp: lisp lsp asd
cpp: cpp cc cxx c++ hpp hh hxx h++ inl ipp tpp txx ino cppm ixx
crystal: cr
csharp: cs csx cake
cuda: cu cuh
cue: cue
cython: pyx pxd pxi
d: d di
dart: dart
elisp: el
elixir: ex exs
elm: elm
erb: erb
erlang: erl hrl
fish: fish
fortran: f f77 f90 f95 f03 f08 for
fsharp: fs fsi fsx
gdscript: gd
gherkin: feature
glsl: glsl vert frag geom comp tesc tese
go: go
gradle: gradle
graphql: graphql gql graphqls
groovy: groovy gvy
haml: haml
handlebars: hbs handlebars
haskell: hs lhs
haxe: hx
hcl: hcl nomad
hlsl: hlsl fx
html: html htm xhtml
idris: idr
janet: janet
java: java
javascript: js mjs cjs es6
jinja: jinja jinja2 j2
jsonnet: jsonnet libsonnet
jsp: jsp
jsx: jsx
julia: jl
kotlin: kt kts ktm
lean: lean
less: less
liquid: liquid
lua: lua rockspec
makefile: mk mak
matlab: mlx
mdx: mdx
mermaid: mmd mermaid
metal: metal
mojo: mojo
nim: nim nims nimble
nix: nix
objective-c: m
objective-cpp: mm
ocaml: ml mli mll mly
odin: odin
pascal: pas pp dpr lpr
perl: pl pm t pod
php: php php3 php4 php5 php7 phtml
plsql: pks pkb plsql
postscript: ps eps
powershell: ps1 psm1 psd1
prisma: prisma
prolog: pro
protobuf: proto
pug: pug jade
puppet: epp
purescript: purs
python: py pyw pyi py3 wsgi
qml: qml
r: r rmd
racket: rkt
raku: raku rakumod p6 pm6
razor: cshtml razor
reasonml: re rei
rescript: res resi
robotframework: robot
ruby: rb rake gemspec ru podspec rbw
rust: rs
sass: sass
scala: scala sc sbt
scheme: scm ss sld
scss: scss
shell: sh bash zsh ksh bats
smalltalk: st
smithy: smithy
solidity: sol
sql: sql psql ddl
starlark: bzl star bazel
stylus: styl
svelte: svelte
swift: swift
systemverilog: sv svh
tcl: tcl tk
terraform: tf tfvars
thrift: thrift
tsx: tsx
twig: twig
typescript: ts mts cts
vala: vala vapi
vb: vb vbs bas
verilog: v vh
vhdl: vhd vhdl
vim: vim vimrc
vue: vue
vyper: vy
wat: wat wast
wgsl: wgsl
yacc: y yy
lex: l
zig: zig zon
css: css pcss postcss
"""

_CONFIG = """
json: json jsonc json5 webmanifest avsc har
yaml: yaml yml
toml: toml
ini: ini cfg conf cnf properties editorconfig desktop service
xml: xml xsd xsl xslt plist csproj vbproj fsproj props targets nuspec resx xaml config storyboard wsdl
dockerfile: dockerfile containerfile
cmake: cmake
meson: wrap
diff: diff patch
dotenv: env
gettext: po pot
kdl: kdl
ron: ron
dhall: dhall
sln: sln slnx
"""

_DOC = """
markdown: md markdown mdown mkd qmd
rst: rst rest
asciidoc: adoc asciidoc asc
org: org
tex: tex sty bib ltx
typst: typ
textile: textile
roff: man 1 2 3 4 5 6 7 8
text: txt text
mediawiki: mediawiki wiki
"""

_DATA_TEXT = """
csv: csv
tsv: tsv tab
json: jsonl ndjson geojson topojson ipynb
"""


def words(text: str) -> frozenset[str]:
    """A table written as words."""
    return frozenset(text.split())


def _table(text: str) -> dict[str, str]:
    rows = (line.split(": ") for line in text.strip().splitlines())
    return {ext: language for language, exts in rows for ext in exts.split()}


CODE = _table(_CODE)
CONFIG = _table(_CONFIG)
DOC = _table(_DOC)
DATA_TEXT = _table(_DATA_TEXT)
BY_EXTENSION = {
    **CODE,
    **CONFIG,
    **DOC,
    **DATA_TEXT,
    "h": "c",
    "svg": "xml",
    "lock": "text",
    "snap": "text",
    "pro": "prolog",
}

PROGRAMMING = frozenset(CODE.values()) - {
    "css",
    "scss",
    "sass",
    "less",
    "stylus",
    "mermaid",
    "postscript",
    "mdx",
}
"""Languages whose files can hold an entry point, a route or a model."""

BY_NAME = {
    "makefile": "makefile", "gnumakefile": "makefile", "justfile": "just", ".justfile": "just",
    "dockerfile": "dockerfile", "containerfile": "dockerfile", "vagrantfile": "ruby",
    "rakefile": "ruby", "gemfile": "ruby", "guardfile": "ruby", "podfile": "ruby", "fastfile": "ruby",
    "capfile": "ruby", "brewfile": "ruby", "dangerfile": "ruby", "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake", "meson.build": "meson", "meson_options.txt": "meson",
    "meson.options": "meson", "build": "starlark", "workspace": "starlark", "tiltfile": "starlark",
    "sconstruct": "python", "sconscript": "python", "wscript": "python", "pipfile": "toml",
    "cargo.lock": "toml", "poetry.lock": "toml", "uv.lock": "toml", "pdm.lock": "toml",
    "pipfile.lock": "json", "composer.lock": "json", "package.resolved": "json", "yarn.lock": "yaml",
    "pubspec.lock": "yaml", "go.mod": "go", "go.work": "go", "go.sum": "text", "mix.lock": "elixir",
    "gemfile.lock": "text", "flake.lock": "json", "rebar.config": "erlang", "procfile": "yaml",
    "caddyfile": "caddyfile", "earthfile": "dockerfile", "codeowners": "text",
    ".gitignore": "gitignore", ".dockerignore": "gitignore", ".gitattributes": "gitattributes",
    ".npmignore": "gitignore", ".eslintignore": "gitignore", ".prettierignore": "gitignore",
    ".editorconfig": "ini", ".gitconfig": "ini", ".gitmodules": "ini", ".npmrc": "ini",
    ".pylintrc": "ini", ".flake8": "ini", ".coveragerc": "ini", ".babelrc": "json", ".eslintrc": "json",
    ".prettierrc": "json", ".swcrc": "json", ".stylelintrc": "json", ".jshintrc": "json",
    ".bashrc": "shell", ".bash_profile": "shell", ".zshrc": "shell", ".profile": "shell",
    ".envrc": "shell", ".vimrc": "vim", ".emacs": "elisp", ".env": "dotenv", ".clang-format": "yaml",
    ".clang-tidy": "yaml", ".yamllint": "yaml", "kconfig": "kconfig", "kbuild": "makefile",
    "license": "text", "licence": "text", "copying": "text", "notice": "text", "authors": "text",
    "contributors": "text", "maintainers": "text", "changelog": "text", "changes": "text",
    "history": "text", "news": "text", "readme": "text", "install": "text", "todo": "text",
    "version": "text", "credits": "text", "thanks": "text", "patents": "text",
}  # fmt: skip

SHEBANG = {
    "sh": "shell", "bash": "shell", "dash": "shell", "zsh": "shell", "ksh": "shell", "ash": "shell",
    "fish": "fish", "python": "python", "pypy": "python", "pytest": "python", "uv": "python",
    "node": "javascript", "nodejs": "javascript", "bun": "typescript", "deno": "typescript",
    "ts-node": "typescript", "tsx": "typescript", "ruby": "ruby", "jruby": "ruby", "perl": "perl",
    "php": "php", "lua": "lua", "luajit": "lua", "awk": "awk", "gawk": "awk", "tclsh": "tcl",
    "wish": "tcl", "rscript": "r", "julia": "julia", "groovy": "groovy", "elixir": "elixir",
    "escript": "erlang", "runghc": "haskell", "runhaskell": "haskell", "stack": "haskell",
    "scala": "scala", "kotlin": "kotlin", "swift": "swift", "make": "makefile", "pwsh": "powershell",
    "osascript": "applescript", "ocaml": "ocaml", "racket": "racket", "guile": "scheme",
    "sbcl": "common-lisp", "clojure": "clojure", "bb": "clojure", "nix-shell": "nix",
    "crystal": "crystal", "nim": "nim", "raku": "raku", "just": "just", "expect": "tcl",
    "bats": "shell", "cargo": "rust", "rust-script": "rust", "dart": "dart",
}  # fmt: skip

IMAGE = words(
    """
    png jpg jpeg gif ico svg bmp tif tiff webp avif heic heif icns psd ai xcf raw cur jp2 jxl tga exr
    hdr dds
    """
)

DATA = words(
    """
    parquet feather arrow orc avro db db3 sqlite sqlite3 mdb accdb dbf npy npz h5 hdf5 mat pkl pickle
    joblib rds rdata sav dta tfrecord safetensors gguf onnx pt pth ckpt pb lmdb mo xls xlsx ods numbers
    log dump msgpack bson cbor las shp gpkg
    """
)

BINARY = words(
    """
    exe dll so dylib wasm o a lib obj bin pyc pyo pyd class jar war ear apk aab ipa dex zip tar gz tgz
    bz2 tbz xz txz zst lz lz4 lzma 7z rar br cab iso img dmg deb rpm msi pkg flatpak whl egg gem
    nupkg crx mp3 mp4 m4a m4v wav flac ogg oga ogv opus aac aiff avi mov mkv webm wmv flv mid midi pdf
    doc docx ppt pptx odt odp rtf epub mobi woff woff2 ttf otf eot ttc keystore jks p12 pfx der cer swf
    fla blend fbx glb stl 3ds max unitypackage asset node rlib rmeta pdb idb ilk exp gch pch nib mlmodel
    tflite elc beam hi swo swp suo sketch fig jmod vsix dat
    """
)
