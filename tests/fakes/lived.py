"""A bot with a past: rows of every kind, made through the real stores by a seeded dice."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from bot.settings.settings import load
from bot.wiring import _Stores
from core.dialogue import Usage
from core.enclosures import Attachment, AttachmentKind
from core.features.access.storage import Account, Person, Stranger
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.features.broadcast.storage import Broadcasts
from core.features.ledger.calls import BOT, AdmittedMessage, Asker, ModelCall
from core.features.links.storage import LinkCode, LinkCodes
from core.features.reminders.reminders import Reminder, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.database import Database
from core.storage.inbox import SqlConfirmations, SqlPendingInputs, held_by_all
from core.stores import ChangeContext
from core.threads import Confirmation, PendingInput, Summary, ToldMemory, Transition, TurnState
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    Locale,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Passage,
    Preferences,
    Role,
    UserKey,
    Vector,
)
from core.workers.port import Worker
from tests.fakes.clock import START, FakeClock
from tests.fakes.memories import add

_PLATFORMS = ("telegram", "discord", "console")
_WORDS = "casa água key🐘 código Ünïcode 日本語 'quoted' \"said\" tab\there line\nbreak {json} $1 \\N % ; -- é".split(
    " "
)
_DIMS = 8


class Life:
    """What happens to a bot, by a dice."""

    def __init__(self, database: Database, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - a test repeats
        self._stores = _Stores(database, load(None), FakeClock(), Worker(), held_by_all)

    async def live(self, people: int) -> None:
        """Let so many people come, talk and leave, and their bot be run."""
        users = [UserKey(self._dice.choice(_PLATFORMS), f"{number}:é") for number in range(people)]
        for number, user in enumerate(users):
            await self._come(user, number)
            await self._talk(user, number)
            await self._remember(user, number)
            await self._wait(user, number)
        await self._run(users)
        await self._stores.memories.link(users[-1], users[0])  # refers to a row that comes later
        await self._leave(users[1], users[2])

    def _text(self) -> str:
        return " ".join(self._dice.choices(_WORDS, k=self._dice.randint(1, 12)))

    def _at(self) -> datetime:
        return START + timedelta(microseconds=self._dice.randrange(10**12))

    async def _come(self, user: UserKey, number: int) -> None:
        at = self._at()
        if number % 3:
            await self._stores.people.put(Person(user, self._dice.choice(list(Role)), self._text(), at))
        else:
            await self._stores.people.note_stranger(Stranger(user, self._text(), at, "pt-br"), timedelta(0))
        await self._stores.people.put_account(Account(user, f"handle{number}", "en"))
        await self._stores.preferences.put(user, Preferences(language="pt", zone="America/Sao_Paulo"))

    async def _talk(self, user: UserKey, number: int) -> None:
        history = self._stores.history
        place = ConversationKey(ChatKey(user.platform, f"c{number % 3}", ""), user)
        thread = await history.open_thread(place, START, {"origin": "test", "list": [1, None]})
        for turn in range(self._dice.randint(2, 6)):
            await history.append(
                thread.id,
                Message(MessageRole.USER, self._text(), at=self._at(), turn=f"t{turn}", source_id=f"{turn}", tokens=3),
            )
            answer = await history.append(
                thread.id,
                Message(
                    MessageRole.ASSISTANT, self._text(), at=self._at(), turn=f"t{turn}", duration_s=self._dice.random()
                ),
            )
            await history.enter(thread.id, Transition(f"t{turn}", TurnState.PENDING, self._at()))
            await history.tell({answer.id: [ToldMemory(f"m{turn}", "v")]})
        if number % 2:  # as an import leaves them: searches to come index them
            await history.update(thread.id, await history.since(thread.id))
        await history.fold(thread.id, Summary(self._text(), through=2, tokens=7, at=START, model="a:1"))

    async def _remember(self, user: UserKey, number: int) -> None:
        store = self._stores.memories
        for act in range(self._dice.randint(1, 5)):
            content = f"{self._text()} {number} {act}"
            draft = MemoryDraft(MemoryKind.TEXT, content, (self._text(), f"key {act}"))
            if act % 2:
                photo = Attachment(AttachmentKind.PHOTO, self._text(), handle="x", sha256=f"{act:064x}", width=3)
                pages = tuple(Passage(self._text() or "x", page) for page in range(3))
                draft = replace(draft, attachments=(photo,), passages=pages)
            vectors = {text: self._vector() for text in (*draft.bindings, content)}
            [item] = await add(
                store, user, [draft], at=self._at(), vectors=vectors, space=f"x@{_DIMS}", source_ids=[number + 1],
                context=ChangeContext(f"act{number}.{act}", "telegram:-100"),
            )  # fmt: skip
            if act == 1:
                changed = MemoryDraft(MemoryKind.JSON, '{"a": 1.50}', ("other",))
                await store.update(user, item.id, changed, at=self._at(), context=ChangeContext("u"), keeps_past=True)
            elif act == 2:
                await store.delete(user, [item.id], at=self._at(), context=ChangeContext("d"))
            elif act == 3:
                await store.flag(user, [item.id], pinned=True, shared=True)

    def _vector(self) -> Vector:
        vector = np.array([self._dice.gauss(0, 1) for _ in range(_DIMS)], np.float32)
        return vector / np.float32(np.linalg.norm(vector))

    async def _wait(self, user: UserKey, number: int) -> None:
        chat = ChatKey(user.platform, f"c{number}", "")
        place = ConversationKey(chat, user)
        photo = Attachment(AttachmentKind.PHOTO)
        incoming = Incoming(chat, user, "Ana", str(number), self._text(), self._at(), attachments=(photo,))
        await self._stores.inbox.accept(incoming)
        await self._stores.inbox.put_posted(incoming, ["p1", ""])
        if number % 2:
            await self._stores.inbox.close(incoming)
        schedule = Schedule(datetime(2026, 3, 14, 12, 0), "UTC", "FREQ=DAILY")  # noqa: DTZ001 - wall
        database = self._stores.database
        reminder = Reminder(user, chat, self._text(), schedule, START, created_at=START)
        await ReminderStore(database).add(reminder, most=9)
        await SqlPendingInputs(database).put(place, PendingInput("/memories edit x", self._at()))
        await SqlConfirmations(database).put(place, Confirmation("abc", "Delete", '{"ids": []}', self._at()))
        await LinkCodes(database).put(LinkCode(f"digest{number}", user, self._text(), START, user, self._at()))

    async def _run(self, users: list[UserKey]) -> None:
        ledger = self._stores.ledger
        for number in range(4 * len(users)):
            user = self._dice.choice([*users, None])
            usage = self._dice.choice([None, Usage(self._dice.randrange(10**6), 3, 2, 1)])
            call = ModelCall(
                self._at(), user, "chat", "finish", "a:1", "end", self._dice.random(), None, usage,
                self._dice.choice([None, self._dice.random() / 3]), self._dice.choice(["", "telegram:-100"]),
            )  # fmt: skip
            await ledger.record(call)
            await ledger.admit(AdmittedMessage(Asker(user or users[0]), self._at()))
            await ledger.tell_once(BOT, f"2026-{number}", 80, START)
        await self._stores.kept.put("alerts", "{}")
        for number in range(3):
            broadcasts = Broadcasts(self._stores.database)
            draft = await broadcasts.draft(users[0], Locale.PT, self._text(), self._at())
            await broadcasts.begin(draft.id, users[number:])
            room = Decision(self._at(), users[number], DecisionKind.ROOM, f"telegram:-10{number}", "", ALLOWED)
            await self._stores.decisions.apply(room)

    async def _leave(self, *users: UserKey) -> None:
        """Let people go, with the last rows of some tables: their numbers are not given again."""
        for user in users:
            await self._talk(user, 0)
            await self._remember(user, 0)
            await self._stores.memories.forget(user)
            await self._stores.history.forget(user)
            await self._stores.ledger.forget(user)
