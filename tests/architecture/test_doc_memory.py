"""The program of docs/memory.md runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_memory_alone_finds_what_it_was_told_and_nothing_else(tmp_path: Path) -> None:
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "memory.md").read_text("utf-8"), re.DOTALL)
    body = program.split("-> None:\n")[1].split("asyncio.run")[0].strip().splitlines()
    assert len(body) == 10, "the page promises ten lines"
    script = tmp_path / "program.py"
    script.write_text(program, "utf-8")
    for _ in range(2):  # the second run finds the file of the first
        ran = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "memory.db")],
            env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.stderr == ""
        first, second = ran.stdout.splitlines()
        assert first.startswith("Qual é a senha do aliexpress? [('123456', ")
        assert second == "Who painted the Mona Lisa? []"
