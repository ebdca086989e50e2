"""What other processes use of the machine. Linux: it is read from /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took from its start to its end; `peak_mib` is the most that it held."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run Python with those arguments to its end. Fails if it fails."""
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{arguments}: exit code {process.returncode}"
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process so far. Source: proc(5), fields 14 and 15 of stat."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
