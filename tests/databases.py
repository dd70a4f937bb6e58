"""`python -m tests.databases`: makes the redactor's database for the machine that most have, from
the probes.
"""

from __future__ import annotations

from pathlib import Path
from zlib import compress

from sutler.secrets import engines
from sutler.secrets.cleaner import MACHINE
from sutler.secrets.engines import compile_database

PLACE = Path(engines.__file__).with_name(engines.READY_MADE)
COMMON = "linux x86_64"


def ready_made() -> bytes:
    return engines.maker(COMMON) + b"\n" + compress(compile_database(), 9)


if __name__ == "__main__":
    if MACHINE != COMMON:
        raise SystemExit(f"the database is for {COMMON}, and this machine is {MACHINE}")
    PLACE.write_bytes(ready_made())
