"""What people see in the chat, and when: `elefante run` with the real SDKs, over loopback servers of both platforms.

`python -m bench chat [turns] [room] [crowd]`; without a name all of it, in real time, some four minutes. The bot
is a process of its own, so are the models. A new message notifies, an edit and a draft do not. CHAT_FULL=1 prints every
request of the turns.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from bench.model_server import FIRST_TOKEN_S, PACED, SECOND, SECOND_S, TOKENS_A_S, serving, tokens
from bench.sensible_model import HELLO, SCENARIOS, TOLD
from bench.table import show
from bot.settings.settings import load
from core.clock import SystemClock
from core.features.access.people import Person as Known
from core.features.access.storage import People
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT_ID, OWNER_ID
from tests.fakes.discord_world import Person as Member
from tests.fakes.telegram_limits import Limits as TelegramLimits
from tests.fakes.telegram_people import BOT, Person
from tests.fakes.telegram_server import TOKEN as TELEGRAM_TOKEN
from tests.fakes.telegram_server import TelegramServer

QUIET_S: Final = 6.0
"""What has not happened for so long does not happen any more: longer than any interval between two edits."""

APART_S: Final = 2.0
"""Between the kinds of turns, each of which is in a chat of its own."""

PATIENCE_S: Final = 240.0
IN_ROOM, IN_CROWD = 10, 200
_SAYS: Final = {scenario.name: scenario for scenario in (HELLO, *SCENARIOS)}
TURNS: Final = {name: _SAYS[name].says for name in ("hello", "save", "recall", "update", "delete")}
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


class Place(Protocol):
    """A chat with the bot, and the person who writes there."""

    label: str

    async def say(self, text: str) -> int:
        """Send a message; return its id."""
        ...

    async def press(self, label: str) -> None:
        """Press the newest button whose label holds that."""
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
        posts = self.server.chat(self.chat_id).ours()
        post, full = next((p, name) for p in reversed(posts) for row in p.labels for name in row if label in name)
        self.server.presses(self.person, full, chat_id=self.chat_id, post=post)
        self._queries.add(self.server.updates[-1]["callback_query"]["id"])

    def events(self) -> list[Event]:
        """Return the calls about this chat."""
        found = []
        for call in self.server.calls:
            if call.chat_id != self.chat_id and call.params.get("callback_query_id") not in self._queries:
                continue
            kind = {"sendchataction": "typing", "setmessagereaction": "reaction", "answercallbackquery": "ack"}.get(
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
    _tokens: set[str] = field(default_factory=set)

    @property
    def _channel(self) -> int:
        return self.room or self.server.direct(self.person).id

    async def say(self, text: str) -> int:
        """Send a message; in a channel to the bot."""
        return (await self.server.says(self.person, f"<@{BOT_ID}> {text}" if self.room else text, room=self.room)).id

    async def press(self, label: str) -> None:
        """Press a button."""
        notes = self.server.channels[self._channel].notes.values()
        labelled = (
            (note, item)
            for note in reversed(notes)
            for row in note.components
            for item in row["components"]
            if label in (item.get("label") or "")
        )
        note, item = next(labelled)
        self._tokens.add((await self.server.interactions.press(self.person, note, item["custom_id"])).token)

    def events(self) -> list[Event]:
        """Return the requests about this channel; those that wrote something as what stood there then."""
        found, notes = [], self.server.channels[self._channel].notes
        for write in self.server.writes:
            if write.channel != self._channel:
                continue
            kind = "edit" if write.verb == "edit" else "message"
            loud = kind == "message" and not (write.message in notes and notes[write.message].flags & _SILENT)
            found.append(Event(write.at_s, kind, write.message, write.text, write.reply_to or 0, loud))
        for call in self.server.calls:
            parts = call.path.strip("/").split("/")
            is_here = parts[:2] == ["channels", str(self._channel)]
            if not is_here and not (parts[0] in {"interactions", "webhooks"} and parts[2] in self._tokens):
                continue
            is_refused = call.status >= 300
            is_answer = parts[0] == "interactions" and call.body.get("type") in {4, 7}
            is_text = parts[0] == "webhooks" or (parts[2] == "messages" and "reactions" not in parts)
            if not is_refused and (is_answer or (is_text and call.method in {"POST", "PATCH"})):
                continue  # a write
            kind = "typing" if "typing" in parts else "reaction" if "reactions" in parts else "ack"
            number = int(parts[3]) if "reactions" in parts else 0
            if kind == "ack" and is_here:
                kind = "other"
            found.append(Event(call.at_s, kind, number, is_refused=is_refused and kind != "typing"))
        return sorted(found, key=lambda event: event.at_s)


@dataclass
class World:
    """Servers of both platforms, and a bot that serves them as a process of its own."""

    telegram: TelegramServer
    discord: DiscordServer

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
    return any(event.kind in {"message", "edit"} for event in place.events() if event.at_s >= since_s)


@asynccontextmanager
async def world(model: str = "") -> AsyncIterator[World]:
    """Run the bot with the model of that name ("": none), open to everybody."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        telegram = await stack.enter_async_context(TelegramServer(clock, TelegramLimits()))
        discord = await stack.enter_async_context(DiscordServer(clock, DiscordLimits()))
        own = {name: value for name, value in os.environ.items() if not name.endswith(("_TOKEN", "_KEY", "_URL"))}
        env = own | {
            "TELEGRAM_TOKEN": TELEGRAM_TOKEN, "TELEGRAM_API_BASE_URL": telegram.url, "DISCORD_TOKEN": DISCORD_TOKEN,
            "DISCORD_API_BASE_URL": discord.api_url, "DATA_DIR": str(folder), "ELEFANTE_ENV": str(folder / ".env"),
            "DISCORD_GATEWAY_URL": discord.gateway.url, "LANGUAGE": "en", "ACCESS": "open",
            "QUOTA_GUEST": "messages_minute=1000", "QUOTA_BOT": "messages_minute=100000",
        }  # fmt: skip
        if model:
            url = stack.enter_context(serving())
            env |= {"MODEL": f"openai:{model}", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}
        (folder / ".env").touch()
        await _own(folder)
        told = stack.enter_context((folder / "told.txt").open("w+"))
        command = (sys.executable, "-m", "bot", "run")
        process = await asyncio.create_subprocess_exec(*command, env=env, stderr=told)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not (telegram.polled and discord.gateway.online):
                    assert process.returncode is None, "the bot ended"
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2.0)  # menus are written
            yield World(telegram, discord)
        finally:
            if process.returncode is not None:
                told.seek(0)
                print(told.read(), file=sys.stderr)
            else:
                process.kill()  # what it does in the end is not measured
                await process.wait()


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
    heads = ("chat", "turn", "messages", "edits", "notified", "requests", "first sign", "first word", "end", "at rest")
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
    counts = (one.messages, one.edits, one.notifications, one.requests)
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


