"""Routes and commands as frameworks write them."""

from __future__ import annotations

import pytest

from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import FileEntry
from sutler.survey.code import code_facts
from sutler.survey.entries import commands_in, entrypoints, routes_in
from sutler.survey.evidence import Found
from sutler.survey.wire import EntrypointSummary


@pytest.mark.parametrize(
    ("language", "text", "routes"),
    [
        ("python", "@app.route('/a')\n@router.post(\"/b\")\n", ("/a", "POST /b")),
        ("python", "urlpatterns = [path('admin/', x), re_path(r'^y$', z)]", ("admin/", "^y$")),
        ("python", '"""Example: @app.route("/doc")"""\n', ()),
        (
            "javascript",
            "app.get('/x', f); router.delete(`/y/:id`, g); cache.get('/no')",
            ("GET /x", "DELETE /y/:id"),
        ),
        ("typescript", "@Controller('cats')\n@Get('all')\n", ("cats", "GET /all")),
        ("go", 'r.GET("/g", h)\nhttp.HandleFunc("/h", f)\n', ("GET /g", "/h")),
        ("java", '@GetMapping("/j")\n@RequestMapping(value = "/k")\n', ("GET /j", "/k")),
        ("ruby", "get '/s' do\nend\nresources :users\n", ("GET /s", "users")),
        ("php", "Route::get('/p', f);\n#[Route('/q')]\n", ("GET /p", "/q")),
        ("rust", '#[get("/r")]\n.route("/s", get(x))\n', ("GET /r", "/s")),
        ("csharp", 'app.MapGet("/c", f);\n[HttpPost("d")]\n', ("GET /c", "POST /d")),
        ("elixir", '  get "/e", PageController, :home\n', ("GET /e",)),
        ("c", 'app.get("/x")', ()),
    ],
)
def test_routes(language: str, text: str, routes: tuple[str, ...]) -> None:
    assert routes_in(language, text) == routes


@pytest.mark.parametrize(
    ("language", "text", "commands"),
    [
        (
            "python",
            "sub.add_parser('scan')\n@cli.command('run-it')\ndef x(): ...\n",
            ("scan", "run-it"),
        ),
        ("python", "@app.command()\n@option('--x')\ndef pack():\n    ...\n", ("pack",)),
        ("python", '"""Example:\n@click.command()\ndef cli(): ...\n"""\n', ()),
        ("javascript", "program.command('init <name>')", ("init",)),
        ("go", 'cmd := &cobra.Command{Use: "serve [flags]"}', ("serve",)),
        ("ruby", "  desc 'build', 'builds'\n", ("build",)),
        ("rust", 'use clap::Command;\nCommand::new("tool")', ("tool",)),
        ("rust", 'use std::process::Command;\nCommand::new("git")', ()),
        ("java", '@Command(name = "x")', ("x",)),
    ],
)
def test_commands(language: str, text: str, commands: tuple[str, ...]) -> None:
    assert commands_in(language, text) == commands


def summaries(
    files: dict[str, str], named: tuple[str, ...], found: tuple[Found, ...] = ()
) -> list[EntrypointSummary]:
    entries = [(FileEntry(RelPath(path), 1), facts_of(path)) for path in sorted(files)]
    code = {path: code_facts(path, text) for path, text in files.items()}
    return list(entrypoints(entries, files, code, named, found))


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("app.py", "@app.route('/')\ndef home(): return render_template('x')\n", "web"),
        ("api.py", "@app.get('/x')\n", "api"),
        ("main.py", "import argparse\n", "cli"),
        ("src/lib.rs", "pub fn x() {}", "library"),
        ("pkg/index.ts", "export {}", "library"),
        ("index.html", "<html>", "web"),
        ("run.py", "print()", "script"),
    ],
)
def test_kinds(path: str, text: str, kind: str) -> None:
    assert [item.type for item in summaries({path: text}, (path,))] == [kind]


def test_declared_commands_and_unnamed_files() -> None:
    files = {
        "a.py": "pass",
        "b.py": "@x.get('/y')\n",
        "c.py": "pass",
        "tests/t.py": "@x.get('/z')\n",
    }
    found = (
        Found(
            path="pyproject.toml", ecosystem="python", entry_points=("a.py",), commands=("tool",)
        ),
    )
    shown = summaries(files, ("a.py",), found)
    assert [(item.path, item.type, item.routes_or_commands) for item in shown] == [
        ("a.py", "cli", ("tool",)),
        ("b.py", "api", ("GET /y",)),
    ]
