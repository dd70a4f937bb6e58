"""The documents as a small site: python -m docs.site OUT. One self-contained page each, no script,
no network.
"""

from __future__ import annotations

import base64
import re
import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": ("index.html", "sutler"),
    "docs/tutorial.md": ("tutorial.html", "Five minutes"),
    "docs/guide.md": ("guide.html", "Guide"),
    "docs/coming-from-claw.md": ("coming-from-claw.html", "Coming from claw"),
    "docs/reference.md": ("reference.html", "Reference"),
    "docs/LLM_FILE_ACCESS.md": ("agents.html", "For agents"),
    "docs/performance.md": ("performance.html", "Performance"),
    "docs/fleet.md": ("fleet.html", "Many repositories"),
    "docs/team.md": ("team.html", "A team's store"),
    "docs/durability.md": ("durability.html", "Durability"),
    "docs/security-figures.md": ("security-figures.html", "Attacks tried"),
    "bench/README.md": ("bench.html", "Benchmarks"),
    "docs/GLOSSARY.md": ("glossary.html", "Glossary"),
    "ARCHITECTURE.md": ("architecture.html", "Architecture"),
    "SHORTCOMINGS.md": ("shortcomings.html", "Shortcomings"),
    "SECURITY.md": ("security.html", "Security"),
    "CONTRIBUTING.md": ("contributing.html", "Contributing"),
    "CHANGELOG.md": ("changes.html", "Changes"),
} | {
    f"docs/decisions/{page.name}": (f"decision-{page.stem}.html", f"Decision: {page.stem}")
    for page in sorted((ROOT / "docs/decisions").glob("*.md"))
}
"""Source, address and title, in the order of the navigation."""
PICTURES = (".png", ".svg")
COPIED = ("llms.txt", "docs/sutler.1", "LICENSE")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
STYLE = """
:root{color-scheme:light dark;--line:#d0d7de;--soft:#f6f8fa;--link:#0969da}
@media(prefers-color-scheme:dark){:root{--line:#30363d;--soft:#161b22;--link:#58a6ff}}
body{margin:0;font:16px/1.55 system-ui,sans-serif;display:grid;grid-template-columns:15rem minmax(0,1fr)}
nav{padding:1.5rem 1rem;border-right:1px solid var(--line)}nav ul{list-style:none;padding:0;margin:0}
nav ul ul{padding-left:1rem;font-size:.85em}main{padding:1.5rem 2rem;max-width:60rem}a{color:var(--link)}
nav a[aria-current]{font-weight:600;color:inherit}pre,code{font:.9em ui-monospace,Consolas,monospace}
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow-x:auto}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid var(--line);padding:.25rem .6rem}
th{text-align:left}img{max-width:100%}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem}
@media(max-width:50rem){body{display:block}nav{border-right:0;border-bottom:1px solid var(--line)}
nav ul ul{display:none}}
"""


def slug(text: str, taken: set[str]) -> str:
    """A heading's address, as the usual hosts make it."""
    plain = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") or "part"
    name, number = plain, 1
    while name in taken:
        name, number = f"{plain}-{number}", number + 1
    taken.add(name)
    return name


def address(target: str, source: str) -> str:
    """Where a link of one document leads on the site."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    path, _, part = target.partition("#")
    found = (ROOT / source).parent.joinpath(path).resolve().relative_to(ROOT).as_posix()
    if found in PAGES:
        return PAGES[found][0] + (f"#{part}" if part else "")
    if found in COPIED or found.endswith(PICTURES):
        return Path(found).name
    raise ValueError(f"{source}: {target} leads to nothing on the site")


def picture(target: str, source: str) -> str:
    data = (ROOT / source).parent.joinpath(target).read_bytes()
    kind = {"svg": "svg+xml"}.get(target.rpartition(".")[2], target.rpartition(".")[2])
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def parsed(source: str) -> tuple[list[Token], list[tuple[str, str]]]:
    """The document's tokens with links and pictures in place, and its sections as (address,
    title).
    """
    tokens = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .parse((ROOT / source).read_text("utf-8"))
    )
    taken: set[str] = set()
    sections: list[tuple[str, str]] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = tokens[place + 1].content.replace("`", "")
            name = slug(title, taken)
            token.attrSet("id", name)
            if token.tag == "h2":
                sections.append((name, title))
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", address(str(child.attrGet("href")), source))
            elif child.type == "image":
                child.attrSet("src", picture(str(child.attrGet("src")), source))
    return tokens, sections


def navigation(current: str, sections: list[tuple[str, str]]) -> str:
    rows = []
    for source, (name, title) in PAGES.items():
        here = ' aria-current="page"' if source == current else ""
        inside = "".join(
            f'<li><a href="#{part}">{escape(text)}</a></li>' for part, text in sections
        )
        rows.append(
            f'<li><a href="{name}"{here}>{escape(title)}</a>{f"<ul>{inside}</ul>" if here and inside else ""}</li>'
        )
    return f'<nav aria-label="Pages"><ul>{"".join(rows)}</ul></nav>'


def page(source: str) -> str:
    tokens, sections = parsed(source)
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = renderer.renderer.render(tokens, renderer.options, {})
    title = PAGES[source][1]
    name = title if title == "sutler" else f"{title} · sutler"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(name)}</title><style>{STYLE}</style></head>'
        f'<body><a class="skip" href="#main">To the text</a>{navigation(source, sections)}'
        f'<main id="main">{body}</main></body></html>\n'
    )


def build(out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for source, (name, _) in PAGES.items():
        (out / name).write_text(page(source), "utf-8")
        made.append(out / name)
    pictures = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "docs").iterdir())
        if path.suffix in PICTURES
    ]
    for source in (*COPIED, *pictures):
        (out / Path(source).name).write_bytes((ROOT / source).read_bytes())
    return made


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m docs.site OUT")
    sys.stdout.write(f"{len(build(Path(sys.argv[1])))} pages\n")
