"""Call -> allow | ask | deny, with the rule. Pure: it opens no file and reads no clock.

    deny   credentials, git's own files, AI-ignore files, the caller's scope, spent budgets, deny
           rules
    ask    control files that give an agent power, ignored files, long reads for small models, ask
           rules
    allow  allow rules, and reading by default; writing asks by default

All rules that apply are collected and the strictest verdict wins, so the order of rules cannot
matter. A denial matches in every spelling of a path, an allowance only as spelt. Any exception in
this module is a denial."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct

from sutler.access.control_files import ANYWHERE, FILES
from sutler.scan.globs import allows, denies, fold
from sutler.scan.name_rules import NameGlobs
from sutler.scan.name_rules import credential as credential_rule
from sutler.store import records

INTERNAL = (".git", ".hg", ".svn", ".jj")
"""Version control's own files: neither content nor something to edit."""

NOTHING = records.Spent()
UNBOUNDED = records.Limits()
_SEVERITY: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}


class PolicyRule(Struct, frozen=True):
    """A rule of the policy. Empty `effects` mean every effect; `source` is its origin."""

    verdict: records.Verdict
    glob: str
    effects: tuple[records.Effect, ...] = ()
    source: str = "user"


class Rules(Struct, frozen=True):
    """A whole policy. Its digest is the policy version that approvals are bound to."""

    rules: tuple[PolicyRule, ...] = ()
    read: records.Verdict = "allow"
    write: records.Verdict = "ask"
    limits: records.Limits = records.Limits()
    allow: tuple[str, ...] = ()  # globs that lift built-in name rules; from the user alone
    strict_patterns: bool = False  # names that only resemble credentials are denied too
    portable: bool = (
        True  # only names that are the same on every platform are created; the user may lift it
    )

    @property
    def digest(self) -> str:
        ordered = msgspec.structs.replace(
            self, rules=tuple(sorted(self.rules, key=records.canonical))
        )
        return records.sha256(records.canonical(ordered))


def narrow(base: Rules, project: Rules) -> Rules:
    """Join a project's own rules to the user's: they can only deny more; their allowances are
    dropped."""
    stricter = tuple(rule for rule in project.rules if rule.verdict != "allow")
    return Rules(
        rules=(*base.rules, *stricter),
        read=_strictest(base.read, project.read),
        write=_strictest(base.write, project.write),
        limits=least(base.limits, project.limits),
        allow=base.allow,
        strict_patterns=base.strict_patterns or project.strict_patterns,
        portable=base.portable,
    )


def _strictest(verdict: records.Verdict, other: records.Verdict) -> records.Verdict:
    return max(verdict, other, key=_SEVERITY.__getitem__)


def least(limits: records.Limits, other: records.Limits) -> records.Limits:
    def smaller(a: int | None, b: int | None) -> int | None:
        return a if b is None else b if a is None else min(a, b)

    return records.Limits(
        smaller(limits.reads, other.reads),
        smaller(limits.writes, other.writes),
        smaller(limits.bytes, other.bytes),
        smaller(limits.tokens, other.tokens),
    )


def decide(
    call: records.Call, rules: Rules, caller: records.Caller, spent: records.Spent = NOTHING
) -> records.Decision:
    """Return the verdict on a call. Any exception in here is a denial."""
    try:
        voices = list(_voices(call, rules, caller, spent))
        verdict, _, rule = max(voices, key=lambda voice: (_SEVERITY[voice[0]], -voice[1], voice[2]))
    except Exception as fault:  # fail closed: a policy that cannot be read does not allow
        return records.Decision(
            "deny",
            f"policy error: {type(fault).__name__}",
            "mend the policy, until then nothing passes",
        )
    return records.Decision(verdict, rule, _NEXT[verdict])


_NEXT = {
    "allow": "",
    "ask": "ask a person to run `sutler approve ID`, then repeat the very same call",
    "deny": "choose another path or a smaller range; asking again will not change this",
}

Voice = tuple[records.Verdict, int, str]
"""A verdict, its layer (a lower one is named first among equals) and the text of the rule."""


