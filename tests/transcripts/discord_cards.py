"""The Discord scenarios of buttons, menus and forms: the real core behind real discord.py, with a scripted model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from core.dialogue import Task
from core.features.access.gate import VERDICTS
from core.features.access.storage import Account
from core.features.memories.card import EDIT
from core.types import Locale, MemoryDraft, MemoryKind, UserKey
from tests.e2e.discord_kit import ANA, BIA, ROOM, flow, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_limits import Limits
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Note
from tests.fakes.house import House
from tests.transcripts.discord_seen import seen
from tests.transcripts.transcript import Line

PT = Locale.PT
OWNER = UserKey("discord", str(ANA.id))
PAUSE_S = 4.0
GREETING = "Hi, Bia! What may I remember for you?"


async def cards() -> Sequence[Line]:
    """Look at a memory, change it, take that back; the bot is started anew in between."""
    clock = FakeClock()
    house = House({}, clock=clock)
    access = house.access()
    async with DiscordServer(clock, Limits()) as server:
        await access.own(OWNER, "Ana")
        await access.own(UserKey("discord", str(BIA.id)), "Bia")
        memory = house.memories.of(OWNER)
        for phrase, content in (("aniversário do João", "12 de maio"), ("senha do wi-fi", "abc123")):
            await clock.advance(PAUSE_S)
            await memory.add([MemoryDraft(MemoryKind.TEXT, content, (phrase,))], await memory.embed([phrase]))
        async with house.chatbot(access) as handler, serving(server, clock, handler):
            used = await server.interactions.command(ANA, "memories", room=ROOM)
            await flow(server, clock, partial(getattr, used, "screen"))
            [note] = used.notes
            await _press(server, clock, note, "1. senha do wi-fi")
            await clock.advance(PAUSE_S)
            opened = await server.interactions.press(ANA, note, EDIT[PT])
            await flow(server, clock, partial(getattr, opened, "form"))
            await clock.advance(PAUSE_S)
            await server.interactions.submit(ANA, opened, "xyz789")
            await flow(server, clock, lambda: "xyz789" in note.text)
        await clock.advance(PAUSE_S)
        async with house.chatbot(access) as handler, serving(server, clock, handler):
            await _press(server, clock, note, next(label for label in labels(note.components) if "Desfazer" in label))
            await clock.advance(PAUSE_S)
            theirs = await server.interactions.command(BIA, "memories", room=ROOM)
            await flow(server, clock, partial(getattr, theirs, "screen"))
            return seen(server)


async def approval() -> Sequence[Line]:
    """Somebody unknown writes; the owner decides by a button, after a restart."""
    clock = FakeClock()
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: [GREETING]}, clock=clock)
    access = house.access()
    async with DiscordServer(clock, Limits()) as server:
        await access.own(OWNER, "Ana")
        await house.people.put_account(Account(OWNER, language="pt-BR"))
        direct = server.direct(ANA)
        async with house.chatbot(access) as handler, serving(server, clock, handler):
            await server.says(BIA, "hi, may I talk to you?")
            await flow(server, clock, direct.screen)
        await clock.advance(PAUSE_S)
        async with house.chatbot(access) as handler, serving(server, clock, handler):
            [card] = [note for note in direct.notes.values() if note.components]
            await _press(server, clock, card, VERDICTS["allow"][PT])
            await clock.advance(PAUSE_S)
            await server.says(BIA, "hi again!")
            await flow(server, clock, lambda: server.direct(BIA).screen()[-1:] == [GREETING])
            await clock.advance(PAUSE_S)
            tried = await server.interactions.command(BIA, "admin pause", room=ROOM)
            await flow(server, clock, partial(getattr, tried, "screen"))
            return seen(server)


async def _press(server: DiscordServer, clock: FakeClock, note: Note, label: str) -> None:
    """Ana presses, and sees the message change."""
    await clock.advance(PAUSE_S)
    before = note.text
    await server.interactions.press(ANA, note, label)
    await flow(server, clock, lambda: note.text != before)
