"""After whichever commit a press is broken off, the next process says what the store holds, and has done it once."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from core.actions.proposal import Deletion, Keeping, Replacement, Rewrite, Rewrites
from core.answering.confirmations import Confirmations
from core.answering.outcomes import AGAIN
from core.dialogue import Task
from core.features.links.link import NO_CODE, _digest
from core.features.links.storage import LinkCode
from core.features.memories.confirm import NOT_OPEN
from core.features.privacy.forget import NO_SUCH_MEMORY, Everything
from core.features.reminders.commands import OVER
from core.features.reminders.reminders import DueClaim, Kind, Mention, Reminder, ReminderState, Schedule
from core.features.reminders.telling import Wish
from core.features.transfer.entries import Taken
from core.features.transfer.import_ import NOT_CONFIRMED
from core.features.transfer.intake import Intake
from core.features.undo import NOTHING, NOTHING_OF_IT, UNDONE_BEFORE
from core.memory.memories import Memories
from core.storage.database import Database, Query
from core.storage.sqlite import SqliteDatabase
from core.stores import ChangeContext
from core.threads import PendingInput
from core.types import Incoming, Locale, MemoryDraft, MemoryItem, MemoryKind
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.house import ANA, BIA
from tests.fakes.talk import Talk, talking
from tests.profile import long

T = TypeVar("T")
OLD, OTHER, NEW = "the gate code is 1111", "the cellar code is 3333", "the gate code is 2222"
SCRIPT = {task: (lambda _: "I heard you.") for task in Task} | {Task.DECIDE: lambda _: "Finish"}


@dataclass
class Scene:
    """What there is before the press: Ana's memories, what she said last, and a bot that asks."""

    talk: Talk
    items: Sequence[MemoryItem]
    said_id: int

    def incoming(self, text: str, message_id: str) -> Incoming:
        return self.talk.house.incoming(text, message_id=message_id)

    async def asked(self, wanted: object) -> str:
        """Let the bot have asked for that; return the code."""
        confirmations = Confirmations(self.talk.house.confirmations, self.talk.clock)
        return await confirmations.ask(self.incoming("", "x").conversation, wanted)

    async def changed(self, act: str) -> None:
        """Let an earlier act have replaced one memory, deleted another, and saved one."""
        memory = self.talk.house.memories.of(ANA, ChangeContext(act, "", ANA))
        await memory.update(self.items[0].id, content=NEW, vectors={}, keeps_past=True)
        await memory.delete([self.items[1].id])
        await memory.add([draft("the attic code is 4444")], {})

    async def beside(self) -> str:
        """Let the new words be kept beside the old; return the id."""
        [item] = await self.talk.house.memories.of(ANA).add([draft(NEW)], {})
        return item.id

    async def reminder(self, *, rule: str = "") -> Reminder:
        now = self.talk.clock.now()
        schedule = Schedule((now + timedelta(minutes=30)).replace(tzinfo=None), "UTC", rule)
        new = Reminder(ANA, self.incoming("", "x").chat, "tea", schedule, now + timedelta(minutes=30), now, name="Ana")
        made = await self.talk.house.reminders.add(new, most=9)
        assert made is not None
        return made


def draft(content: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, content, (content,))


def rewrite(item: MemoryItem, content: str) -> Rewrite:
    return Rewrite(item.id, draft(content), item.updated_at)


async def delete(scene: Scene) -> str:
    wanted = Deletion(tuple(item.id for item in scene.items), tuple(item.updated_at for item in scene.items))
    return f"/confirm yes {await scene.asked(wanted)}"


async def delete_in_words(scene: Scene) -> str:
    await delete(scene)
    return "yes"


async def change(scene: Scene) -> str:
    wanted = Rewrites((rewrite(scene.items[0], NEW), rewrite(scene.items[1], "the cellar code is 5555")))
    return f"/confirm yes {await scene.asked(wanted)}"


async def replace_it(scene: Scene) -> str:
    wanted = Replacement((rewrite(scene.items[0], NEW),), await scene.beside(), scene.said_id)
    return f"/confirm yes {await scene.asked(wanted)}"


async def keep(scene: Scene) -> str:
    return f"/confirm yes {await scene.asked(Keeping((draft(NEW), draft('the attic code is 4444')), scene.said_id))}"


async def forget_one(scene: Scene) -> str:
    await scene.talk.say("/memories")
    return "/forget 1"


async def forget_all(scene: Scene) -> str:
    return f"/forget all {await scene.asked(Everything())}"


async def edit(scene: Scene) -> str:
    return f"/memories edit {scene.items[0].id} {NEW}"


