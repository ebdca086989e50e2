"""Telegram with the real core behind it: buttons, cards and files as people use them. The model answers by script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.dialogue import NOTHING_TO_ADD, Task
from core.features.access.storage import Account
from core.features.access.storage import Person as Known
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.limited import LimitedMind
from core.types import Preferences, Role, UserKey
from tests.e2e.telegram_kit import flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Person, Post
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Limits
from tests.transcripts.together import ASKED, dinner

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP, NEW_GROUP = -1001, -1002
OWNER = UserKey("telegram", "7")


@dataclass
class Scene:
    """A bot that Ana owns, and a group in which everybody is answered."""

    server: TelegramServer
    clock: FakeClock

    async def say(self, person: Person, text: str, chat_id: int | None = None, reply_to: Post | None = None) -> Post:
        """Say something, perhaps in reply to a message; return the bot's last message there once nothing more comes."""
        before = self._written()
        self.server.says(person, text, chat_id=chat_id, reply_to=None if reply_to is None else reply_to.id)
        return await self._answered(person, chat_id, before)

    async def press(self, person: Person, label: str, chat_id: int | None = None, post: Post | None = None) -> Post:
        """Press a button, the first whose label holds that; return the bot's last message there."""
        chat = self.server.chats[person.id if chat_id is None else chat_id]
        post = post or chat.ours()[-1]
        [full, *_] = [one["text"] for row in post.buttons for one in row if label in one["text"]]
        before = self._written()
        self.server.presses(person, full, chat_id=chat_id, post=post)
        return await self._answered(person, chat_id, before)

    async def invite(self, person: Person, chat_id: int) -> None:
        """Bring the bot into a group, and wait until nothing more comes of it."""
        before = self._written()
        self.server.invites(person, chat_id)
        await self._answered(person, chat_id, before)

    async def react(self, person: Person, emoji: str, post: Post, chat_id: int | None = None) -> None:
        """React to a message, and wait until nothing more comes of it."""
        self.server.reacts(person, emoji, chat_id=chat_id, post=post)
        for _ in range(10):
            await self.clock.advance(0.5)
            await idle(self.server)

    async def _answered(self, person: Person, chat_id: int | None, before: int) -> Post:
        await flow(self.server, self.clock, lambda: self._written() > before)
        for _ in range(10):
            await self.clock.advance(0.5)
            await idle(self.server)
        return self.server.chats[person.id if chat_id is None else chat_id].ours()[-1]

    def _written(self) -> int:
        notices = len(self.server.notifier)
        return notices + len(self.server.done("sendmessage", "editmessagetext", "senddocument", "sendphoto"))


def scripted() -> House:
    """A bot whose model saves what Ana writes."""
    saved = iter(("abc123", "terça às 9h"))
    return House(
        {
            Task.DECIDE: _alternating("MemorySave", "Finish"),
            Task.SAVE_DRAFTS: lambda prompt: _draft(prompt.context.message, next(saved)),
            Task.FINISH: lambda _: NOTHING_TO_ADD,
        }
    )


@asynccontextmanager
async def scene(house: House | None = None) -> AsyncIterator[Scene]:
    """Open the bot, which is Ana's."""
    house = house or scripted()
    house.trusted, clock = (), house.clock
    assert isinstance(clock, FakeClock)
    await house.people.put(Known(OWNER, Role.OWNER, "Ana", clock.now()))
    await house.people.put_account(Account(OWNER, language="pt-br"))
    await house.decisions.apply(Decision(clock.now(), OWNER, DecisionKind.ROOM, f"telegram:{GROUP}", "", ALLOWED))
    async with TelegramServer(clock, Limits()) as server, house.chatbot() as handler, serving(server, clock, handler):
        server.chat(ANA.id)
        yield Scene(server, clock)


def _draft(message: str, content: str) -> str:
    """What a model answers when it is asked for the memories in "lembre: X é Y"."""
    name = message.removeprefix("lembre: ").partition(" é ")[0]
    return json.dumps({"items": [{"type": "text", "content": content, "bindings": [name]}]})


def _alternating(first: str, second: str) -> Callable[[object], str]:
    told = [second]

    def answer(_: object) -> str:
        told.append(first if told[-1] == second else second)
        return told[-1]

    return answer


async def memories() -> TelegramServer:
    """Two things are saved, one of them is taken back; the other is looked at, and pinned."""
    async with scene() as there:
        await there.say(ANA, "lembre: a senha do wi-fi é abc123")
        await there.say(ANA, "lembre: o dentista é terça às 9h")
        undo = next(post for post in reversed(there.server.chats[ANA.id].ours()) if post.buttons)
        await there.press(ANA, "esfazer", post=undo)
        await there.say(ANA, "/memories")
        await there.press(ANA, "1")
        await there.press(ANA, "ixar")
        await there.press(ANA, "oltar")
        return there.server


