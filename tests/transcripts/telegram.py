"""The Telegram scenarios: real python-telegram-bot, a Bot API on loopback, a clock that jumps."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from adapters.telegram.config import TelegramConfig
from core.dialogue import Task
from tests.e2e.telegram_kit import Bot, flow, idle, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.door import Script, echo, slowly
from tests.fakes.house import House
from tests.fakes.telegram_limits import Limits
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.transcripts.transcript import Line, Scenario

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP = -1001
LONG = "\n\n".join(
    f"Parágrafo {n} com **negrito** e emoji 😀🐘 " + "palavra " * 60
    + (f"\n```python\nfor x in range({n}):\n    print(x < 3)\n```" if n % 3 == 0 else "")
    for n in range(20)
)  # fmt: skip

Plot = Callable[[TelegramServer, FakeClock, Bot], Awaitable[None]]


def seen(server: TelegramServer) -> list[Line]:
    """What people saw, from what the server was asked; what the bot alone saw stands in brackets."""
    lines = [
        Line(at_s, _chat(chat_id), who, f"#{number}", re.sub(r"/start \S+", "/start CODE", text))
        for at_s, chat_id, who, number, text in server.said
    ]
    for call in server.calls:
        if call.code not in {200, 400, 429} or "chat_id" not in call.params:
            continue
        reply = call.params.get("reply_parameters")
        mark = {
            "sendmessage": f"#{call.message_id}" + (f" ↩{reply['message_id']}" if reply else ""),
            "editmessagetext": f"#{call.params.get('message_id')} ✎",
            "sendmessagedraft": "draft",
            "sendchataction": "typing",
        }[call.method]
        text = call.text if call.code == 200 else f"[refused: {call.refusal}]"
        lines.append(Line(call.at_s, _chat(call.chat_id), "Elefante", mark, text))
    return lines


def _chat(chat_id: int) -> str:
    return {ANA.id: "Ana", BIA.id: "Bia"}.get(chat_id, "grupo")


def scripted(
    plot: Plot, script: Callable[[FakeClock], Script], config: TelegramConfig | None = None
) -> Callable[[], Awaitable[Sequence[Line]]]:
    """Play a plot with a door that answers by script."""

    async def play() -> Sequence[Line]:
        clock = FakeClock()
        async with TelegramServer(clock, Limits()) as server, running(server, clock, script(clock), config) as bot:
            await plot(server, clock, bot)
            await idle(server)
            return seen(server)

    return play


async def _memory() -> Sequence[Line]:
    """Own the bot, save, ask, be told: the real core, with a model that answers by script."""
    clock = FakeClock()
    house = House(
        {
            Task.DECIDE: ["MemorySave", "Finish", "MemorySearch", "Finish"],
            Task.SAVE_DRAFTS: ['{"items": [{"type": "text", "content": "abc123", "bindings": ["senha do wi-fi"]}]}'],
            Task.SEARCH_QUERIES: ['{"items": ["senha do wi-fi"]}'],
            Task.REPORT: ["Guardei a senha do wi-fi.", "Encontrei a senha do wi-fi."],
            Task.FINISH: ["Pronto.", "A senha do wi-fi é **abc123**."],
        },
        clock=clock,
    )
    access = house.access()
    async with TelegramServer(clock, Limits()) as server, house.chatbot(access) as door, serving(server, clock, door):
        screen = server.chat(ANA.id).screen
        server.says(ANA, f"/start {await access.claim_code('telegram')}")
        await flow(server, clock, screen)
        await clock.advance(5.0)
        server.says(ANA, "lembre que a senha do wi-fi é abc123")
        await flow(server, clock, lambda: screen()[-1] == "Pronto.")
        await clock.advance(5.0)
        server.says(ANA, "qual é a senha do wi-fi?")
        await flow(server, clock, lambda: screen()[-1] == "A senha do wi-fi é abc123.")
        server.says(BIA, "qual é a senha da Ana?")
        await flow(server, clock, server.chats[BIA.id].screen)
        return seen(server)


async def _flood(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "conte até quatro")
    await flow(server, clock, lambda: server.done("editmessagetext"))
    server.flood(7, 35)
    await flow(server, clock, lambda: any(call.code == 429 for call in server.calls))
    server.says(BIA, "e eu?")
    await flow(server, clock, lambda: bot.door.answered == 2)


async def _long(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "conte tudo, com exemplos")
    await flow(server, clock, lambda: bot.door.answered == 1)


async def _group(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "bom dia a todos", chat_id=GROUP)
    server.says(ANA, "@elefante_bot lembra da reunião?", chat_id=GROUP)
    server.says(BIA, "/help@other_bot", chat_id=GROUP)
    server.says(BIA, "@elefante_bot e do bolo?", chat_id=GROUP)
    await flow(server, clock, lambda: bot.door.answered == 2)


async def _odd() -> Sequence[Line]:
    """What is no plain question, with the real core."""
    clock = FakeClock()
    house = House(
        {Task.DECIDE: ["Finish"], Task.FINISH: lambda prompt: f"Você disse: {prompt.brief.message}"},
        clock=clock,
        trusted=("telegram",),
    )
    async with TelegramServer(clock, Limits()) as server, house.chatbot() as door, serving(server, clock, door):
        server.says(ANA, "isto foi ontem", age_s=7 * 3600)
        await flow(server, clock, server.chats[ANA.id].screen)
        await clock.advance(5.0)
        server.says(ANA, None, voice={"file_id": "f", "file_unique_id": "u", "duration": 3})
        await flow(server, clock, lambda: len(server.chats[ANA.id].screen()) == 2)
        await clock.advance(5.0)
        message = server.says(ANA, "a senha é 12")
        await flow(server, clock, lambda: server.chats[ANA.id].screen()[-1] == "Você disse: a senha é 12")
        await clock.advance(5.0)
        server.edits(message, "a senha é 123")
        await flow(server, clock, lambda: server.chats[ANA.id].screen()[-1] == "Você disse: a senha é 123")
        return seen(server)


SCENARIOS = (
    Scenario(
        "memory",
        "Saving and finding a memory",
        "The whole core behind it, with a model that answers by script. Each status is replaced in place.",
        _memory,
    ),
    Scenario(
        "flood",
        "A flood wait during the last edits",
        "Telegram refuses every write to Ana's chat for 35 s. Bia is answered meanwhile; Ana's text comes whole, once.",
        scripted(_flood, lambda clock: slowly(clock, "um dois três quatro", 1.0)),
    ),
    Scenario(
        "long-answer",
        "An answer of ten thousand characters, with code and emoji",
        "Each message is edited at a pace that stretches, closed before 4096 UTF-16 units, and never touched again.",
        scripted(_long, lambda clock: slowly(clock, LONG, 0.05)),
    ),
    Scenario(
        "group",
        "Two people in a group",
        "Only what is said to the bot is answered, each answer as a reply to its question.",
        scripted(_group, lambda _: echo),
    ),
    Scenario(
        "odd-messages",
        "A message from yesterday, a recording, and an edited message",
        "None is met with silence, none is answered as if it were something else.",
        _odd,
    ),
    Scenario(
        "draft",
        "An answer that grows in a draft",
        "With TELEGRAM_DRAFTS=true a private chat sees the text grow smoothly; one message stands in the end.",
        scripted(
            _long,
            lambda clock: slowly(clock, "um dois três quatro cinco seis", 1.0),
            replace(TelegramConfig(TOKEN), drafts=True),
        ),
    ),
)
