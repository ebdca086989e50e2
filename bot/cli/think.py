"""`elefante think` and `elefante as`: say messages on a copy of the data in RAM, or a command, for a person.

What is shown of the answer is collected, and printed here: nothing is written into their chat.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from bot.cli.shell import Document, JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import App, build, warm_embedder
from core.actions.proposal import PROPOSALS
from core.answering.chatbot import ChatBot
from core.answering.confirmations import newest
from core.answering.opening import Opening
from core.answering.turn import Turn
from core.clock import SystemClock
from core.commands.command import Request
from core.delivery.view import View
from core.dialogue import Step
from core.errors import ConfigError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock
from core.types import ChatKey, Incoming, JSONValue, MemoryHit, Message, Modal, Role, ThreadStatus, UserKey

_ME = "me"


def think_(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Messages, as you would write them in the chat.")],
    user: UserOption = "",
    now: Annotated[str, typer.Option(help="The time that it is then, as 2026-11-22T10:15. Default: the present.")] = "",
    zone: Annotated[str, typer.Option(help="Your time zone, as America/Sao_Paulo. Default: the one you told.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show what the bot would do with messages, and why; nothing is written.

    Each is said in the open conversation as it is now: "yes" answers what was asked there. What it was taken for is
    shown, with the evidence, and so are the steps, search hits with their scores, what would be saved, changed or
    asked, and reminders with their instants. Of several messages, the JSON document has a list, `thoughts`.

    Example: elefante think 'What is the wifi password?'
    """
    loaded = load_settings(stored=False)
    logging.getLogger().setLevel(logging.WARNING)  # the log is of turns that were taken
    thoughts = run(think(loaded, texts, person(user, loaded), now=now, zone=zone))
    if len(thoughts) == 1:
        show(thoughts[0], as_json=as_json, plain=render)
    else:
        show({"thoughts": thoughts}, as_json=as_json, plain=lambda _: "\n\n".join(map(render, thoughts)))


def as_(
    user: Annotated[str, typer.Argument(metavar="PERSON", help="PLATFORM:ID, or me: you, in the terminal.")],
    command: Annotated[str, typer.Argument(help="A command of the chat, in quotes; /help lists them.")],
    as_json: JsonOption = False,
) -> None:
    """Give a command of the chat for a person, and print what they would read.

    It is given in private, in the conversation that they used last. What is asked back is answered by the command of a
    button, which stands beside it. Nothing is written into their chat.

    Example: elefante as telegram:123456 "/memories wifi"
    """
    loaded = load_settings()
    whose = person("" if user == _ME else user, loaded)
    show(run(obey(loaded, whose, command)), as_json=as_json, plain=render_answers)


