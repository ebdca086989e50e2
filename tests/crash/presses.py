"""People who press buttons while the bot is killed, and whether what they were told is what the store holds."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psycopg

from core.answering.outcomes import KNOWN
from core.answering.outcomes import NOTHING as NOT_DONE
from core.features.memories.confirm import NOT_OPEN
from core.features.privacy.forget import NO_SUCH_MEMORY
from core.features.undo import NOTHING, NOTHING_OF_IT, TOO_LATE, UNDONE_BEFORE
from core.types import Locale
from tests.fakes.telegram_people import Person, Post
from tests.fakes.telegram_server import TelegramServer

_DENIALS: Final = (NOT_OPEN, NO_SUCH_MEMORY, NOTHING, NOTHING_OF_IT, TOO_LATE, UNDONE_BEFORE, KNOWN)
DENIED: Final = tuple(
    re.split(r"[:{]", sentence[Locale.EN], maxsplit=1)[0] for sentence in (*_DENIALS, *NOT_DONE.values())
)
"""How sentences begin which say that nothing was done."""

_PATIENCE_S: Final = 240.0
_LOOK_S: Final = 0.02

Rows = Callable[[str], Sequence[Sequence[object]]]
"""Runs a query over what the bot has stored."""


@dataclass(frozen=True)
class Shown:
    """A message of the bot's in the chat, and the buttons below it."""

    text: str
    labels: Sequence[str]
    where: Post

    @property
    def key(self) -> tuple[object, ...]:
        """What differs once it says something else."""
        return self.where.id, self.text, *self.labels


class TelegramPlace:
    """A person's private chat with the bot."""

    def __init__(self, server: TelegramServer, person: Person) -> None:
        self._server = server
        self._person = person

    def say(self, text: str) -> None:
        """Write that."""
        self._server.says(self._person, text)

    def press(self, shown: Shown, label: str) -> None:
        """Press the button of that label."""
        self._server.presses(self._person, label, post=shown.where)

    def screen(self) -> Sequence[Shown]:
        """Return the bot's messages."""
        posts = self._server.chat(self._person.id).ours()
        return [Shown(post.text, [label for row in post.labels for label in row], post) for post in posts]

    async def until(self, true: Callable[[], object]) -> None:
        """Return when that is true of what is seen."""
        await self._server.until(true)


@dataclass(frozen=True)
class Kind:
    """What is pressed: what is said before it and the labels pressed (`*Label`), the last of which is the press.

    `done` is what the answer then says; `holds` is how many rows of the `table` have the word, once it is done.
    """

    says: Sequence[str]
    done: str
    holds: int = 0
    table: str = "SELECT count(*) FROM memories WHERE content LIKE '%{word}%'"


_REMEMBER: Final = "/remember the key of {word} is 1111"
_REMINDERS: Final = "SELECT count(*) FROM reminders WHERE text LIKE '%{word}%' AND state != 'removed'"
_KNOWN: Final = "SELECT count(*) FROM memories WHERE content LIKE '%{word}%' AND current = ''"
KINDS: Final = (
    Kind((_REMEMBER, "/forget {word}", "*Delete"), "Deleted:"),
    Kind((_REMEMBER, "*Undo"), "No longer saved:"),
    Kind((_REMEMBER, "/forget {word}", "*Delete", "*Undo"), "Back again:", holds=1),
    Kind(("/remind in 2 hours call {word}", "*Undo"), "I will not remind you:", table=_REMINDERS),
)


@dataclass
class Presses:
    """What became of all presses: how many, and the words of those of which something is wrong."""

    pressed: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: int = 0  # with a mark
    unmarked: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)


class Presser:
    """A person who does such things one after another; each word is used once."""

    def __init__(self, place: TelegramPlace, rows: Rows, seed: int) -> None:
        self.found = Presses()
        self._place = place
        self._rows = rows
        self._letters = "".join(chr(ord("a") + digit) for digit in (seed // 26 % 26, seed % 26))

    async def press(self, number: int, kill: Callable[[Callable[[], bool]], Awaitable[None]]) -> None:
        """Bring one thing about, press its button, let somebody `kill` the bot, and look at what came of it.

        What the killer is given tells whether the store has the change.
        """
        kind = KINDS[number % len(KINDS)]
        word = f"zq{self._letters}{''.join(chr(ord('a') + int(digit)) for digit in str(number))}"
        for said in kind.says[:-1]:
            await self._answered(said.format(word=word), word)
        sql = kind.table.format(word=word)

        def is_done() -> bool:
            with suppress(psycopg.Error):
                return self._rows(sql)[0][0] == kind.holds
            return False

        before = {each.key for each in self._place.screen()}
        self._do(kind.says[-1].format(word=word), word)
        await kill(is_done)
        self.found.pressed += 1
        async with asyncio.timeout(_PATIENCE_S):
            while not self._is_answered() or not self._said(before, (kind.done, *DENIED)):  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
        told, denials = self._said(before, (kind.done,)), self._said(before, DENIED)
        if not is_done():
            self.found.lost.append(word)
        if denials or bool(told) is not is_done():
            self.found.untrue.append(f"{word}: {told or denials}, done: {is_done()}")
        self.found.doubled += len(told) > 1
        if sum(not text.startswith("↻") for text in told) > 1:
            self.found.unmarked.append(word)
        await self._clean(word)

    async def _clean(self, word: str) -> None:
        """Leave no memory behind that the next might be taken for."""
        if self._rows(_KNOWN.format(word=word))[0][0]:
            await self._answered(f"/forget {word}", word)
            await self._answered("*Delete", word)

    async def _answered(self, said: str, word: str) -> None:
        before = {each.key for each in self._place.screen()}
        self._do(said, word)
        async with asyncio.timeout(_PATIENCE_S):
            await self._place.until(lambda: {each.key for each in self._place.screen()} - before)
            while not self._is_answered():  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(_LOOK_S)

    def _do(self, said: str, word: str) -> None:
        if not said.startswith("*"):
            self._place.say(said)
            return
        choices = [
            (each, label)
            for each in self._place.screen()
            for label in each.labels
            if word in each.text and said[1:] in label
        ]
        self._place.press(*choices[-1])

    def _said(self, before: Collection[object], parts: Sequence[str]) -> Sequence[str]:
        """Return the texts with one of the parts that were not there before."""
        new = [each.text for each in self._place.screen() if each.key not in before]
        return [text for text in new if any(part in text for part in parts)]

    def _is_answered(self) -> bool:
        with suppress(psycopg.Error):
            return not self._rows("SELECT count(payload) FROM inbox")[0][0]
        return False


def aimed(
    chance: random.Random, kill: Callable[[], Awaitable[None]]
) -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Return what strikes at any moment after the press or, every other time, once the store has the change."""

    async def strike(is_done: Callable[[], bool]) -> None:
        if chance.random() < 0.5:
            await asyncio.sleep(chance.uniform(0.0, 0.25))
        else:
            until_s = asyncio.get_running_loop().time() + 3.0
            while not is_done() and asyncio.get_running_loop().time() < until_s:  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.001)
        await kill()

    return strike
