"""A pack through a user's own template: the engine of goals, the files of a pack."""

from __future__ import annotations

from sutler.formats.document import Pack
from sutler.goals.template import Value, render
from sutler.paths import quote


def template_text(template: str, name: str, pack: Pack) -> str:
    """Render a template with a pack's files. It reads no file and no environment."""
    return render(template, context_of(pack), name=name)


def context_of(pack: Pack) -> dict[str, Value]:
    """Return the names that a template may use; docs/guide.md lists them."""
    preamble = pack.preamble
    return {
        "project": quote(preamble.project),
        "header": preamble.header.text,
        "goal": preamble.goal.text,
        "instructions": preamble.instructions.text,
        "tree": preamble.tree.text,
        "transforms": list(preamble.transforms),
        "files": [
            {
                "path": quote(section.path),
                "text": section.body.text,
                "language": section.language,
                "level": section.level,
                "reason": section.reason,
            }
            for section in pack.sections
        ],
        "not_shown": [quote(path) for path in pack.listing.paths],
        "unnamed": pack.listing.unnamed,
    }
