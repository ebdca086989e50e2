"""Conversations of people with a careful secretary, held with the real bot in limited mode.

A conversation begins with an empty memory on Monday 2026-11-23 at 10:00; its steps follow one another by a minute, or
by `later`. The person who speaks answers the bot's questions as what they want demands: `answer`.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from core.answering.chatbot import ChatBot
from core.limited import LimitedMind
from core.outgoing import OutgoingMessage
from core.ports import Embedder
from core.storage.sqlite import open_database
from core.text.unicode import fold
from core.types import ConversationKey, Incoming
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House

DATA: Final = Path(__file__).parents[1] / "data"
_BEGIN: Final = datetime(2026, 11, 23, 10, tzinfo=UTC)  # of the wall clock in the person's zone
_ZONES: Final = {"pt-BR": "America/Sao_Paulo", "en": "America/New_York", "es": "America/Mexico_City"}
_UNITS_S: Final = {"h": 3_600, "d": 86_400}
_STEP_S: Final = 60
_WORDS: Final = {"words", "not", "after", "gone", "stays", "back"}
_MAX_QUESTIONS: Final = 3
"""How often the person answers a question within one step."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a careful secretary makes of a message: a kind of outcome, and the words that tell whether it came.

    `words` are kept or shown, `unwanted` (`not` in the file) must not be shown; `after` takes the place of `gone`,
    `stays` is kept all the same, `back` is kept again. With `leave` the person does not answer the bot's question.
    """

    kind: str
    words: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    leave: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wants:
        """Read the `wants` of a step."""
        words = {"unwanted" if name == "not" else name: tuple(value) for name, value in given.items() if name in _WORDS}
        return cls(given["kind"], leave=given.get("leave", False), **words)


@dataclass(frozen=True, slots=True)
class Said:
    """One step: what the person types, what they want by it, and how long after the step before, in seconds."""

    text: str
    wants: Wants
    after_s: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: its name, the language that is spoken in it, the person's locale, and the steps."""

    name: str
    language: str
    locale: str
    steps: tuple[Said, ...]


def conversations(path: Path) -> list[Conversation]:
    """Read the conversations of a file."""
    found = json.loads(path.read_text("utf-8"))["conversations"]
    return [
        Conversation(each["name"], each["language"], each["locale"], tuple(_step(step) for step in each["steps"]))
        for each in found
    ]


def _step(given: Mapping[str, Any]) -> Said:
    later = given.get("later", "")
    after_s = int(later[:-1]) * _UNITS_S[later[-1]] if later else _STEP_S
    return Said(given["say"], Wants.of(given["wants"]), after_s)


