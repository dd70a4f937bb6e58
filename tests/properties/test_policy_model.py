"""Policy against a second, much simpler opinion, and the laws it must obey.

The model shares no code with the policy: its globs are regular expressions over all spellings, and
it collects verdicts in a set. The long run is the same test: SUTLER_FUZZ=100 gives 10^6 cases.
"""

from __future__ import annotations

import random
import re
import unicodedata
from typing import get_args

import msgspec
import pytest

from sutler.access.policy import PolicyRule, Rules, decide, narrow
from sutler.paths import RelPath
from sutler.store.records import (
    CLOUD,
    LOCAL,
    Call,
    Caller,
    Effect,
    IgnoreStatus,
    Limits,
    Spent,
    Verdict,
)
from tests.conftest import FUZZ

NAMES = [
    "a",
    "b",
    "A",
    "é",
    "e\u0301",
    "É",
    ".env",
    ".ENV",
    ".git",
    ".Git",
    "conftest.py",
    "CONFTEST.PY",
    "x.py",
    "ab",
]
PIECES = [
    "a",
    "b",
    "*",
    "?",
    "**",
    "é",
    "E\u0301",
    "*.py",
    "a*",
    "[ab]",
    "[!a]",
    "*b*",
    "x.py",
    ".e*",
]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
IGNORE_STATUSES: tuple[IgnoreStatus, ...] = get_args(IgnoreStatus)


def model_regex(glob: str, below: str = "(?:/.*)?") -> str:
    parts, tail = glob.split("/"), "(?:/.*)?"
    while (
        len(parts) > 1 and parts[-1] == "**"
    ):  # a match covers what lies below, so a trailing `**` adds nothing
        parts.pop()
        # but the directory itself, of which nothing says that it is one, is only closed by it
        tail = below
    if parts == ["**"]:
        return "(?s:.*)"
    out = "" if "/" in glob else "(?:[^/]+/)*"
    for part in parts[:-1]:
        out += "(?:[^/]+/)*" if part == "**" else model_name(part) + "/"
    return f"(?s:{out}{model_name(parts[-1])}{tail})"


def model_name(part: str) -> str:
    return part.replace(".", "\\.").replace("*", "[^/]*").replace("?", "[^/]").replace("[!", "[^")


def as_bytes(text: str) -> str:
    return text.encode().decode("latin-1")


def model_matches(glob: str, path: str, *, closing: bool) -> bool:
    if not path:  # the root has no name that a name could match
        return set(glob.split("/")) == {"**"}

    def one(form: str) -> bool:
        def spell(text: str) -> str:
            if form == "fold":
                return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
            return unicodedata.normalize(form, text) if form else text  # type: ignore[arg-type]  # typed loosely here

        if not closing:  # a wildcard is a byte, as in git
            return (
                re.fullmatch(model_regex(as_bytes(spell(glob)), "/.*"), as_bytes(spell(path)))
                is not None
            )
        return re.fullmatch(model_regex(spell(glob)), spell(path)) is not None

    if (
        closing
    ):  # it may be a byte or a character; of these globs only characters can make a difference
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
        mixed = re.fullmatch(model_regex(glob), folded) is not None
        return mixed or any(one(form) for form in ("", "NFC", "NFD", "fold"))
    return one("") and one("NFC")


def model(call: Call, rules: Rules, caller: Caller, spent: Spent) -> str:
    said: set[str] = set()
    names = [name.casefold() for name in call.path.split("/")]
    if ".env" in names or ".git" in names or call.ignore_status in ("ai_denied", "hard_link"):
        said.add("deny")
    if "conftest.py" in names and call.effect == "write":
        said.add("ask")
    if call.ignore_status == "ignored" and call.effect != "list":
        said.add("ask")
    if (
        caller.scope
        and call.path
        and not any(model_matches(g, call.path, closing=False) for g in caller.scope)
    ):
        said.add("deny")
    for limits in (caller.limits, rules.limits):
        for name in ["writes"] if call.effect == "write" else ["reads", "bytes", "tokens"]:
            if getattr(limits, name) is not None and getattr(spent, name) >= getattr(limits, name):
                said.add("deny")
    if call.effect == "read" and call.lines > caller.profile.free_lines:
        said.add("ask")
    hits = {
        rule.verdict
        for rule in rules.rules
        if (not rule.effects or call.effect in rule.effects)
        and model_matches(rule.glob, call.path, closing=rule.verdict != "allow")
    }
    said |= hits
    if "allow" not in hits:
        said.add(rules.write if call.effect == "write" else rules.read)
    return "deny" if "deny" in said else "ask" if "ask" in said else "allow"