async def _at_once(here: World, places: Sequence[Place], *, is_room: bool) -> tuple[list[Seen], int, int]:
    """Let everybody say TALK; return what each saw, how many answers are whole, and the refusals met."""
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
    return found, sum(TALK.answer[-20:] in one.text for one in found), refused


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
        *(f"{sum(map(of, found)) / len(found):.1f}" for of in (lambda s: s.messages, lambda s: s.edits)),
        both(lambda one: one.sign_s),
        both(lambda one: one.word_s),
        both(lambda one: one.end_s),
        f"{paper_s(half):.1f}, {paper_s(tail):.1f} s",
    ]


_MANY: Final = ("", "whole", "429s", "messages", "edits", "first sign", "first word", "end", "on paper")


async def room() -> None:
    """Print what ten people see who ask at once in one room."""
    rows = []
    model_s = FIRST_TOKEN_S + tokens(TALK.answer) / TOKENS_A_S
    for platform, per_window, window_s in (("Telegram", 20, 60.0), ("Discord", 5, 5.0)):
        async with world(PACED) as here:
            places = [here.room(platform, number, 50) for number in range(IN_ROOM)]
            found, whole, refused = await _at_once(here, places, is_room=True)

        def paper_s(number: int, per_window: int = per_window, window_s: float = window_s) -> float:
            return paper(number, IN_ROOM, per_window, window_s, model_s)

        rows.append(_row(places[0].label, found, whole, refused, paper_s))
    show(f"Ten people at once in one room, the model takes {model_s:.1f} s: p50, p90", _MANY, rows)


async def crowd() -> None:
    """Print what 200 people see who ask at once, each in private."""
    rows = []
    for platform, a_second in (("Telegram", 30), ("Discord", 50)):
        async with world(SECOND) as here:
            places = [here.private(platform, number) for number in range(IN_CROWD)]
            found, whole, refused = await _at_once(here, places, is_room=False)

        def paper_s(number: int, a_second: int = a_second) -> float:
            return paper(number, IN_CROWD, a_second, 1.0, SECOND_S)

        rows.append(_row(places[0].label, found, whole, refused, paper_s))
    show(f"{IN_CROWD} people at once in private, {SECOND_S:.0f} s a model call: p50, p90", _MANY, rows)


PARTS: Final = {"turns": turns, "room": room, "crowd": crowd}


def main(names: Sequence[str] = ()) -> None:
    """Measure and print the parts of those names, or all."""
    for name in names or PARTS:
        asyncio.run(PARTS[name]())
