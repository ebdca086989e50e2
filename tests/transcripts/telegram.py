"""The Telegram scenarios: real python-telegram-bot, a Bot API on loopback, a clock that jumps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from adapters.telegram.config import TelegramConfig
from core.answering.parts import TurnLimits
from core.delivery.view import View
from core.dialogue import Task
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.types import Incoming
from tests.e2e.telegram_kit import Bot, flow, idle, running, serving
from tests.fakes import model
from tests.fakes.clock import FakeClock
from tests.fakes.handler import USUAL, Script, echo, slowly
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Limits
from tests.transcripts import telegram_house
from tests.transcripts.telegram_seen import seen
from tests.transcripts.transcript import Line, Scenario

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP = -1001
LONG = "\n\n".join(
    f"Parágrafo {n} com **negrito** e emoji 😀🐘 " + "palavra " * 60
    + (f"\n```python\nfor x in range({n}):\n    print(x < 3)\n```" if n % 3 == 0 else "")
    for n in range(20)
)  # fmt: skip

Plot = Callable[[TelegramServer, FakeClock, Bot], Awaitable[None]]


def scripted(
    plot: Plot, script: Callable[[FakeClock], Script], config: TelegramConfig | None = None
) -> Callable[[], Awaitable[Sequence[Line]]]:
    """Play a plot with a handler that answers by script."""

    async def play() -> Sequence[Line]:
        clock = FakeClock()
        async with TelegramServer(clock, Limits()) as server, running(server, clock, script(clock), config) as bot:
            bot.handler.pace = USUAL
            await plot(server, clock, bot)
            await idle(server)
            return seen(server)

    return play


async def _memory() -> Sequence[Line]:
    """Own the bot, save, ask, be told: the real core, with a model that answers by script."""
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
    async with (
        TelegramServer(clock, Limits()) as server,
        house.chatbot(access) as handler,
        serving(server, clock, handler),
    ):
        screen = server.chat(ANA.id).screen
        server.says(ANA, f"/start {await access.claim_code('telegram')}")
        await flow(server, clock, screen)
        await clock.advance(5.0)
        server.says(ANA, "lembre que a senha do wi-fi é abc123")
        await flow(server, clock, lambda: screen()[-1] == "Guardei: “abc123”")
        await clock.advance(5.0)
        server.says(ANA, "qual é a senha do wi-fi?")
        await flow(server, clock, lambda: screen()[-1] == "A senha do wi-fi é abc123.")
        await clock.advance(5.0)
        server.says(ANA, "o que você sabe do wi-fi?")
        await flow(server, clock, lambda: "🧠" in screen()[-1])
        return seen(server)


async def _flood(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "conte até quatro")
    await flow(server, clock, lambda: server.done("editmessagetext"))
    server.flood(7, 35)
    await flow(server, clock, lambda: any(call.code == 429 for call in server.calls))
    server.says(BIA, "e eu?")
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _long(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "conte tudo, com exemplos")
    await flow(server, clock, lambda: bot.handler.answered == 1)


async def _group(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "bom dia a todos", chat_id=GROUP)
    server.says(ANA, "@elefante_bot lembra da reunião?", chat_id=GROUP)
    server.says(BIA, "/help@other_bot", chat_id=GROUP)
    server.says(BIA, "@elefante_bot e do bolo?", chat_id=GROUP)
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _stop(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "@elefante_bot conte até quatro", chat_id=GROUP)
    await flow(server, clock, lambda: GROUP in server.chats and server.chats[GROUP].screen() == ["um"])
    server.presses(BIA, "⏹ Parar", chat_id=GROUP)
    await flow(server, clock, lambda: server.notifier)
    server.presses(ANA, "⏹ Parar", chat_id=GROUP)
    await flow(server, clock, lambda: bot.handler.answered == 1)


async def _lost(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    left = iter([True])
    server.swallow = lambda method, _: method == "sendmessage" and next(left, False)
    server.says(ANA, "qual é a senha?")
    await flow(server, clock, lambda: bot.handler.answered == 1)


async def _grown(server: TelegramServer, clock: FakeClock, bot: Bot) -> None:
    server.says(ANA, "@elefante_bot lembra da reunião?", chat_id=GROUP)
    await flow(server, clock, lambda: bot.handler.answered == 1)
    await clock.advance(5.0)
    server.grows_up(server.chats[GROUP], GROUP - 1)
    server.says(ANA, "@elefante_bot e do bolo?", chat_id=GROUP - 1)
    await flow(server, clock, lambda: bot.handler.answered == 2)


async def _plain(_: Incoming, view: View) -> None:
    await view.show(OutgoingMessage("A senha é **abc123**."))


def housed(play: Callable[[], Awaitable[TelegramServer]]) -> Callable[[], Awaitable[Sequence[Line]]]:
    """Play with the real core."""

    async def lines() -> Sequence[Line]:
        return seen(await play())

    return lines


async def _odd() -> Sequence[Line]:
    """What is no plain question, with the real core."""
    clock = FakeClock()
    house = House(
        {Task.DECIDE: ["Finish"], Task.FINISH: lambda prompt: f"Você disse: {prompt.context.message}"},
        clock=clock,
        trusted=("telegram",),
    )
    async with TelegramServer(clock, Limits()) as server, house.chatbot() as handler, serving(server, clock, handler):
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
        "start",
        "Who comes is greeted",
        "Three lines and three buttons, no list of commands. A link that was used already says so.",
        housed(telegram_house.start),
    ),
    Scenario(
        "mention",
        "Reminded when something is mentioned",
        "Below the answer, by a name without its accent; one that comes each time has a button that ends it.",
        housed(telegram_house.mention),
    ),
    Scenario(
        "buttons",
        "Memories by buttons",
        "What was saved is taken back by the button below it; a list is looked through in one message.",
        housed(telegram_house.memories),
    ),
    Scenario(
        "buttons-group",
        "Buttons in a group",
        "Whoever presses sends the command as themselves: Bia's press finds nothing of hers, and leaves Ana's message.",
        housed(telegram_house.group),
    ),
    Scenario(
        "together",
        "A group that talks together",
        "Everybody's turns are one conversation with the bot, once the owner let the group talk so; it is told.",
        housed(telegram_house.together),
    ),
    Scenario(
        "card",
        "A stranger asks, the owner decides",
        "The card in the owner's chat becomes what was decided; the stranger is told.",
        housed(telegram_house.card),
    ),
    Scenario(
        "invited",
        "Brought into a group",
        "It says there who may ask. Whoever owns the bot hears of it, and lets everybody there ask by a button.",
        housed(telegram_house.invited),
    ),
    Scenario(
        "reactions",
        "A thumbs-down",
        "It offers to take back what the answer did. In a group only who asked is offered that, and alone sees it if "
        "the bot is an administrator.",
        housed(telegram_house.reactions),
    ),
    Scenario(
        "why",
        "How an answer came about, and what it rests on",
        "Without a language model. The steps are folded below each answer; a reply asks for each fact, in a group with "
        "a link to the message. Only who asked is told.",
        housed(telegram_house.why),
    ),
    Scenario("export", "Everything as a file", "Of all that is kept of Ana.", housed(telegram_house.export)),
    Scenario(
        "stop",
        "The Stop button",
        "It stands below an answer that grows, and works for whoever asked; Bia is told so for a moment.",
        scripted(_stop, lambda clock: slowly(clock, "um dois três quatro", 5.0)),
    ),
    Scenario(
        "twice",
        "A confirmation that got lost",
        "The first message arrived, but nobody said so. What is sent again says that it may be there twice.",
        scripted(_lost, lambda _: _plain),
    ),
    Scenario(
        "supergroup",
        "A group that became a supergroup",
        "Its messages have other numbers now; the conversation is the same.",
        scripted(_grown, lambda _: echo),
    ),
    Scenario(
        "memory",
        "Saving and finding a memory",
        "The whole core behind it, with a model that answers by script. Each answer is one message, which replaces the "
        "status in place; memories that it rests on and does not say word for word stand below, in a quote that opens.",
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
