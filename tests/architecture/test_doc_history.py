"""The program of docs/history.md runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.history import policy
from core.history.policy import HistoryLimits

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "history.md").read_text("utf-8")


@pytest.mark.spec("L6", "L1")
def test_the_history_alone_shows_what_fits_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    body = program.split("-> None:\n")[1].split("asyncio.run")[0].strip().splitlines()
    assert len(body) <= 15, "the page promises a short program"
    script = tmp_path / "program.py"
    script.write_text(program, "utf-8")
    shown = []
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "history.db")],
            env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.stderr == ""
        shown.append(ran.stdout.splitlines())
    assert shown[0] == [
        "1 user Olá, me chamo Edmar 15",
        "2 assistant Oi, Edmar! 5",
        "3 user Vou viajar em julho 15",
        "4 assistant Ótimo! 4",
        "5 user Como é meu nome? 15",
        "30922 tokens remain of 32000",
    ]
    assert [line.split()[0] for line in shown[1][:-1]] == ["5", "6", "7", "8", "9", "10"]


@pytest.mark.spec("J6")
def test_the_bot_inside_a_program_answers_each_by_the_rights_that_the_program_granted(tmp_path: Path) -> None:
    _, program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    script = tmp_path / "program.py"
    script.write_text(program, "utf-8")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "data")],
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    owners, members, kept = (line.split(" | ") for line in ran.stdout.splitlines())
    assert not owners[0].startswith("Não conheço o comando")
    assert members[0] == "Não conheço o comando /admin. Veja /help."
    assert kept[0] == "Guardei: “sala 12”"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line[2]) for line in (owners, members, kept))


def test_the_page_names_every_policy_with_the_numbers_that_hold() -> None:
    limits = HistoryLimits()
    numbers = {
        policy.SUMMARY: (limits.threshold_tokens, limits.window_messages, limits.window_cycles),
        policy.LAST_MESSAGES: (limits.max_messages,),
        policy.LAST_TOKENS: (limits.max_tokens,),
    }
    for name in policy.NAMES:
        [row] = re.findall(rf"^\| `{name}` .*", PAGE, re.MULTILINE)
        assert [int(number.replace(",", "")) for number in re.findall(r"` ([\d,]*\d)", row)] == list(numbers[name])
