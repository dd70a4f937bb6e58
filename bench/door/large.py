"""Time and memory of one answer from very large files, each in its own process, with the real
redactor.

python -m bench.door.large [FOLDER]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

CASES = ("text300", "text300-end", "sparse1t", "sparse1t-text", "line20")


def build(folder: str) -> None:
    line = b"%09d some ordinary text of a log line that goes on for a while, and then a little more of it\n"
    with open(os.path.join(folder, "text300"), "wb") as file:
        for start in range(0, 3_100_000, 10_000):
            file.write(b"".join(line % n for n in range(start, start + 10_000)))
    for name, head in (("sparse1t", b""), ("sparse1t-text", b"text line\n" * 5_000)):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(head)
            file.truncate(1 << 40)
    with open(os.path.join(folder, "line20"), "wb") as file:
        file.write(b"y" * (20 << 20))


def one(project: str, case: str) -> None:
    from sutler.errors import SutlerError
    from sutler.store.records import Caller
    from sutler.tools import open_door

    with open_door(project, Caller("bench", "bench")) as door:
        door.list_files(("nothing",))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        try:
            found = door.read_lines(
                case.removesuffix("-end"),
                *((3_000_000, 3_000_050) if "-end" in case else (100, 900)),
            )
            said = f"lines {found.first}-{found.last}, {len(found.text):,} characters"
        except SutlerError as refusal:
            said = refusal.what
        took = time.perf_counter() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"{case:<14} {took:6.2f} s  +{grown:5.0f} MB  {said}")


def main() -> None:
    if len(sys.argv) == 3:
        one(sys.argv[1], sys.argv[2])
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        project = os.path.join(folder, "project")
        os.mkdir(project)
        build(project)
        environment = {**os.environ, "XDG_STATE_HOME": os.path.join(folder, "state")}
        for case in CASES:
            subprocess.run(
                [sys.executable, __file__, project, case], env=environment, check=True, timeout=600
            )
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
