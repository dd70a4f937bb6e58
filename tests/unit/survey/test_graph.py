"""Which files use which, by import lines and by names."""

from __future__ import annotations

import pytest

from sutler.scan.classify import facts_of
from sutler.survey.graph import users, weights
from sutler.survey.module_files import Package


def used(files: dict[str, str]) -> dict[str, list[str]]:
    return users({path: (facts_of(path).language, text) for path, text in files.items()})


@pytest.mark.parametrize(
    ("files", "target", "by"),
    [
        ({"p/a.py": "from p import b\n", "p/__init__.py": "", "p/b.py": ""}, "p/b.py", ["p/a.py"]),
        ({"p/a.py": "from .b import (\n  x,\n  y,\n)\n", "p/b.py": ""}, "p/b.py", ["p/a.py"]),
        ({"src/p/a.py": "import p.b\n", "src/p/b.py": ""}, "src/p/b.py", ["src/p/a.py"]),
        ({"a.py": "import os, sys\n", "lib/x/os.py": ""}, "lib/x/os.py", None),
        ({"src/a.ts": 'import x from "./b.js"\n', "src/b.ts": ""}, "src/b.ts", ["src/a.ts"]),
        ({"src/a/x.ts": 'import { d } from "../d/index.ts"\n', "src/d/index.ts": ""}, "src/d/index.ts", ["src/a/x.ts"]),
        ({"src/a/x.ts": 'import { d } from "../d/index.js"\n', "src/d/index.ts": ""}, "src/d/index.ts", ["src/a/x.ts"]),
        ({"a.js": "const b = require('./b')\n", "b/index.js": ""}, "b/index.js", ["a.js"]),
        ({"a.js": "import react from 'react'\n", "lib/react.js": ""}, "lib/react.js", None),
        ({"src/main.rs": "mod b;\nuse crate::c::{D, e::F};\n", "src/b.rs": "", "src/c/e.rs": ""},
         "src/c/e.rs", ["src/main.rs"]),
        ({"src/a.c": '#include "x/b.h"\n', "include/x/b.h": ""}, "include/x/b.h", ["src/a.c"]),
        ({"A.java": "class A { Bean b; }", "p/Bean.java": "public class Bean {}"}, "p/Bean.java", ["A.java"]),
        ({"a.go": "package m\nfunc one() { two() }", "b.go": "package m\nfunc two() {}"}, "b.go", ["a.go"]),
        ({"lib/a.ex": "defmodule M.A do\n alias M.B\nend", "lib/b.ex": "defmodule M.B do\nend"},
         "lib/b.ex", ["lib/a.ex"]),
        ({"lib/a.ex": "alias M.{B, C}\n", "lib/c.ex": "defmodule M.C do\nend"}, "lib/c.ex", ["lib/a.ex"]),
        ({"lib/a.ex": "Enum.map(x)\n", "lib/enum.ex": "defmodule M.Enum do\nend"}, "lib/enum.ex", None),
        ({"lib/a.rb": "File.read x\n", "m/file.rb": "class File\nend"}, "m/file.rb", None),
        ({"A.cs": "class A { In x; }", "b/In.cs": "class In {}"}, "b/In.cs", None),
        ({"p/__init__.py": "from .main import Typer\n", "p/main.py": "", "q/a.py": "from p import Typer\n"},
         "p/main.py", ["p/__init__.py", "q/a.py"]),
        ({"s/index.ts": "export { A } from './a'\nexport * from './b'\n", "s/a.ts": "", "s/b.ts": "export const B = 1\n",
          "t/c.ts": "import { B } from '../s'\n"}, "s/b.ts", ["s/index.ts", "t/c.ts"]),
        # Several files define a name: what stands before it, or what is called like it, decides.
        ({"A.java": "import l.Note; class A { Note n; }", "l/Note.java": "class Note {}", "m/Note.java": "class Note {}"},
         "l/Note.java", ["A.java"]),
        ({"a.rb": "Story.all", "app/story.rb": "class Story\nend", "lib/more.rb": "class Story\nend"}, "app/story.rb", ["a.rb"]),
        ({"a.rb": "Story.all", "db/migrate/1.rb": "class Story\nend"}, "db/migrate/1.rb", None),
        ({"a.go": 'import "m/x/log"\nfunc f() { log.New() }', "x/log/l.go": "func New() {}", "y/log/l.go": "func New() {}"},
         "x/log/l.go", ["a.go"]),
        ({"a.go": "func f() { log.New() }", "x/log/l.go": "func New() {}"}, "x/log/l.go", None),
        ({"a.c": "int f(void)\n{ return grow(1); }", "b.c": "int\ngrow(int n)\n{ return n; }"}, "b.c", ["a.c"]),
        ({"a.c": "int f(void)\n{ return grow(1); }", "b.c": "static int grow(int n) { return n; }"}, "b.c", None),
        ({"s/a.cpp": "#include <x/b.hpp>", "s/x/b.hpp": "", "s/x/b.cpp": ""}, "s/x/b.hpp", ["s/a.cpp"]),
        ({"A.cs": "using M.Library;\nclass A {}", "Library.cs": "class Library {}"}, "Library.cs", None),
        ({"src/r/p.js": "import * as api from '$lib/api'", "src/lib/api.js": ""}, "src/lib/api.js", ["src/r/p.js"]),
        ({"main.tf": 'module "m" {\n source = "./modules/m"\n}', "modules/m/main.tf": ""}, "modules/m/main.tf", ["main.tf"]),
        ({"lib/a.lua": "local b = require('x.b')", "src/x/b.lua": ""}, "src/x/b.lua", ["lib/a.lua"]),
    ],
)  # fmt: skip
def test_uses(files: dict[str, str], target: str, by: list[str] | None) -> None:
    assert used(files).get(target) == by


