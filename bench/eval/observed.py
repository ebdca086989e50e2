"""Run labelled turns through a whole bot, and write down what it did.

One bot answers all turns, each for a person of its own, who has the label's memories and nothing else: so what the bot
finds out about its model is found out once, as in a real run. The message takes the public way (`MessageHandler`),
the answer is written into a channel, and an offered confirmation is agreed to, as the person would.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bench.eval.labels import Label
from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.ask import PLATFORM
from core.dialogue import Delta, Finish, Prompt, StreamEvent, ToolCall, Usage
from core.errors import ProviderError
from core.models import MODES, Cycle
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from core.ports import Channel, ChatModel, MessageHandler
from core.stores import ChangeContext
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageRole,
    Modal,
    UserKey,
)

_AGREES = "/confirm yes "


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model: what was asked for, what came, tokens, and seconds. `prompt` is empty unless kept."""

    task: str
    text: str
    tools: tuple[tuple[str, str], ...]
    usage: Usage
    duration_s: float
    failure: str = ""
    prompt: str = ""


@dataclass(slots=True)
class Observed:
    """What became of one turn.

    `steps` are (action, outcome) in order. `text` is what the person could read in the end; `shown` are the keys of
    memories drawn for them. `saved` are new contents, `updated` maps keys to new contents, `deleted` are keys: after
    the person agreed to what was proposed. `committed` are the kinds of change that were made before that.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    shown: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    updated: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    committed: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    duration_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        return asdict(self)


class Overheard(ChatModel):
    """A model whose calls are added to `calls`."""

    def __init__(self, model: ChatModel, calls: list[ModelCall], *, keeps_prompts: bool) -> None:
        self._model = model
        self._calls = calls
        self._keeps_prompts = keeps_prompts

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask the model."""
        return self._stream(prompt)

    @asynccontextmanager
    async def _stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        heard: list[StreamEvent] = []
        failure, started_s = "", time.monotonic()
        try:
            async with self._model.stream(prompt) as events:
                yield _overheard(events, heard)
        except ProviderError as error:
            failure = f"{type(error).__name__}: {error}"
            raise
        finally:
            finish = next((event for event in heard if isinstance(event, Finish)), None)
            call = ModelCall(
                prompt.context.task.value,
                "".join(event.text for event in heard if isinstance(event, Delta)),
                tuple((event.name, event.arguments) for event in heard if isinstance(event, ToolCall)),
                finish.usage if finish else Usage(),
                time.monotonic() - started_s,
                failure,
                _written_out(prompt) if self._keeps_prompts else "",
            )
            self._calls.append(call)


async def _overheard(events: AsyncIterator[StreamEvent], heard: list[StreamEvent]) -> AsyncIterator[StreamEvent]:
    async for event in events:
        heard.append(event)
        yield event


def _written_out(prompt: Prompt) -> str:
    lines = [f"[system]\n{prompt.system}"]
    for turn in prompt.turns:
        calls = (f"[call] {call.name} {call.arguments}" for call in turn.calls)
        results = (f"[result] {result.text}" for result in turn.results)
        lines.append("\n".join((f"[{turn.role.value}]", *results, turn.whole_text, *calls)))
    return "\n\n".join(lines)


class _Screen(Channel):
    """A channel that keeps what is on it."""

    def __init__(self) -> None:
        self._messages: dict[str, OutgoingMessage] = {}

    @property
    def limits(self) -> ChannelLimits:
        return ChannelLimits(max_chars=1 << 30, edit_interval_s=0.0)

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        handle = str(len(self._messages))
        self._messages[handle] = shown
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        self._messages[handle] = shown

    async def remove(self, handle: str) -> None:
        self._messages.pop(handle, None)

    def staying(self) -> list[OutgoingMessage]:
        """Return the messages that stay."""
        return [shown for shown in self._messages.values() if shown.modal is not Modal.TEXT_FOR_REPLACE]

    def agreement(self) -> Button | None:
        """Return the button that agrees to a proposal, if one is shown."""
        buttons = (button for shown in self._messages.values() for button in shown.choices)
        return next((button for button in buttons if button.command.startswith(_AGREES)), None)


class _Log(logging.Handler):
    """Takes the steps of the cycle, and warnings, from the log."""

    def __init__(self, observed: Observed) -> None:
        super().__init__()
        self.observed = observed

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "step":
            fields = record.__dict__
            self.observed.steps.append((str(fields["action"]), str(fields["outcome"])))
        elif record.levelno >= logging.WARNING:
            told = {key: record.__dict__[key] for key in ("error", "action") if key in record.__dict__}
            failed = "" if record.exc_info is None or record.exc_info[1] is None else f" {record.exc_info[1]!r}"
            self.observed.notes.append(f"{record.getMessage()} {told or ''}{failed}".rstrip())


