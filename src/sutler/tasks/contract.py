"""The file contract: which files a change may touch, and its sentences for the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sutler.paths import normalize_path
from sutler.scan.globs import GlobSet
from sutler.scan.snapshot import Problem
from sutler.tasks.wire import Change, ContractViolation, FileContract


def contract_check(changes: Iterable[Change], contract: FileContract) -> list[ContractViolation]:
    """Return at most one violation per file, sorted by file. Checks in order: new file, forbidden,
    not allowed."""
    violations = [
        violation for change in changes if (violation := _judge(change, contract)) is not None
    ]
    return sorted(violations, key=lambda violation: violation.file)


def _judge(change: Change, contract: FileContract) -> ContractViolation | None:
    path = normalize_path(change.file)
    if change.new and not contract.allow_new_files:
        return ContractViolation(path, "new_file_disallowed", "allowNewFiles: false")
    hit = next((glob for glob in contract.forbidden if contract_globs((glob,)).match(path)), None)
    if hit is not None:
        return ContractViolation(path, "forbidden", hit)
    if contract.allowed and not contract_globs(contract.allowed).match(path):
        return ContractViolation(path, "not_allowed", ", ".join(contract.allowed))
    return None


@lru_cache(maxsize=1_024)  # a contract's globs meet each file of a change
def contract_globs(globs: tuple[str, ...]) -> GlobSet:
    """Compile a contract's globs with minimatch semantics; both path separators are accepted."""
    return GlobSet((_normalize_glob(glob) for glob in globs), whole=True)


def _normalize_glob(glob: str) -> str:
    plain = normalize_path(glob).lstrip("/")
    return f"{plain}/" if glob.endswith(("/", "\\")) and plain else plain


def owned(paths: Sequence[str], contract: FileContract) -> list[str]:
    """Return the files that a contract allows and does not forbid. A contract without `allowed`
    owns nothing."""
    allowed, forbidden = contract_globs(contract.allowed), contract_globs(contract.forbidden)
    return [path for path in sorted(paths) if allowed.match(path) and not forbidden.match(path)]


def idle_globs(paths: Sequence[str], contract: FileContract) -> list[Problem]:
    """Return a problem for each glob that matches no file, which is usually a typo."""
    problems = []
    for kind, globs in (("allowed", contract.allowed), ("forbidden", contract.forbidden)):
        for glob in globs:
            wanted = contract_globs((glob,))
            if not any(wanted.match(path) for path in paths):
                problems.append(Problem(glob, "missing", f"{kind} contract glob matches no file"))
    return problems


def sentences(contract: FileContract) -> list[str]:
    """Render the contract for the model."""
    out: list[str] = []
    if contract.allowed:
        out.append(f"You may only modify files matching: {', '.join(contract.allowed)}")
    if contract.forbidden:
        out.append(f"Do NOT modify files matching: {', '.join(contract.forbidden)}")
    if not contract.allow_new_files:
        out.append("Do NOT create new files.")
    return out or ["You may modify any file."]
