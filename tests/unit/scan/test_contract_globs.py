"""Rows of minimatch with dot:true, the semantics that file contracts have."""

from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.scan.globs import GlobSet
from sutler.tasks.contract import contract_globs


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/middleware/**", "src/middleware/a.ts", True),
        ("src/middleware/**", "src/middleware/deep/.b.ts", True),
        ("src/middleware/**", "src/middleware", False),
        ("src/middleware/**", "src/middlewares/a.ts", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("**/*.py", "x/y/a.pyc", False),
        ("*.py", "x/a.py", False),
        ("*", ".env", True),
        ("src/*", "src/a/b", False),
        ("src/**/test/*.ts", "src/test/a.ts", True),
        ("src/**/test/*.ts", "src/a/b/test/a.ts", True),
        ("src/**/test/*.ts", "src/a/b/tests/a.ts", False),
        ("a/**/b/**/c", "a/x/b/y/z/c", True),
        ("a/**/b/**/c", "a/x/y/z/c", False),
        ("**", "any/thing", True),
        ("**/**", "any/thing", True),
        ("a?.txt", "ab.txt", True),
        ("a?.txt", "a/.txt", False),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("[!ab].c", "z.c", True),
        ("[[]", "[", True),
        ("?", "é", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{src,lib}/**/{a,b}.js", "lib/x/b.js", True),
        ("{src,lib}/**/{a,b}.js", "lib/x/c.js", False),
        ("./src/a.py", "src/a.py", True),
        ("src\\api\\*.ts", "src/api/a.ts", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXbYcZ", False),
        ("a*bc", "abcbc", True),
        ("a+b.txt", "a+b.txt", True),
        ("a+b.txt", "aab.txt", False),
        ("src/", "src/a/b", True),
        ("src/", "src", False),
        ("/src/a", "src/a", True),
        ("x" * 2000, "x" * 2000, True),
    ],
)
def test_glob(pattern: str, path: str, matches: bool) -> None:
    assert (contract_globs((pattern,)).match(path) is not None) is matches


@pytest.mark.parametrize("pattern", ["", ".", "[", "a[", "{a,b}" * 10, "x" * 5000, "../a"])
def test_a_malformed_glob_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        contract_globs((pattern,))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 4000),
        ("**/a/" * 60 + "b", "a/" * 2000 + "c"),
        ("**/*a*/" * 40 + "b", "aa/" * 1300 + "c"),
    ],
)
def test_a_hostile_glob_ends_quickly(pattern: str, path: str) -> None:
    assert not GlobSet((pattern,), whole=True).match(path)