class Bench:
    """A bot that is asked labelled turns. Made by `open_bench`."""

    def __init__(self, app: App, handler: MessageHandler, calls: list[ModelCall]) -> None:
        self._app = app
        self._handler = handler
        self._calls = calls

    async def run(self, label: Label) -> Observed:
        """Answer one turn, for a person who did not exist before, and return what was done."""
        person = UserKey(PLATFORM, f"{label.id}-{uuid.uuid4().hex[:8]}")
        seeded = uuid.uuid4().hex
        ids = await self._seed(label, person, seeded)
        screen, observed = _Screen(), Observed()
        self._calls.clear()
        with _listening(observed):
            started_s = time.monotonic()
            await (await self._handler.receive(_incoming(label, person), screen))
            observed.duration_s = time.monotonic() - started_s
        observed.calls = list(self._calls)
        keys = {memory_id: key for key, memory_id in ids.items()}
        observed.text = "\n".join(shown.text for shown in screen.staying() if shown.modal is Modal.TEXT)
        drawn = [item.id for shown in screen.staying() for item in shown.memories]
        observed.shown = [keys.get(memory_id, memory_id) for memory_id in dict.fromkeys(drawn)]
        store = self._app.features.memories.of(person).store
        changes = await store.changes(person, not_undone=True)
        observed.committed = sorted({change.kind.value for change in changes if change.act != seeded})
        if (button := screen.agreement()) is not None:
            press = replace(_incoming(label, person), text=button.command, pressed=True, quotes=(), attachments=())
            await (await self._handler.receive(replace(press, message_id=uuid.uuid4().hex), screen))
        items: list[MemoryItem] = list(await self._app.features.memories.of(person).page(limit=100))
        now = {keys[item.id]: item.content for item in items if item.id in keys}
        observed.saved = [item.content for item in items if item.id not in keys]
        observed.updated = {key: content for key, content in now.items() if content != label.memories[key].text}
        observed.deleted = sorted(set(ids) - set(now))
        return observed

    async def _seed(self, label: Label, person: UserKey, act: str) -> Mapping[str, str]:
        """Store the memories and the earlier messages; return the memories' ids by key."""
        memory = self._app.features.memories.of(person, ChangeContext(act=act))
        drafts = [MemoryDraft(MemoryKind.TEXT, each.text, each.bindings) for each in label.memories.values()]
        vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
        items = await memory.add(drafts, vectors) if drafts else []
        ids = {key: item.id for key, item in zip(label.memories, items, strict=True)}
        key = ConversationKey(ChatKey(PLATFORM, person.user), person)
        conversation = await self._app.conversations.open(key)
        turn = ""
        for role, text in label.earlier:
            turn = uuid.uuid4().hex if role == MessageRole.USER else turn
            await conversation.add(_earlier(role, text, ids, turn))
        return ids


@asynccontextmanager
async def open_bench(settings: Settings, cycle: Cycle, *, keeps_prompts: bool = False) -> AsyncIterator[Bench]:
    """Open a bot in RAM over the models that the settings name, which answers in that cycle.

    Raises:
        ConfigError: a setting is wrong.
    """
    calls: list[ModelCall] = []
    async with build(settings) as app:
        models = app.parts.services.models
        heard: dict[str, Any] = {
            mode: Overheard(getattr(models, mode), calls, keeps_prompts=keeps_prompts) for mode in MODES
        }
        parts = app.parts
        turns = replace(parts.settings, limits=replace(parts.settings.limits, cycle=cycle))
        services = replace(parts.services, models=replace(models, **heard))
        opened = replace(app, parts=replace(parts, services=services, settings=turns))
        async with open_chatbot(opened) as chatbot:
            yield Bench(app, chatbot, calls)


@contextmanager
def _listening(observed: Observed) -> Iterator[None]:
    log, handler = logging.getLogger("core"), _Log(observed)
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _incoming(label: Label, person: UserKey) -> Incoming:
    return Incoming(
        ChatKey(PLATFORM, person.user),
        person,
        "",
        uuid.uuid4().hex,
        label.message,
        datetime.now(UTC),
        language=label.lang,
        quotes=label.quotes,
        attachments=label.attachments,
    )


def _earlier(role: str, text: str, ids: Mapping[str, str], turn: str) -> Message:
    if role == "memory":
        found = ids[text]
        return Message(MessageRole.SYSTEM, {"id": found}, Modal.MEMORY, memory_id=found, turn=turn, tokens=40)
    return Message(MessageRole(role), text, turn=turn)
