"""Languages without programs: configuration, documents, data and style, one row each."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from sutler.languages.base import (
    DASHES,
    HASH,
    MARKUP,
    NONE,
    PERCENT,
    SLASHES,
    Comments,
    Language,
    Uses,
    row,
)
from sutler.languages.shapes import HEADINGS, SECTIONS

_style = partial(row, "style")
_config = partial(row, "config")
_doc = partial(row, "doc")
_data = partial(row, "data")

DATA_ONLY: tuple[Language, ...] = (
    _style("css", "css pcss postcss", SLASHES),
    _style("less", "less", SLASHES),
    _style("mermaid", "mmd mermaid", PERCENT),
    _style("postscript", "ps eps", PERCENT),
    _style("sass", "sass", SLASHES),
    _style(
        "scss",
        "scss",
        SLASHES,
        uses=Uses(imports=r"@(?:use|import|forward)\s+[\"']([^\"']+)[\"']", beside=True),
    ),
    _style("stylus", "styl", SLASHES),
    _config("caddyfile", "", HASH, files="caddyfile"),
    _config("cmake", "cmake", HASH, files="cmakelists.txt"),
    _config("dhall", "dhall", DASHES),
    _config("diff", "diff patch", HASH),
    _config(
        "dockerfile",
        "dockerfile containerfile",
        HASH,
        files="dockerfile containerfile earthfile",
        manifests="dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml",
    ),
    _config("dotenv", "env", HASH, files=".env"),
    _config("gettext", "po pot", HASH),
    _config("gitattributes", "", HASH, files=".gitattributes"),
    _config(
        "gitignore",
        "",
        HASH,
        files=".gitignore .dockerignore .npmignore .eslintignore .prettierignore",
    ),
    _config(
        "ini",
        "ini cfg conf cnf properties editorconfig desktop service",
        HASH,
        files=".editorconfig .gitconfig .gitmodules .npmrc .pylintrc .flake8 .coveragerc",
        shapes=SECTIONS,
    ),
    _config(
        "json",
        "json jsonc json5 webmanifest avsc har",
        SLASHES,
        files=(
            "pipfile.lock composer.lock package.resolved flake.lock .babelrc .eslintrc "
            ".prettierrc .swcrc .stylelintrc .jshintrc"
        ),
    ),
    _config("kconfig", "", HASH, files="kconfig"),
    _config("kdl", "kdl", SLASHES),
    _config(
        "meson", "wrap", HASH, files="meson.build meson_options.txt meson.options", shapes=SECTIONS
    ),
    _config("ron", "ron", SLASHES),
    _config("sln", "sln slnx", HASH),
    _config(
        "toml",
        "toml",
        HASH,
        files="pipfile cargo.lock poetry.lock uv.lock pdm.lock",
        shapes=SECTIONS,
    ),
    _config(
        "xml",
        "xml xsd xsl xslt plist csproj vbproj fsproj props targets nuspec resx xaml config"
        " storyboard wsdl svg",
        MARKUP,
    ),
    _config(
        "yaml",
        "yaml yml",
        HASH,
        files="yarn.lock pubspec.lock procfile .clang-format .clang-tidy .yamllint",
        manifests="serverless.yml serverless.yaml chart.yaml .gitlab-ci.yml .travis.yml procfile",
    ),
    _doc("asciidoc", "adoc asciidoc asc", NONE),
    _doc("markdown", "md markdown mdown mkd qmd", MARKUP, shapes=HEADINGS),
    _doc("mdx", "mdx", MARKUP, shapes=HEADINGS),
    _doc("mediawiki", "mediawiki wiki", NONE),
    _doc("org", "org", NONE),
    _doc("roff", "man 1 2 3 4 5 6 7 8", Comments(('.\\"',))),
    _doc("rst", "rst rest", MARKUP, shapes=HEADINGS),
    _doc("tex", "tex sty bib ltx", PERCENT),
    _doc(
        "text",
        "txt text",
        MARKUP,
        files=(
            "go.sum gemfile.lock codeowners license licence copying notice authors "
            "contributors maintainers changelog changes history news readme install todo "
            "version credits thanks patents"
        ),
        shapes=HEADINGS,
    ),
    _doc("textile", "textile", NONE),
    _doc("typst", "typ", NONE),
    _data("csv", "csv", NONE),
    _data("tsv", "tsv tab", NONE),
    # Kinds of file that share a name with another row: the first row of a name represents it.
    replace(_data("json", "jsonl ndjson geojson topojson ipynb", NONE), display="JSON data"),
    replace(_config("text", "lock snap", HASH), display="Recorded text"),
)
