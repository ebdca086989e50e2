"""The two cycles: calls, tokens, and when a person sees what.

Against models of realistic speed (`bench/model_server.py`), through the real ChatBot, into a chat with the limits of
Telegram.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from bench.model_server import PACED, SCENARIOS, Counted, Scenario, calls_since, serving, talk
from bench.table import show
from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot
from core.clock import SystemClock
from core.errors import ChannelBusy
from core.outgoing import OutgoingMessage
from core.types import ChatKey, Incoming, MemoryDraft, MemoryKind, Modal, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.telegram_wire import Limits

REPEATS: Final = 3
CYCLES: Final = ("stepwise", "single")
TALKS: Final = (3, 12)
"""Sentences of an answer in the short and the long talk of fifty turns."""

KNOWN: Final = {
    "The wifi password is tulip88": ("wifi password",),
    "Marta is my sister": ("sister", "family"),
    "Marta wants a ukulele since the summer": ("Marta's wishes",),
    "The landlord is called Joaquim and answers in the mornings": ("landlord",),
    "The boiler is serviced every October": ("boiler service",),
    "My blood group is A+": ("blood group",),
    "The spare key is with the neighbour on the second floor": ("spare key",),
    "The cat eats only the fish flavour": ("cat food",),
    "The gym closes at nine on Fridays": ("gym hours",),
    "My passport ends in March 2031": ("passport",),
}
"""Content and bindings of what every person had saved before."""

Say = Callable[[str], Awaitable["TelegramLike"]]
"""Say something in a conversation, and return what was shown when all was answered."""


class TelegramLike(RecordingChannel):
    """A private chat with Telegram's limits, and signs such as "typing"; they and all writes with their times.

    `at_once`: without the limits, for what is only counted.
    """

    def __init__(self, *, at_once: bool) -> None:
        super().__init__(SystemClock())
        self._windows = None if at_once else Limits()
        if at_once:
            self.limits = replace(self.limits, edit_interval_s=0.0)
        self.began_s = self.clock.monotonic()
        self.signs_s: list[float] = []

    async def show_waiting(self, *, waits: bool = True) -> None:
        """Note the time at which it is shown."""
        if waits:
            self.signs_s.append(self.clock.monotonic())

    async def post(self, shown: OutgoingMessage) -> str:
        """Note a new message.

        Raises:
            ChannelBusy: Telegram would refuse it.
        """
        self._pass()
        return await super().post(shown)

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Note an edit.

        Raises:
            ChannelBusy: Telegram would refuse it.
        """
        self._pass()
        return await super().edit(handle, shown)

    def _pass(self) -> None:
        if self._windows is not None and (wait_s := self._windows.wait_s(1, self.clock.monotonic())):
            raise ChannelBusy(wait_s)


@dataclass(frozen=True, slots=True)
class Seen:
    """One turn: its calls, what was written, and seconds from the message on."""

    calls: Sequence[Counted]
    sign_s: float
    useful_s: float
    end_s: float
    posts: int
    edits: int


def seen(scenario: Scenario, channel: TelegramLike, calls: Sequence[Counted]) -> Seen:
    """Return the figures of a turn."""
    said = [
        each
        for each in channel.log
        if each.shown.modal is not Modal.TEXT_FOR_REPLACE
        and scenario.useful in "\n".join((each.shown.text, *(item.content for item in each.shown.memories)))
    ]
    assert said, f"{scenario.name}: nobody was told {scenario.useful!r}, but {channel.texts}"
    signs_s = [*channel.signs_s, channel.log[0].at_s]
    sign_s, useful_s, end_s = (at - channel.began_s for at in (min(signs_s), said[0].at_s, channel.log[-1].at_s))
    verbs = [each.verb for each in channel.log]
    return Seen(calls, sign_s, useful_s, end_s, verbs.count("post"), verbs.count("edit"))


# --- conversations ---


@asynccontextmanager
async def conversations(
    url: str, model: str, wire: str, cycle: str, **settings: object
) -> AsyncIterator[Callable[[], Awaitable[Say]]]:
    """Yield a function that begins a conversation of a new person, who saved KNOWN before."""
    address = {f"{wire}_api_key": "k", f"{wire}_base_url": url}
    with tempfile.TemporaryDirectory() as folder:
        chosen = load(None, data_dir=Path(folder), model=f"{wire}:{model}", cycle=cycle, **address, **settings)
        async with build(chosen) as app, open_chatbot(app) as chatbot:
            people = iter(range(1_000_000))

            async def begin() -> Say:
                name = f"p{next(people)}"
                await _remember(app, UserKey("console", name))
                numbers = iter(range(1_000_000))

                async def say(text: str) -> TelegramLike:
                    chat, person = ChatKey("console", name), UserKey("console", name)
                    channel = TelegramLike(at_once=model != PACED)
                    incoming = Incoming(chat, person, name, str(next(numbers)), text, app.clock.now(), language="en")
                    await (await chatbot.receive(incoming, channel))
                    return channel

                return say

            yield begin