async def edit_in_two_messages(scene: Scene) -> str:
    waiting = PendingInput(f"/memories edit {scene.items[0].id}", scene.talk.clock.now())
    await scene.talk.house.pending_inputs.put(scene.incoming("", "x").conversation, waiting)
    return NEW


async def undo(scene: Scene) -> str:
    await scene.changed("earlier")
    return "/undo earlier"


async def undo_the_newest(scene: Scene) -> str:
    await scene.changed("earlier")
    await scene.talk.clock.advance(1)
    await scene.talk.house.memories.of(ANA, ChangeContext("newest", "", ANA)).add([draft("the safe code is 6666")], {})
    return "/undo"


async def undo_and_keep_both(scene: Scene) -> str:
    await scene.changed("earlier")
    return "/undo both earlier"


async def import_it(scene: Scene) -> str:
    wall = (scene.talk.clock.now() + timedelta(days=1)).replace(tzinfo=None)
    coming = {"kind": "reminder", "wall": wall.isoformat(), "zone": "UTC", "rule": "", "guessed": False}
    where = {"private": True, "user": "", "chat": "", "topic": ""}
    reminders = [
        {"text": name, "state": "paused" if name == "milk" else "waiting", **coming, **where}
        for name in ("tea", "milk")
    ]
    taken = (Taken(draft(OLD), pinned=True), Taken(draft(NEW), shared=True, rooms=("test:r",)))
    return f"/import {await scene.asked(Intake(taken, besides={'reminders': reminders}))}"


async def remind(scene: Scene) -> str:
    del scene
    return "/remind in 10 minutes call Bia"


async def remind_then(scene: Scene) -> str:
    wall = (scene.talk.clock.now() + timedelta(hours=1)).replace(tzinfo=None)
    return f"/remind pick {await scene.asked(Wish('call Bia', (Schedule(wall, 'UTC'),)))} 1"


async def remind_in_words(scene: Scene) -> str:
    await scene.asked(Wish("call Bia"))
    return "in 2 hours"


async def delete_reminder(scene: Scene) -> str:
    return f"/reminders delete {(await scene.reminder()).id}"


async def move_reminder(scene: Scene) -> str:
    return f"/reminders when {(await scene.reminder()).id} in 3 hours"


async def undo_reminder(scene: Scene) -> str:
    made = await scene.reminder()
    await scene.talk.say(f"/reminders delete {made.id}")
    return f"/reminders undo {made.id}"


async def undo_newest_reminder(scene: Scene) -> str:
    await undo_reminder(scene)
    return "/undo"


async def put_off(scene: Scene, rule: str = "") -> str:
    await scene.reminder(rule=rule)
    due = scene.talk.clock.now() + timedelta(minutes=31)
    [said] = await scene.talk.house.reminders.claim(DueClaim(due, {"test"}))
    await scene.talk.house.reminders.settle(
        [(said, replace(said, state=ReminderState.WAITING if rule else ReminderState.DONE))]
    )
    return f"/remind later {said.batch} 10m"


async def put_off_one_of_many(scene: Scene) -> str:
    return await put_off(scene, "FREQ=DAILY")


async def mention(scene: Scene) -> str:
    now = scene.talk.clock.now()
    schedule = Schedule((now + timedelta(days=30)).replace(tzinfo=None), "UTC")
    due, chat = now + timedelta(days=30), scene.incoming("", "x").chat
    new = Reminder(ANA, chat, "the bill", schedule, due, now, kind=Kind.MENTION, mention=Mention("dentist"))
    assert await scene.talk.house.reminders.add(new, most=9)
    return "the dentist was nice"


async def link(scene: Scene) -> str:
    now = scene.talk.clock.now()
    await scene.talk.house.links.put(LinkCode(_digest("ABCDEFGH"), BIA, "Bia", now, ANA, now))
    return "/link ABCDEFGH yes"


PRESSES = (
    delete, delete_in_words, change, replace_it, keep, forget_one, edit, edit_in_two_messages,
    undo, undo_the_newest, undo_and_keep_both, import_it, remind, remind_then, remind_in_words, delete_reminder,
    move_reminder, undo_reminder, undo_newest_reminder, put_off, put_off_one_of_many, mention, link,
)  # fmt: skip
SOME = (delete_in_words, keep, undo, import_it, remind_then, mention, link)


