"""`elefante think`: say messages in the open conversation, on a copy of the data in RAM, and show what came of each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from bot.cli.collecting import CollectingChannel, buttons, said_by
from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import App, build, warm_embedder
from core.actions.proposal import PROPOSALS
from core.answering.chatbot import ChatBot
from core.answering.confirmations import newest
from core.answering.turn import Turn
from core.clock import SystemClock
from core.dialogue import Step
from core.errors import ConfigError
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.types import Incoming, JSONValue, MemoryHit, Message, UserKey


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
