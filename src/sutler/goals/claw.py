"""claw.yaml: the model command and the limits for files, key by key from the user's file and the
project's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals.yamltext import Field, read_yaml
from sutler.setting_table import Mode

Receiver = Literal["Generic", "ClaudeCli"]
Symlinks = Literal["skip", "follow"]


class Claw(Struct, frozen=True):
    """The keys of claw.yaml with their defaults. `origins` maps a key to the file that set it."""

    llm_command: str | None = "claude"
    prompt_arg_template: str = "{{prompt}}"
    receiver_type: Receiver = "Generic"
    max_file_size_kb: int = 1024
    max_files_per_directory: int = 50
    error_handling_mode: Mode = "flexible"
    excluded_directories: tuple[str, ...] = (
        ".git",
        "node_modules",
        "target",
        ".venv",
        "__pycache__",
    )
    excluded_extensions: tuple[str, ...] = ("exe", "bin", "so", "dylib", "dll", "o", "a")
    symlinks: Symlinks = "skip"
    origins: dict[str, str] = {}
    warnings: tuple[str, ...] = ()

    @property
    def command(self) -> str | None:
        return "claude" if self.receiver_type == "ClaudeCli" else self.llm_command


KEYS = tuple(name for name in Claw.__struct_fields__ if name not in ("origins", "warnings"))
COMMAND_KEYS = ("llm_command", "prompt_arg_template", "receiver_type")
"""Keys that select the program to run. A repository's own file may set them only if it is trusted.
"""

DEFAULTS = Claw()
# The original fills a file that lacks these keys with shorter lists than it uses without a file.
COMPAT_FILE = replace(
    DEFAULTS,
    llm_command=None,
    excluded_directories=(".git", "node_modules", "target"),
    excluded_extensions=("exe", "bin", "so"),
)


class ClawFile(Struct, frozen=True):
    """A claw.yaml file: its display name, its bytes, and whether it is the user's own."""

    name: str
    data: bytes
    own: bool = True


def load_claw(files: Sequence[ClawFile], *, compat: bool = False) -> Claw:
    """Merge the settings of `files`, which are ordered nearest first. By default each key comes
    from the nearest file that has it. Compat reads only the nearest file and fills in the
    original's defaults."""
    if compat:
        if not files:
            return DEFAULTS
        values = parse_claw(files[0], compat=True)
        return _with(COMPAT_FILE, values, files[0].name)
    claw = DEFAULTS
    warnings: list[str] = []
    for file in reversed(files):
        claw = _with(claw, parse_claw(file, compat=False, warnings=warnings), file.name)
    return replace(claw, warnings=tuple(warnings))


def _with(claw: Claw, values: dict[str, object], name: str) -> Claw:
    # Trust depends on the file that set a key.
    return replace(claw, **values, origins={**claw.origins, **dict.fromkeys(values, name)})


def parse_claw(
    file: ClawFile, *, compat: bool = False, warnings: list[str] | None = None
) -> dict[str, object]:
    """Parse and check the keys that a file sets; add a line to `warnings` for each unknown key."""
    if not file.data.strip():
        return {}
    root = read_yaml(file.data, file.name)
    fields = root.record(KEYS, compat=compat)
    if warnings is not None:
        warnings += root.warnings
    return {name: _value(name, field) for name, field in fields.items() if not field.is_null()}


def _value(name: str, field: Field) -> object:
    match name:
        case "max_file_size_kb" | "max_files_per_directory":
            return field.whole()
        case "excluded_directories" | "excluded_extensions":
            return tuple(item.text() for item in field.items())
        case "error_handling_mode":
            return _choice(field, ("strict", "flexible", "ignore"))
        case "receiver_type":
            return _choice(field, ("Generic", "ClaudeCli"))
        case "symlinks":
            return _choice(field, ("skip", "follow"))
        case _:
            return field.text()


def _choice(field: Field, choices: Sequence[str]) -> str:
    text = field.text()
    if text not in choices:
        field.fail(f"'{field.name}' cannot be '{text}'", f"use {', '.join(choices)}")
    return text
