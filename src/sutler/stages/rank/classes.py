"""What a path alone says of a file's part in a project, by the conventions of many languages.

Knowing what is a test, a document or an example moves a ranking more than anything else.
"""

from __future__ import annotations

import re
from typing import Literal

from sutler.values.paths import basename, extension

FileClass = Literal["source", "test", "doc", "example", "bench", "build", "data", "vendor", "generated", "ci"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SPLIT = re.compile(r"[/\\]")
_TEST_DIRS = _set(
    "tests test __tests__ spec specs e2e testdata test-data test_data testcases unittests unit_tests integration_tests "
    "__mocks__ __snapshots__ functional_tests itest itests androidtest regtest regression_tests testsuite "
    "test-suite fixtures cypress"
)
_TEST_NAME = re.compile(
    r"^(?:test_.*|tests|conftest|.*[_.-](?:tests?|spec|specs|unittest)|test-.*|.*[a-z0-9](?:Tests?|TestCase|Spec|IT)|Test[A-Z].*)$"
)
_DOC_DIRS = _set("doc docs documentation man manual website site wiki changelog changelogs news releasenotes")
_DOC_EXTENSIONS = _set("md rst txt adoc asciidoc markdown mdx tex rdoc pod org html htm")
_DOC_NAMES = _set("readme changelog changes history news license licence copying authors contributing notice")
_EXAMPLE_DIRS = _set(
    "example examples sample samples demo demos tutorial tutorials gallery galleries playground cookbook quickstart"
)
_BENCH_DIRS = _set("bench benches benchmark benchmarks asv_bench perf")
_VENDOR_DIRS = _set(
    "vendor vendored _vendor third_party third-party thirdparty extern external externals node_modules deps "
    "bower_components cextern"
)
_CI_DIRS = _set(".github .gitlab .circleci .azure-pipelines .buildkite ci .ci .vscode .idea .husky")
_BUILD_NAMES = _set(
    "setup.py setup.cfg pyproject.toml noxfile.py tasks.py conf.py makefile cmakelists.txt build.gradle pom.xml "
    "package.json cargo.toml go.mod gemfile rakefile build.rs gulpfile.js gruntfile.js webpack.config.js "
    "dockerfile jenkinsfile build.xml meson.build tox.ini manifest.in composer.json"
)
_DATA_EXTENSIONS = _set(
    "json jsonl csv tsv yaml yml toml ini cfg xml svg po pot lock sql css scss less sass snap log dat proto graphql "
    "properties conf plist strings resx ipynb mplstyle dcm fits tmpl env"
)
_BUNDLED = _set("js mjs cjs css")
_GENERATED = re.compile(
    r"(?:\.min\.(?:js|css)|_pb2(?:_grpc)?\.py|\.pb\.(?:go|cc|h)|\.g\.(?:dart|cs)|\.designer\.cs|\.generated\.\w+|"
    r"_generated\.\w+|-lock\.json|\.lock|\.bundle\.js|zz_generated.*|\.snap|\.map)$",
    re.I,
)
_VERSIONED = re.compile(r"-\d+\.\d+(?:\.\d+)?\.(?:m|c)?js$")
"""A script that carries its version in its name was copied from elsewhere."""
_SETTINGS = re.compile(r"[a-z]+rc$")


def class_of(path: str) -> FileClass:
    """The one class that decides a file's prior."""
    name = basename(path)
    folders = [part.lower() for part in _SPLIT.split(path)[:-1]]
    ext = extension(path)
    if _GENERATED.search(name) or ("dist" in folders and ext in _BUNDLED):
        return "generated"
    if any(folder in _VENDOR_DIRS for folder in folders) or _VERSIONED.search(name):
        return "vendor"
    if _is_test(name, folders):
        return "test"
    if folders and folders[0] in _CI_DIRS:
        return "ci"
    stem = name.split(".", 1)[0].lower()
    if ext in _DOC_EXTENSIONS or any(folder in _DOC_DIRS for folder in folders[:2]) or stem in _DOC_NAMES:
        return "doc"
    if any(folder in _EXAMPLE_DIRS for folder in folders):
        return "example"
    if any(folder in _BENCH_DIRS for folder in folders):
        return "bench"
    if name.lower() in _BUILD_NAMES:
        return "build"
    settings = not ext and (name.startswith(".") or _SETTINGS.match(name))
    return "data" if ext in _DATA_EXTENSIONS or settings else "source"


def _is_test(name: str, folders: list[str]) -> bool:
    """In Python `test` below the top may be a library's own testing tools (django/test): there the name must say it
    too. Elsewhere a folder of that name holds tests wherever it stands."""
    if _TEST_NAME.match(name.rpartition(".")[0] or name):
        return True
    if folders[:1] == ["testing"] or any(folder in _TEST_DIRS and folder != "test" for folder in folders):
        return True
    if not name.endswith(".py") and ("test" in folders or name.startswith("test.") or folders[:1] == ["t"]):
        return True
    return "test" in folders and (folders[0] == "test" or folders[: folders.index("test")][-1] in ("src", "app", "lib"))
