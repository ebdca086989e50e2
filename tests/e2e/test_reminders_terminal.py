"""Reminders in the terminal: what came due before the start, and what comes due in an open chat."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters import console
from core.features.reminders.reminders import Reminder, ReminderState, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.sqlite import open_database
from core.types import Locale, UserKey
from tests.e2e.terminal import environment

pytestmark = pytest.mark.long

ANA = UserKey("console", "ana")


async def put(folder: Path, **due_in_s: float) -> None:
    """Let Ana have reminders with those texts."""
    database = await open_database(folder / "elefante.db")
    now = datetime.now(UTC)
    for text, seconds in due_in_s.items():
        due = now + timedelta(seconds=seconds)
        schedule = Schedule(due.replace(tzinfo=None), "UTC")
        new = Reminder(ANA, console.conversation(ANA).chat, text, schedule, due, now, locale=Locale.EN)
        assert await ReminderStore(database).add(new, most=9)
    await database.close()


async def states(folder: Path) -> dict[str, ReminderState]:
    database = await open_database(folder / "elefante.db")
    found = {each.text: each.state for each in await ReminderStore(database).of([ANA], frozenset(ReminderState))}
    await database.close()
    return found


def test_what_came_due_before_is_said_at_the_start_as_late_and_the_rest_in_its_time(tmp_path: Path) -> None:
    asyncio.run(put(tmp_path, rent=-7200, plants=2, tomorrow=86400))
    settings = environment(DATA_DIR=str(tmp_path), CONSOLE_USER="ana", LANG="en_US.UTF-8")
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "chat"], env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        said = ""

        def read_until(*words: str) -> None:
            nonlocal said
            assert chat.stdout is not None
            while not all(word in said for word in words):
                line = chat.stdout.readline()
                assert line, said
                said += line

        read_until("rent", "plants")
        before, said = said, ""
        while "(1)" not in said:  # until it is noted that it was said
            said = ""
            chat.stdin.write("/reminders\n")
            chat.stdin.flush()
            read_until("Your reminders (", "tomorrow")
        chat.stdin.close()
        chat.stdout.read()
    assert chat.returncode == 0
    assert "rent" in before.split("Late: it was due")[0]  # alone, or with plants where the start took as long
    assert "Late: it was due" in before.split("plants")[0]
    assert "tomorrow" not in before
    assert asyncio.run(states(tmp_path)) == {
        "rent": ReminderState.DONE,
        "plants": ReminderState.DONE,
        "tomorrow": ReminderState.WAITING,
    }