async def _remember(app: App, person: UserKey) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, content, bindings) for content, bindings in KNOWN.items()]
    memory = app.features.memories.of(person)
    await memory.add(drafts)


# --- tables ---


async def turns(url: str, begin: Callable[[], Awaitable[Say]]) -> dict[str, list[Seen]]:
    """Map the names of the scenarios to REPEATS turns each, every one in a conversation of its own."""
    await (await begin())(SCENARIOS[0].says)  # starts the embedder, opens connections
    found: dict[str, list[Seen]] = {}
    for _ in range(REPEATS):
        for scenario in SCENARIOS:
            say = await begin()
            calls_since(url)
            channel = await say(scenario.says)
            found.setdefault(scenario.name, []).append(seen(scenario, channel, calls_since(url)))
    return found


def row(scenario: Scenario, cycle: str, found: Sequence[Seen]) -> list[str]:
    """Return the medians of one scenario with one cycle."""

    def middle(of: Callable[[Seen], float]) -> float:
        return median(map(of, found))

    return [
        scenario.name,
        cycle,
        f"{middle(lambda turn: len(turn.calls)):.0f}",
        f"{middle(lambda turn: sum(call.input_tokens for call in turn.calls)):,.0f}",
        f"{middle(lambda turn: sum(call.output_tokens for call in turn.calls)):,.0f}",
        *(f"{middle(of):.2f} s" for of in (lambda t: t.sign_s, lambda t: t.useful_s, lambda t: t.end_s)),
        f"{middle(lambda turn: turn.posts):.0f} + {middle(lambda turn: turn.edits):.0f}",
    ]


async def speeds(url: str) -> None:
    """Print what one turn of each kind takes, on both wires."""
    head = ["turn", "cycle", "calls", "input", "output", "first sign", "first useful word", "end", "posts + edits"]
    for wire in ("openai", "anthropic"):
        seen_by = {}
        for cycle in CYCLES:
            async with conversations(url, PACED, wire, cycle) as begin:
                seen_by[cycle] = await turns(url, begin)
        rows = [
            row(scenario, cycle, found[scenario.name]) for scenario in SCENARIOS for cycle, found in seen_by.items()
        ]
        show(f"Turns through {wire}, medians of {REPEATS}", head, rows)


async def sums(url: str, lines: Sequence[Scenario], begin: Callable[[], Awaitable[Say]]) -> Counted:
    """Return the tokens of a whole talk."""
    say = await begin()
    calls_since(url)
    for line in lines:
        await say(line.says)
    calls = calls_since(url)
    return Counted(*map(sum, zip(*map(astuple, calls), strict=True)))


async def talks(url: str) -> None:
    """Print the tokens of talks of fifty turns, of which a model is shown everything."""
    head = ["answers", "cycle", "input", "read from cache (Anthropic's rules)", "output"]
    everything = {"history_policy": "last-tokens", "history_max_tokens": 100_000, "max_context_tokens": 200_000}
    rows = []
    for sentences in TALKS:
        lines, found = talk(sentences), dict[str, Counted]()
        for cycle in CYCLES:
            for wire in ("openai", "anthropic"):
                async with conversations(url, str(sentences), wire, cycle, **everything) as begin:
                    found[f"{cycle}, {wire}"] = await sums(url, lines, begin)
            async with conversations(url, str(sentences), "anthropic", cycle) as begin:
                found[f"{cycle}, anthropic, window as set by default"] = await sums(url, lines, begin)
        rows += [
            [
                f"{sentences} sentences",
                name,
                f"{call.input_tokens:,}",
                f"{call.cached_tokens / call.input_tokens:.0%}" if "anthropic" in name else "",
                f"{call.output_tokens:,}",
            ]
            for name, call in found.items()
        ]
    show("Tokens of a talk of fifty turns", head, rows)


async def measure(url: str) -> None:
    """Print every table."""
    await speeds(url)
    await talks(url)


def main() -> None:
    """Measure and print."""
    with serving() as url:
        asyncio.run(measure(url))
