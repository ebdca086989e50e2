"""What a person reads of two workers: whatever one of them asked, saved or was told, the other knows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.two_workers import ANA, BIA, Bot, two_workers

LOCKER = "my locker code is 4417"


async def test_a_number_means_the_list_that_was_shown_last_by_whichever_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, _):
        await a.say("/remember my bike is green")
        await b.say("/memories")
        await a.say("/remember my car is red")
        assert "1. 🧠 car" in await a.say("/memories")
        assert "car is red" in await b.say("/forget 1")
        for text in ("/remind water the plants tomorrow at 9", "/remind call the bank tomorrow at 8"):
            await b.say(text)
            await a.say("/reminders")
        shown = await b.say("/reminders")
        assert shown.index("1. ") < shown.index("call the bank") < shown.index("2. ")
        assert "call the bank" in await a.say("/reminders delete 1")


async def test_what_one_worker_asked_is_answered_at_the_other_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say(f"remember that {LOCKER}")
        assert "4417" in await b.say("what is my locker code?")
        assert "4417" in await a.say("forget my locker code")
        assert "Deleted" in await b.say("yes")
        assert "Back again" in await a.say("/undo")
        await b.say("forget my locker code")
        assert "Deleted" in await a.press("Delete")
        assert "Back again" in await b.say("/undo")
        await a.say("forget my locker code")
        seen = len(office.texts(ANA))
        yes = office.button("Delete", ANA.user).command
        await asyncio.gather(*(bot.say(yes, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Deleted" in text for text in office.texts(ANA)[seen - 1 :]) == 1
        seen = len(office.texts(ANA))
        await asyncio.gather(*(bot.say("/undo", pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Back again" in text for text in office.texts(ANA)[seen:]) == 1
        assert "4417" in await b.say("/memories")


async def test_nothing_is_stored_of_who_was_forgotten_while_another_worker_answered_them(tmp_path: Path) -> None:
    async with two_workers(tmp_path, access="open") as (a, b, office):
        await a.say("remember that my zqlocker code is 4417")
        held = b.hold()
        answer = b.begin("remember that my zqbike is green", chat="room")
        other = b.begin("remember that my car is red", BIA, chat="room")
        await held.asked.wait()
        await a.say("/forget all")
        assert "forgotten" in await a.say(f"/forget all {office.code(ANA, 'all ')}")
        held.gate.set()
        await asyncio.gather(answer, other)
        await office.settled()
        assert await left(a, "zq", ANA.user) == []
        assert "zq" not in "".join(office.screen("room").texts)
        assert "car is red" in "".join(office.screen("room").texts), "others are answered"


async def left(bot: Bot, *needles: str) -> list[str]:
    """Return the rows of the database that have any of these in them."""
    rows = bot.app.database.rows
    tables = await rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    every = [await rows(f"SELECT t::text FROM {table} AS t") for (table,) in tables]  # noqa: S608 - a name of ours
    found = [row for table in every for (row,) in table]
    return [row for row in found if any(needle in row for needle in needles)]
