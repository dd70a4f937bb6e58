"""A goal's templates: the prompt, the files beside it, and what a template may learn of the world."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from datetime import datetime

from sutler.goals.tera.builtins import World
from sutler.goals.tera.nodes import TemplateError, Value
from sutler.goals.tera.render import Renderer, Template, compile_template

__all__ = ["TemplateError", "Value", "World", "open_world", "render"]

Loader = Callable[[str], str | None]
"""The text of a file beside the prompt by its goal-relative name, or None."""


def open_world(environ: Mapping[str, str]) -> World:
    """An environment, the wall clock and chance, as the original gives them to every template."""
    return World(env=environ.get, now=lambda: datetime.now().astimezone(), pick=random.SystemRandom().randint)


def render(
    text: str,
    context: Mapping[str, Value],
    *,
    name: str = "prompt",
    load: Loader | None = None,
    world: World | None = None,
) -> str:
    """Render one template. Included, extended and imported files come from `load`, each compiled once."""
    compiled: dict[str, Template | None] = {name: compile_template(name, text)}

    def template(wanted: str) -> Template | None:
        if wanted not in compiled:
            source = load(wanted) if load else None
            compiled[wanted] = None if source is None else compile_template(wanted, source)
        return compiled[wanted]

    main = compiled[name]
    if main is None:
        raise TemplateError(f"template '{name}' does not exist")
    try:
        return Renderer(main, template, world or open_world(os.environ)).render(context)
    except TemplateError as error:
        if error.what.startswith("template '"):
            raise
        raise TemplateError(f"template '{name}': {error.what}", rule=error.rule, next_step=error.next_step) from None


def check(text: str, name: str) -> None:
    """Parse only; raises what rendering would raise for the syntax."""
    compile_template(name, text)
