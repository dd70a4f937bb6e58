"""Ruby, PHP and Elixir manifests: Gemfile, gemspec, composer.json, mix.exs. No code is run."""

from __future__ import annotations

import re

from sutler.paths import basename, dirname
from sutler.scan.structured import mapping, parse_json, string, texts
from sutler.survey.evidence import (
    DEV_WORDS,
    Found,
    Tree,
    beside,
    dependency,
    field,
    joined,
    one_line,
    tame,
)
from sutler.survey.wire import Dependency, DependencyType

MAX_LINES = 5_000

_GEM = re.compile(r"^\s*gem[\s(]+[\"']([\w.-]+)[\"']((?:\s*,\s*[\"'][^\"']*[\"'])*)(.*)$")
_GROUP = re.compile(r"^\s*group\s*\(?(.*?)\)?\s+do\b")
_RUBY_TESTS = ("rspec", "rspec-rails", "minitest", "test-unit", "cucumber")


def _quoted(text: str) -> str:
    return ", ".join(re.findall(r"[\"']([^\"']*)[\"']", text))


def _ruby_framework(needs: list[Dependency]) -> str:
    names = {item.name for item in needs}
    return joined(name.removesuffix("-rails") for name in _RUBY_TESTS if name in names)


def read_gemfile(path: str, text: str, tree: Tree) -> Found:
    needs: list[Dependency] = []
    # Beside a gemspec the Gemfile adds what developers need; the gem's own needs are in the
    # gemspec.
    beside_gemspec = re.search(r"(?m)^[ \t]*gemspec\b", text) is not None
    blocks: list[bool] = []  # for each open `do`: is it a development group?
    for line in tame(text).splitlines()[:MAX_LINES]:
        match = _GEM.match(line)
        if match:
            dev = (
                beside_gemspec
                or any(blocks)
                or bool(re.search(r"group[s]?:\s*\[?\s*:(?:dev|test)", match.group(3)))
            )
            needs.append(
                dependency(match.group(1), _quoted(match.group(2)), "dev" if dev else "runtime")
            )
        elif re.search(r"\bdo\s*(?:\|[^|]*\|)?\s*$", line):
            group = _GROUP.match(line)
            blocks.append(
                bool(group and DEV_WORDS.search(group.group(1).replace(":", "/").replace(" ", "")))
            )
        elif line.strip() == "end" and blocks:
            blocks.pop()
    rails = tree.first(
        beside(dirname(path), name) for name in ("config.ru", "config/application.rb", "app.rb")
    )
    return Found(
        path=path,
        ecosystem="ruby",
        dependencies=tuple(needs),
        entry_points=rails,
        build_system="bundler",
        test_framework=_ruby_framework(needs),
    )


_SPEC_DEPENDENCY = re.compile(
    r"\.add_(runtime_|development_)?dependency[\s(]+[\"']([\w.-]+)[\"']("
    r"(?:\s*,\s*[\"'][^\"']*[\"'])*)"
)


def read_gemspec(path: str, text: str, tree: Tree) -> Found:
    text = tame(text)

    def value(name: str) -> str:
        match = re.search(
            rf"\.{name}\s*=\s*((?:\"[^\"]*\"|'[^']*')(?:\s*\\\s*(?:\"[^\"]*\"|'[^']*'))*)", text
        )
        parts = re.findall(r"\"([^\"]*)\"|'([^']*)'", match[1]) if match else []
        return "".join(double or single for double, single in parts)

    needs = [
        dependency(name, _quoted(version), "dev" if kind == "development_" else "runtime")
        for kind, name, version in _SPEC_DEPENDENCY.findall(text)
    ]
    name = value("name") or basename(path).removesuffix(".gemspec")
    commands = re.findall(r"executables\s*(?:=|<<)\s*\[?\s*[\"']([\w.-]+)[\"']", text)
    commands += re.findall(r"executables\s*=\s*%w[\[({]\s*([\w.-]+)", text)
    folder = dirname(path)
    if not commands and re.search(r"\.executables\s*[=+<]", text):
        bindir = value("bindir") or "bin"
        prefix = beside(folder, bindir) + "/"
        commands = [name.removeprefix(prefix) for name in tree.paths if name.startswith(prefix)]
    entries = tree.first(
        beside(folder, f"lib/{stem}.rb") for stem in (name, name.replace("-", "/"))
    )
    return Found(
        path=path,
        ecosystem="ruby",
        name=name,
        description=one_line(value("summary") or value("description")),
        dependencies=tuple(needs),
        entry_points=tuple(
            path
            for command in commands
            for path in tree.first(
                [beside(folder, f"exe/{command}"), beside(folder, f"bin/{command}")]
            )
        )
        + entries,
        commands=tuple(sorted(set(commands))),
        build_system="bundler",
        test_framework=_ruby_framework(needs),
    )


