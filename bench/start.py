"""A start: CPU seconds, wall seconds and memory of real processes, up to the first prompt and while the bot waits."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pexpect

from bench.table import show


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


ROUNDS = 5
IDLE_S = 5.0
PROMPT = "› "
_OURS = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH")
Row = tuple[str, str, str, str, str]


def environment(data_dir: str) -> dict[str, str]:
    """Return the environment of a newcomer: no key, no token, no data yet."""
    return {name: os.environ[name] for name in _OURS if name in os.environ} | {"DATA_DIR": data_dir, "TERM": "xterm"}


def typical(arguments: list[str], variables: Mapping[str, str]) -> Cost:
    """Return the medians of several runs."""
    costs = [run(arguments, variables) for _ in range(ROUNDS)]
    return Cost(
        median(cost.wall_s for cost in costs),
        median(cost.cpu_s for cost in costs),
        median(cost.peak_mib for cost in costs),
    )


def row(what: str, cost: Cost, aim: str) -> Row:
    """Return a line of the table."""
    return what, f"{cost.wall_s:.2f} s", f"{cost.cpu_s:.2f} s", f"{cost.peak_mib:.0f} MiB", aim


def now(pid: int, wall_s: float) -> Cost:
    """Return what a running process has used so far, and its resident memory."""
    return Cost(wall_s, cpu_s(pid), rss_mib(pid))


def talk(variables: Mapping[str, str]) -> list[Row]:
    """Measure `elefante chat` on a terminal: to the first prompt, through one turn, and while nobody writes."""
    rows = []
    began = time.perf_counter()
    terminal = pexpect.spawn(sys.executable, ["-m", "bot", "chat"], env=dict(variables), timeout=60, encoding="utf-8")
    terminal.expect(PROMPT)
    rows.append(row("chat, to the first prompt", now(terminal.pid, time.perf_counter() - began), "under 2 s"))
    time.sleep(IDLE_S)
    rows.append(idle("chat, waiting", terminal.pid))
    began = time.perf_counter()
    terminal.sendline("Lembre que a senha do wifi é abacate42")
    terminal.expect("abacate42.*abacate42")
    terminal.expect(PROMPT)
    rows.append(row("  after the first turn", now(terminal.pid, time.perf_counter() - began), ""))
    time.sleep(IDLE_S)
    rows.append(idle("  waiting again", terminal.pid))
    terminal.sendline("/quit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    return rows


def first_answer(variables: Mapping[str, str]) -> Row:
    """Measure what a newcomer waits for: the answer to a message that is sent as soon as there is a prompt."""
    terminal = pexpect.spawn(sys.executable, ["-m", "bot", "chat"], env=dict(variables), timeout=60, encoding="utf-8")
    terminal.expect(PROMPT)
    began, before = time.perf_counter(), cpu_s(terminal.pid)
    terminal.sendline("Remember that my locker code is 4417")
    terminal.expect("Saved: ")
    cost = Cost(time.perf_counter() - began, cpu_s(terminal.pid) - before, rss_mib(terminal.pid))
    terminal.sendline("/quit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    return row("  its first message, sent at once, to the answer", cost, "under 1 s")


def idle(what: str, pid: int) -> Row:
    """Measure a bot that nobody talks to: CPU over some seconds, resident memory."""
    before = now(pid, 0)
    time.sleep(IDLE_S)
    after = now(pid, IDLE_S)
    return row(what, Cost(IDLE_S, after.cpu_s - before.cpu_s, after.peak_mib), "under 200 MiB")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as data_dir, tempfile.TemporaryDirectory() as other_dir:
        variables = environment(data_dir)
        rows = [
            row("python, nothing else", typical(["-c", ""], variables), ""),
            row("--version", typical(["-m", "bot", "--version"], variables), "under 0.2 s of CPU"),
            row("import bot.cli.main", typical(["-c", "import bot.cli.main"], variables), ""),
            row(
                "import bot.wiring, what chat needs",
                typical(["-c", "import bot.wiring"], variables),
                "under 1 s of CPU",
            ),
            row("check, first time", run(["-m", "bot", "check", "--json"], variables), ""),
            row("check, embedder included", typical(["-m", "bot", "check", "--json"], variables), ""),
            *talk(variables),
            first_answer(environment(other_dir)),
        ]
    show("A start", ("what", "wall", "CPU", "memory", "aim"), rows)
