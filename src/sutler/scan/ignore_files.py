"""The table of ignore files. The scan honours every row, and policy protects every row.

An agent that may write an ignore file could empty it and so lift its rules. One table for both uses
means that a new row cannot be honoured by the scan and left unprotected by policy.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class IgnoreFile(NamedTuple):
    """One kind of ignore file.

    `denies` separates the two meanings. False: the file selects what is packed, and a stronger rule
    or a named file can bring a path back. True: what it matches never leaves the machine.
    """

    name: str
    denies: bool
    negation: bool = True  # whether `!` lifts an earlier line of the same file
    empty_denies_all: bool = False  # whether a file without any text denies everything below it


GIT: Final = ".gitignore"


def table(*files: IgnoreFile) -> tuple[IgnoreFile, ...]:
    """The ignore files in their order. A faulty row is a TypeError that names it."""
    names = [file.name for file in files]
    for number, file in enumerate(files):
        if file.name in names[:number]:
            raise TypeError(f"ignore file {file.name}: the name has two rows; keep one of them")
        if not file.name.startswith(".") or "/" in file.name:
            raise TypeError(f"ignore file {file.name!r}: not a file name that starts with a dot")
        if not file.denies and any(earlier.denies for earlier in files[:number]):
            raise TypeError(f"ignore file {file.name}: move it before the rows with `denies=True`")
    return files


IGNORE_FILES: Final = table(
    # Selection, strongest first. Git's own file is last: its rules include other sources.
    IgnoreFile(".sutlerignore", denies=False),
    IgnoreFile(".ignore", denies=False),
    IgnoreFile(GIT, denies=False),
    # Denials, in alphabetical order: any one of them is enough.
    IgnoreFile(".aiderignore", denies=True),
    IgnoreFile(".aiexclude", denies=True, negation=False, empty_denies_all=True),
    IgnoreFile(".aiignore", denies=True),
    IgnoreFile(".codeiumignore", denies=True),
    IgnoreFile(".councilignore", denies=True),
    IgnoreFile(".cursorignore", denies=True),
    IgnoreFile(".geminiignore", denies=True),
    IgnoreFile(".gitingestignore", denies=True),
    IgnoreFile(".repomixignore", denies=True),
)
"""Selection rows before denial rows."""

SELECTION: Final = tuple(file.name for file in IGNORE_FILES if not file.denies)
DENIALS: Final = tuple(file.name for file in IGNORE_FILES if file.denies)
