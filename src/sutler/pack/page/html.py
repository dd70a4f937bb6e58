"""The report as one HTML file: no network, no second file, and no text of a project is parsed as
markup.

The data travels as JSON in a script element that no browser runs; `<`, `>`, `&` and the line
separators are escaped, so no content can end that element or begin another. The page's policy names
script and style by their digest: even injected markup would not run. The script itself only sets
text, and the policy forbids it to do more."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from typing import Any

import msgspec

from sutler.pack.load import REPORT_START
from sutler.pack.page.view import View

SCRIPTS = ("base.js", "treemap.js", "table.js", "panes.js", "report.js")
LIVE_SCRIPTS = (*SCRIPTS[:-1], "live.js", "report.js")
STYLE = "report.css"

_UNSAFE = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
    "\x7f": "\\u007f",
}


def embedded(value: object) -> str:
    """Encode a value as JSON for the inside of a script element."""
    text = msgspec.json.encode(value).decode()
    for char, spelled in _UNSAFE.items():
        text = text.replace(char, spelled)
    return text


def policy(script: str, style: str, *, live: bool = False) -> str:
    """Return the page's policy: run this script, use this style, and nothing else. A live page may
    also contact its own server."""
    rules = [
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    return "; ".join([*rules, "connect-src 'self'"] if live else rules)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def asset(name: str) -> str:
    # The loader reads package data wherever the package lives (a folder, a zip), without touching
    # paths.
    loader: Any = __spec__.loader
    data: bytes = loader.get_data((__spec__.origin or "").removesuffix("html.py") + name)
    return data.decode()


@cache
def script(*, live: bool = False) -> str:
    """Join all scripts in their order, in a scope of their own."""
    parts = "\n".join(asset(name) for name in (LIVE_SCRIPTS if live else SCRIPTS))
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def page(view: View, *, live: bool = False, first: str = "") -> str:
    """Return the whole page. For a live page, `first` is its first selection, in the form of
    `embedded`."""
    code, style = script(live=live), asset(STYLE)
    body = asset("page.html")
    return "".join(
        (
            REPORT_START.decode(),
            (
                '<meta http-equiv="Content-Security-Policy"'
                f' content="{escape(policy(code, style, live=live))}">\n'
            ),
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            (
                '<meta name="color-scheme" content="light dark">\n<meta name="referrer"'
                ' content="no-referrer">\n'
            ),
            f"<title>{escape(view.project)}: sutler report</title>\n",
            f'<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n',
            f"<body{' data-live' if live else ''}>\n{body}",
            f"<noscript>{_words(view)}</noscript>\n",
            f'<script type="application/json" id="view">{embedded(view)}</script>\n',
            f'<script type="application/json" id="first">{first}</script>\n' if live else "",
            f"<script>{code}</script>\n</body>\n</html>\n",
        )
    )


def _words(view: View) -> str:
    """Return the text of the page for browsers without scripts."""
    whole = view.measures[0]
    sentence = (
        f"{view.project}: pack {view.pack_id[:16]}, {len(view.files):,} files, {whole.total:,}"
        f" {whole.name}. The map and the tables need scripts, which this page carries itself."
    )
    return f"<p>{escape(sentence)}</p>"
