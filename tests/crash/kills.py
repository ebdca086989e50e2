"""What kills leave on the screens: platforms and a slow model on loopback, and answers of numbered words, counted."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.actions.texts import ANSWER
from core.answering.loop import DECIDE, THINKING
from core.clock import SystemClock
from tests.fakes import openai_server
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, LOADING
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN as TELEGRAM_TOKEN
from tests.fakes.telegram_server import TelegramServer

ROOT = Path(__file__).parents[2]
WORDS, LONG_WORDS, EVERY = 40, 600, 4  # every fourth answer is longer than one message holds
_PIECES, _PIECE_S, _DECIDE_S = 20, 0.05, 0.2
_WORD = re.compile(r"w(?P<answer>\d+)\.(?P<word>\d+)\b")


def words_of(number: int) -> int:
    """How many words the answer to that message has."""
    return LONG_WORDS if number % EVERY == 0 else WORDS


class SlowModel(LoopbackServer):
    """Decides for Finish after a moment, and answers `ask-N` slowly with numbered words: wN.0, wN.1, ..."""

    def __init__(self) -> None:
        super().__init__([self._script])

    def _script(self, asked: Asked) -> Answer:
        said = json.dumps(asked.body["messages"])
        if DECIDE[:30] in said:
            return replace(openai_server.says("Finish"), gates=_gates([_DECIDE_S]))
        if "tools" not in asked.body and ANSWER[:20] not in said:
            return openai_server.says("ok")  # a summary
        number = int(re.findall(r"ask-(\d+)", said)[-1])
        words = [f"w{number}.{word} " for word in range(words_of(number))]
        size = -(-len(words) // _PIECES)
        pieces = ["".join(words[at : at + size]) for at in range(0, len(words), size)]
        whole = openai_server.says(*pieces)
        return replace(whole, gates=_gates([_PIECE_S * count for count in range(len(whole.frames or ()))]))


def _gates(after_s: Sequence[float]) -> dict[int, asyncio.Event]:
    """Gates that open by themselves."""
    gates = {number: asyncio.Event() for number in range(len(after_s))}
    for number, delay_s in enumerate(after_s):
        asyncio.get_running_loop().call_later(delay_s, gates[number].set)
    return gates


@dataclass(frozen=True)
class Bubble:
    """A message of the bot's as it stands there, perhaps with a Stop button below it; `thinking` is Discord's sign."""

    text: str
    stop: bool = False
    thinking: bool = False


@dataclass
class Tally:
    """What stands on all screens in the end."""

    messages: int = 0
    statuses: int = 0
    stops: int = 0
    thinking: int = 0
    fragments: int = 0
    twice: int = 0
    unmarked: int = 0
    lost: list[int] = field(default_factory=list)


def tally(bubbles: Sequence[Bubble], asked: int) -> Tally:
    """Count; the answer to each message is to be there once and whole, in one bubble or several."""
    found = Tally(len(bubbles))
    parts: dict[int, list[tuple[int, int, Bubble]]] = defaultdict(list)
    for bubble in bubbles:
        found.stops += bubble.stop
        numbers = [(int(word["answer"]), int(word["word"])) for word in _WORD.finditer(bubble.text)]
        if bubble.thinking:
            found.thinking += 1
        elif numbers:
            parts[numbers[0][0]].append((numbers[0][1], numbers[-1][1], bubble))
        elif bubble.text in THINKING.values() or bubble.text.removeprefix("↻ ") in {*THINKING.values(), "…"}:
            found.statuses += 1
    for number in range(asked):
        left = parts.pop(number, [])
        copies = []
        while chain := _chain(left, words_of(number)):
            copies.append(chain)
        found.lost += [] if copies else [number]
        found.fragments += len(left)
        found.twice += len(copies) > 1
        found.unmarked += sum(not chain[0].text.startswith("↻") for chain in copies) > 1
    return found


def _chain(left: list[tuple[int, int, Bubble]], words: int) -> list[Bubble]:
    """Take the bubbles of one whole answer out; none where it is not whole."""
    chain: list[tuple[int, int, Bubble]] = []
    while (reached := chain[-1][1] + 1 if chain else 0) < words:
        following = [part for part in left if part[0] == reached and part not in chain]
        if not following:
            return []
        chain.append(max(following, key=lambda part: part[1]))
    for part in chain:
        left.remove(part)
    return [bubble for _, _, bubble in chain]


class TelegramScene:
    """A private chat."""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self.settings = {"TELEGRAM_TOKEN": TELEGRAM_TOKEN, "TELEGRAM_API_BASE_URL": server.url}

    async def greeted(self, people: Sequence[Person]) -> None:
        """Let everybody write, and return when they were answered."""
        for person in people:
            self._server.says(person, "/help")
        await self._server.until(lambda: all(self._server.chat(person.id).screen() for person in people))

    async def until(self, true: Callable[[], bool]) -> None:
        """Return when that is true of what is seen."""
        await self._server.until(true)

    def bubbles(self) -> list[Bubble]:
        posts = [post for chat in self._server.chats.values() for post in chat.ours()]
        return [Bubble(post.text, any("x7" in b["callback_data"] for r in post.buttons for b in r)) for post in posts]


class DiscordScene:
    """Direct messages."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self.settings = {"DISCORD_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE_URL": server.api_url}

    def open_room(self, number: int) -> None:
        """Let there be a room of that id."""
        self._server.room(number)

    async def until(self, true: Callable[[], bool]) -> None:
        """Return when that is true of what is seen."""
        await self._server.until(true)

    def bubbles(self) -> list[Bubble]:
        channels = [note for channel in self._server.channels.values() for note in channel.notes.values()]
        answers = [note for used in self._server.interactions.all.values() for note in used.notes]
        notes = {note.id: note for note in (*channels, *answers) if note.by is BOT}
        return [
            Bubble(note.text, any("stop" in one for one in note.buttons), bool(note.flags & LOADING))
            for note in notes.values()
        ]


@asynccontextmanager
async def scene_of(platform: str) -> AsyncIterator[TelegramScene | DiscordScene]:
    """Open that platform."""
    if platform == "telegram":
        async with TelegramServer(SystemClock(), patience_s=120.0) as telegram:
            yield TelegramScene(telegram)
    else:
        async with DiscordServer(SystemClock(), patience_s=120.0) as discord:
            yield DiscordScene(discord)
