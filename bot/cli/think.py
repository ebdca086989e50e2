"""`elefante think`: run turns on a copy of the data in RAM, and show each step, search hit, reminder and timing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import App, build, warm_embedder
from core.clock import SystemClock
from core.deadline import Deadline
from core.delivery.view import View
from core.dialogue import Step
from core.errors import ConfigError
from core.features.reminders.reminders import Reminder, Schedule
from core.features.reminders.telling import Wish, label, place_of, when
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.text.language import choose
from core.text.markdown import plain_times
from core.text.unicode import clean
from core.think import think as run_cycle
from core.times import rules
from core.turn import Turn
from core.types import ChatKey, ConversationKey, JSONValue, MemoryHit, Message, MessageRole, Modal, UserKey

_SHOWN_INSTANTS: Final = 5


def think_(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="Messages, as you would write them in the chat.")
    ],
    user: UserOption = "",
    now: Annotated[str, typer.Option(help="The time that it is then, as 2026-11-22T10:15. Default: the present.")] = "",
    zone: Annotated[str, typer.Option(help="Your time zone, as America/Sao_Paulo. Default: the one you told.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Think messages through, dry: every step, item, hit and timing is shown, and nothing is written.

    Each is the first of a conversation. What reminder would be set, or asked about, is shown with its instants. Of
    several messages, the JSON document has a list, `thoughts`.

    Example: elefante think 'What is the wifi password?'
    """
    loaded = load_settings(stored=False)
    thoughts = run(think(loaded, texts, person(user, loaded), now=now, zone=zone))
    if len(thoughts) == 1:
        show(thoughts[0], as_json=as_json, plain=render)
    else:
        show({"thoughts": thoughts}, as_json=as_json, plain=lambda _: "\n\n".join(map(render, thoughts)))


