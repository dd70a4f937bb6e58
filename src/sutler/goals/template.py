"""Render goal templates with Tera, in a child process with limits.

Tera has no limits of its own: a template can loop for hours, use all memory or overflow the stack,
which ends the process. The child bounds all three; if it is killed, the parent raises an error. A
template can include only the files passed with it, because its folder holds no others."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec

import msgspec

from sutler.errors import SutlerError, UsageError
from sutler.formats.document import Pack
from sutler.goals.tera_worker import CPU_SECONDS, MEMORY_BYTES, REFUSED, TOO_LONG
from sutler.paths import quote

Value = str | int | float | bool | None | list["Value"] | Mapping[str, "Value"]
Loader = Callable[[str], str | None]
"""Return the text of a file of the goal by its relative name, or None."""

WALL_SECONDS = 15.0  # more than the worker's CPU time, for a machine that is busy
OUT_BYTES = 64 << 20  # loops in loops make a gigabyte of a template of one line
MAX_DETAIL = 2_000  # an error of the engine quotes lines of the template, of any length
_STACK_CODES = {-signal.SIGSEGV, 0xC00000FD}  # POSIX; Windows' STATUS_STACK_OVERFLOW
_TIME_CODES = {-9, -24}  # SIGKILL, SIGXCPU: how the kernel ends a child past its CPU limit

_REFERENCE = re.compile(r"\{%-?\s*(?:include|extends|import)\b(.*?)%\}", re.DOTALL)
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`")
_GET_ENV = re.compile(r"get_env\s*(?:\(\s*name\s*=\s*[\"'`]([^\"'`]*))?")
_POSITION = re.compile(r"^ --> (\d+):(\d+)\n.*?^  = ", re.DOTALL | re.MULTILINE)
_PARSE = re.compile(r"\* Failed to parse \"(.*?)\"\n")


class TemplateError(UsageError):
    """A template that cannot be parsed or rendered; the message names the template and the line."""


def referenced(text: str, load: Loader) -> dict[str, str]:
    """Return the files that `text` includes, extends or imports, directly or indirectly."""
    texts: dict[str, str] = {}
    queue = [text]
    while queue:
        for name in _names(queue.pop()):
            if name not in texts and (source := load(name)) is not None:
                texts[name] = source
                queue.append(source)
    return texts


def _names(text: str) -> list[str]:
    tags = _REFERENCE.findall(text)
    return [next(filter(None, groups), "") for tag in tags for groups in _QUOTED.findall(tag)]


def environment_read(text: str) -> str | None:
    """Return the variable that a template reads with `get_env`, "" if its name is computed, None if
    there is no `get_env`."""
    match = _GET_ENV.search(text)
    return (match[1] or "") if match else None


def render(
    text: str,
    context: Mapping[str, Value],
    *,
    name: str = "prompt",
    files: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """Render one template; it can include `files` and read `environ` (default: nothing)."""
    files = files or {}
    if not files and not any(mark in text for mark in ("{{", "{%", "{#")):
        return text  # most context scripts have no tags: save the start of a child
    main = _free_name(files)
    request = msgspec.json.encode({"main": main, "context": context, "out_bytes": OUT_BYTES})
    with tempfile.TemporaryDirectory(prefix="sutler-goal-") as folder:
        for path, source in {**files, main: text}.items():
            _write(os.path.join(folder, path), source)
        done = _run(folder, request, environ or {}, name)
    if done.returncode == 0:
        return done.stdout.decode()
    raise _error(done.returncode, done.stderr.decode(errors="replace"), name, main)


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


def _free_name(files: Mapping[str, str]) -> str:
    """Return a name for the main template that no file or folder has, ignoring case."""
    taken = {path.partition("/")[0].casefold() for path in files if path != "prompt"}
    main = "prompt"
    while main in taken:
        main += "_"
    return main


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)


def _run(
    folder: str, request: bytes, environ: Mapping[str, str], name: str
) -> subprocess.CompletedProcess[bytes]:
    engine = find_spec("pytera")
    if engine is None or engine.origin is None:
        raise SutlerError(
            "templates need the package pytera, which is not installed",
            next_step="run 'pip install pytera'; it has no wheel for Windows on ARM",
        )
    place = os.path.dirname(os.path.dirname(engine.origin))
    worker = os.path.join(os.path.dirname(__file__), "tera_worker.py")
    # SYSTEMROOT: Python does not start on Windows without it. TZ: now() answers in local time.
    base = {key: os.environ[key] for key in ("SYSTEMROOT", "TZ") if key in os.environ}
    try:
        # -I -S: no site packages, and no PYTHON* variables from `environ`.
        return subprocess.run(
            [sys.executable, "-I", "-S", worker, place],
            input=request,
            capture_output=True,
            cwd=folder,
            env={**base, **environ},
            timeout=WALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _too_slow(name) from None
    except OSError as error:
        raise SutlerError(
            f"template '{name}': Python cannot be started to render it: {error.strerror}",
            rule="a template is rendered in a process of its own",
        ) from None


def _too_slow(name: str) -> TemplateError:
    return TemplateError(
        f"template '{name}' did not finish in {CPU_SECONDS} seconds",
        rule="template time limit",
        next_step="look for a loop over a large range",
    )


def _error(code: int, detail: str, name: str, main: str) -> TemplateError:
    """Build the error for a failed child: Tera's reason, or the limit that was exceeded."""
    if code == REFUSED:
        return _refusal(detail, name, main)
    if code in _TIME_CODES:
        return _too_slow(name)
    if code == TOO_LONG:
        return TemplateError(
            f"template '{name}' renders more than {OUT_BYTES >> 20} MiB",
            rule="template size limit",
        )
    if "memory allocation" in detail or "MemoryError" in detail:
        return TemplateError(
            f"template '{name}' needs more than {MEMORY_BYTES >> 20} MiB of memory",
            rule="template memory limit",
            next_step="look for a large range, or a text that grows in a loop",
        )
    if code in _STACK_CODES:
        return TemplateError(
            f"template '{name}' is nested too deep",
            rule="template depth limit",
            next_step="look for a file or a macro that includes itself",
        )
    lines = [line for line in detail.splitlines() if line.strip() and "RUST_BACKTRACE" not in line]
    return TemplateError(
        f"template '{name}' stopped Tera:"
        f" {lines[-1][:MAX_DETAIL] if lines else f'exit code {code}'}"
    )


def _refusal(detail: str, name: str, main: str) -> TemplateError:
    """Build the error from Tera's message, with the position in words: `template 'x.md': line 2,
    column 3: expected …`."""
    where = name
    if match := _PARSE.search(detail):
        where = name if match[1] == main else match[1]
        detail = detail[match.end() :].partition("\n* Failed to parse")[0]
        detail = _POSITION.sub(r"line \1, column \2: ", detail, count=1)
    else:
        detail = detail.removeprefix(f"Failed to render '{main}' | caused by: ")
    detail = detail.replace(f"'{main}'", f"'{name}'").strip()
    return TemplateError(f"template '{where}': {detail[:MAX_DETAIL]}")
