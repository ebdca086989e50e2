"""What people see in the chat, and when: `elefante run` with the real SDKs, over loopback servers of both platforms.

`python -m bench chat [turns] [room] [crowd]`; without a name all of it, in real time, some six minutes. The bot is a
process of its own, so are the models. A new message notifies unless it is sent silently; an edit, a removal and a draft
do not. CHAT_FULL=1 prints every request of the turns.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from bench.model_server import (
    FIRST_TOKEN_S,
    HELLO,
    LONG,
    PACED,
    SCENARIOS,
    SECOND,
    SECOND_S,
    TOKENS_A_S,
    TOLD,
    serving,
    tokens,
)
from bench.table import show
from bot.settings.settings import load
from core.clock import SystemClock
from core.features.access.storage import People
from core.features.access.storage import Person as Known
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.e2e.command import Running, start
from tests.fakes.discord_components import labels
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT as DISCORD_BOT
from tests.fakes.discord_world import BOT_ID, LOADING, OWNER_ID
from tests.fakes.discord_world import Person as Member
from tests.fakes.telegram_people import BOT, Person
from tests.fakes.telegram_server import TOKEN as TELEGRAM_TOKEN
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Limits as TelegramLimits

QUIET_S: Final = 6.0
"""What has not happened for so long does not happen any more: longer than any interval between two edits."""

APART_S: Final = 2.0
"""Between the kinds of turns, each of which is in a chat of its own."""

PATIENCE_S: Final = 240.0
IN_ROOM, IN_CROWD = 10, 100
_SAYS: Final = {scenario.name: scenario for scenario in (HELLO, *SCENARIOS, LONG)}
TURNS: Final = {name: _SAYS[name].says for name in ("hello", "save", "recall", "update", "delete", LONG.name)}
PRESSED: Final = "delete, agreed"
TALK: Final = _SAYS["talk"]
_SILENT: Final = 1 << 12  # Discord: a message that notifies nobody


@dataclass(frozen=True, slots=True)
class Event:
    """One request of the bot's: `message` is what it wrote or reacted to, `answers` the message that it replies to."""

    at_s: float
    kind: str
    message: int = 0
    text: str = ""
    answers: int = 0
    is_loud: bool = False
    is_refused: bool = False

    def told(self, began_s: float) -> str:
        """Return a line that says what it was."""
        refused = " (refused)" * self.is_refused
        return f"  {self.at_s - began_s:6.2f}  {self.kind:<8} #{self.message} {self.text[:90]!r}{refused}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one person saw of one answer; times in seconds since they wrote or pressed.

    `end_s` is when the final text stands, `rest_s` when its last button came or went.
    """

    messages: int
    edits: int
    deletes: int
    notifications: int
    requests: int
    sign: str
    sign_s: float
    word_s: float
    end_s: float
    rest_s: float
    text: str


def seen(events: Sequence[Event], began_s: float) -> Seen:
    """Sum up the events of one answer, of which some wrote a message."""
    writes = [event for event in events if event.kind in {"message", "edit"} and not event.is_refused]
    last = {write.message: write.text for write in writes}
    final = "\n".join(last.values())
    ends = [next(one.at_s for one in writes if (one.message, one.text) == each) for each in last.items()]
    words = [one.at_s for one in events if one.kind in {"message", "edit", "draft"} and _is_of(one.text, final)]
    first = min((one for one in events if not one.is_refused), key=lambda one: one.at_s)
    kinds = [event.kind for event in writes]
    return Seen(
        kinds.count("message"),
        kinds.count("edit"),
        sum(event.kind == "delete" and not event.is_refused for event in events),
        sum(write.is_loud for write in writes),
        len(events),
        "status" if first.kind == "message" and not _is_of(first.text, final) else first.kind,
        first.at_s - began_s,
        min(words) - began_s,
        max(ends) - began_s,
        writes[-1].at_s - began_s,
        final,
    )


def _is_of(text: str, final: str) -> bool:
    """Whether the text holds something of the final one: no status does."""
    return bool(text.strip()) and text.strip()[:8].rstrip(" .…▌") in final


@dataclass(frozen=True, slots=True)
class Bubble:
    """A message of the bot's as it stands there, and the labels below it; `thinking` is Discord's own sign."""

    text: str
    labels: tuple[str, ...] = ()
    where: Any = None
    thinking: bool = False


def _button(bubbles: Sequence[Bubble], label: str) -> tuple[Any, str]:
    """Return the newest message with a button of such a label, and the whole label.

    Raises:
        StopIteration: there is none.
    """
    return next((each.where, full) for each in reversed(bubbles) for full in each.labels if label in full)


class Place(Protocol):
    """A chat with the bot, and the person who writes there."""

    label: str

    async def say(self, text: str) -> int:
        """Send a message; return its id."""
        ...

    async def press(self, label: str) -> None:
        """Press the newest button whose label holds that."""
        ...

    def screen(self) -> list[Bubble]:
        """Return what the bot wrote there and still stands, for that person."""
        ...

    def events(self) -> list[Event]:
        """Return what the bot did there, in order."""
        ...


@dataclass
class OnTelegram:
    """A private chat, or a group (`chat_id` below zero)."""

    label: str
    server: TelegramServer
    person: Person
    chat_id: int
    _queries: set[str] = field(default_factory=set)

    async def say(self, text: str) -> int:
        """Send a message; in a group to the bot."""
        named = text if self.chat_id > 0 or text.startswith("/") else f"@{BOT['username']} {text}"
        return int(self.server.says(self.person, named, chat_id=self.chat_id)["message_id"])

    async def press(self, label: str) -> None:
        """Press a button."""
        post, full = _button(self.screen(), label)
        self.server.presses(self.person, full, chat_id=self.chat_id, post=post)
        self._queries.add(self.server.updates[-1]["callback_query"]["id"])

    def screen(self) -> list[Bubble]:
        """Return the messages of the bot's, those that only the person sees last."""
        chat = self.server.chat(self.chat_id)
        return [
            Bubble(post.text, tuple(label for row in post.labels for label in row), post)
            for post in (*chat.ours(), *chat.whispers.values())
        ]

    def events(self) -> list[Event]:
        """Return the calls about this chat."""
        found = []
        for call in self.server.calls:
            if call.chat_id != self.chat_id and call.params.get("callback_query_id") not in self._queries:
                continue
            named = {"sendchataction": "typing", "setmessagereaction": "reaction", "answercallbackquery": "ack"}
            kind = (named | {"deletemessage": "delete"}).get(
                call.method,
                "draft" if call.method.endswith("draft")
                else "message" if call.method.startswith("send")
                else "edit" if call.method.startswith("editmessage")
                else "other",
            )  # fmt: skip
            number = call.message_id or int(call.params.get("message_id") or 0)
            reply = (call.params.get("reply_parameters") or {}).get("message_id") or 0
            loud = kind == "message" and str(call.params.get("disable_notification")).lower() != "true"
            text = call.text or str(call.params.get("caption", ""))
            found.append(Event(call.at_s, kind, number, text, int(reply), loud, call.code != 200))
        return found


