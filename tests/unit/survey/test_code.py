"""What a source file offers and needs, language by language."""

from __future__ import annotations

import pytest

from sutler.survey.code import code_facts, sentence

PYTHON = '''"""Checks who you are. And more."""
import os.path
from . import db
from .. import up
from ..pkg.mod import thing

LIMIT = 3
_hidden = 1

class User(Base):
    def name(self):
        import json
        return 1

async def login():
    try:
        import yaml
    except ImportError:
        pass
'''


def test_python_is_parsed() -> None:
    facts = code_facts("a.py", PYTHON)
    assert (facts.doc, facts.lines) == ("Checks who you are.", 19)
    assert facts.exports == ("LIMIT", "User", "login")
    assert facts.imports == ("..pkg.mod", "..up", ".db", "json", "os.path", "yaml")
    assert [(item.kind, item.name, item.line, item.length) for item in facts.definitions] == [
        ("class", "User", 10, 4),
        ("function", "User.name", 11, 3),
        ("function", "login", 15, 5),
    ]


def test_python_all_decides() -> None:
    assert code_facts("a.py", "__all__ = ['a', 'b']\ndef c(): pass\n").exports == ("a", "b")


def test_broken_python_still_has_its_imports() -> None:
    facts = code_facts("a.py", "import os\nfrom .x import y\ndef f(:\n")
    assert facts.imports == (".x", "os")


@pytest.mark.parametrize(
    ("path", "text", "exports", "imports"),
    [
        (
            "a.ts",
            "import x from './x';\nimport './side';\nimport {\n a,\n} from 'pkg';\nexport default class A {}\n"
            "export const b = require('c');\nexport { d as e, f };\nexport interface G {}\n",
            ("A", "b", "G", "e", "f"),
            ("./side", "./x", "c", "pkg"),
        ),
        ("a.js", "exports.login = 1;\nmodule.exports.out = 2;\n", ("login", "out"), ()),
        (
            "a.go",
            'package a\nimport "fmt"\nimport (\n\tx "a.b/c"\n\t"os"\n)\nfunc Run() {}\nfunc (s *T) Go() {}\nfunc low() {}\ntype T struct{}\n',
            ("Run", "Go", "T"),
            ("a.b/c", "fmt", "os"),
        ),
        (
            "a.rs",
            "use std::fs;\npub fn run() {}\nfn hid() {}\npub struct S;\n",
            ("run", "S"),
            ("std::fs",),
        ),
        (
            "A.java",
            "import java.util.List;\npublic final class A {\n}\nenum E {}\n",
            ("A", "E"),
            ("java.util.List",),
        ),
        ("a.kt", "import a.b\ndata class K(val x: Int)\nfun top() {}\n", ("K", "top"), ("a.b",)),
        ("a.cs", "using System.Text;\npublic class C { }\n", ("C",), ("System.Text",)),
        ("a.rb", "require 'json'\nmodule M\n  class C\n  end\nend\n", ("M", "C"), ("json",)),
        ("a.php", "<?php\nuse A\\B;\nclass C {}\nfunction f() {}\n", ("C", "f"), ("A\\B",)),
        (
            "a.c",
            '#include <stdio.h>\n#include "a.h"\nint run(int a) {\n}\nstatic int no(void) {\n}\n',
            ("run",),
            ("a.h", "stdio.h"),
        ),
        ("a.cpp", "class W : B {\n};\nvoid W::go() {\n}\n", ("W", "W::go"), ()),
        ("a.swift", "import Foundation\npublic struct S {}\n", ("S",), ("Foundation",)),
        (
            "a.ex",
            "defmodule A.B do\n  alias A.C\n  def run do\n  end\nend\n",
            ("A.B", "run"),
            ("A.C",),
        ),
        ("a.txt", "hello", (), ()),
    ],
)
def test_other_languages(
    path: str, text: str, exports: tuple[str, ...], imports: tuple[str, ...]
) -> None:
    facts = code_facts(path, text)
    assert (facts.exports, facts.imports) == (exports, imports)


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("// Runs the shop. Twice.\nx\n", "Runs the shop."),
        (
            "/*\n * Copyright 2020 Someone\n */\n\n/**\n * Sells things\n */\nclass A {}\n",
            "Sells things",
        ),
        ("#!/bin/sh\n# Builds it.\nmake\n", "Builds it."),
        ("package main\n\n// not first code\nfunc x", "not first code"),
        ("x = 1\n// later\n", ""),
        ("/*! A crate. */\n", "A crate."),
        ("// ======\n// Sells things\n// ======\n\npackage a\n", "Sells things"),
    ],
)
def test_the_opening_comment(text: str, doc: str) -> None:
    assert code_facts("a.sh" if text.startswith("#!") else "a.go", text).doc == doc


def test_sentence() -> None:
    assert sentence("One  two.\nThree.") == "One two."
    assert sentence("no end") == "no end"
    assert sentence("") == ""


def test_definitions_without_a_grammar_end_with_their_block() -> None:
    text = "defmodule M do\n  @doc false\n  def one do\n    1\n  end\n\n  def two, do: 2\nend\n"
    spans = [(item.name, item.line, item.end) for item in code_facts("m.ex", text).definitions]
    assert spans == [("M", 1, 8), ("one", 3, 5), ("two", 7, 7)]


def test_tests_beside_the_code_are_no_part_of_its_outline() -> None:
    text = (
        "pub fn run() {}\n\n#[cfg(test)]\nmod tests {\n    fn helper() {}\n}\n\nfn test_run() {}\n"
    )
    assert code_facts("a.rs", text).outline == ("1: pub fn run() {}",)


@pytest.mark.parametrize(
    ("path", "text", "outline"),
    [
        ("main.tf", 'resource "aws_vpc" "this" {\n  x = 1\n}\n', ('1: resource "aws_vpc" "this" {',)),
        ("roles/a/tasks/main.yml", "- name: Stop it\n  service:\n    name: x\n", ("1: - name: Stop it",)),
        ("a.ipynb", "--- cell 1: markdown ---\n# Title\n--- cell 2: code ---\n# no heading\n", ("2: Title",)),
    ],
)  # fmt: skip
def test_outlines_of_what_is_no_code(path: str, text: str, outline: tuple[str, ...]) -> None:
    assert code_facts(path, text).outline == outline


def test_functions_of_haskell_with_their_equations() -> None:
    text = "module A where\n\nfind :: Int -> Maybe Int\nfind 1 = Just 1\nfind x\n  | x > 2 = Nothing\n\nlast = 1\n"
    rows = [
        (item.kind, item.name, item.line, item.end) for item in code_facts("A.hs", text).definitions
    ]
    assert rows[1:] == [("function", "find", 3, 6)]