def read_podspec(path: str, text: str, tree: Tree) -> Found:
    """Read a CocoaPods specification: the purpose of the project."""
    match = re.search(r"\.summary\s*=\s*[\"']([^\"'\n]+)", tame(text))
    return Found(path=path, ecosystem="", description=one_line(match[1]) if match else "")


_PHP_TESTS = (
    ("pestphp/pest", "pest"),
    ("phpunit/phpunit", "phpunit"),
    ("codeception/codeception", "codeception"),
    ("symfony/phpunit-bridge", "phpunit"),
    ("behat/behat", "behat"),
    ("phpspec/phpspec", "phpspec"),
)


def read_composer(path: str, text: str, tree: Tree) -> Found:
    data = mapping(parse_json(text))
    tables: list[tuple[str, DependencyType]] = [("require", "runtime"), ("require-dev", "dev")]
    needs = [
        dependency(name, string(version), kind)
        for table, kind in tables
        for name, version in mapping(data.get(table)).items()
        if "/" in name  # `php` and `ext-json` are the platform
    ]
    names = {item.name for item in needs}
    folder = dirname(path)
    bins = [beside(folder, name) for name in texts(data.get("bin"))]
    candidates = [
        *bins,
        *(
            beside(folder, name)
            for name in ("artisan", "public/index.php", "index.php", "bin/console")
        ),
    ]
    return Found(
        path=path,
        ecosystem="php",
        name=string(data.get("name")),
        description=string(data.get("description")),
        dependencies=tuple(needs),
        entry_points=tuple(name for name in candidates if name in tree.known),
        commands=tuple(basename(name) for name in bins),
        build_system="composer",
        test_framework=joined(framework for mark, framework in _PHP_TESTS if mark in names),
        private=string(data.get("type")) == "project",
    )


_MIX_DEPENDENCY = re.compile(r"\{\s*:(\w+)\s*,\s*(?:\"([^\"]*)\"\s*,?)?([^{}]*)\}")


def read_mix(path: str, text: str, tree: Tree) -> Found:
    text = tame(text)

    body = re.search(
        r"defp?\s+deps\b[^\n]{0,200}?do:?\s(.{0,20000}?)(?:\n\s*end\b|\Z)", text, re.DOTALL
    )
    needs = [
        dependency(name, version, _mix_kind(options))
        for name, version, options in _MIX_DEPENDENCY.findall(
            _uncommented(body.group(1)) if body else ""
        )
        if "in_umbrella" not in options and "path:" not in options
    ]
    umbrella = field(r"apps_path:\s*\"([^\"]+)\"", text)
    module = field(r"mod:\s*\{\s*([\w.]+)", text)
    # A module's file is its name in words, with or without an underscore between two words.
    plain = {
        beside(dirname(path), f"lib/{name.replace('.', '/').lower()}.ex").replace("_", "")
        for name in (field(r"main_module:\s*([\w.]+)", text), module)
        if name
    }
    return Found(
        path=path,
        ecosystem="elixir",
        name=field(r"\bapp:\s*:(\w+)", text),
        description=one_line(
            field(r"description:\s*\"([^\"]*)\"", text)
            or field(r"@description\s+\"([^\"]*)\"", text)
            or field(r"description:\s*\"\"\"\s*([^\"]+?)(?:\n\s*\n|\s*\"\"\")", text)
            or field(r"defp?\s+description\b[^\n]*\n?\s*\"+\s*([^\"]*)\"", text)
        ),
        dependencies=tuple(needs),
        entry_points=tuple(inner for inner in tree.paths if inner.replace("_", "") in plain),
        build_system="mix",
        test_framework="exunit" if any(path.endswith("_test.exs") for path in tree.paths) else "",
        members=tree.matching(dirname(path), [f"{umbrella}/*"], "mix.exs") if umbrella else (),
        workspace=bool(umbrella),
    )


def _mix_kind(options: str) -> DependencyType:
    if re.search(r"only:\s*\[?\s*:(?!prod)", options):
        return "dev"
    return "peer" if re.search(r"optional:\s*true", options) else "runtime"


def _uncommented(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