async def card() -> TelegramServer:
    """A stranger writes, the owner is asked, and lets them in by a button."""
    async with scene() as there:
        await there.say(BIA, "oi, sou a Bia")
        await there.press(ANA, "Deixar entrar")
        await there.say(BIA, "/language pt")
        return there.server


async def invited() -> TelegramServer:
    """Bia, whom nobody knows, brings the bot into a group; Ana hears of it, and lets everybody there ask."""
    async with scene() as there:
        await there.invite(BIA, NEW_GROUP)
        await there.press(ANA, "Deixar")
        await there.say(BIA, "/language@elefante_bot", NEW_GROUP)
        return there.server


async def group() -> TelegramServer:
    """Both press the button below Ana's answer in a group."""
    async with scene() as there:
        await there.say(ANA, "@elefante_bot lembre: a senha do wi-fi é abc123", GROUP)
        post = next(post for post in reversed(there.server.chats[GROUP].ours()) if post.buttons)
        await there.press(BIA, "esfazer", GROUP, post)
        await there.press(ANA, "esfazer", GROUP, post)
        return there.server


async def together() -> TelegramServer:
    """A group talks with the bot together: each goes on from what the others asked."""
    async with scene(dinner(FakeClock())) as there:
        await there.say(ANA, "/admin room talk together", GROUP)
        for person, asked in zip((ANA, BIA, ANA), ASKED, strict=True):
            await there.say(person, f"@elefante_bot {asked}", GROUP)
        return there.server


async def export() -> TelegramServer:
    """All that is kept, as a file."""
    async with scene() as there:
        await there.say(ANA, "lembre: a senha do wi-fi é abc123")
        await there.say(ANA, "/export")
        return there.server


async def reactions() -> TelegramServer:
    """Ana does not like what was saved, at home and in a group that the bot administers."""
    async with scene() as there:
        there.server.chat(GROUP).administered = True
        saved = await there.say(ANA, "lembre: a senha do wi-fi é abc123")
        await there.react(ANA, "👎", saved)
        await there.press(ANA, "esfazer")
        saved = await there.say(ANA, "@elefante_bot lembre: o dentista é terça às 9h", GROUP)
        await there.react(BIA, "👎", saved, GROUP)
        await there.react(ANA, "👎", saved, GROUP)
        return there.server


async def _without_a_model() -> House:
    house = House()
    house.embedder.down = True
    house.answered_by(LimitedMind(house.embedder))
    await house.preferences.put(OWNER, Preferences(language="en", zone="Europe/Lisbon"))
    return house


async def start() -> TelegramServer:
    """Who comes to the bot is greeted, and tries it; a link that was used already does nothing."""
    async with scene(await _without_a_model()) as there:
        await there.say(ANA, "/start")
        await there.press(ANA, "Try it")
        await there.say(ANA, "remember that the code of my bike lock is 4417")
        await there.say(ANA, "/start 1x7Kq_vY")
        await there.press(ANA, "Language")
        return there.server


async def mention() -> TelegramServer:
    """Something is wanted when a person is spoken of, and said below the answer to the message that speaks of them."""
    async with scene(await _without_a_model()) as there:
        await there.say(ANA, "when I speak to João, remind me about the money")
        await there.say(ANA, "did I ask you to remind me about João?")
        await there.say(ANA, "remember that joao moved to Porto")
        await there.say(ANA, "every time I mention the car, remind me of the warranty")
        await there.say(ANA, "remember that the car is at the garage")
        await there.press(ANA, "Not any more")
        return there.server


async def why() -> TelegramServer:
    """Ana sees how an answer came about, and asks what it rests on; in a group only she is told."""
    async with scene(await _without_a_model()) as there:
        await there.say(ANA, "remember that my bike lock code is 4417")
        await there.say(ANA, "/think on")
        answer = await there.say(ANA, "what's the code of my bike lock?")
        await there.say(ANA, "hello")
        await there.say(ANA, "how do you know that?", reply_to=answer)
        await there.say(ANA, "@elefante_bot remember that the rehearsal is in room 12", GROUP)
        answer = await there.say(ANA, "@elefante_bot where is the rehearsal?", GROUP)
        await there.say(BIA, "how do you know that?", GROUP, reply_to=answer)
        await there.say(ANA, "how do you know that?", GROUP, reply_to=answer)
        return there.server