class StoppedClock(SystemClock):
    """A clock on which it is always that time; what is waited for is waited for."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        """Return that time."""
        return self._at


@dataclass(slots=True)
class LoggedChannel(Channel):
    """A channel without a screen, which collects the status lines."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=1_000_000, edit_interval_s=0.0))
    statuses: list[str] = field(default_factory=list)

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Collect a status line."""
        self._keep(shown)
        return "screen"

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:  # noqa: ARG002  (there is one screen)
        """Collect a status line that replaced another."""
        self._keep(shown)

    def _keep(self, shown: OutgoingMessage) -> None:
        if shown.modal is Modal.TEXT_FOR_REPLACE and shown.text not in self.statuses[-1:]:
            self.statuses.append(shown.text)


async def think(
    settings: Settings, texts: Sequence[str], user: UserKey, *, now: str = "", zone: str = ""
) -> list[dict[str, JSONValue]]:
    """Answer each message in a conversation of its own, on a copy of the data; return what came of each.

    Raises:
        ConfigError: the time or the zone cannot be read.
    """
    own_zone = _zone(zone) if zone else None
    clock = StoppedClock(_time(now, own_zone or settings.zone())) if now else SystemClock()
    async with build(settings, dry=True, clock=clock) as app:
        await warm_embedder(app)
        return [await _thought(app, text, user, f"think {number}", own_zone) for number, text in enumerate(texts, 1)]


async def _thought(app: App, text: str, user: UserKey, chat: str, own_zone: ZoneInfo | None) -> dict[str, JSONValue]:
    """Return the steps, messages and timings of one message, and the reminders that it would set or ask about."""
    settings, channel = app.settings, LoggedChannel()
    conversation = await app.conversations.open(ConversationKey(ChatKey(user.platform, chat), user))
    before = {each.id for each in await app.features.reminders.store.of([user])}
    told_zone = (await app.parts.preferences(user)).zone
    started_s = app.clock.monotonic()
    asked = Message(MessageRole.USER, clean(text, settings.max_message_chars), turn=uuid.uuid4().hex)
    turn = Turn(
        asked=await conversation.add(asked),
        locale=settings.locale or choose(asked.text, ""),
        language=settings.language,
        learn=settings.learn,
        conversation=conversation,
        memory=app.features.memories.of(user),
        models=app.parts.models,
        view=View(channel, app.clock),
        clock=app.clock,
        confirmations=app.features.confirmations,
        times=app.parts.times,
        own_zone=own_zone or (ZoneInfo(told_zone) if told_zone else None),
        additions=app.parts.additions,
    )
    async with Deadline(app.clock, settings.turn_timeout_s):
        await run_cycle(turn, app.parts.registry, app.parts.limits.cycle, max_steps=settings.max_steps)
        await turn.finish()
    await turn.view.close()
    messages = (await conversation.context("")).messages  # no turn's own view: all that was said
    return {
        "user": str(user),
        "locale": turn.locale.value,
        "models": {
            "heavy": app.parts.models.heavy.name,
            "chat": app.parts.models.chat.name,
            "embedding": app.parts.models.embedder.space,
        },
        "steps": [_step(step) for step in turn.steps],
        "statuses": list(channel.statuses),
        "messages": [message.to_wire() for message in messages],
        **await _reminders(app, turn, before),
        "total_ms": _ms(app.clock.monotonic() - started_s),
    }


async def _reminders(app: App, turn: Turn, before: set[str]) -> dict[str, JSONValue]:
    """Return the reminders that the turn set, and what it asked about one that it did not; take them back."""
    here, now = turn.conversation.thread.conversation, app.clock.now()
    made = [each for each in await app.features.reminders.store.of([here.user]) if each.id not in before]
    document: dict[str, JSONValue] = {"reminders": [_reminder(each, turn, now) for each in made]}
    for each in made:  # they would count against the limit of the next message
        await app.features.reminders.remove(place_of(turn), each.id)
    waiting = await app.features.confirmations.waiting(here, app.features.confirmations.arrived(now), Wish)
    if waiting is not None:
        wish, options = waiting[1], waiting[1].options
        question = next((each.text for each in reversed((await turn.conversation.context("")).messages)), "")
        document["asks"] = {"question": question, "options": [_option(each, turn, now) for each in options]}
        if wish.past is not None:
            document["past"] = wish.past.isoformat()
    return document


def _reminder(reminder: Reminder, turn: Turn, now: datetime) -> dict[str, JSONValue]:
    schedule = reminder.schedule
    following = [] if reminder.due is None else [reminder.due]
    while following and len(following) < _SHOWN_INSTANTS:
        later = rules.next_after(schedule.wall, schedule.zone, schedule.rule, following[-1])
        if later is None:
            break
        following.append(later)
    instants: list[JSONValue] = [each.astimezone(ZoneInfo(schedule.zone)).isoformat() for each in following]
    return {
        "text": reminder.text,
        "kind": reminder.kind.value,
        "at": instants[0] if instants else None,
        "rule": schedule.rule,
        "next": instants,
        "zone": schedule.zone,
        "words": plain_times(when(reminder, now, turn.locale)),
    }


def _option(option: Schedule, turn: Turn, now: datetime) -> dict[str, JSONValue]:
    at = rules.instant(option.wall, option.zone).astimezone(ZoneInfo(option.zone))
    return {"at": at.isoformat(), "rule": option.rule, "words": label(option, now, turn.locale)}


def _time(words: str, zone: ZoneInfo) -> datetime:
    try:
        at = datetime.fromisoformat(words)
    except ValueError as error:
        raise ConfigError("--now", f"{words!r} is no time; write it as 2026-11-22T10:15") from error
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ConfigError("--zone", f"{name!r} is no time zone; write it as America/Sao_Paulo") from error


def render(document: dict[str, JSONValue]) -> str:
    """Return the document as text for a person."""
    thought: Any = document
    lines = [f"{thought['user']} · {thought['locale']} · {thought['total_ms']} ms · nothing was written", ""]
    for number, step in enumerate(thought["steps"], 1):
        took = f"decided in {step['decide_ms']} ms, ran {step['run_ms']} ms"
        lines.append(f"{number}. {step['action']}: {step['outcome']} ({took})")
        lines += [f"     looked for: {query}" for query in step["queries"]]
        lines += [
            f"     {hit['score']:.2f} (dense {hit['dense']:.2f}, words {hit['lexical']:.2f}) "
            f"by “{hit['matched']}”: {hit['content']}"
            for hit in step["hits"]
        ]
        if not step["hits"]:
            lines += [f"     {item['id']}: {item['content']}" for item in step["items"]]
        lines += [f"     refused id: {refused}" for refused in step["refused_ids"]]
        lines += [f"     {step['detail']}"] if step["detail"] else []
    lines += _told_reminders(thought)
    lines.append("")
    said = [message for message in thought["messages"] if message["modal"] == "text"]
    lines += [f"{message['role']}: {message['content']}" for message in said]
    return "\n".join(lines)


def _told_reminders(thought: Any) -> list[str]:
    lines = []
    for each in thought["reminders"]:
        lines.append(f"⏰ {each['text']}: {each['words']}")
        lines += [f"     {each['rule']}"] if each["rule"] else []
        lines += [f"     {at} {each['zone']}" for at in each["next"]]
    if "past" in thought:
        lines.append(f"⏰ {thought['past']} has passed")
    if "asks" in thought:
        lines.append(f"⏰ asks: {thought['asks']['question']}")
        lines += [
            f"     {each['at']} {each['rule']}".rstrip() + f": {each['words']}" for each in thought["asks"]["options"]
        ]
    return lines


def _step(step: Step) -> dict[str, JSONValue]:
    return {
        "action": step.action,
        "outcome": step.outcome.value,
        "queries": list(step.queries),
        "items": [item.to_json() for item in step.items],
        "notes": list(step.notes),
        "hits": [_hit(hit) for hit in step.hits],
        "refused_ids": list(step.refused_ids),
        "detail": step.detail,
        "decide_ms": _ms(step.decide_s),
        "run_ms": _ms(step.run_s),
    }


def _hit(hit: MemoryHit) -> dict[str, JSONValue]:
    return {
        "id": hit.item.id,
        "content": hit.item.content,
        "matched": hit.matched,
        "score": round(hit.score, 4),
        "chance": round(hit.chance, 4),
        "dense": round(hit.dense, 4),
        "lexical": round(hit.lexical, 4),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
