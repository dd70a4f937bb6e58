"""Same input, same bytes, whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.limits import LIMIT

PROGRAM = """
import hashlib
from sutler.survey.packs import Material, build_full, build_summary
from sutler.pack.serial import serialize
from sutler.tasks.packer import Source
from tests.unit.tasks.packing import ContextPacker
from sutler.tasks.spec import read_task
from sutler.formats.document import CleanText
from sutler.scan.snapshot import FileEntry, Snapshot
files = {f"src/m{n}/{name}.py": f"import os, a{n}, b{n}\\n@app.route('/x{n}')\\ndef f{n}():\\n    eval('1')\\n" * 20
         for n in range(8) for name in ("main", "auth", "models", "routes", "util")}
files["package.json"] = '{"dependencies": {"b": "1", "a": "2", "c": "3"}, "devDependencies": {"jest": "1"}}'
files["pyproject.toml"] = '[project]\\nname="x"\\ndependencies=["z", "y", "w"]\\n'
snapshot = Snapshot(tuple(FileEntry(p, len(t)) for p, t in sorted(files.items())), (), ())
material = Material(snapshot=snapshot, texts={p: CleanText(t) for p, t in files.items()}, root="/x")
task = read_task({"id": "t", "goal": "g", "files_contract": {"allowed": ["src/**"]}, "tier": "cheap",
    "issues": [{"kind": "k", "message": f"src/m{n}/auth.py:{n}"} for n in range(9)], "context": {"files": ["package.json"]}})
pack = ContextPacker(Source(tuple(set(files)), lambda p: CleanText(files[p]), CleanText)).assemble(task)
digest = hashlib.sha256()
for document in (build_full(material), build_summary(material), pack.pack):
    digest.update(serialize(document) + serialize(document, "msgpack"))
digest.update(pack.prompt.encode())
print(digest.hexdigest())
"""


def run(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hash_seeds_do_not_show() -> None:
    """Full, summary and task packs, JSON, MessagePack and prompt: one digest under two hash
    seeds.
    """
    assert len({run(seed) for seed in ("0", "4242")}) == 1
