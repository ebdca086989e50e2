"""What a person reads of two workers: whatever one of them asked, saved or was told, the other knows."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from bot.alarms import KeptAlarms
from bot.background import background
from bot.wiring import _housekeeping
from core.delivery.alerts import HAS_ROOM, IS_FULL
from core.features.access.gate import MAX_AN_HOUR
from core.features.access.people import Person
from core.types import Incoming, Locale, Role, UserKey
from tests.e2e.command import ROOT, execute
from tests.fakes.two_workers import ANA, BIA, OLGA, PLATFORM, Bot, two_workers
from tests.postgres import database_of

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


async def test_a_command_that_waits_for_a_text_gets_it_at_the_other_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, _):
        await a.say("/remember")
        assert "bike is green" in await b.say("my bike is green")
        await a.say("/memories")
        await b.say("/memories edit 1")
        await a.say("my bike is blue")
        assert "bike is blue" in await b.say("/memories")
        await b.say("/stop")
        assert "nothing" in (await a.say("/stop")).lower()


async def test_which_one_is_asked_by_one_worker_and_chosen_at_the_other_by_text_or_button(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say("/remember my locker code is 4417")
        await b.say("/remember my gym locker code is 1234")
        assert "Which one" in await a.say("my locker code is 9999 now")
        assert "now reads: “my locker code is 9999”" in await b.say("the first")
        assert "Which one" in await b.say("my locker code is 7777 now")
        [second] = [button.command for button in office.last(ANA.user).choices if button.label == "2"]
        seen = len(office.texts(ANA))
        await asyncio.gather(*(bot.say(second, pressed=True) for bot in (a, b)))
        await office.settled()
        assert sum("now reads" in text for text in office.texts(ANA)[seen - 1 :]) == 1, office.texts(ANA)


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


async def test_an_edit_of_what_one_worker_answered_is_answered_anew_at_the_other(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say("remember that my bike is green", message="1")
        answers = len(office.texts(ANA))
        assert "blue" in await b.say("remember that my bike is blue", message="1.1", edits="1")
        assert len(office.texts(ANA)) == answers, "in the place of the first answer"
        listed = await a.say("/memories")
        assert "blue" in listed
        assert "green" not in listed


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


async def test_owners_are_asked_about_strangers_as_often_as_by_one_worker(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        eva = UserKey(PLATFORM, "eva")
        await a.app.features.access._people.put(Person(eva, Role.OWNER, "Eva", office.clock.now()))
        for number in range(MAX_AN_HOUR + 3):
            await (a, b)[number % 2].say("hello", UserKey(PLATFORM, f"sam{number}"))
        await office.until(lambda: len(office.texts(eva)) == MAX_AN_HOUR + 1)
        assert sum("More strangers" in text for text in office.texts(OLGA)) == 1
        assert len(office.texts(OLGA)) == MAX_AN_HOUR + 1
        allow, _, block = (button.command for button in office.screen(OLGA.user).screen[0].choices)
        await asyncio.gather(a.say(allow, OLGA, pressed=True), b.say(block, eva, pressed=True))
        told = [text for owner in (OLGA, eva) for text in office.texts(owner)[MAX_AN_HOUR + 1 :]]
        assert sorted(text.partition(" ")[0] for text in told) == ["Done.", "That"], told


async def test_a_role_that_the_command_line_gives_holds_at_both(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        sam = UserKey(PLATFORM, "sam")
        assert "private" in await a.say("hello", sam)
        environment = {"STORAGE_URL": database_of(str(tmp_path)), "DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
        done = await asyncio.to_thread(
            execute,
            ("users", "allow", str(sam)),
            tmp_path,
            {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "ELEFANTE_ENV": os.devnull, **environment},
        )
        assert done.returncode == 0, done.stderr
        told = [await bot.say("/memories", sam) for bot in (a, b)]
        assert all("private" not in text for text in told), told
        del office


async def test_a_bot_is_claimed_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path, owned=False) as (a, b, _):
        code = await a.app.features.access.claim_code(PLATFORM)
        assert await b.app.features.access.claim_code(PLATFORM) == code
        await a.say(f"/start {code}", OLGA)
        assert await b.app.features.access.role(OLGA) is Role.OWNER
        sam = UserKey(PLATFORM, "sam")
        await b.say(f"/start {code}", sam)
        assert [await bot.app.features.access.role(sam) for bot in (a, b)] == [None, None]
        assert await b.app.features.access.claim_code(PLATFORM) is None


async def test_a_link_code_made_at_one_worker_joins_at_the_other_once(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        await a.say("/remember my bike is green")
        await a.say("/link")
        [code] = re.findall(r"/link (\S{4}-\S{4})", office.last(ANA.user).text)
        assert "bike" not in await b.say(f"/link {code}", BIA)
        yes = f"/link {code} yes"
        await asyncio.gather(a.say(yes, BIA, pressed=True), b.say(yes, BIA, pressed=True))
        await office.settled()
        assert sum(text.startswith("Done") for text in office.texts(BIA)) == 1, office.texts(BIA)
        assert "green" in await a.say("/memories", BIA)
        assert "green" in await b.say("/memories", BIA)
        assert code not in await a.say(f"/link {code}", OLGA)
        assert len(await b.app.features.memories.accounts(OLGA)) == 1


async def test_a_broadcast_goes_on_when_its_worker_dies_and_nobody_is_told_twice_unmarked(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):

        def told(person: UserKey, text: str = NEWS) -> int:
            return office.texts(person).count(text) - (person == OLGA and text == NEWS)  # she was shown how it looks

        everybody = (OLGA, ANA, BIA)
        await b.say(f"/admin broadcast {NEWS}", OLGA)
        await a.say(office.last(OLGA.user).choices[0].command, OLGA, pressed=True)
        stop = asyncio.Event()
        async with a.app.features.broadcaster.until(stop):
            await office.until(lambda: sum(map(told, everybody)) == 1, ticking=True)
            a.plug.pull()
            of_two = (
                "SELECT 1 FROM recipients AS one, recipients AS two WHERE one.state = 'told' AND two.state = 'sending'"
            )
            await office.found(of_two, ticking=True)
            await a.die()
            async with b.app.features.broadcaster.until(stop):
                await office.until(
                    lambda: sum(told(each) + told(each, f"↻ {NEWS}") for each in everybody) == 3, ticking=True
                )
                await office.until(lambda: "3 people" in office.last(OLGA.user).text, ticking=True)
                a.plug.push()
                for _ in range(10):
                    await office.clock.advance(1.0)
        assert sum(told(each, f"↻ {NEWS}") for each in everybody) == 1
        assert all(told(each) <= 1 for each in everybody), [office.texts(each) for each in everybody]


async def test_a_reminder_is_said_once_though_both_look_for_it(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        schedulers, stop = [bot.app.features.scheduler for bot in (a, b)], asyncio.Event()

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


@pytest.mark.parametrize("is_posted", [False, True])
async def test_a_reminder_of_a_worker_that_died_is_said_by_another_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_posted: bool
) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        (dying, other), stop = [bot.app.features.scheduler for bot in (a, b)], asyncio.Event()

        def said() -> list[str]:
            return [text for text in office.texts(ANA) if "plants" in text and "remind you" not in text]

        async def nothing_ends(*_: object) -> None:
            await asyncio.Event().wait()

        async def tick() -> None:
            while True:
                await office.clock.advance(1.0)
                await asyncio.sleep(0.005)

        await a.say("/remind water the plants tomorrow at 9")
        if not is_posted:
            a.plug.pull()
        monkeypatch.setattr(dying._store, "settle", nothing_ends)
        monkeypatch.setattr(dying._store, "renew", nothing_ends)
        async with background(tick()), dying.until(stop):
            office.clock.jump(timedelta(hours=22))
            dying.wake()
            await office.found("SELECT 1 FROM reminders WHERE state = 'sending'")
            await office.until(lambda: len(said()) == is_posted)
            async with other.until(stop):
                await office.until(lambda: len(said()) == 1 + is_posted)
                await office.found("SELECT 1 FROM reminders WHERE state = 'done'")
        assert ["↻" in text for text in said()] == [False, True][1 - is_posted :]


async def test_what_a_worker_deleted_that_died_is_purged_by_another(tmp_path: Path) -> None:
    kept = "SELECT 1 FROM changes AS c WHERE c::text LIKE '%locker%'"
    async with two_workers(tmp_path, memory_undo_s=60) as (a, b, office), background(_housekeeping(b.app)):
        await office.clock.advance(61.0)  # what was deleted before its start, each removes by itself
        await a.say(f"/remember {LOCKER}")
        await a.say("/forget locker")
        assert "Deleted" in await a.press("Delete")
        await a.app.parts.memories.close()
        await a.die()
        assert await b.app.database.rows(kept)
        began_s = office.clock.monotonic()
        await office.found(f"SELECT 1 WHERE NOT EXISTS ({kept})", ticking=True)
        assert office.clock.monotonic() - began_s > 60


async def test_an_alarm_and_its_end_are_told_once_by_all_workers(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (a, b, office):
        alerts = [bot.app.features.alerts for bot in (a, b)]
        for each in (a, b):
            await each.app.features.alerts.keep_in(KeptAlarms(each.app.kept))
        await asyncio.gather(*(each.tell("disk-full", IS_FULL) for each in alerts))
        assert office.texts(OLGA) == [IS_FULL[Locale.EN]]
        await asyncio.gather(*(each.over("disk-full", HAS_ROOM) for each in alerts))
        assert office.texts(OLGA) == [IS_FULL[Locale.EN], HAS_ROOM[Locale.EN]]


async def left(bot: Bot, words: str) -> list[str]:
    """Return the rows of the database in which that is found: whole words, for a random id has any two letters."""
    rows = bot.app.database.rows
    tables = await rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    every = [await rows(f"SELECT t::text FROM {table} AS t") for (table,) in tables]  # noqa: S608 - a name of ours
    found = [row for table in every for (row,) in table]
    return [row for row in found if re.search(words, row)]
