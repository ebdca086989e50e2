"""A bot that is killed at its writes, again and again, and what people see of its answers in the end.

An answer of each kind, in each kind of chat, is first given by a bot that nobody kills; then one after another is
killed: before a write is done, when it is done, when it is on record, or some time later. Every answer has a chat of
its own, which in the end is compared with that of the same answer without a kill.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count, cycle, islice
from typing import Any, Final, NamedTuple, TypeAlias

from bench.chat import PATIENCE_S, TURNS, Bubble, OnDiscord, OnTelegram, World, world
from bench.model_server import LONG, QUICK, TOLD
from core.answering.loop import THINKING
from core.answering.outcomes import AGAIN as INTERRUPTED
from core.types import Locale
from tests.e2e.command import Running
from tests.fakes import discord_world, telegram_wire

_REMEMBER: Final = f"/remember {TOLD.says}"
STEPS: Final[Mapping[str, Sequence[str]]] = {
    "hello": (TURNS["hello"],),
    "long": (LONG.says,),
    "save": (TURNS["save"],),
    "recall": (_REMEMBER, TURNS["recall"]),
    "update": (_REMEMBER, TURNS["update"]),
    "approval": (_REMEMBER, TURNS["delete"]),
    "approved": (_REMEMBER, TURNS["delete"], "*Delete"),
    "undone": (_REMEMBER, "*Undo"),
    "list": (_REMEMBER, "/memories"),
    "stop": (LONG.says, "*⏹"),
}
"""What is said and pressed (*) for each kind of answer; the bot is killed at the last step."""

_STATUSES: Final = {*THINKING.values(), "…"}
_STOP, _MARK, _STOPPED = "⏹", "↻", "⏹ Stopped."
_BEGIN: Final = ("Undone. No longer saved:", "Updated. It now reads: “The wifi password is tulip99”")
"""What follows these may differ after a restart: a code, or that the change was made before."""

_QUIET_S: Final = 0.7
_LIMIT_S: Final = 6.0
_WRITES: Final = {"long": (1, 2, 3, 4, 5), "stop": (1, 1, 2, 3), "hello": (1, 2), "recall": (1, 2)}
"""At which of its writes an answer is struck; those of other names have one or two."""

_BATCH: Final = 25

Place: TypeAlias = OnTelegram | OnDiscord


class Case(NamedTuple):
    """An answer of that name, in a chat of that kind."""

    name: str
    kind: str
    place: Place


class When(StrEnum):
    """When the bot is killed: at a write of its own, or up to a second after it."""

    BEFORE = "before it is done"
    DONE = "when it is done"
    RECORDED = "when it is on record"
    LATER = "later"


@dataclass
class Slash(OnDiscord):
    """A channel where questions are asked by /ask: aloud, or `hidden` from others."""

    hidden: bool = False

    async def say(self, text: str) -> int:
        """Ask; a command is written."""
        if text.startswith("/"):
            return await super().say(text)
        asked = await self.server.interactions.command(
            self.person, "ask", room=self.room, message=text, private=self.hidden
        )
        self.tokens.add(asked.token)
        return asked.id

    def screen(self) -> list[Bubble]:
        """Return the messages in the channel, and in private, where a hidden answer goes that Discord does not take."""
        aside = OnDiscord(self.label, self.server, self.person)
        return [*super().screen(), *aside.screen()]


def _words(bubble: Bubble) -> str:
    """Return the text without what a restart adds to it; of some its beginning."""
    text = bubble.text.replace(INTERRUPTED[Locale.EN], "").strip().removeprefix(_MARK).strip()
    return next((begin for begin in _BEGIN if text.startswith(begin)), " ".join(text.split()))


def _stops(bubble: Bubble) -> bool:
    """Return whether a Stop button is below it."""
    return any(_STOP in label for label in bubble.labels)


@dataclass
class Tally:
    """What stands in all chats in the end; a bubble is counted once."""

    answers: int = 0
    untaken: int = 0  # Discord told the person that the bot did not respond
    lost: int = 0
    doubles: int = 0
    unmarked: int = 0
    statuses: int = 0
    thinking: int = 0
    fragments: int = 0
    stops: int = 0
    dead: int = 0
    bare: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, name: str, bubbles: Sequence[Bubble], expected: Sequence[Bubble], *, is_taken: bool) -> None:
        """Count what stands in one chat, beside what an answer that nobody killed left there."""
        was = self._left()
        self.answers += 1
        self.stops += sum(_stops(bubble) for bubble in bubbles)
        self.thinking += sum(bubble.thinking for bubble in bubbles)
        left = [bubble for bubble in bubbles if not bubble.thinking]
        for whole in _wholes(name, expected):
            copies = []
            while copy := _copy(left, " ".join(map(_words, whole))):
                copies.append(copy)
            self.lost += not copies and is_taken
            self.untaken += not copies and not is_taken
            self.doubles += max(len(copies) - 1, 0)
            self.unmarked += max(sum(not copy[0].text.startswith(_MARK) for copy in copies) - 1, 0)
            self.bare += bool(copies) and not any(set(whole[-1].labels) <= set(copy[-1].labels) for copy in copies)
        statuses = [bubble for bubble in left if bubble.text.removeprefix(_MARK).strip() in _STATUSES]
        self.statuses += len(statuses)
        self.fragments += len(left) - len(statuses)
        if more := [each for each, count in self._left().items() if count > was[each]]:
            stands = [f"    {bubble.text[:60]!r} … {bubble.text[-20:]!r} {list(bubble.labels)}" for bubble in bubbles]
            self.wrong.append("\n".join((f"{name}: {', '.join(more)}", *stands)))

    def _left(self) -> Mapping[str, int]:
        counted = ("lost", "unmarked", "statuses", "thinking", "fragments", "stops", "bare", "doubles")
        return {name: getattr(self, name) for name in counted}


def _wholes(name: str, expected: Sequence[Bubble]) -> list[Sequence[Bubble]]:
    """Return the answers that stand in a chat, each with its messages."""
    return [expected] if name.startswith(("long", "stop")) else [[bubble] for bubble in expected]


def _copy(left: list[Bubble], whole: str) -> list[Bubble]:
    """Take the bubbles of one answer out, split as they may be; none where it is neither whole nor was stopped."""
    found: list[Bubble] = []
    rest = whole
    while rest:
        parts = [bubble for bubble in left if bubble not in found and _begins(rest, bubble)]
        if not parts:
            return []
        found.append(max(parts, key=lambda bubble: len(_words(bubble))))
        rest = "" if _words(found[-1]).endswith(_STOPPED) else rest.removeprefix(_words(found[-1])).strip()
    for bubble in found:
        left.remove(bubble)
    return found


def _begins(rest: str, bubble: Bubble) -> bool:
    words = _words(bubble)
    return bool(words) and rest.startswith(words.removesuffix(_STOPPED).strip()) and not _stops(bubble)


class Strike:
    """Kills the bot at a write of that number in a place, if it comes to that."""

    def __init__(self, place: Place, when: When, number: int, here: World, later_s: float) -> None:
        self.hits = False
        self._place = place
        self._when = when
        self._number = number
        self._here = here
        self._later_s = later_s
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    def before(self, method: str, what: Any) -> None:
        """Count a write that was asked for; it is refused if the bot is killed before it."""
        if not is_write(self._place, method, what):
            return
        self._count += 1
        if self._count == self._number and self._when is When.BEFORE:
            self._kill()
            raise _refusal(self._place)

    def done(self, method: str, what: Any) -> bool:
        """Kill when the write is done, or wait for its record."""
        if self._count == self._number and not self.hits and is_write(self._place, method, what):
            if self._when is When.DONE:
                self._kill()
            elif self._task is None:
                self._task = asyncio.create_task(self._follow())
        return False

    async def _follow(self) -> None:
        if self._when is When.LATER:
            await asyncio.sleep(self._later_s)
        else:
            posted, until_s = self._posted(), self._here.now_s() + 0.5
            while self._here.now_s() < until_s and posted == self._posted():  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(0.001)
        self._kill()

    def _posted(self) -> list[Any]:
        sql = "SELECT posted, payload IS NULL FROM inbox WHERE chat = ?"
        return _rows(self._here, sql, _key(self._place))

    def _kill(self) -> None:
        assert self._here.process is not None
        self.hits = self._here.process.returncode is None
        self._here.process.kill()


def is_write(place: Place, method: str, what: Any) -> bool:
    """Whether a request changes what stands in that place."""
    if isinstance(place, OnTelegram):
        is_write = method.startswith(("sendmessage", "editmessage", "deletemessage"))
        return is_write and int(what.get("chat_id", 0)) == place.chat_id
    if method == "GET" or "/reactions" in what or "/typing" in what:
        return False
    return f"/channels/{place.channel}/messages" in what or any(token in what for token in place.tokens)


def _key(place: Place) -> str:
    """Return the id of the chat, as the database has it."""
    return str(place.chat_id if isinstance(place, OnTelegram) else place.channel)


def _is_taken(place: Place) -> bool:
    """Whether the bot acknowledged all commands and presses there: of others Discord says that they failed."""
    return isinstance(place, OnTelegram) or all(place.server.interactions.all[token].kind for token in place.tokens)


def _refusal(place: Place) -> Exception:
    if isinstance(place, OnTelegram):
        return telegram_wire.Refused(502, "Bad Gateway")
    return discord_world.Refused(502, 0, "502: Bad Gateway")


def _rows(here: World, sql: str, *values: object) -> list[Any]:
    with suppress(sqlite3.Error), closing(sqlite3.connect(here.folder / "elefante.db")) as database:
        return database.execute(sql, values).fetchall()
    return []


async def at_rest(here: World, child: Running | None = None) -> None:
    """Return when nothing is owed, and nothing was written for a while; or when the bot was killed."""
    known, since_s = -1, here.now_s()
    async with asyncio.timeout(PATIENCE_S):
        while here.now_s() - since_s < _QUIET_S and (child is None or child.returncode is None):
            await asyncio.sleep(0.05)
            calls = sum(call.method != "getupdates" for call in here.telegram.calls) + len(here.discord.calls)
            owed = _rows(here, "SELECT count(payload) FROM inbox")
            if calls != known or owed != [(0,)]:
                known, since_s = calls, here.now_s()


async def _do(place: Place, step: str) -> None:
    """Say that, or press the newest button of that label once it is there."""
    if not step.startswith("*"):
        await place.say(step)
        return
    async with asyncio.timeout(_LIMIT_S):
        while True:
            with suppress(StopIteration, RuntimeError):
                await place.press(step[1:])
                return
            await asyncio.sleep(0.01)


@contextmanager
def _aimed(here: World, strike: Strike) -> Iterator[None]:
    """Let it see what the bot asks of the platform."""
    here.telegram.faults, here.telegram.denies = [strike.before], strike.done
    here.discord.faults, here.discord.denies = [strike.before], strike.done
    yield
    here.telegram.faults, here.telegram.denies = [], lambda _method, _what: False
    here.discord.faults, here.discord.denies = [], lambda _method, _what: False


def _places(here: World, platform: str) -> Mapping[str, Iterator[Place]]:
    """Return the kinds of chats of a platform, each with endless chats of that kind, each with a person of its own."""
    numbers = count()

    def slash(number: int, *, hidden: bool) -> Slash:
        place = here.room(platform, number, number)
        assert isinstance(place, OnDiscord)
        return Slash(place.label, place.server, place.person, place.room, hidden=hidden)

    kinds: dict[str, Callable[[int], Any]] = {
        "private": lambda number: here.private(platform, number),
        "room": lambda number: here.room(platform, number, number),
    }
    if platform == "Discord":
        kinds |= {"/ask": partial(slash, hidden=False), "/ask, hidden": partial(slash, hidden=True)}
    return {kind: map(make, numbers) for kind, make in kinds.items()}


async def _prepared(here: World, cases: Sequence[Case], *, whole: bool) -> None:
    """Do all but the last step of each, or all; nothing is stopped."""
    for number in range(max(map(len, STEPS.values()))):
        for name, _, place in cases:
            steps = STEPS[name][:1] if name == "stop" else STEPS[name]
            if number < len(steps) - (not whole):
                await _do(place, steps[number])
        await at_rest(here)


async def killed(platform: str, kills: int, seed: int) -> tuple[Tally, Counter[When]]:
    """Kill the bot that often on that platform; return what stands in the end, and how the kills were aimed."""
    chance, hits, found = random.Random(seed), Counter[When](), Tally()  # noqa: S311 - a dice
    async with world(QUICK, platforms=(platform,), unlimited=True) as here:
        kinds = _places(here, platform)
        mixed = [(name, kind) for name in STEPS for kind in kinds]
        chance.shuffle(mixed)
        first, cases = (
            [Case(name, kind, next(kinds[kind])) for name, kind in islice(cycle(mixed), many)]
            for many in (len(mixed), 2 * kills)
        )
        await _prepared(here, first, whole=True)
        for number in range(kills):
            if number % _BATCH == 0:  # what is asked is open for ten minutes
                await here.end()
                await here.start()
                await _prepared(here, cases[2 * number : 2 * (number + _BATCH)], whole=False)
            await here.end()
            await _strike(here, cases[2 * number : 2 * number + 2], chance, hits)
        await here.end()
        await here.start()
        await at_rest(here)
        expected = {(name, kind): place.screen() for name, kind, place in first}
        for name, kind, place in cases:
            found.count(
                f"{name}, {kind}, {_key(place)}", place.screen(), expected[name, kind], is_taken=_is_taken(place)
            )
        dead = [place for *_, place in cases for bubble in place.screen() if _stops(bubble)]
        for place in dead:
            await place.press(_STOP)
        await at_rest(here)
        found.dead = sum(_stops(bubble) for place in dead for bubble in place.screen())
    return found, hits


async def _strike(here: World, cases: Sequence[Case], chance: random.Random, hits: Counter[When]) -> None:
    """Kill the bot as it answers these, aimed at a write of the first."""
    child = await here.start(
        STATUS_AFTER_S=chance.choice(("0.3", "1.5", "1.5")), NOTIFY_AFTER_S=chance.choice(("0.8", "20"))
    )
    for name, _, place in cases:
        if name == "stop":
            await _do(place, LONG.says)
    when = chance.choice(list(When))
    strike = Strike(
        cases[0].place, when, chance.choice(_WRITES.get(cases[0].name, (1, 1, 2))), here, chance.uniform(0.0, 1.0)
    )
    with _aimed(here, strike):
        for name, _, place in reversed(cases):
            with suppress(TimeoutError):  # the answer was over before it could be stopped
                await _do(place, STEPS[name][-1])
        await at_rest(here, child)  # it may have written less
    hits[when] += strike.hits
