"""Switch off features of the kernel in every Python process of a test run.

Python imports this module at start, in child processes too, because its folder is on PYTHONPATH.
`WITHOUT` names the features; only the tests read it.
"""

from __future__ import annotations

import os

from sutler import system

system.switch_off(*os.environ["WITHOUT"].split(","))  # type: ignore[arg-type]
