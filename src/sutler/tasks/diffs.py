"""Summarise a large diff: files, counts, and the functions that its hunks touch."""

from __future__ import annotations

import re

_FILE = re.compile(r"^diff --git a/(.+?) b/(.+)$|^\+\+\+ (?:b/)?(.+?)(?:\t.*)?$")
_HUNK = re.compile(r"^@@ [^@\n]* @@ ?(.*)$")


def summarise_diff(diff: str, limit: int) -> str:
    """Return the diff if it fits, else its statistics. Never longer than `limit`."""
    if len(diff) <= limit:
        return diff
    rows = _statistics(diff)
    if not rows:
        return _ends(diff, limit)
    total = _total(rows)
    lines = [total]
    for path, added, removed, places in rows:
        named = f" ({', '.join(places[:5])})" if places else ""
        lines.append(f"{path} | +{added} -{removed}{named}")
    summary: list[str] = []
    # Reserve the closing line at its longest, so that it always fits.
    room = limit - len("\n... and 999,999 more files")
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        summary.append(line)
    if len(summary) < len(lines):
        summary.append(f"... and {len(lines) - len(summary):,} more files")
    return "\n".join(summary)[:limit]


def _total(rows: list[tuple[str, int, int, list[str]]]) -> str:
    added, removed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    files = "file" if len(rows) == 1 else "files"
    return f"{len(rows)} {files} changed, +{added} -{removed} (large diff, summarised)"


def _statistics(diff: str) -> list[tuple[str, int, int, list[str]]]:
    rows: dict[str, list[int]] = {}
    places: dict[str, list[str]] = {}
    path = ""
    for line in diff.splitlines():
        match = _FILE.match(line) if line.startswith(("diff --git ", "+++ ")) else None
        if match:
            named = match.group(2) or match.group(3)
            path = path if named == "/dev/null" else named
            rows.setdefault(path, [0, 0])
            places.setdefault(path, [])
        elif path and line.startswith("@@"):
            hunk = _HUNK.match(line[:500])  # minified lines stand behind the marks
            if hunk and hunk.group(1) and hunk.group(1) not in places[path]:
                places[path].append(hunk.group(1).strip()[:80])
        elif path and line.startswith("+") and not line.startswith("+++"):
            rows[path][0] += 1
        elif path and line.startswith("-") and not line.startswith("---"):
            rows[path][1] += 1
    return [(name, counts[0], counts[1], places[name]) for name, counts in rows.items() if name]


def _ends(text: str, limit: int) -> str:
    """Shorten a text that is not a diff to its beginning and its end."""
    marker = "\n... [summary shortened] ...\n"
    room = limit - len(marker)
    if room <= 0:
        return text[: max(limit, 0)]
    return text[: room * 2 // 3] + marker + text[len(text) - (room - room * 2 // 3) :]