@dataclass
class OnDiscord:
    """A direct message, or a channel (`room`)."""

    label: str
    server: DiscordServer
    person: Member
    room: int = 0
    tokens: set[str] = field(default_factory=set)

    @property
    def channel(self) -> int:
        """The id of the channel."""
        return self.room or self.server.direct(self.person).id

    async def say(self, text: str) -> int:
        """Send a message; in a channel to the bot."""
        return (await self.server.says(self.person, f"<@{BOT_ID}> {text}" if self.room else text, room=self.room)).id

    async def press(self, label: str) -> None:
        """Press a button."""
        note, full = _button(self.screen(), label)
        self.tokens.add((await self.server.interactions.press(self.person, note, full)).token)

    def screen(self) -> list[Bubble]:
        """Return the messages of the bot's, answers to commands among them."""
        notes = {note.id: note for note in self.server.channels[self.channel].notes.values()}
        for used in self.server.interactions.all.values():
            notes |= {note.id: note for note in used.notes if used.channel.id == self.channel}
        return [
            Bubble(note.text, tuple(labels(note.components)), note, bool(note.flags & LOADING))
            for _, note in sorted(notes.items())
            if note.by is DISCORD_BOT
        ]

    def events(self) -> list[Event]:
        """Return the requests about this channel; those that wrote something as what stood there then."""
        found, path = [], f"/channels/{self.channel}/messages"
        posts = (call for call in self.server.calls if (call.method, call.path) == ("POST", path) and call.status < 300)
        for write in self.server.writes:
            if write.channel != self.channel:
                continue
            kind = "edit" if write.verb == "edit" else "message"
            posted = next(posts, None) if write.verb == "post" else None
            loud = kind == "message" and not (posted is not None and posted.body.get("flags", 0) & _SILENT)
            found.append(Event(write.at_s, kind, write.message, write.text, write.reply_to or 0, loud))
        for call in self.server.calls:
            parts = call.path.strip("/").split("/")
            is_here = parts[:2] == ["channels", str(self.channel)]
            if not is_here and not (parts[0] in {"interactions", "webhooks"} and parts[2] in self.tokens):
                continue
            is_refused = call.status >= 300
            is_answer = parts[0] == "interactions" and call.body.get("type") in {4, 7}
            is_text = parts[0] == "webhooks" or (parts[2] == "messages" and "reactions" not in parts)
            if not is_refused and (is_answer or (is_text and call.method in {"POST", "PATCH"})):
                continue  # a write
            kind = "typing" if "typing" in parts else "reaction" if "reactions" in parts else "ack"
            number = int(parts[3]) if "reactions" in parts else 0
            if call.method == "DELETE" and is_text:
                kind = "delete"
            elif kind == "ack" and is_here:
                kind = "other"
            found.append(Event(call.at_s, kind, number, is_refused=is_refused and kind != "typing"))
        return sorted(found, key=lambda event: event.at_s)