def _voices(
    call: records.Call, rules: Rules, caller: records.Caller, spent: records.Spent
) -> Iterator[Voice]:
    yield from _builtin(call, rules)
    if caller.scope and call.path and not any(allows(glob, call.path) for glob in caller.scope):
        yield "deny", 3, "caller scope"
    limits = caller.limits if rules.limits == UNBOUNDED else least(caller.limits, rules.limits)
    if limits != UNBOUNDED and (exhausted := _exhausted(call.effect, spent, limits)):
        yield "deny", 4, exhausted
    if call.effect == "read" and call.lines > caller.profile.free_lines:
        yield (
            "ask",
            5,
            (
                f"profile {caller.profile.name}: at most {caller.profile.free_lines} lines without"
                " approval"
            ),
        )
    allowed = False
    for rule in rules.rules:
        if rule.effects and call.effect not in rule.effects:
            continue
        hit = (allows if rule.verdict == "allow" else denies)(rule.glob, call.path)
        if hit:
            allowed = allowed or rule.verdict == "allow"
            yield rule.verdict, 6, f"{rule.source}: {rule.verdict} {rule.glob}"
    if not allowed:
        default = rules.write if call.effect == "write" else rules.read
        yield default, 7, f"default: {default} {'writes' if call.effect == 'write' else 'reads'}"


def _builtin(call: records.Call, rules: Rules) -> Iterator[Voice]:
    if glob := credential(call.path, rules.allow, rules.strict_patterns):
        yield "deny", 0, f"credentials: {glob}"
    if glob := control(call.path):
        if glob in INTERNAL:
            yield "deny", 1, f"internal: {glob}"
        elif call.effect == "write":
            yield "ask", 1, f"control file: {glob}"
    if call.ignore_status == "ai_denied":
        yield "deny", 2, "an AI-ignore file denies this path"
    elif call.ignore_status == "hard_link":
        yield "deny", 2, "hard link: another name of a denied file"
    elif call.ignore_status == "ignored" and call.effect != "list":
        yield "ask", 2, "ignored files need approval"


_CONTROL, _FILES = NameGlobs((*INTERNAL, *ANYWHERE)), NameGlobs(FILES)


@lru_cache(maxsize=16_384)  # a listing checks each path, and agents list often
def _names(path: str) -> tuple[str, ...]:
    """Return every component of a path, as spelt and in other spellings that reach it."""
    return tuple(dict.fromkeys((*path.casefold().split("/"), *fold(path).split("/"))))


@lru_cache(maxsize=16_384)
def credential(path: str, allow: tuple[str, ...] = (), strict: bool = False) -> str:
    """Return the pattern by which a path is a credential in any spelling, or "". The path need not
    exist."""
    spellings = dict.fromkeys((path, path.casefold(), fold(path)))
    rules = (credential_rule(spelling, strict=strict) for spelling in spellings)
    rule = next((rule for rule in rules if rule is not None), None)
    if rule is None or any(allows(glob, path) for glob in allow):
        return ""
    return rule.pattern.removeprefix("**/")


@lru_cache(maxsize=16_384)
def control(path: str) -> str:
    """Return the pattern by which a path is version control's own or a control file, in this order,
    or ""."""
    globs = [glob for name in _names(path) if (glob := _CONTROL.find(name))]
    globs += [glob for name in (path.casefold(), fold(path)) if (glob := _FILES.find(_last(name)))]
    return min(globs, key=lambda glob: glob not in INTERNAL, default="")


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def sensitivity(path: str, allow: tuple[str, ...] = ()) -> records.Sensitivity:
    """Return the sensitivity of a path by its name alone."""
    return "credentials" if credential(path, allow) else "control" if control(path) else ""


def _exhausted(effect: records.Effect, spent: records.Spent, limits: records.Limits) -> str:
    """Return the budget that has nothing left for one more call of this effect."""
    names = ("writes",) if effect == "write" else ("reads", "bytes", "tokens")
    for name in names:
        limit = getattr(limits, name)
        if limit is not None and getattr(spent, name) >= limit:
            return f"budget: {name} <= {limit}"
    return ""
