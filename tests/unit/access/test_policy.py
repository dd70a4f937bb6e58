from __future__ import annotations

import pytest

from sutler.access.control_files import ANYWHERE
from sutler.access.policy import PolicyRule, Rules, decide, narrow
from sutler.paths import RelPath
from sutler.scan.name_rules import CERTAIN, RESEMBLING
from sutler.store.records import LOCAL, Call, Caller, Decision, Effect, IgnoreStatus, Limits, Spent

EVERYTHING = Rules((PolicyRule("allow", "**"),), write="allow")


def ask(path: str, effect: Effect = "read", rules: Rules = EVERYTHING, lines: int = 0) -> Decision:
    call = Call(id="1", tool="t", effect=effect, path=RelPath(path), lines=lines)
    return decide(call, rules, Caller("c", "s", LOCAL))


def named_by(glob: str) -> str:
    """A file name that a built-in glob matches."""
    return glob.replace("*", "x")


@pytest.mark.parametrize("glob", [*CERTAIN, *(f"{glob}.txt" for glob in RESEMBLING[:-1])])
@pytest.mark.parametrize(
    "spell", [str, str.upper, "a/b/{}".format, "{}/inside".format, "{}.".format]
)
def test_credentials_are_denied_even_under_allow_all(glob: str, spell: type[str]) -> None:
    effects: tuple[Effect, ...] = ("read", "write")
    for effect in effects:
        found = ask(spell(named_by(glob)), effect)
        assert found.verdict == "deny"
        assert found.rule.startswith("credentials: ")


@pytest.mark.parametrize("glob", ANYWHERE)
@pytest.mark.parametrize("spell", [str, str.upper, "a/b/{}".format, "{}/inside".format])
def test_writing_a_control_file_asks_even_under_allow_all(glob: str, spell: type[str]) -> None:
    found = ask(spell(named_by(glob)), "write")
    assert (found.verdict, found.rule.split(":")[0]) == ("ask", "control file")
    assert ask(spell(named_by(glob))).verdict == "allow"


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".git", "sub/.GIT/config", ".hg/hgrc", ".git./config"]
)
@pytest.mark.parametrize("effect", ["read", "write"])
def test_version_control_is_out_of_reach(path: str, effect: Effect) -> None:
    assert ask(path, effect).rule.startswith("internal: ")


@pytest.mark.parametrize(
    "path",
    ["src/environment.py", "tests/test_env.py", "gitignore.md", "tests/token_test.py", "keys.py"],
)
def test_ordinary_names_are_not_over_refused(path: str) -> None:
    assert ask(path).verdict == "allow"


def test_the_user_may_name_an_exception_and_a_project_may_not() -> None:
    mine = Rules(allow=(".env.example",))
    assert ask(".env.example", "read", mine).verdict == "allow"
    assert ask(".env", "read", mine).verdict == "deny"
    assert ask(".env.example", "read", narrow(Rules(), mine)).verdict == "deny"


@pytest.mark.parametrize(
    ("ignore_status", "verdict"), [("open", "allow"), ("ignored", "ask"), ("ai_denied", "deny")]
)
def test_ignore_files_speak(ignore_status: IgnoreStatus, verdict: str) -> None:
    call = Call(id="1", tool="t", effect="read", path=RelPath("a"), ignore_status=ignore_status)
    assert decide(call, EVERYTHING, Caller("c", "s")).verdict == verdict


def test_a_long_read_for_a_small_model_asks() -> None:
    assert ask("a", lines=80).verdict == "allow"
    assert ask("a", lines=81).rule == "profile local: at most 80 lines without approval"


def test_writing_asks_by_default_and_an_allow_rule_opens() -> None:
    assert ask("src/a.py", "write", Rules()).verdict == "ask"
    opened = Rules((PolicyRule("allow", "src/**", ("write",)),))
    assert ask("src/a.py", "write", opened).rule == "user: allow src/**"
    assert ask("docs/a.md", "write", opened).verdict == "ask"


def test_a_project_cannot_open() -> None:
    project = Rules(
        (PolicyRule("allow", "**", (), "project"), PolicyRule("deny", "private", (), "project")),
        write="allow",
    )
    joined = narrow(Rules(), project)
    assert ask("a", "write", joined).verdict == "ask"
    assert ask("private/a", "read", joined).rule == "project: deny private"


@pytest.mark.parametrize(
    ("limits", "effect"), [(Limits(reads=1), "read"), (Limits(writes=1), "write")]
)
def test_a_spent_budget_closes(limits: Limits, effect: Effect) -> None:
    call = Call(id="1", tool="t", effect=effect, path=RelPath("a"))
    caller = Caller("c", "s", limits=limits)
    assert decide(call, EVERYTHING, caller, Spent()).verdict == "allow"
    assert decide(call, EVERYTHING, caller, Spent(reads=1, writes=1)).rule.startswith("budget: ")
