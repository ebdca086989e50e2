"""What a person reads of two workers: whatever one of them asked, saved or was told, the other knows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from core.delivery.alerts import HAS_ROOM, IS_FULL
from core.features.reminders.scheduler import Scheduler
from core.types import Incoming, Locale, UserKey
from tests.fakes.two_workers import ANA, BIA, OLGA, PLATFORM, Bot, two_workers

NEWS: Final = "Closed on Sunday"

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
        below = [button for shown in office.screen(ANA.user).screen for button in shown.choices]
        undo = [button.command for button in below if "Undo" in button.label][-1]
        await asyncio.gather(*(bot.say(undo, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Back again" in text for text in office.texts(ANA)[seen:]) == 1
        assert "4417" in await b.say("/memories")


@pytest.mark.long
async def test_nothing_is_stored_of_who_was_forgotten_while_another_worker_answered_them(tmp_path: Path) -> None:
    async with two_workers(tmp_path, access="open") as (a, b, office):
        await a.say("remember that my zqlocker code is 4417")
        held = b.hold()
        answer = b.begin("remember that my zqbike is green", chat="room")
        await held.asked.wait()
        other = b.begin("remember that my car is red", BIA, chat="room")
        await a.say("/forget all")
        assert "forgotten" in await a.say(f"/forget all {office.code(ANA, 'all ')}")
        held.gate.set()
        await asyncio.gather(answer, other, return_exceptions=True)  # they may end as cancelled
        await office.settled()
        assert await left(a, r"zqlocker|zqbike|\bana\b") == []
        assert "zq" not in "".join(office.screen("room").texts)
        assert "car is red" in "".join(office.screen("room").texts), "others are answered"


@pytest.mark.long
async def test_what_a_worker_read_before_somebody_was_forgotten_is_not_answered_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_workers(tmp_path, access="open") as (a, b, office):
        intake, is_read, go_on = b.chatbot.intake, asyncio.Event(), asyncio.Event()
        owed = intake._inbox.owed

        async def read(platform: str, chats: Collection[str] | None = None) -> Mapping[Incoming, Sequence[str]]:
            found = await owed(platform, chats)
            if any(incoming.user == ANA for incoming in found):
                is_read.set()
                await go_on.wait()
            return found

        async def nothing() -> Mapping[str, object]:
            return {}

        monkeypatch.setattr(intake._inbox, "owed", read)
        monkeypatch.setattr(a.app.worker, "owed", nothing)  # it leaves the room to the other
        held = b.hold()
        answer = b.begin("remember that my car is red", BIA, chat="room")
        await held.asked.wait()
        await a.say("remember that my zqbike is green", chat="room")
        await is_read.wait()
        claim = intake._chats["telegram:room"].claim
        await a.say("/forget all")
        assert "forgotten" in await a.say(f"/forget all {office.code(ANA, 'all ')}")
        other = b.begin("remember that my hat is blue", BIA, chat="room")
        await office.until(lambda: intake._chats["telegram:room"].claim not in {claim, None}, ticking=True)
        go_on.set()
        held.gate.set()
        await asyncio.gather(answer, other, return_exceptions=True)
        await office.settled()
        assert await left(a, r"zqbike|\bana\b") == []
        assert all(words in "".join(office.screen("room").texts) for words in ("car is red", "hat is blue"))


async def test_what_comes_to_both_workers_acts_and_counts_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say(f"/admin quota {ANA} messages_minute=2", OLGA)
        await asyncio.gather(*(bot.say("/remember my bike is green", message="n0") for bot in (a, b)))
        await office.settled()
        assert "(1)" in await a.say("/memories")
        assert "slow down" in await b.say("/memories")
        await a.say(f"/admin broadcast {NEWS}", OLGA)
        send = office.last(OLGA.user).choices[0].command
        await asyncio.gather(*(bot.say(send, OLGA, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("Sending to" in text for text in office.texts(OLGA)) == 1, office.texts(OLGA)


async def test_an_answer_is_stopped_and_overtaken_from_the_other_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say("/remember my bike is green")
        await b.say("/memories")
        undo = office.texts(ANA)
        held = a.hold()
        answer = a.begin("what colour is my bike?")
        await held.asked.wait()
        b.begin("/undo", pressed=True)
        await office.until(lambda: any("No longer saved" in text for text in office.texts(ANA)[len(undo) :]))
        b.begin("/stop")
        await answer
        await office.settled()
        assert any("topped" in text for text in office.texts(ANA)), office.texts(ANA)
        assert not any("green" in text for text in office.texts(ANA)[len(undo) + 1 :])


@pytest.mark.long
async def test_what_an_owner_switches_at_one_worker_holds_at_the_other_at_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        stranger = UserKey(PLATFORM, "sam")
        await a.say("/admin pause", OLGA)
        assert "paused" in await b.say("hello")
        await b.say("/admin resume", OLGA)
        assert "paused" not in await a.say("hello")
        await a.say("/admin access open", OLGA)
        await b.say(f"/admin access open {office.code(OLGA, 'access open ')}", OLGA)
        assert "private" not in await a.say("hello", stranger)
        assert "private" not in await b.say("hello", stranger)
        await b.say("/admin access private", OLGA)
        assert "private" in await a.say("hello", UserKey(PLATFORM, "tom"))
        await a.say("/admin actions disable MemorySave", OLGA)
        assert "Saved" not in await b.say("remember that my bike is green")
        await b.say("/admin undo", OLGA)
        assert "Saved" in await a.say("remember that my bike is green")
        await a.say("/language pt", ANA)
        assert "bike" in await b.say("/memories")
        assert "Suas" in await b.say("/memories")


async def test_a_reminder_is_said_once_though_both_look_for_it(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        schedulers, stop = [bot.app.features.get(Scheduler) for bot in (a, b)], asyncio.Event()

        def said() -> list[str]:
            return [text for text in office.texts(ANA)[2:] if "plants" in text or "bank" in text]

        await a.say("/remind water the plants tomorrow at 9")
        await b.say("/remind call the bank tomorrow at 10")
        async with schedulers[0].until(stop), schedulers[1].until(stop):
            office.clock.jump(timedelta(hours=22))
            for each in schedulers:
                each.wake()
            await office.until(lambda: bool(said()), ticking=True)
            for _ in range(10):
                await office.clock.advance(1.0)
            assert [text.startswith("⏰") for text in said()] == [True], said()


@pytest.mark.long
async def test_an_alarm_and_its_end_are_told_once_by_all_workers(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        alerts = [a.app.features.alerts, b.app.features.alerts]
        for bot in (a, b):
            await bot.app.features.alerts.keep_in(bot.app.kept)
        for each in alerts:
            each.tell("disk-full", IS_FULL)
        await office.until(lambda: office.texts(OLGA) == [IS_FULL[Locale.EN]])
        for each in alerts:
            await each.catch_up()
            each.over("disk-full", HAS_ROOM)
        await office.until(lambda: len(office.texts(OLGA)) > 1)
        for each in alerts:
            await each.close(60.0)
        assert office.texts(OLGA) == [IS_FULL[Locale.EN], HAS_ROOM[Locale.EN]]


async def left(bot: Bot, words: str) -> list[str]:
    """Return the rows of the database in which that is found: whole words, for a random id has any two letters."""
    rows = bot.app.database.rows
    tables = await rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    every = [await rows(f"SELECT t::text FROM {table} AS t") for (table,) in tables]  # noqa: S608 - a name of ours
    found = [row for table in every for (row,) in table]
    return [row for row in found if re.search(words, row)]
