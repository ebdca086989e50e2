"""`elefante run`, a real process, killed again and again while reminders are due: each is said, and marked if twice."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.features.access.storage import People
from core.features.access.storage import Person as Known
from core.features.reminders.reminders import Reminder, ReminderState, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.sqlite import open_database
from core.types import ChatKey, Locale, Role, UserKey
from tests.crash.kills import DiscordScene, TelegramScene, scene_of
from tests.e2e.command import Running
from tests.e2e.run_kit import running
from tests.fakes.clock import START
from tests.fakes.discord_world import OWNER_ID
from tests.fakes.telegram_people import Person

pytestmark = pytest.mark.long

REMINDERS, KILLS = 45, 3
_SAID = re.compile(r"tarefa-(\d+)\b")


def place(platform: str, number: int) -> tuple[UserKey, ChatKey, bool]:
    """Whose that reminder is, and where: on Telegram in private chats, on Discord in rooms."""
    if platform == "discord":
        return UserKey("discord", str(OWNER_ID)), ChatKey("discord", str(10**17 + 100 + number)), False
    user = UserKey("telegram", str(1000 + number))
    return user, ChatKey("telegram", user.user), True


async def let_in(platform: str, folder: Path) -> None:
    """Let everybody be answered."""
    database = await open_database(folder / "elefante.db")
    role = Role.OWNER if platform == "discord" else Role.MEMBER
    for user in {place(platform, number)[0] for number in range(REMINDERS)}:
        await People(database).put(Known(user, role, "", START))
    await People(database).put(Known(UserKey("telegram", "7"), Role.OWNER, "Ana", START))
    await database.close()


async def meet(scene: TelegramScene | DiscordScene, folder: Path) -> None:
    """Open every room; on Telegram everybody writes once: nobody can be written to who never wrote."""
    if isinstance(scene, DiscordScene):
        for number in range(REMINDERS):
            scene.open_room(int(place("discord", number)[1].chat))
        return
    async with bot(scene, folder) as child:
        await scene.greeted([Person(int(place("telegram", number)[0].user)) for number in range(REMINDERS)])
        child.terminate()
        await child.wait()


async def store(platform: str, folder: Path) -> None:
    """Store reminders that are due now, each of another person or in another room; every fifth repeats daily."""
    database = await open_database(folder / "elefante.db")
    reminders = ReminderStore(database)
    due = SystemClock().now().replace(microsecond=0)
    for number in range(REMINDERS):
        user, chat, private = place(platform, number)
        wall = (due - timedelta(seconds=number / 10)).replace(tzinfo=None)
        schedule = Schedule(wall, "UTC", "FREQ=DAILY" if number % 5 == 0 else "")
        reminder = Reminder(user, chat, f"tarefa-{number}", schedule, due, due, private, f"P{number}", locale=Locale.PT)
        assert await reminders.add(reminder, most=REMINDERS)
    await database.close()


def bot(scene: TelegramScene | DiscordScene, folder: Path) -> AbstractAsyncContextManager[Running]:
    """Run the bot on its data."""
    return running(**scene.settings | {"DATA_DIR": str(folder)})


def said(scene: TelegramScene | DiscordScene) -> Mapping[int, Sequence[str]]:
    """What was said of each reminder."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for bubble in scene.bubbles():
        for number in _SAID.findall(bubble.text):
            found[int(number)].append(bubble.text)
    return found


async def states(folder: Path) -> Sequence[Reminder]:
    """All reminders as they are stored."""
    database = await open_database(folder / "elefante.db")
    people = {place(platform, number)[0] for platform in ("telegram", "discord") for number in range(REMINDERS)}
    found = await ReminderStore(database).of([*people], frozenset(ReminderState))
    await database.close()
    return found


async def until_said(scene: TelegramScene | DiscordScene, count: int) -> None:
    """Return when so many reminders stand on the screens."""
    await scene.until(lambda: len(said(scene)) >= count)


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_kills_lose_no_reminder_and_double_none_unmarked(platform: str, tmp_path: Path) -> None:
    await let_in(platform, tmp_path)
    async with scene_of(platform) as scene:
        await meet(scene, tmp_path)
        await store(platform, tmp_path)
        for kill in range(KILLS):
            async with bot(scene, tmp_path) as child:
                await until_said(scene, (kill + 1) * REMINDERS // (KILLS + 1))
                child.kill()
                await child.wait()
        async with bot(scene, tmp_path) as child:
            await until_said(scene, REMINDERS)
            child.terminate()  # what was posted is settled before it ends
            assert await asyncio.wait_for(child.wait(), 120) == 0
        told = said(scene)
    assert sorted(told) == list(range(REMINDERS))
    assert all("↻" in text for texts in told.values() for text in texts[1:])
    assert sum(len(texts) - 1 for texts in told.values()) <= KILLS * 25  # as many as are under way at once
    after = {each.text: each for each in await states(tmp_path)}
    now = SystemClock().now()
    for number in range(REMINDERS):
        reminder = after[f"tarefa-{number}"]
        if number % 5 == 0:
            assert reminder.state is ReminderState.WAITING
            assert reminder.due is not None
            assert now < reminder.due < now + timedelta(days=1)
        else:
            assert reminder.state is ReminderState.DONE
