"""`python -m tests.golden.bless [NAME…]`: write the golden files anew, from what the program makes
today.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.golden.cases import CASES, case_names, produced


def main(names: list[str]) -> None:
    for name in names or case_names():
        with tempfile.TemporaryDirectory() as folder:
            for file, text in produced(CASES / name, Path(folder)).items():
                (CASES / name / file).write_bytes(text.encode())
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