@dataclass(slots=True)
class CollectingChannel(Channel):
    """A channel without a screen, which collects what is shown, and the status lines."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=1_000_000, edit_interval_s=0.0))
    statuses: list[str] = field(default_factory=list)
    shown: dict[str, OutgoingMessage] = field(default_factory=dict)

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Collect a message."""
        handle = str(len(self.shown))
        await self.edit(handle, shown)
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Collect a message that replaced another."""
        self.shown[handle] = shown
        if shown.modal is Modal.TEXT_FOR_REPLACE and shown.text not in self.statuses[-1:]:
            self.statuses.append(shown.text)

    @property
    def stays(self) -> Sequence[OutgoingMessage]:
        """What the person sees in the end."""
        return [each for each in self.shown.values() if each.stays]


async def said_by(app: App, text: str, user: UserKey) -> Incoming:
    """Return the text as a message in the conversation that the person used last, or in a first one."""
    from adapters import console  # this loads prompt_toolkit

    settings, store = app.settings, app.conversations.store
    said = Incoming(ChatKey(user.platform, user.user), user, "", uuid.uuid4().hex, text, app.clock.now())
    if user.platform == console.PLATFORM:
        language = settings.locale.value if settings.locale else console.system_language()
        chat = console.conversation(user).chat
        return replace(said, chat=chat, language=language, user_name=user.user, thread_id=settings.default_thread)
    threads = [each for each in await store.threads(user) if each.status is ThreadStatus.ACTIVE]
    if not threads:
        return said
    newest = await store.tail(threads[0].id, 1)
    return replace(said, chat=threads[0].conversation.chat, private=not any(each.room for each in newest))


def buttons(shown: OutgoingMessage) -> list[JSONValue]:
    """Return the buttons of a message, each with the command that it says."""
    return [{"label": each.label, "command": each.command} for each in (*shown.menu, *shown.choices)]


async def obey(settings: Settings, user: UserKey, command: str) -> Document:
    """Run a command for a person, with their role (without one, a member's), and return what was answered.

    Raises:
        ConfigError: it is no command.
    """
    if not command.startswith("/"):
        raise ConfigError("as", f"{command!r} is no command; write one such as '/memories', or `elefante think` it")
    channel = CollectingChannel()
    async with build(settings) as app:
        said = replace(await said_by(app, command, user), private=True)
        arrival = app.parts.services.confirmations.arrived(said.at)
        turn = await Opening(app.parts).turn(said, View(channel, app.clock), arrival)
        role = await app.parts.hooks.gate.role_here(said) or Role.MEMBER
        await app.parts.commands.run(Request(turn, said, role, worker=app.parts.worker), command)
        await turn.answer.complete()
        await turn.answer.view.close()
    answers = [
        {"text": each.words, "buttons": buttons(each), **({"file": each.files[0].name} if each.files else {})}
        for each in channel.stays
    ]
    return {"user": str(user), "command": command, "answers": answers}


def render_answers(document: Document) -> str:
    """Return the document as text for a person."""
    lines = []
    for answer in document["answers"]:
        lines += [f"📄 {answer['file']}"] if "file" in answer else []
        lines += [answer["text"], *(f"  [{each['label']}] {each['command']}" for each in answer["buttons"])]
    return "\n".join(lines)


class StoppedClock(SystemClock):
    """A clock on which it is always the time `at`; what is waited for is waited for."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """Return that time."""
        return self.at


async def think(
    settings: Settings, texts: Sequence[str], user: UserKey, *, now: str = "", zone: str = ""
) -> list[dict[str, JSONValue]]:
    """Say each message in the person's open conversation, on a copy of the data; return what came of each.

    Raises:
        ConfigError: the time or the zone cannot be read.
    """
    own_zone = _zone(zone) if zone else None
    clock = StoppedClock(_time(now, own_zone or settings.zone())) if now else SystemClock()
    return [await _thought(settings, clock, text, user, own_zone) for text in texts]


async def _thought(
    settings: Settings, clock: Clock, text: str, user: UserKey, own_zone: ZoneInfo | None
) -> dict[str, JSONValue]:
    """Return what came of a message: how it was read, the steps, the messages, what was set or asked."""
    from core.limited import LimitedMind  # another verb has no use for it

    channel, turns = CollectingChannel(), list[Turn]()
    async with build(settings, dry=user, clock=clock) as app:
        thoughts, models = app.features.added.thoughts, app.parts.services.models
        if own_zone is not None:
            preferences = app.features.stores.preferences
            await preferences.put(user, replace(await preferences.of(user), zone=own_zone.key))
        await warm_embedder(app)
        said = await said_by(app, text, user)
        known, asked = [await each.known(user) for each in thoughts], await _open_question(app, said)
        watched = replace(app.parts, hooks=replace(app.parts.hooks, watch=turns.append))
        async with ChatBot(watched) as chatbot:
            started_s = clock.monotonic()
            await (await chatbot.receive(said, channel))
            total_s = clock.monotonic() - started_s
        turn = turns[0] if turns else None  # whoever is not answered has none
        locale = turn.person.locale if turn else await app.parts.reach.locales.of(said)
        mind, open_now = models.now().heavy, await _open_question(app, said)
        parts = mind.last_reading if isinstance(mind, LimitedMind) else ()
        wanted = None if open_now is None or open_now == asked else open_now[1]
        asks: Any = {} if wanted is None else _asked(channel)
        besides, told = dict[str, Any](), list[JSONValue]()
        for each, before in zip(thoughts, known, strict=True):
            document, lines = await each.shown(user, before, wanted, locale, said.at)
            besides |= document
            asks |= besides.pop("asks", {})
            told += lines
        return {
            "user": str(user),
            "conversation": turn.conversation.thread.id if turn else "",
            "locale": locale.value,
            "models": {"heavy": models.heavy.name, "chat": models.chat.name, "embedding": models.embedder.space},
            "text": text,
            "means": turn.asked.text if turn and turn.asked.text != said.text else "",
            "reading": [{"text": part.text, "intent": part.intent, "because": part.because} for part in parts],
            "steps": [_step(step) for step in turn.log.steps] if turn else [],
            "statuses": list(channel.statuses),
            "messages": [each.to_wire() for each in await _stored(turn)] if turn else [],
            "shown": [{"text": each.words, "buttons": buttons(each)} for each in channel.stays],
            **({"asks": asks} if asks else {}),
            **besides,
            "told": told,
            "total_ms": _ms(total_s),
        }


async def _open_question(app: App, said: Incoming) -> tuple[str, object] | None:
    """Return the code of the question that is open in the conversation, and what it asks about."""
    confirmations = app.features.confirmations
    arrived = confirmations.arrived(app.clock.now())
    return newest(await confirmations.all_open(said.conversation, arrived), *PROPOSALS, *app.features.replies.kinds)


async def _stored(turn: Turn) -> Sequence[Message]:
    """Return the messages of the turn."""
    return [each for each in await turn.conversation.read(turn.memory.get) if each.turn == turn.asked.turn]


def _asked(channel: CollectingChannel) -> dict[str, JSONValue]:
    """Return the question that was asked last: its words and its buttons."""
    [shown] = channel.stays[-1:] or [OutgoingMessage("")]
    return {"question": shown.words, "buttons": buttons(shown)}


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
    where = f" · conversation {thought['conversation']}" if thought["conversation"] else ""
    lines = [f"{thought['user']} · {thought['locale']}{where} · {thought['total_ms']} ms · nothing was written"]
    lines += ["", "› " + thought["text"].replace("\n", "\n  ")]
    lines += [f"  means: {thought['means']}"] if thought["means"] else []
    lines += [f"  {part['intent']}: “{part['text']}” ({part['because']})" for part in thought["reading"]]
    for number, step in enumerate(thought["steps"], 1):
        lines += [f"{number}. {line}" if not at else f"     {line}" for at, line in enumerate(_told_step(step))]
    lines += [*thought["told"], ""]
    for shown in thought["shown"]:
        lines += [shown["text"], *(f"  [{each['label']}] {each['command']}" for each in shown["buttons"])]
    return "\n".join(lines)


def _told_step(step: Any) -> list[str]:
    took = f"decided in {step['decide_ms']} ms, ran {step['run_ms']} ms"
    lines = [f"{step['action']}: {step['outcome']} ({took})"]
    lines += [f"looked for: {query}" for query in step["queries"]]
    lines += [
        f"{hit['chance']:.0%} (cosine {hit['dense']:.2f}, words {hit['lexical']:.2f}) "
        f"by “{hit['matched']}”: {hit['content']}"
        for hit in step["hits"]
    ]
    if not step["hits"]:
        done = step["writes"] or "seen"
        lines += [f"{done}: {item['content']} ({item['id']})" for item in step["items"]]
    lines += [f"refused id: {refused}" for refused in step["refused_ids"]]
    return [*lines, step["detail"]] if step["detail"] else lines


def _step(step: Step) -> dict[str, JSONValue]:
    return {
        "action": step.action,
        "outcome": step.outcome.value,
        "writes": step.writes.value if step.writes else "",
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
