"""Parse prompt.yaml to a Goal. Texts stay exactly as written; every error names file and line."""

from __future__ import annotations

from msgspec import Struct

from sutler.goals.yamltext import Field, read_yaml

GOAL_KEYS = ("name", "description", "parameters", "context_scripts", "context_files", "prompt")
PARAMETER_KEYS = ("name", "description", "required", "type", "default")
CONTEXT_FILES = ("optional", "required")
TYPES = ("string", "number", "boolean")


class Parameter(Struct, frozen=True):
    name: str
    description: str
    required: bool
    type: str | None = None
    default: str | None = None


class Script(Struct, frozen=True):
    """A shell command (a template with `Args`) whose output becomes `Context.<name>`."""

    name: str
    command: str


class Goal(Struct, frozen=True):
    name: str
    prompt: str
    description: str | None = None
    parameters: tuple[Parameter, ...] = ()
    scripts: tuple[Script, ...] = ()
    needs_files: bool = False
    warnings: tuple[str, ...] = ()


def parse_goal(data: bytes, file: str, *, compat: bool = False) -> Goal:
    """Parse the bytes of a prompt.yaml. Unknown keys are warnings; `compat` ignores them."""
    root = read_yaml(data, file)
    fields = root.record(GOAL_KEYS, compat=compat)
    name, prompt = _required(root, fields, "name"), _required(root, fields, "prompt")
    description = fields.get("description")
    parameters = fields.get("parameters")
    scripts = fields.get("context_scripts")
    files = fields.get("context_files")
    if files and files.text() not in CONTEXT_FILES:
        files.fail(
            f"'context_files' cannot be '{files.text()}'", f"use {' or '.join(CONTEXT_FILES)}"
        )
    return Goal(
        name=name.text(),
        prompt=prompt.text(),
        description=description.optional_text() if description else None,
        parameters=_parameters(parameters, compat) if parameters else (),
        scripts=tuple(Script(key, field.text()) for key, field in scripts.pairs().items())
        if scripts
        else (),
        needs_files=files is not None and files.text() == "required",
        warnings=tuple(root.warnings),
    )


def _required(parent: Field, fields: dict[str, Field], name: str) -> Field:
    if name not in fields:
        what = f"'{name}' is missing" + (f" in {parent.name}" if parent.name else "")
        parent.fail(what, f"add '{name}: …'")
    return fields[name]


def _parameters(field: Field, compat: bool) -> tuple[Parameter, ...]:
    parameters = tuple(_parameter(item, compat) for item in field.items())
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1 and not compat:
            field.fail(f"parameter '{name}' is declared twice")
    return parameters


def _parameter(field: Field, compat: bool) -> Parameter:
    fields = field.record(PARAMETER_KEYS, compat=compat)
    kind = fields.get("type")
    default = fields.get("default")
    type_ = kind.optional_text() if kind else None
    if kind and type_ is not None and type_ not in TYPES:
        kind.fail(f"'{type_}' is not a parameter type", f"use {', '.join(TYPES)}")
    return Parameter(
        name=_required(field, fields, "name").text(),
        description=_required(field, fields, "description").text(),
        required=_required(field, fields, "required").boolean(),
        type=type_,
        default=default.optional_text() if default else None,
    )
