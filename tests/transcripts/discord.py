"""The Discord scenarios: real discord.py, a gateway and a REST on loopback, a clock that jumps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from adapters.discord.config import DiscordConfig
from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.limited import LimitedMind
from core.models import Cycle
from core.types import UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, Bot, flow, idle, running, serving
from tests.fakes import model
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits
from tests.fakes.discord_server import TOKEN, DiscordServer, too_many
from tests.fakes.handler import USUAL, Script, echo, slowly
from tests.fakes.house import House
from tests.transcripts.discord_cards import approval, cards
from tests.transcripts.discord_seen import seen
from tests.transcripts.together import ASKED, dinner
from tests.transcripts.transcript import Line, Scenario

THREAD = 777_000_000_000_000_001
LONG = "\n\n".join(
    f"Parágrafo {n} com **negrito** e emoji 😀🐘 "
    + "palavra " * 60
    + (f"\n```python\nfor x in range({n}):\n    print(x < 3)\n```" if n % 3 == 0 else "")
    for n in range(20)
)

Plot = Callable[[DiscordServer, FakeClock, Bot], Awaitable[None]]


def scripted(
    plot: Plot, script: Callable[[FakeClock], Script], config: DiscordConfig | None = None
) -> Callable[[], Awaitable[Sequence[Line]]]:
    """Play a plot with a handler that answers by script."""

    async def play() -> Sequence[Line]:
        clock = FakeClock()
        async with DiscordServer(clock, Limits()) as server, running(server, clock, script(clock), config) as bot:
            bot.handler.pace = USUAL
            await plot(server, clock, bot)
            await idle(server)
            return seen(server)

    return play


async def _memory() -> Sequence[Line]:
    """Save in a room, ask in private: the real core, with a model that answers by script."""
    clock = FakeClock()
    house = House(
        {
            Task.SINGLE: [
                model.call("MemorySave", items=[{"type": "text", "content": "abc123", "bindings": ["senha do wi-fi"]}]),
                "A senha do wi-fi é **abc123**. [m1]",
                "Você me contou a senha dele. [m1]",
            ]
        },
        limits=TurnLimits(cycle=Cycle.SINGLE),
        clock=clock,
    )
    access = house.access()
    async with DiscordServer(clock, Limits()) as server:
        room = server.room(ROOM)
        async with house.chatbot(access) as handler, serving(server, clock, handler):
            await access.own(UserKey("discord", str(ANA.id)), "Ana")
            await server.says(ANA, "lembre que a senha do wi-fi é abc123")
            screen = server.direct(ANA).screen
            await flow(server, clock, lambda: screen()[-1:] == ["Guardei: “abc123”"])
            await clock.advance(5.0)
            await server.says(ANA, "qual é a senha do wi-fi?")
            await flow(server, clock, lambda: screen()[-1:] == ["A senha do wi-fi é **abc123**."])
            await clock.advance(5.0)
            await server.says(ANA, "o que você sabe do wi-fi?")
            await flow(server, clock, lambda: "🧠" in screen()[-1])
            await clock.advance(5.0)
            listed = await server.interactions.command(ANA, "memories", room=room.id)
            await flow(server, clock, lambda: listed.screen)
            return seen(server)


async def _why() -> Sequence[Line]:
    """Ana sees how an answer came about, and what it rests on: the real core, without a language model."""
    clock = FakeClock()
    house = House(clock=clock)
    house.embedder.down = True
    house.answered_by(LimitedMind(house.embedder))
    access = house.access()
    async with DiscordServer(clock, Limits()) as server, house.chatbot(access) as handler:
        room = server.room(ROOM)
        async with serving(server, clock, handler):
            for person in (ANA, BIA):
                await access.own(UserKey("discord", str(person.id)), person.name)
            for at, text in enumerate(("lembre que o ensaio é na sala 12", "/think on", "onde é o ensaio?"), 1):
                await server.says(ANA, f"{ME} {text}", room=ROOM)
                await flow(server, clock, lambda: len(room.screen()) == at)  # noqa: B023 (awaited at once)
                await clock.advance(5.0)
            answer = [note for note in room.notes.values() if note.by not in (ANA, BIA)][-1]
            for person in (ANA, BIA):
                told = await server.interactions.point_at_message(person, "Why this answer?", answer)
                await flow(server, clock, lambda: told.screen)  # noqa: B023 (awaited at once)
                await clock.advance(5.0)
            return seen(server)


async def _room(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    await server.says(ANA, "bom dia a todos", room=ROOM)
    await server.says(ANA, f"{ME} lembra da reunião?", room=ROOM)
    await server.says(BIA, f"{ME} and of the cake?", room=ROOM)
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _flood(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    await server.says(ANA, "conte até quatro")
    await flow(server, clock, lambda: any(write.verb == "edit" for write in server.writes))
    until_s = clock.monotonic() + 35
    mine = str(server.direct(ANA).id)

    def flood(method: str, path: str) -> None:
        if method == "PATCH" and mine in path and clock.monotonic() < until_s:
            raise too_many(until_s - clock.monotonic())

    server.faults.append(flood)
    await flow(server, clock, lambda: server.invalid)
    await server.says(BIA, "e eu?")
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _long(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    await server.says(ANA, "conte tudo, com exemplos")
    await flow(server, clock, lambda: bot.handler.answered)


async def _stop(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    await server.says(ANA, f"{ME} conte tudo", room=ROOM)
    await flow(server, clock, lambda: len(server.writes) >= 4)
    note = server.room(ROOM).notes[server.writes[-1].message]
    await server.interactions.press(BIA, note, note.buttons[0])
    await flow(server, clock, lambda: server.story[-1].hidden)
    await server.interactions.press(ANA, note, note.buttons[0])
    await flow(server, clock, lambda: bot.handler.answered)


async def _thread(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    asked = await server.says(ANA, f"{ME} vamos planejar a viagem", room=ROOM)
    await flow(server, clock, lambda: bot.handler.answered)
    await server.gateway.tell("THREAD_CREATE", server.channels[asked.id].json())
    await server.says(ANA, "e o hotel?", room=asked.id)
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _lost(server: DiscordServer, clock: FakeClock, bot: Bot) -> None:
    await server.says(ANA, f"{ME} você está aí?", room=ROOM)
    await flow(server, clock, lambda: bot.handler.answered == 1)
    await server.gateway.drop(resumable=False)
    await server.says(ANA, f"{ME} e agora, que a conexão caiu?", room=ROOM)
    await server.says(BIA, "não falei com ninguém", room=ROOM)
    await server.says(BIA, f"{ME} and here, where nobody asked before?", room=OTHER_ROOM)
    await flow(server, clock, lambda: bot.handler.answered == 3)


async def _together() -> Sequence[Line]:
    """A thread talks with the bot together, its channel does not."""
    clock = FakeClock()
    house = dinner(clock)
    house.trusted = ("discord",)
    async with DiscordServer(clock, Limits()) as server:
        thread = server.thread(THREAD, ROOM, owner=ANA.id)
        async with house.chatbot() as handler, serving(server, clock, handler):
            await server.gateway.tell("THREAD_CREATE", thread.json())
            for person, asked, room in zip(
                (ANA, BIA, ANA, BIA), (*ASKED, ASKED[1]), (THREAD,) * 3 + (ROOM,), strict=True
            ):
                before = len(server.channels[room].screen())
                await server.says(person, f"{ME} {asked}", room=room)
                await flow(server, clock, partial(_is_longer, server, room, before))
                await clock.advance(5.0)
            return seen(server)


def _is_longer(server: DiscordServer, room: int, before: int) -> bool:
    """Return whether the bot wrote more there, and not only that it thinks."""
    screen = server.channels[room].screen()
    return len(screen) > before and "…" not in screen[-1]


SCENARIOS = (
    Scenario(
        "memory",
        "Saving and finding a memory, and a list of memories in a room",
        "The whole core behind it, with a model that answers by script. Each answer is one message; memories that it "
        "rests on and does not say word for word stand below it, in an embed with spoilers. What a command shows in a "
        "room only the person sees (🔒).",
        _memory,
    ),
    Scenario(
        "why",
        "How an answer came about, and what it rests on",
        "Without a language model. In a room the steps below an answer name nothing of what was found. From the menu "
        "of an answer whoever asked is told what it rests on, unseen by the others (🔒); somebody else is not.",
        _why,
    ),
    Scenario(
        "cards",
        "A memory chosen from a menu, changed by a form, and the change undone",
        "In a server, where only the person sees it (🔒): one message, which each press changes in place. Then the bot "
        "is started anew, and the buttons of before go on working. Bia, in the same channel, sees memories of her own.",
        cards,
    ),
    Scenario(
        "approval",
        "A stranger writes, and the owner lets her in",
        "The owner is asked in direct messages, presses after a restart of the bot, and may undo it. Then Bia tries a "
        "command of the owner's, whatever her menu shows: for her there is none of that name.",
        approval,
    ),
    Scenario(
        "room",
        "Two people in a room",
        "Only what is said to the bot is answered, each answer as a reply to its question.",
        scripted(_room, lambda _: echo),
    ),
    Scenario(
        "flood",
        "A rate limit during the last edits",
        "Discord refuses every edit in Ana's channel for 35 s. Bia is answered meanwhile; Ana's text comes once.",
        scripted(_flood, lambda clock: slowly(clock, "um dois três quatro", 1.5)),
    ),
    Scenario(
        "long-answer",
        "An answer of ten thousand characters, with code and emoji",
        "Each message is edited at a pace that stretches, closed before 2,000 characters, and never touched again.",
        scripted(_long, lambda clock: slowly(clock, LONG, 0.05)),
    ),
    Scenario(
        "stop",
        "The Stop button",
        "It works for who asked, and for nobody else; with the answer it goes away.",
        scripted(_stop, lambda clock: slowly(clock, "palavra " * 60, 0.5)),
    ),
    Scenario(
        "thread",
        "A mention that opens a thread",
        "With DISCORD_AUTO_THREAD=true the answer stands in a thread, and the talk goes on there without mentions.",
        scripted(_thread, lambda _: echo, DiscordConfig(TOKEN, auto_thread=True)),
    ),
    Scenario(
        "together",
        "A thread that talks together",
        "In a thread everybody's turns are one conversation with the bot, in a channel everybody has their own.",
        _together,
    ),
    Scenario(
        "lost-session",
        "What was asked while the gateway was gone",
        "The session cannot be resumed; every channel in which something was said is read back, and what was asked is "
        "answered once.",
        scripted(_lost, lambda _: echo),
    ),
)
