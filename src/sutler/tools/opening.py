"""Construction of a Door: policy from the configuration, store, redactor and counter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import msgspec

from sutler.access.admission import Admission, Watched
from sutler.access.audit import Clock, Ledger
from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.access.grants import Ask
from sutler.access.policy import PolicyRule, Rules, narrow
from sutler.access.setup import Setup
from sutler.config import Layer, Settings, layer_from_environment, parse_size, resolve
from sutler.edits.recovery import recover
from sutler.errors import RefusedError, UsageError
from sutler.pack import receipts
from sutler.pack.project import Project
from sutler.scan.globs import require_globs
from sutler.scan.judge import rules_for
from sutler.scan.place import config_files, config_paths, layers_of, project_config
from sutler.scan.root import Root
from sutler.scan.snapshot import ScanRules
from sutler.secrets.format_table import rules_digest
from sutler.store.records import CLOUD, Caller, Limits, stamp
from sutler.tokens.counter import token_counter
from sutler.version import VERSION

_SHORT = 20_000  # characters; hundreds of longer texts would be too much to keep


def rules_from(layers: list[Layer], settings: Settings) -> Rules:
    """Return the user's policy, narrowed by the project's own file."""
    scan = rules_for(settings, "agent")
    mine, project = Rules(allow=scan.allow, strict_patterns=scan.strict_patterns), Rules()
    for layer in layers:
        if layer.trusted:
            mine = _with_layer(mine, layer, "user")
        else:
            project = _with_layer(project, layer, "project")
    return narrow(mine, project)


def _with_layer(rules: Rules, layer: Layer, source: str) -> Rules:
    def globs(name: str) -> tuple[str, ...]:
        value = layer.values.get(name)
        words = value if isinstance(value, tuple) else ()
        if name != "limits":
            require_globs(words)  # a malformed rule is an error of the file, not of each call
        return words

    added = [PolicyRule("deny", glob, (), source) for glob in globs("deny")]
    added += [PolicyRule("ask", glob, (), source) for glob in globs("ask")]
    added += [PolicyRule("allow", glob, ("write",), source) for glob in globs("writable")]
    limits = _limits(globs("limits"), layer.origin) or rules.limits
    portable = bool(layer.values.get("portable_names", rules.portable))
    return msgspec.structs.replace(
        rules, rules=(*rules.rules, *added), limits=limits, portable=portable
    )


def _limits(words: tuple[str, ...], origin: str) -> Limits | None:
    """Parse a session's budget: `reads=500`, `tokens=200k`."""
    values: dict[str, int] = {}
    for word in words:
        name, _, size = word.partition("=")
        if name not in Limits.__struct_fields__:
            raise UsageError(
                f"{origin}: limits: no budget {name[:40]!r}",
                next_step=f"use {', '.join(Limits.__struct_fields__)}",
            )
        values[name] = parse_size(size, f"{origin}: limits")
    return Limits(**values) if values else None


def admission_for(root: Root, settings: Settings, environ: Mapping[str, str]) -> Admission:
    """Return the decisions of the agent's door about this root, without a session."""
    rules = rules_from(project_config(root.anchor, environ), settings)
    caller = Caller("agent", "", CLOUD)
    return Admission(root, agent_scan(settings), lambda: rules, lambda: caller)


def live_rules(
    root: Root, environ: Mapping[str, str], granted: tuple[PolicyRule, ...] = ()
) -> Callable[[], Rules]:
    """Return the present policy of a served root by its configuration files, with the rules
    `granted` on the command line. The files are checked with each call and read again after a
    change."""

    def load() -> Rules:
        layers = layers_of(config_files(root.anchor, environ))
        rules = rules_from(layers, resolve([*layers, layer_from_environment(environ)]))
        return msgspec.structs.replace(rules, rules=(*rules.rules, *granted))

    return Watched(lambda: config_paths(root.anchor, environ), load)