@dataclass
class World:
    """Servers of both platforms, and a bot that serves them as a process of its own."""

    telegram: TelegramServer
    discord: DiscordServer
    folder: Path
    settings: dict[str, str]
    process: Running | None = None
    _log: asyncio.Task[bytes] | None = None

    async def start(self, **more: str) -> Running:
        """Start the bot on its data, and return once it listens."""
        sessions, self.telegram.polled = len(self.discord.gateway.identified), False
        self.process = await start("run", environment=self.settings | more)
        assert self.process.stderr is not None
        self._log = asyncio.create_task(self.process.stderr.read())
        async with asyncio.timeout(PATIENCE_S):
            while not (
                ("TELEGRAM_TOKEN" not in self.settings or self.telegram.polled)
                and ("DISCORD_TOKEN" not in self.settings or len(self.discord.gateway.identified) > sessions)
            ):
                assert self.process.returncode is None, (await self._log).decode()
                await asyncio.sleep(0.02)
        return self.process

    async def end(self) -> None:
        """Kill the bot, if it still runs; say what it logged if it had ended by itself."""
        assert self.process is not None
        assert self._log is not None
        if self.process.returncode is None:
            self.process.kill()
        if await self.process.wait() != -signal.SIGKILL:
            print((await self._log).decode())

    def private(self, platform: str, number: int) -> Place:
        """Return the private chat of a person of that number."""
        if platform == "Telegram":
            person = Person(1000 + number, f"Ana{number}", "en")
            return OnTelegram("Telegram, private", self.telegram, person, person.id)
        return OnDiscord("Discord, direct", self.discord, Member(10**17 + 5000 + number, f"Ana{number}", "en-US"))

    def room(self, platform: str, number: int, room: int) -> Place:
        """Return a room as a person of that number writes there."""
        if platform == "Telegram":
            person = Person(1000 + number, f"Ana{number}", "en")
            return OnTelegram("Telegram, group", self.telegram, person, -5000 - room)
        member = Member(10**17 + 5000 + number, f"Ana{number}", "en-US")
        return OnDiscord("Discord, channel", self.discord, member, 10**17 + 100 + room)

    async def settle(self, places: Sequence[Place], since_s: float) -> None:
        """Return when each of these saw a message since then, and nothing happens any more."""
        seen_s, known = self.now_s(), (0, 0)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await asyncio.sleep(0.25)
                now = (sum(call.method != "getupdates" for call in self.telegram.calls), len(self.discord.calls))
                if now != known:
                    seen_s, known = self.now_s(), now
                elif self.now_s() - seen_s > QUIET_S and all(_wrote(place, since_s) for place in places):
                    return

    def now_s(self) -> float:
        """Return the time, as events have it."""
        return self.telegram.clock.monotonic()

    async def ask(self, *groups: Sequence[Place], do: Callable[[Place], Awaitable[object]]) -> list[Seen]:
        """Let everybody of a group do that at once, each in a chat of their own; return what each saw, in order."""
        began = []
        for number, places in enumerate(groups):
            await asyncio.sleep(APART_S if number else 0.0)
            for place in places:
                began.append((place, self.now_s()))
                await do(place)
        await self.settle([place for place, _ in began], began[0][1])
        found = []
        for place, began_s in began:
            events = [event for event in place.events() if event.at_s >= began_s]
            if "CHAT_FULL" in os.environ:
                print(f"{place.label}:", *(one.told(began_s) for one in events), sep="\n")
            found.append(seen(events, began_s))
        return found


