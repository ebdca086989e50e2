"""The programs of a page, run as a reader would: in a process of their own and an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.tree import ROOT


def programs(page: str) -> Sequence[str]:
    """Every Python program of a page of docs."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL)


def lines_of(program: str) -> int:
    """How many lines of a program say something."""
    return sum(bool(line.strip()) for line in program.splitlines())


def run(program: str, folder: Path) -> Sequence[str]:
    """What the program prints when it is run in that folder."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "ELEFANTE_ENV": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()
