"""Whatever owners decide takes effect at once, survives a restart, is on record with who and when, and can be undone.

One test, generated over every kind of decision, over the whole bot as it is run: commands through the message
handler, real SQLite, a real restart. What is looked at is what the decision is for, not the row that it is kept in.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.settings.settings import Settings, load
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.answering.parts import Verdict
from core.answering.prompting import SYSTEM, system_text
from core.features.access.storage import Person
from core.features.admin.decide import MATTERS
from core.features.admin.storage import DecisionKind
from core.features.ledger.calls import Asker
from core.features.quotas.limits import QUOTA
from core.features.reminders.feature import MUTED
from core.features.reminders.service import Refusal, ReminderPlace, Reminders
from core.outgoing import ChannelLimits
from core.text.days import short_day
from core.times.reading import Once
from core.types import ChatKey, ConversationKey, Incoming, Locale, Message, MessageRole, Role, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.house import House
from tests.fakes.http_server import LoopbackServer
from tests.postgres import database_of
from tests.unit.test_doctor import well

OWNER, MEMBER, STRANGER = (UserKey("telegram", number) for number in "123")
PRIVATE, ROOM, OTHER_ROOM = (ChatKey("telegram", chat) for chat in ("1", "-100", "-200"))

Look = Callable[[App], Awaitable[object]]


def said(text: str, user: UserKey, chat: ChatKey) -> Incoming:
    now = datetime.now(UTC)
    return Incoming(chat, user, "", uuid.uuid4().hex, text, now, private=chat.chat == user.user, language="en")


async def verdict(app: App, user: UserKey, chat: ChatKey) -> Verdict:
    return await app.features.access.recheck(said("hi", user, chat))


async def role(app: App) -> object:
    return await verdict(app, STRANGER, ChatKey("telegram", "3"))


async def room(app: App) -> object:
    return await verdict(app, STRANGER, ROOM)


async def action(app: App) -> object:
    return [each.name for each in app.parts.registry.enabled]


async def pause(app: App) -> object:
    return await verdict(app, MEMBER, ChatKey("telegram", "2"))


async def access(app: App) -> object:
    return await verdict(app, STRANGER, OTHER_ROOM)


async def quota(app: App) -> object:
    async with app.features.stores.quotas.admitted(Asker(MEMBER), Role.MEMBER, thinks=True) as full:
        return full and full.limit


async def model(app: App) -> object:
    return app.parts.services.models.now().chat.name


async def prompt(app: App) -> object:
    conversation = await app.conversations.open(ConversationKey(ROOM, MEMBER))
    return system_text((await conversation.context("")).persona)


async def policy(app: App) -> object:
    conversation = await app.conversations.open(ConversationKey(ROOM, MEMBER))
    return len((await conversation.context("")).messages)


async def talk(app: App) -> object:
    return (await app.conversations.open(ConversationKey(ROOM, MEMBER))).place.together


async def context(app: App) -> object:
    return (await app.conversations.open(ConversationKey(ROOM, MEMBER))).place.room_messages


async def reminders(app: App) -> object:
    place = ReminderPlace(MEMBER, ROOM, private=False, locale=Locale.EN)
    return isinstance(
        await app.features.get(Reminders).set(place, "rent", Once(app.clock.now() + timedelta(1))), Refusal
    )


@dataclass(frozen=True)
class Case:
    """What is said, where, and what shows that it took effect."""

    command: str
    look: Look
    chat: ChatKey = PRIVATE


CASES: dict[str, Case] = {
    DecisionKind.ROLE: Case("/admin allow telegram:3", role),
    DecisionKind.ROOM: Case("/admin allow here", room, ROOM),
    DecisionKind.ACTION: Case("/admin actions disable MemorySave", action),
    DecisionKind.PAUSE: Case("/admin pause", pause),
    DecisionKind.ACCESS: Case("/admin access members", access),
    QUOTA: Case("/admin quota member tokens_day=0", quota),
    DecisionKind.MODEL: Case("/admin model chat ollama:tiny", model),
    DecisionKind.PROMPT: Case("/admin prompt here Be a pirate.", prompt, ROOM),
    DecisionKind.POLICY: Case("/admin policy here last-tokens", policy, ROOM),
    MUTED: Case("/admin room reminders off", reminders, ROOM),
    DecisionKind.TALK: Case("/admin room talk together", talk, ROOM),
    DecisionKind.CONTEXT: Case("/admin room context 20", context, ROOM),
}


@dataclass
class Started:
    """A start of the bot."""

    app: App
    bot: ChatBot

    async def say(self, text: str, chat: ChatKey = PRIVATE) -> str:
        channel = RecordingChannel(self.app.clock, ChannelLimits(4096, 0.0))
        await (await self.bot.receive(said(text, OWNER, chat), channel))
        return "\n".join(channel.texts)


@asynccontextmanager
async def started(settings: Settings) -> AsyncIterator[Started]:
    async with build(settings) as app, open_chatbot(app) as bot:
        nowhere = RecordingChannel(app.clock, ChannelLimits(4096, 0.0))
        await bot.resume("telegram", OneChannel(nowhere))
        yield Started(app, bot)


async def settle(run: Started) -> None:
    """Who is who, a room that was let in before, and a conversation: what the decisions are about."""
    now = run.app.clock.now()
    await run.app.features.access.own(OWNER, "Ana")
    await run.app.features.access.people.put(Person(MEMBER, Role.MEMBER, "Bia", now))
    await run.say("/admin allow here", OTHER_ROOM)
    conversation = await run.app.conversations.open(ConversationKey(ROOM, MEMBER))
    for number in range(6):
        await conversation.add(Message(MessageRole.ASSISTANT if number % 2 else MessageRole.USER, f"message {number}"))


def test_every_matter_has_a_case() -> None:
    matters = (*MATTERS, *House().features().added.matters)
    decided = [each for each in matters if not (each.is_deed or each.of_servers)]  # of servers: test_servers.py
    assert {each.kind for each in decided} == set(CASES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_decision_holds_at_once_survives_a_restart_is_on_record_and_can_be_undone(
    case: Case, tmp_path: Path
) -> None:
    server = LoopbackServer([well])
    async with server.running():
        settings = load(None, data_dir=tmp_path, ollama_base_url=server.url, history_max_messages=2)
        async with started(settings) as run:
            await settle(run)
            before = await case.look(run.app)
            told = await run.say(case.command, case.chat)
            assert told.startswith("Done. "), told
            after = await case.look(run.app)
            assert after != before
        async with started(settings) as run:
            assert await case.look(run.app) == after
            _, newest, *_ = (await run.say("/admin changes")).splitlines()
            assert newest.startswith(short_day(datetime.now(UTC), Locale.EN))
            assert "`Ana`" in newest
            assert told.splitlines()[0].removeprefix("Done. ") in newest
            assert (await run.say("/admin undo")).startswith("Done. ")
            assert await case.look(run.app) == before
        async with started(settings) as run:
            assert await case.look(run.app) == before
            assert (await run.say("/admin changes")).splitlines()[1].endswith("(undone)")


@pytest.mark.long
async def test_a_decision_made_at_one_worker_holds_for_the_next_message_at_another(tmp_path: Path) -> None:
    server = LoopbackServer([well])
    async with server.running():
        url = database_of(str(tmp_path))
        settings = load(
            None, data_dir=tmp_path, storage_url=url, ollama_base_url=server.url, history_max_messages=2, language="en"
        )
        async with started(settings) as a, started(settings) as b:
            await settle(a)
            for matter, case in CASES.items():
                before = await case.look(b.app)
                told = await a.say(case.command, case.chat)
                assert told.startswith("Done. "), (matter, told)
                await b.say("/help")
                assert await case.look(b.app) == await case.look(a.app) != before, matter
                assert (await b.say("/admin undo")).startswith("Done. ")
                await a.say("/help")
                assert await case.look(a.app) == before, matter


async def test_a_bot_that_was_started_without_a_model_summarises_from_when_it_is_given_one(tmp_path: Path) -> None:
    server = LoopbackServer([well])
    async with server.running():
        settings = load(None, data_dir=tmp_path, ollama_base_url=server.url, token_threshold=100, recent_window_size=2)
        async with started(settings) as run:
            await settle(run)
            app = run.app
            conversation = await app.conversations.open(ConversationKey(ROOM, MEMBER))
            for text, summary in (("/admin status", None), ("/admin model summary ollama:tiny", "Olá!")):
                await run.say(text)
                for role in (MessageRole.USER, MessageRole.ASSISTANT):
                    await conversation.add(Message(role, "word " * 200))
                assert app.conversations.summaries is not None
                await app.conversations.summaries.settle()
                made = await app.conversations.store.summary(conversation.thread.id)
                assert (made and made.text) == summary


async def test_the_model_that_was_put_in_place_reads_the_rules_of_the_house_and_then_the_persona(
    tmp_path: Path,
) -> None:
    server = LoopbackServer([well])
    async with server.running():
        async with started(load(None, data_dir=tmp_path, ollama_base_url=server.url)) as run:
            await settle(run)
            for text in ("/admin model chat ollama:tiny", "/admin prompt You are Pirate."):
                await run.say(text)
            assert await run.say("hi") == "Olá!"
        first, *_ = server.asked[-1].body["messages"]
    assert first == {"role": "system", "content": system_text("You are Pirate.")}
    assert first["content"].startswith(f"{SYSTEM}\n\n")
