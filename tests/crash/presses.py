"""People who press buttons while the bot is killed, and whether what they were told is what the store holds."""

from __future__ import annotations

import asyncio
import random
import re
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import psycopg

from core.answering.outcomes import KNOWN
from core.answering.outcomes import NOTHING as NOT_DONE
from core.features.memories.confirm import NOT_OPEN
from core.features.privacy.forget import NO_SUCH_MEMORY
from core.features.undo import NOTHING, NOTHING_OF_IT, TOO_LATE, UNDONE_BEFORE
from core.types import Locale
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, Note
from tests.fakes.discord_world import Person as Member
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
    where: Post | Note

    @property
    def key(self) -> tuple[object, ...]:
        """What differs once it says something else."""
        return self.where.id, self.text, *self.labels


class Place(Protocol):
    """A person's private chat with the bot."""

    async def say(self, text: str) -> None: ...

    async def press(self, shown: Shown, label: str) -> None: ...

    def screen(self) -> Sequence[Shown]: ...

    async def until(self, true: Callable[[], object]) -> None: ...


class TelegramPlace(Place):
    """One on Telegram."""

    def __init__(self, server: TelegramServer, person: Person) -> None:
        self._server = server
        self._person = person

    async def say(self, text: str) -> None:
        self._server.says(self._person, text)

    async def press(self, shown: Shown, label: str) -> None:
        assert isinstance(shown.where, Post)
        self._server.presses(self._person, label, post=shown.where)

    def screen(self) -> Sequence[Shown]:
        posts = self._server.chat(self._person.id).ours()
        return [Shown(post.text, [label for row in post.labels for label in row], post) for post in posts]

    async def until(self, true: Callable[[], object]) -> None:
        await self._server.until(true)


class DiscordPlace(Place):
    """One on Discord."""

    def __init__(self, server: DiscordServer, person: Member) -> None:
        self._server = server
        self._person = person

    async def say(self, text: str) -> None:
        await self._server.says(self._person, text)

    async def press(self, shown: Shown, label: str) -> None:
        assert isinstance(shown.where, Note)
        await self._server.interactions.press(self._person, shown.where, label)

    def screen(self) -> Sequence[Shown]:
        answers = [note for used in self._server.interactions.all.values() for note in used.notes]
        notes = {note.id: note for note in (*self._server.direct(self._person).notes.values(), *answers)}
        ours = [note for _, note in sorted(notes.items()) if note.by is BOT]
        return [Shown(note.text, [*_labels(note)], note) for note in ours]

    async def until(self, true: Callable[[], object]) -> None:
        await self._server.until(true)


def _labels(note: Note) -> Iterator[str]:
    for row in note.components:
        for item in row["components"]:
            yield f"{(item.get('emoji') or {}).get('name') or ''} {item.get('label') or ''}".strip()


@dataclass(frozen=True)
class Kind:
    """What is pressed: what is said before it and the labels pressed (`*Label`), the last of which is the press.

    `done` is what the answer then says; `holds` is how many rows of the `table` have the word, once it is done.
    """

    says: Sequence[str]
    done: str
    holds: int = 0
    table: str = "SELECT count(*) FROM memories WHERE content LIKE '%{word}{tail}%'"
    tail: str = ""


_REMEMBER: Final = "/remember the key of {word} is 1111"
_REMINDERS: Final = "SELECT count(*) FROM reminders WHERE text LIKE '%{word}%' AND state != 'removed'"
_KNOWN: Final = "SELECT count(*) FROM memories WHERE content LIKE '%{word}%' AND current = ''"
COMMANDS: Final = {
    "forget": Kind((_REMEMBER, "/forget {word}", "*Delete"), "Deleted:"),
    "undo": Kind((_REMEMBER, "*Undo"), "No longer saved:"),
    "undo deletion": Kind((_REMEMBER, "/forget {word}", "*Delete", "*Undo"), "Back again:", holds=1),
    "undo reminder": Kind(("/remind in 2 hours call {word}", "*Undo"), "I will not remind you:", table=_REMINDERS),
}
"""Those for which no model is asked."""

ALL: Final = COMMANDS | {
    "save": Kind(("remember that the key of {word} is 1111",), "Saved:", holds=1),
    "save by command": Kind((_REMEMBER,), "Saved:", holds=1),
    "delete": Kind((_REMEMBER, "forget the key of {word}", "*Delete"), "Deleted:"),
    "replace": Kind(
        ("/remember {word} parks on level 3", "{word} parked on level 5 today", "*Replace"),
        "Updated:",
        holds=1,
        tail=" parks on level 5",
    ),
}


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

    def __init__(self, place: Place, rows: Rows, seed: int, kinds: dict[str, Kind] = COMMANDS) -> None:
        self.found = Presses()
        self._place = place
        self._rows = rows
        self._kinds = list(kinds.values())
        self._letters = "".join(chr(ord("a") + digit) for digit in (seed // 26 % 26, seed % 26))

    async def press(self, number: int, kill: Callable[[Callable[[], bool]], Awaitable[None]]) -> None:
        """Bring one thing about, press its button, let somebody `kill` the bot, and look at what came of it.

        What the killer is given tells whether the store has the change.
        """
        kind = self._kinds[number % len(self._kinds)]
        word = f"zq{self._letters}{''.join(chr(ord('a') + int(digit)) for digit in str(number))}"
        for said in kind.says[:-1]:
            await self._answered(said.format(word=word), word)
        sql = kind.table.format(word=word, tail=kind.tail)

        def is_done() -> bool:
            with suppress(sqlite3.Error, psycopg.Error):
                return self._rows(sql)[0][0] == kind.holds
            return False

        before = {each.key for each in self._place.screen()}
        await self._do(kind.says[-1].format(word=word), word)
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
        await self._do(said, word)
        async with asyncio.timeout(_PATIENCE_S):
            await self._place.until(lambda: {each.key for each in self._place.screen()} - before)
            while not self._is_answered():  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(_LOOK_S)

    async def _do(self, said: str, word: str) -> None:
        if not said.startswith("*"):
            await self._place.say(said)
            return
        choices = [
            (each, label)
            for each in self._place.screen()
            for label in each.labels
            if word in each.text and said[1:] in label
        ]
        await self._place.press(*choices[-1])

    def _said(self, before: Collection[object], parts: Sequence[str]) -> Sequence[str]:
        """Return the texts with one of the parts that were not there before."""
        new = [each.text for each in self._place.screen() if each.key not in before]
        return [text for text in new if any(part in text for part in parts)]

    def _is_answered(self) -> bool:
        with suppress(sqlite3.Error, psycopg.Error):
            return not self._rows("SELECT count(payload) FROM inbox")[0][0]
        return False


def rows_of(folder: Path) -> Rows:
    """Return what asks the database of that data folder."""

    def rows(sql: str) -> Sequence[Sequence[object]]:
        with closing(sqlite3.connect(folder / "elefante.db")) as database:
            return database.execute(sql).fetchall()

    return rows


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
