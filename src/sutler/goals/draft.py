"""Draft a goal with a model: the question, and the validation of the answer."""

from __future__ import annotations

import re

from sutler.goals.goal import parse_goal

_FENCE = re.compile(r"```(?:ya?ml)?[ \t]*\n(.*?)\n```", re.DOTALL)


def question(name: str, wish: str) -> str:
    return f"""\
Write a goal file for sutler, a tool that renders a prompt and sends it to a language model.

The goal is named {name}. What it is for:
<wish>
{wish}
</wish>

The file is YAML with these keys: name (text), description (one sentence), parameters (a list of
name, description, required as true or false, type as string, number or boolean, default),
context_scripts (a mapping of a name to a shell command that only reads), prompt (a block text).
The prompt is a Tera template: {{{{ Args.NAME }}}} is a parameter, {{{{ Context.NAME }}}} is what a
script printed. Every parameter that the prompt uses has a default or is required.

Answer with the YAML in one code block and nothing else."""


def goal_text(answer: str) -> str:
    """Return the goal file in an answer: the first code block, else the whole answer. Raise
    UsageError if it is not a valid goal."""
    block = _FENCE.search(answer)
    text = (block[1] if block else answer.strip()) + "\n"
    parse_goal(text.encode("utf-8", "replace"), "prompt.yaml")
    return text