def _wrote(place: Place, since_s: float) -> bool:
    events = (event for event in place.events() if event.at_s >= since_s)
    return any(event.kind in {"message", "edit"} and not event.is_refused for event in events)


@asynccontextmanager
async def world(
    model: str = "", *, platforms: Sequence[str] = ("Telegram", "Discord"), unlimited: bool = False, **settings: str
) -> AsyncIterator[World]:
    """Run the bot with the model of that name ("": none) on these platforms, open to everybody."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        telegram = await stack.enter_async_context(TelegramServer(clock, None if unlimited else TelegramLimits()))
        discord = await stack.enter_async_context(DiscordServer(clock, None if unlimited else DiscordLimits()))
        own = {name: value for name, value in os.environ.items() if not name.endswith(("_TOKEN", "_KEY", "_URL"))}
        env = own | {
            "DATA_DIR": str(folder), "ELEFANTE_ENV": str(folder / ".env"), "LANGUAGE": "en", "ACCESS": "open",
            "QUOTA_GUEST": "messages_minute=1000", "QUOTA_BOT": "messages_minute=100000", **settings,
        }  # fmt: skip
        if "Telegram" in platforms:
            env |= {"TELEGRAM_TOKEN": TELEGRAM_TOKEN, "TELEGRAM_API_BASE_URL": telegram.url}
        if "Discord" in platforms:
            env |= {"DISCORD_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE_URL": discord.api_url}
            env |= {"DISCORD_GATEWAY_URL": discord.gateway.url}
        if model:
            url = stack.enter_context(serving())
            env |= {"MODEL": f"openai:{model}", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}
        (folder / ".env").touch()
        await _own(folder)
        here = World(telegram, discord, folder, env)
        await here.start()
        try:
            await asyncio.sleep(2.0)  # menus are written
            yield here
        finally:
            await here.end()


async def _own(folder: Path) -> None:
    database = await open_database(load(None, data_dir=folder).database_path)
    people, now = People(database), datetime.now(UTC)
    await people.put(Known(UserKey("telegram", "7"), Role.OWNER, "Eve", now))
    await people.put(Known(UserKey("discord", str(OWNER_ID)), Role.OWNER, "Eve", now))
    await database.close()


# --- one person, one thing after the other ---


async def turns() -> None:
    """Print what is said in each kind of chat, and what comes of it without a model and with one."""
    without, given = await _turns(""), await _turns(PACED)
    rows = []
    for label, name in sorted(without, key=lambda key: key[0]):
        pairs = zip(_cells(without[label, name]), _cells(given[label, name]), strict=True)
        rows.append([label, name, *map(", ".join, pairs)])
    heads = (
        "chat",
        "turn",
        "messages",
        "edits",
        "deletes",
        "notified",
        "requests",
        "first sign",
        "first word",
        "end",
        "at rest",
    )
    speed = f"{FIRST_TOKEN_S * 1000:.0f} ms to the first token, {TOKENS_A_S} tokens/s"
    show(f"One answer without a model, and with one ({speed}); seconds", heads, rows)


async def _turns(model: str) -> Mapping[tuple[str, str], Seen]:
    """Return what each turn came to in each kind of chat; every turn is in a chat of its own."""
    async with world(model) as here:
        places = {
            name: [
                here.private("Telegram", number), here.room("Telegram", 100 + number, number),
                here.private("Discord", number), here.room("Discord", 100 + number, number),
            ]
            for number, name in enumerate(TURNS)
        }  # fmt: skip
        turns_of = [(name, place) for name, each in places.items() for place in each]
        said = {id(place): TURNS[name] for name, place in turns_of}
        await here.ask(*places.values(), do=lambda place: place.say(f"/remember {TOLD.says}"))
        answers = await here.ask(*places.values(), do=lambda place: place.say(said[id(place)]))
        answers += await here.ask(places["delete"], do=lambda place: place.press("Delete"))
        turns_of += [(PRESSED, place) for place in places["delete"]]
        return {(place.label, name): one for (name, place), one in zip(turns_of, answers, strict=True)}


def _cells(one: Seen) -> list[str]:
    counts = (one.messages, one.edits, one.deletes, one.notifications, one.requests)
    return [
        *map(str, counts),
        f"{one.sign} {one.sign_s:.2f}",
        *(f"{s:.2f}" for s in (one.word_s, one.end_s, one.rest_s)),
    ]


# --- many at once ---


def paper(number: int, of: int, per_window: int, window_s: float, model_s: float) -> float:
    """Return when the answer of that number is whole if each is one message, sent as soon as the platform takes it."""
    assert number <= of
    return model_s + (number - 1) // per_window * window_s


async def _at_once(here: World, places: Sequence[Place], ending: str, *, is_room: bool) -> tuple[list[Seen], int, int]:
    """Let everybody say TALK; return what each saw, how many answers have that ending, and the refusals met."""
    calls, requests = len(here.telegram.calls), len(here.discord.calls)
    asked = {}
    for place in places:
        began_s = here.now_s()
        asked[await place.say(TALK.says)] = (place, began_s)
    await here.settle(places, min(began_s for _, began_s in asked.values()))
    found = []
    for message, (place, began_s) in asked.items():
        events = [event for event in place.events() if event.at_s >= began_s]
        if is_room:
            ours = {event.message for event in events if event.kind == "message" and event.answers == message}
            events = [event for event in events if event.message in {*ours, message}]
        found.append(seen(events, began_s))
    refused = sum(call.code == 429 for call in here.telegram.calls[calls:])
    refused += sum(call.status == 429 for call in here.discord.calls[requests:])
    return found, sum(ending in one.text for one in found), refused


def _row(label: str, found: Sequence[Seen], whole: int, refused: int, paper_s: Callable[[int], float]) -> list[str]:
    """Return medians and 90th percentiles, the first message to the last."""
    half, tail = (len(found) + 1) // 2, len(found) * 9 // 10

    def both(of: Callable[[Seen], float]) -> str:
        values = sorted(map(of, found))
        return f"{values[half - 1]:.1f}, {values[tail - 1]:.1f} s"

    return [
        label,
        f"{whole} of {len(found)}",
        str(refused),
        *(f"{sum(map(of, found)) / len(found):.1f}" for of in _COUNTS),
        both(lambda one: one.sign_s),
        both(lambda one: one.word_s),
        both(lambda one: one.end_s),
        f"{paper_s(half):.1f}, {paper_s(tail):.1f} s",
    ]


_COUNTS: Final[tuple[Callable[[Seen], int], ...]] = (
    lambda one: one.messages, lambda one: one.edits, lambda one: one.deletes, lambda one: one.notifications,
)  # fmt: skip
_COUNTED: Final = ("messages", "edits", "deletes", "notified")
_MANY: Final = ("", "whole", "429s", *_COUNTED, "first sign", "first word", "end", "on paper")


async def room() -> None:
    """Print what ten people see who ask at once in one room."""
    await _many(IN_ROOM, PACED, FIRST_TOKEN_S + tokens(TALK.answer) / TOKENS_A_S, ((20, 60.0), (5, 5.0)), is_room=True)


async def crowd() -> None:
    """Print what a hundred people see who ask at once, each in private."""
    await _many(IN_CROWD, SECOND, SECOND_S, ((30, 1.0), (50, 1.0)), is_room=False)


async def _many(
    people: int, model: str, model_s: float, windows: Sequence[tuple[int, float]], *, is_room: bool
) -> None:
    """Print what that many see on each platform, which takes so many messages a window, without and with the model."""
    rows = []
    for platform, (per_window, window_s) in zip(("Telegram", "Discord"), windows, strict=True):
        for mind, takes_s in (("", 0.0), (model, model_s)):
            async with world(mind) as here:
                own = [here.private(platform, number) for number in range(people)]
                places = [here.room(platform, number, 50) for number in range(people)] if is_room else own
                found, whole, refused = await _at_once(here, places, TALK.answer[-20:] if mind else "", is_room=is_room)
            on_paper = partial(paper, of=people, per_window=per_window, window_s=window_s, model_s=takes_s)
            rows.append(_row(f"{places[0].label}{', a model' * bool(mind)}", found, whole, refused, on_paper))
    where = "in one room" if is_room else "each in private"
    show(f"{people} people at once, {where}, a model takes {model_s:.1f} s: p50, p90", _MANY, rows)


PARTS: Final = {"turns": turns, "room": room, "crowd": crowd}


def main(names: Sequence[str] = ()) -> None:
    """Measure and print the parts of those names, or all."""
    for name in names or PARTS:
        asyncio.run(PARTS[name]())