@dataclass
class Copies:
    """The database as it was after each commit since `begin`."""

    folder: Path
    made: list[Path] = field(default_factory=list)
    on: bool = False

    def of(self, database: Database) -> None:
        """Copy what is committed."""
        assert isinstance(database, SqliteDatabase)
        assert database._file is not None
        target = self.folder / f"{len(self.made)}" / "talk.db"
        target.parent.mkdir(parents=True)
        with closing(sqlite3.connect(database._file.path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
        self.made.append(target)


@asynccontextmanager
async def scene_in(folder: Path) -> AsyncIterator[Scene]:
    async with talking(folder, SCRIPT) as talk:
        await talk.say("/language en")
        items = await talk.keep(OLD, OTHER)
        await talk.say(NEW)
        thread = (await talk.house.history.threads(ANA))[0]
        said = [each for each in await talk.house.history.since(thread.id) if each.text == NEW]
        yield Scene(talk, items, said[0].id)


async def held(talk: Talk) -> dict[str, Any]:
    """All of it that people could ask for."""
    memories: Memories = talk.house.memories
    items = await memories.of(await memories.owner(ANA)).page(limit=99)
    reminders = await talk.house.reminders.of([ANA], frozenset(ReminderState))
    return {
        "memories": sorted((item.content, item.pinned, item.shared, item.rooms) for item in items),
        "reminders": sorted((each.text, each.schedule.rule, str(each.schedule.wall), each.state) for each in reminders),
        "accounts": sorted(map(str, await memories.accounts(ANA))),
    }


DENIED = (
    NOT_OPEN,
    NOT_CONFIRMED,
    NO_SUCH_MEMORY,
    OVER,
    NOTHING,
    NOTHING_OF_IT,
    UNDONE_BEFORE,
    NO_CODE,
)
"""What may not be said of what was done."""


@pytest.mark.spec("T10", "T12")
@pytest.mark.parametrize("press", [*SOME, *(long(press) for press in PRESSES if press not in SOME)])
async def test_it_is_done_once_and_told_as_it_is(
    press: Callable[[Scene], Awaitable[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies, write = Copies(tmp_path / "copies"), SqliteDatabase.write

    async def copied(database: SqliteDatabase, job: Callable[[Query], T]) -> T:
        result = await write(database, job)
        if copies.on and database._file is not None:  # that of quotas is in RAM
            copies.of(database)
        return result

    monkeypatch.setattr(SqliteDatabase, "write", copied)
    async with scene_in(tmp_path) as scene:
        text = await press(scene)
        pressed = replace(scene.incoming(text, "press"), pressed=text.startswith("/"))
        now, before = scene.talk.clock.now(), await held(scene.talk)
        channel, copies.on = RecordingChannel(scene.talk.clock), True
        await (await scene.talk.bot.receive(pressed, channel))
        copies.on = False
        told, expected = channel.texts, await held(scene.talk)
    assert expected != before
    denied = {line for sentence in DENIED for line in sentence[Locale.EN].partition("{")[0].splitlines() if line}
    assert not any(line in "\n".join(told) for line in denied)
    kept_on = 0
    for at, path in enumerate(copies.made):
        async with talking(path.parent, SCRIPT) as talk:
            await talk.clock.advance((now - talk.clock.now()).total_seconds())
            is_committed = await held(talk) == expected
            later = path.parent / "later"
            later.mkdir()
            shutil.copy(path, later)
            if not await talk.house.inbox.owed("test"):
                break
            assert (unnamed(await resumed(talk)), await held(talk)) == (unnamed(told), expected), at
        if is_committed:  # what was undone or deleted may be purged by now, and the question is too old
            kept_on += 1
            async with talking(later, SCRIPT) as talk:
                await talk.clock.advance((now - talk.clock.now()).total_seconds() + 3600)
                said = "\n".join(await resumed(talk))
                assert await held(talk) == expected, at
                assert not [line for line in denied if line in said], at
    assert kept_on


def unnamed(texts: Sequence[str]) -> Sequence[str]:
    """Return lines in which saved memories that were undone have no words, as no byte of them is kept.

    Without the mark of a thought that was broken off.
    """
    lines = re.sub("🧠 the (attic|safe) .*", "1 memory that had been saved.", "\n".join(texts)).splitlines()
    return sorted(line for line in lines if line and line != AGAIN[Locale.EN])


async def resumed(talk: Talk) -> Sequence[str]:
    """Start as the bot does, go on with what is owed, and return what was said."""
    await talk.house.store.purge(talk.clock.now() - talk.house.memories.undo_within)
    channel = RecordingChannel(talk.clock)
    await talk.bot.resume("test", OneChannel(channel, lambda _: RecordingChannel(talk.clock)))
    while await talk.house.inbox.owed("test"):  # noqa: ASYNC110 - the store tells
        await asyncio.sleep(0)
    return channel.texts
