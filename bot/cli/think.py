"""`elefante think`: run one turn on a copy of the data in RAM, and show each step, search hit and timing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.deadline import Deadline
from core.delivery.view import View
from core.dialogue import Step
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.text.language import choose
from core.text.unicode import clean
from core.think import think as run_cycle
from core.turn import Turn
from core.types import ChatKey, ConversationKey, JSONValue, MemoryHit, Message, MessageRole, Modal, UserKey


def think_(
    text: Annotated[str, typer.Argument(help="The message, as you would write it in the chat.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Think one message through, dry: every step, item, hit and timing is shown, and nothing is written.

    Example: elefante think 'What is the wifi password?'
    """
    loaded = load_settings(stored=False)
    thought = run(think(loaded, text, person(user, loaded)))
    show(thought, as_json=as_json, plain=render)


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


async def think(settings: Settings, text: str, user: UserKey) -> dict[str, JSONValue]:
    """Answer one message on a copy of the data, in a new conversation; return its steps, messages and timings."""
    async with build(settings, dry=True) as app:
        channel = LoggedChannel()
        conversation = await app.conversations.open(ConversationKey(ChatKey(user.platform, "think"), user))
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
            "total_ms": _ms(app.clock.monotonic() - started_s),
        }


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
    lines.append("")
    said = [message for message in thought["messages"] if message["modal"] == "text"]
    lines += [f"{message['role']}: {message['content']}" for message in said]
    return "\n".join(lines)


def _step(step: Step) -> dict[str, JSONValue]:
    return {
        "action": step.action,
        "outcome": step.outcome.value,
        "queries": list(step.queries),
        "items": [item.to_json() for item in step.items],
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
        "dense": round(hit.dense, 4),
        "lexical": round(hit.lexical, 4),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