@dataclass(frozen=True, slots=True)
class Asked:
    """An open proposal: its kind (`Keeping`, `Replacement`, `Deletion`, …), its code, and what a yes would do.

    `olds` are the contents of the memories that would change or go; `news`, one for each of them, what they would say
    then, or the drafts that would be kept.
    """

    kind: str
    code: str
    olds: tuple[str, ...]
    news: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of a step: memory before and after, by id; all that was shown; what was asked and answered.

    `first` are the texts that the message itself brought, `shown` those and what came of the person's answers.
    """

    said: Said
    before: Mapping[str, str]
    after: Mapping[str, str]
    first: str
    shown: str
    buttons: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    answered: tuple[str, ...] = ()
    reminders: int = 0
    earlier: tuple[str, ...] = ()
    """Every content that was kept at some time before."""

    cpu_ms: float = 0.0
    """What the process spent on the message itself."""


@dataclass(slots=True)
class Secretary:
    """A chat in private with a bot that has no model; `say` tells what became of a message."""

    house: House
    bot: ChatBot
    clock: FakeClock
    locale: str
    buttons: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    _known: dict[str, None] = field(default_factory=dict)

    async def say(self, said: Said) -> Happened:
        """Send the message, and answer what the bot asks, as the person would."""
        await self.clock.advance(said.after_s)
        before, reminders = await self.memories(), await self._reminders()
        self._known |= dict.fromkeys(before.values())
        began_s = time.process_time()
        shown, asked, answered = [await self._send(said.text)], list[Asked](), list[str]()
        cpu_ms = (time.process_time() - began_s) * 1_000
        buttons = self.buttons
        while len(asked) + len(answered) < 2 * _MAX_QUESTIONS:
            now = await self._asked(before)
            asked += [now] if now is not None else []
            reply = answer(said.wants, now, self.commands) if now is not None else numbered(said.wants, shown[-1])
            if not reply or said.wants.leave:
                break
            pressed = dict(zip(self.commands, self.buttons, strict=True)).get(reply)
            answered.append(reply if pressed is None else f"[{pressed}]")
            shown.append(await self._send(reply, pressed=pressed is not None))
        after = await self.memories()
        set_now = await self._reminders() - reminders
        return Happened(
            said, before, after, shown[0], "\n".join(shown), buttons, tuple(asked), tuple(answered), set_now,
            earlier=tuple(self._known), cpu_ms=cpu_ms,
        )  # fmt: skip

    async def memories(self) -> dict[str, str]:
        """Map the ids of what is kept, as far as it is current, to the contents."""
        return {item.id: item.content for item in await self.house.memories.of(ANA).page(limit=999)}

    async def _reminders(self) -> int:
        return len(await self.house.reminders.of([ANA]))

    async def _send(self, text: str, *, pressed: bool = False) -> str:
        """Send a text or press a button, and return all texts that came of it, those of memories included."""
        channel = self.house.channel()
        incoming = replace(self._incoming(text), private=True, language=self.locale, pressed=pressed)
        await (await self.bot.receive(incoming, channel))
        buttons = [choice for shown in channel.screen for choice in (*shown.choices, *shown.menu)]
        self.buttons = tuple(choice.label for choice in buttons)
        self.commands = tuple(choice.command for choice in buttons)
        return "\n".join(_texts(channel.screen))

    def _incoming(self, text: str) -> Incoming:
        return self.house.incoming(text, message_id=uuid.uuid4().hex)

    async def _asked(self, before: Mapping[str, str]) -> Asked | None:
        """Return the proposal whose buttons were just shown, if any."""
        here: ConversationKey = self._incoming("").conversation
        waiting = await self.house.confirmations.find(here)
        if waiting is None or not any(each.startswith("/confirm yes") for each in self.commands):
            return None
        data = json.loads(waiting.data)[0]["data"]
        rewrites = data.get("rewrites", ())
        ids = [*data.get("memory_ids", ()), *(each["memory_id"] for each in rewrites)]
        drafts = [*(each["draft"] for each in rewrites), *data.get("drafts", ())]
        olds = tuple(before.get(each, "") for each in ids)
        return Asked(waiting.kind, waiting.code, olds, tuple(draft["content"] for draft in drafts))


def _texts(screen: Sequence[OutgoingMessage]) -> list[str]:
    """Return what can be read of messages: a memory below a text only where the text does not quote it already."""
    found: list[str] = []
    for shown in screen:
        found.append(shown.text)
        found += [item.content for item in shown.memories if fold(item.content) not in fold("\n".join(found))]
    return found


def answer(wants: Wants, asked: Asked, commands: Sequence[str]) -> str:
    """Return the command of the button that the person presses, or the number they type; "" for none."""
    verb, at = _agrees(wants, asked, both=f"/confirm both {asked.code}" in " ".join(commands))
    command = f"/confirm {verb} {asked.code}"
    named = f"{command} {at + 1}"
    if named in commands:
        return named
    is_one_of_several = verb == "yes" and asked.kind == "Replacement" and len(asked.olds) > 1
    return str(at + 1) if is_one_of_several else command


def _agrees(wants: Wants, asked: Asked, *, both: bool) -> tuple[str, int]:
    """Return yes, both or no to a proposal, and the index of the candidate that is meant."""
    if asked.kind == "Keeping":
        return ("yes" if wants.kind in {"keep", "add", "change"} else "no"), 0
    if asked.kind == "Deletion":
        fits = [holds_any(old, wants.gone) and not held(old, wants.stays) for old in asked.olds]
        if wants.kind != "remove" or not any(fits):
            return "no", 0
        return "yes", -1 if all(fits) else fits.index(True)
    changes = list(zip(asked.olds, asked.news, strict=False))
    good = next((at for at, (old, new) in enumerate(changes) if _fits(wants, old, new)), None)
    if good is not None:
        return "yes", good
    told_anew = wants.kind in {"keep", "add"} or (wants.kind == "change" and holds_all(asked.news[0], wants.after))
    return ("both" if both and told_anew else "no"), 0


def _fits(wants: Wants, old: str, new: str) -> bool:
    """Return whether the person wants the new text in place of the old one; they see what would be lost."""
    keeps = not set(held(old, wants.stays)) - set(held(new, wants.stays))
    if wants.kind == "add":
        return keeps and holds_all(new, (*wants.words, *held(old, wants.stays)))
    if wants.kind == "change":
        return holds_any(old, wants.gone) and holds_all(new, wants.after) and keeps
    return wants.kind == "remove" and holds_any(old, wants.gone) and not holds_any(new, wants.gone) and keeps


def numbered(wants: Wants, text: str) -> str:
    """Return the number that the person types where a question lists options without buttons; "" if it does not."""
    options: list[tuple[str, str]] = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
    if not options or wants.kind in {"list", "undo"} or (wants.kind == "find" and holds_any(text, wants.words)):
        return ""
    last = options[-1][0]
    if wants.kind == "change":
        return next((number for number, line in options if holds_any(line, wants.gone)), last)
    return {"keep": "1", "find": "2"}.get(wants.kind, last)


def holds(text: str, words: str) -> bool:
    """Return whether the words stand in the text, not within others; case, accents and white space do not matter."""
    end = r"(?!\d)" if words[-1:].isdigit() else r"(?![^\W_])"  # "5:45am" has 5:45
    return re.search(rf"(?<![^\W_]){re.escape(fold(words))}{end}", fold(text)) is not None


def holds_any(text: str, words: Sequence[str]) -> bool:
    """Return whether any of the words stands in the text."""
    return bool(held(text, words))


def holds_all(text: str, words: Sequence[str]) -> bool:
    """Return whether all of the words stand in the text."""
    return len(held(text, words)) == len(words)


def held(text: str, words: Sequence[str]) -> list[str]:
    """Return those of the words that stand in the text."""
    return [each for each in words if holds(text, each)]


@asynccontextmanager
async def secretary(path: Path, locale: str, embedder: Embedder, mind: LimitedMind) -> AsyncIterator[Secretary]:
    """Start a bot without a model over an empty database, for a person of that locale; at the end stop it."""
    zone = ZoneInfo(_ZONES[locale])
    clock = FakeClock(start=_BEGIN.replace(tzinfo=zone).astimezone(UTC))
    async with AsyncExitStack() as stack:
        database = await open_database(path)
        stack.push_async_callback(database.close)
        house = House(
            clock=clock,
            embedder=embedder,  # type: ignore[arg-type]  # the real one
            database=database,
            zone=zone,
        )
        house.answered_by(mind)
        stack.push_async_callback(house.memories.close)
        yield Secretary(house, await stack.enter_async_context(house.chatbot()), clock, locale)


async def hold(conversation: Conversation, path: Path, embedder: Embedder, mind: LimitedMind) -> list[Happened]:
    """Hold a conversation from its first step to its last."""
    async with secretary(path, conversation.locale, embedder, mind) as chat:
        return [await chat.say(said) for said in conversation.steps]
