"""A second, plain opinion on which files leave by which door. Shares no code with the scan."""

from typing import NamedTuple

CERTAIN = {".env", "key.pem", ".ssh", "terraform.tfvars", "note.secret", ".npmrc"}
RESEMBLING = {"secrets", "secrets.yaml", "api_token.go", "credentials.md", "my_secret.txt"}
JUDGED = (".py", ".go", ".md", ".js", ".sql")
BY_NAME = {"dist": "build_output", "vendor": "dependency_dir", "logs": "pattern_match"}
NEVER = {"node_modules": "dependency_dir", "__pycache__": "cache", "data.bin": "binary"}
COPIES = {"app.min.js", "package-lock.json", "data.bin", "__pycache__"}


class World(NamedTuple):
    git_ignored: frozenset[str]
    own_ignored: frozenset[str]
    denied_to_ai: frozenset[str]
    tracked: frozenset[str]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    flags: frozenset[str]  # default_excludes, hidden, strict_patterns, redact


def _matches(globs: tuple[str, ...], path: str) -> bool:
    parts = path.split("/")
    folders = {"/".join(parts[:end]) for end in range(1, len(parts))}
    return any(
        glob in {path, *folders}
        or ("/" not in glob and glob in parts)
        or glob.removesuffix("/**") in folders
        for glob in globs
    )


def reasons(world: World, path: str, door: str, named: bool) -> set[str]:
    """Everything that keeps a path out of a door, or makes it ask; empty: it leaves."""
    parts, out = path.split("/"), set[str]()
    allowed, tracked = _matches(world.allow, path), path in world.tracked
    strict = "strict_patterns" in world.flags or "redact" not in world.flags
    resembling = not RESEMBLING.isdisjoint(parts)
    looks = resembling and (strict or not path.endswith(JUDGED))
    if not allowed and (not CERTAIN.isdisjoint(parts) or looks):
        out.add("credentials")
    if not world.denied_to_ai.isdisjoint(parts):
        out.add("ai_denied")
    if door == "agent" and _matches(world.deny, path):
        out.add("policy")
    own, by_git = not world.own_ignored.isdisjoint(parts), not world.git_ignored.isdisjoint(parts)
    if (own or (by_git and not tracked)) and not named:
        out.add("ignored")
    if named or door == "agent":
        return out
    if "hidden" not in world.flags and any(part[0] == "." for part in parts):
        out.add("hidden")
    if door == "goal" or "default_excludes" not in world.flags or allowed:
        return out
    bundled = "dist" in parts and path.endswith(".js")
    if not tracked or strict or bundled or not COPIES.isdisjoint(parts):
        out |= {BY_NAME[part] for part in parts if part in BY_NAME}
        out |= {"pattern_match" for part in parts if part.endswith(".sql")}
    return out | {NEVER[part] for part in parts if part in NEVER}