def agent_scan(settings: Settings) -> ScanRules:
    """Return the rules for listings and searches of an agent: those of a pack, for files of any
    size."""
    return msgspec.structs.replace(rules_for(settings, "pack"), skip_file_bytes=None)


@contextmanager
def open_ledger(root: str, environ: Mapping[str, str]) -> Iterator[Ledger]:
    """Open the project's store and the ledger over it; the store is closed at the end."""
    try:
        store, directory, key = receipts.open_store(root, environ)
    except OSError as fault:
        raise RefusedError(
            f"no state can be kept: {os.strerror(fault.errno or 0)}",
            rule="what is not recorded does not happen",
            next_step="set XDG_STATE_HOME to a directory that you can write",
        ) from None
    try:
        yield Ledger(store, directory, key, shared=bool(environ.get("SUTLER_STORE")))
    finally:
        store.close()


def _count(text: str) -> int:
    return _counted(text) if len(text) <= _SHORT else token_counter("o200k_base")(text)


@lru_cache(maxsize=512)  # the same pages are read again and again
def _counted(text: str) -> int:
    return token_counter("o200k_base")(text) if text else 0


Opener = Callable[[Caller, Ask | None], Door]
"""Creates a door for one caller; `Ask` asks a person there, if that is possible."""


@contextmanager
def open_doors(
    path: str,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    strict: bool = True,
    writable: tuple[str, ...] = (),
    ledger_for: Callable[[Ledger, Caller], Ledger] | None = None,
    ahead: bool = False,
) -> Iterator[tuple[Opener, Ledger]]:
    """Yield an `Opener` of doors into one project over one store, for any number of callers, and
    the ledger; closing signs its head. Without `strict` the rows of reads and outcomes are
    committed and reach the disk with the next write. `ledger_for` returns the ledger over a
    member's own view of the store. With `ahead` the secrets of the tree are read before the first
    request."""
    import time

    env = os.environ if environ is None else environ
    now = clock or time.time
    project = Project(
        cwd=os.path.abspath(path)
    )  # exactly this folder is the root, whatever the current folder
    granted = tuple(PolicyRule("allow", glob, ("write",), "--writable") for glob in writable)
    with open_ledger(project.place.root, env) as ledger:
        ledger.check()
        with Root(project.place.root) as root:
            rules = live_rules(root, env, granted)
            clean, epoch = project.clean(), project.secrets.epoch
            if ahead and project.settings.flag("redact"):
                project.secrets.prefetch()
            scan = agent_scan(project.settings)
            ruleset = f"{VERSION} {rules_digest()} {project.settings.flag('redact')}"
            setup = _with_commands(Setup(scan, _count, ruleset), project, env)

            def door_for(caller: Caller, ask: Ask | None) -> Door:
                own = ledger_for(ledger, caller) if ledger_for else ledger
                return Door(
                    root,
                    Gate(own, rules, caller, clean, ask=ask, clock=now, strict=strict, epoch=epoch),
                    setup,
                )

            yield door_for, ledger
        ledger.close(stamp(now()))


def _with_commands(setup: Setup, project: Project, environ: Mapping[str, str]) -> Setup:
    """Add the user's summary and review commands to the setup. Few users have one, and the modules
    that run programs take longer to load than a door takes to open."""
    line, words = project.settings.text("summary_command"), project.settings.words("review")
    if not line and not words:
        return setup
    from sutler.goals.model_command import reviewer, teller_of

    teller = teller_of(line, project.place.root, environ)
    return msgspec.structs.replace(setup, teller=teller, review=reviewer(words, environ))


@contextmanager
def open_door(
    path: str,
    caller: Caller,
    *,
    ask: Ask | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    writable: tuple[str, ...] = (),
) -> Iterator[Door]:
    """Open a door into the project at `path` for one caller; closing it signs the ledger's head."""
    with open_doors(path, environ=environ, clock=clock, writable=writable) as (door_for, _):
        door = door_for(caller, ask)
        recover(door)
        yield door