def test_a_name_that_many_files_define_says_nothing() -> None:
    files = {f"{n}/X.java": "class Same {}" for n in "abc"} | {"d/Y.java": "class Y { Same s; }"}
    assert used(files) == {}


def test_packages_of_a_workspace_are_followed_by_their_names() -> None:
    """`@x/core` is the entry of its package, `@x/core/text` a file inside it."""
    files = {
        "packages/core/src/index.ts": "export { run } from './run'\n",
        "packages/core/src/run.ts": "export const run = 1\n",
        "packages/core/src/text.ts": "",
        "packages/app/src/main.ts": "import { run } from '@x/core'\nimport t from '@x/core/text'\n",
        "packages/app/src/other.ts": "import x from '@y/core'\n",
    }
    sources = {path: ("typescript", text) for path, text in files.items()}
    packages = {"@x/core": Package("packages/core", "packages/core/src/index.ts")}
    main = ["packages/app/src/main.ts"]
    assert users(sources, packages) == {
        "packages/core/src/index.ts": main,
        "packages/core/src/run.ts": [*main, "packages/core/src/index.ts"],
        "packages/core/src/text.ts": main,
    }


def test_weight_counts_users_what_is_used_and_size() -> None:
    """A core that ties others together outweighs a list of constants with more users, and a file
    that only lists others."""
    by = {"constants.py": [f"p{n}.py" for n in range(9)], "core.py": ["p0.py", "p1.py", "p2.py"]}
    by |= {f"p{n}.py": ["core.py", "all.py"] for n in range(9)}
    sizes = {"constants.py": 400, "core.py": 10_000, "all.py": 400}
    weighed = weights(by, sizes)
    assert weighed["core.py"] > weighed["constants.py"] > weighed["all.py"] > 0


def test_scripts_use_each_other_by_name_and_by_function() -> None:
    texts = {
        "libexec/oar-row": "#!/bin/sh\noar-log fine\nstroke_count 2\n",
        "libexec/oar-log": "#!/bin/sh\necho\n",
        "lib/count.sh": "stroke_count() {\n  echo\n}\n",
    }
    assert users({path: ("shell", text) for path, text in texts.items()}) == {
        "libexec/oar-log": ["libexec/oar-row"],
        "lib/count.sh": ["libexec/oar-row"],
    }


def test_a_source_precedes_its_header() -> None:
    """The header declares what the source defines; users name the header alone."""
    used = {"a.h": ["x.c", "y.c", "a.c"], "a.c": ["x.c"]}
    weighed = weights(used, {"a.c": 400, "a.h": 400, "x.c": 100, "y.c": 100})
    assert weighed["a.c"] > weighed["a.h"]
