"""Make docs/pack.svg: run the program on a real folder, draw what it prints. python
docs/make_picture.py DIR
"""

from __future__ import annotations

import os
import subprocess
import sys
from html import escape

COMMANDS = (
    ("sutler", "pack", "--max-tokens", "40k", "-o", "pack.md"),
    ("sutler", "tree", "-L", "1"),
)
ROWS_OF_TREE = 9
STYLE = (
    "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}"
    ".c{fill:#0969da}.n{fill:#57606a}rect{fill:#f6f8fa;stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.c{fill:#58a6ff}.n{fill:#8b949e}"
    "rect{fill:#161b22;stroke:#30363d}}</style>"
)


def transcript(folder: str) -> list[tuple[str, str]]:
    """(class, text) rows: each command and what it printed."""
    rows: list[tuple[str, str]] = []
    for command in COMMANDS:
        if os.path.exists(os.path.join(folder, "pack.md")):
            os.remove(os.path.join(folder, "pack.md"))
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "96"},
        )
        rows.append(("c", "$ " + " ".join(command)))
        printed = (done.stderr or done.stdout).rstrip("\n").split("\n")
        if command[1] == "tree":
            printed = printed[:ROWS_OF_TREE]
        rows += [("n" if command[1] == "pack" else "", line[:118]) for line in printed]
        rows.append(("", ""))
    return rows[:-1]


def drawing(rows: list[tuple[str, str]]) -> str:
    width, step = 980, 19
    height = step * len(rows) + 30
    lines = [
        f'<text x="18" y="{28 + index * step}" class="{kind}" xml:space="preserve">{escape(text)}</text>'
        for index, (kind, text) in enumerate(rows)
    ]
    frame = f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    return "\n".join(
        [
            head,
            "<title>sutler pack and sutler tree on a real project</title>",
            STYLE,
            frame,
            *lines,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pack.svg")
    with open(target, "w", encoding="utf-8") as stream:
        stream.write(drawing(transcript(sys.argv[1])))
