from __future__ import annotations

import base64

import pytest

import sutler.setting_table as settings
from sutler.languages.transforms import TRANSFORMS, transformed

BLOB = base64.b64encode(bytes(range(256)) * 2).decode()


def test_the_table_has_the_names_of_the_setting() -> None:
    assert set(TRANSFORMS) == set(settings.TRANSFORMS)


@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        (
            "a.py",
            "#!/bin/python\nx = '# no'  # yes\n# all\ny\n",
            "#!/bin/python\nx = '# no'\n\ny\n",
        ),
        ("a.py", '"""# kept\n# kept too\n"""\n', '"""# kept\n# kept too\n"""\n'),
        ("a.c", "int a; /* one\ntwo */ int b; // c\n", "int a; \n int b;\n"),
        ("a.js", "f('//x') // y\r\ng()\r\n", "f('//x')\r\ng()\r\n"),
        ("a.rs", "//! doc\nfn a() {} /* b /* c */ */\n", "\nfn a() {}\n"),
        ("a.txt", "# a heading\n", "# a heading\n"),
        ("é.go", "// é\nvar é = 1 // é\n", "\nvar é = 1\n"),
    ],
)
def test_comments_go_and_lines_stay(path: str, text: str, after: str) -> None:
    assert transformed(text, path, ["remove-comments"]) == after
    assert after.count("\n") == text.count("\n")


def test_base64_keeps_its_head_and_says_how_much_is_missing() -> None:
    text = transformed(f'x = "{BLOB}"\n', "a.py", ["truncate-base64"])
    assert text == f'x = "{BLOB[:32]}[... {len(BLOB) - 32:,} more characters of base64]"\n'
    assert transformed("a" * 500, "a.py", ["truncate-base64"]) == "a" * 500


def test_empty_lines_go() -> None:
    assert transformed("\na\n \t\n\nb", "a.py", ["remove-empty-lines"]) == "a\nb"


def test_comments_go_before_empty_lines() -> None:
    names = ["remove-empty-lines", "remove-comments"]
    assert transformed("# a\n\nb\n", "a.py", names) == "b\n"