def some_glob(rng: random.Random) -> str:
    return "/".join(rng.choice(PIECES) for _ in range(rng.choice([1, 1, 2, 2, 3])))


def some_limits(rng: random.Random) -> Limits:
    return Limits(*(rng.choice([None, None, None, 0, 3]) for _ in range(4)))


def some_rules(rng: random.Random) -> Rules:
    rules = tuple(
        PolicyRule(
            rng.choice(VERDICTS),
            some_glob(rng),
            tuple(rng.sample(EFFECTS, rng.choice([0, 0, 1, 2]))),
        )
        for _ in range(rng.choice([0, 1, 2, 4]))
    )
    return Rules(rules, rng.choice(VERDICTS), rng.choice(VERDICTS), some_limits(rng))


def some_case(rng: random.Random) -> tuple[Call, Rules, Caller, Spent]:
    path = RelPath("/".join(rng.choice(NAMES) for _ in range(rng.choice([0, 1, 1, 2, 3, 4]))))
    effect = rng.choice(EFFECTS)
    call = Call(
        id="1",
        tool="t",
        effect=effect,
        path=path,
        lines=rng.choice([0, 80, 81]),
        ignore_status=rng.choice(IGNORE_STATUSES),
    )
    scope = tuple(some_glob(rng) for _ in range(rng.choice([0, 0, 1, 2])))
    caller = Caller("c", "s", rng.choice([LOCAL, CLOUD]), scope, some_limits(rng))
    return call, some_rules(rng), caller, Spent(*(rng.randrange(5) for _ in range(4)))


def test_policy_agrees_with_the_model() -> None:
    rng = random.Random(7)
    for _ in range(int(10_000 * FUZZ)):
        case = some_case(rng)
        assert decide(*case).verdict == model(*case), case


def test_the_order_of_rules_changes_nothing() -> None:
    rng = random.Random(8)
    for _ in range(int(1_000 * FUZZ)):
        call, rules, caller, spent = some_case(rng)
        shuffled = msgspec.structs.replace(
            rules, rules=tuple(rng.sample(rules.rules, len(rules.rules)))
        )
        assert decide(call, rules, caller, spent) == decide(call, shuffled, caller, spent)
        assert rules.digest == shuffled.digest


def test_a_project_can_only_narrow() -> None:
    """Whatever a project's config says, no call becomes more allowed than the user's policy has
    it.
    """
    rng = random.Random(9)
    order = {"allow": 0, "ask": 1, "deny": 2}
    for _ in range(int(2_000 * FUZZ)):
        call, mine, caller, spent = some_case(rng)
        joined = narrow(mine, some_rules(rng))
        assert (
            order[decide(call, joined, caller, spent).verdict]
            >= order[decide(call, mine, caller, spent).verdict]
        )


BROKEN = [
    msgspec.structs.replace(Rules(), rules=(PolicyRule("allow", "x" * 5_000),)),
    msgspec.structs.replace(Rules(), rules=(PolicyRule("allow", "../**"),)),
    msgspec.structs.replace(Rules(), rules=(None,)),
    msgspec.structs.replace(Rules(), read="perhaps"),
    msgspec.structs.replace(Rules(), limits=None),
    None,
]


@pytest.mark.parametrize("rules", BROKEN)
def test_whatever_goes_wrong_is_a_denial(rules: Rules) -> None:
    call = Call(id="1", tool="t", effect="read", path=RelPath("a"))
    found = decide(call, rules, Caller("c", "s"))
    assert (found.verdict, found.rule.split(":")[0]) == ("deny", "policy error")
