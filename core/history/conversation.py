"""Store one person's conversation in one chat, and choose from it what a model is shown."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TypeAlias

from core.enclosures import cleaned_quotes
from core.errors import InputError, ThreadTaken, WindowTooSmall
from core.history.rendering import rendered
from core.history.summary import Summaries
from core.history.tokens import ByCharacters, Calibration, count, shortened
from core.history.window import (
    LAST_MESSAGES,
    POLICIES,
    SUMMARY,
    Budget,
    HistoryLimits,
    Policy,
    ReadMessages,
    fit,
    newest,
    parts,
)
from core.history.withholding import Knowledge, Lookup, clean_summary, known, recalled, withheld_of
from core.ports import Clock, Tokenizer
from core.stores import HistoryStore
from core.threads import THREAD_ID_RULE, Summary, ThreadRecord, ToldMemory, Transition, TurnState, is_thread_id
from core.types import (
    ChatKey,
    ConversationKey,
    JSONValue,
    MemoryItem,
    Message,
    MessageRole,
    Modal,
    Thread,
    ThreadStatus,
    UserKey,
    is_said_by_person,
)

_MOST_FIXED = 0.55  # of a window, for what is the same in every prompt; a quarter is the answer's

_SUMMARY_SLACK = 1.25  # a summary that is cut elsewhere in each turn would be read anew in each

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlaceSettings:
    """The owner's settings for a chat: the name of a policy, and a persona; "" where nothing was set.

    `room_messages` is how many of the room's last messages a model is shown with a question. Where people talk
    `together`, it is shown what others asked there, too, and what was answered.
    """

    policy: str = ""
    persona: str = ""
    room_messages: int = 0
    together: bool = False


PlaceSettingsOf: TypeAlias = Callable[[ChatKey], Awaitable[PlaceSettings]]


async def usual_place_settings(chat: ChatKey) -> PlaceSettings:  # noqa: ARG001 - the same everywhere
    """Return the settings of a chat for which nothing was set."""
    return PlaceSettings()


@dataclass(frozen=True, slots=True)
class Context:
    """What a model is shown of a conversation: a summary of earlier messages ("" if none), then messages.

    `persona` is the owner's description of the bot there; `memories` are those that the summary and the messages show
    or tell of, in their present state.
    """

    summary: str
    messages: tuple[Message, ...]
    persona: str = ""
    memories: tuple[MemoryItem, ...] = ()
    budget: Budget = field(default=Budget(0), compare=False)

    def to_json(self) -> dict[str, JSONValue]:
        """Return it by the names of document 2; `totalTokens` are those of the summary and the window (J5)."""
        window: list[JSONValue] = [
            {"role": message.role.value, "content": message.content, "tokens": message.tokens}
            for message in self.messages
        ]
        return {
            "cumulativeSummary": self.summary,
            "summaryTokens": self.budget.summary,
            "recentWindow": window,
            "totalTokens": self.budget.summary + self.budget.window + self.budget.memories,
        }


class Conversations:
    """Open conversations, and manage their threads.

    `system` is the usual system prompt, for which contexts leave room. `model_of` returns the name of a mode's model;
    `calibration` knows its window, and its tokens for one of the tokenizer's. Without `summaries` nothing is
    summarised. `version` is the program's, stored with each thread that it begins. Times are shown in `zone`.
    """

    def __init__(
        self,
        store: HistoryStore,
        clock: Clock,
        limits: HistoryLimits | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        summaries: Summaries | None = None,
        system: str = "",
        calibration: Calibration | None = None,
        model_of: Callable[[str], str] = lambda _mode: "",
        place_settings: PlaceSettingsOf = usual_place_settings,
        version: str = "",
        zone: tzinfo = UTC,
    ) -> None:
        self.store = store
        self.clock = clock
        self.limits = limits or HistoryLimits()
        self.tokenizer = tokenizer or ByCharacters()
        self.summaries = summaries
        self.calibration = calibration or Calibration()
        self._model_of = model_of
        self.zone = zone
        self._place_settings = place_settings
        self._version = version
        self._system = system
        self._system_tokens: dict[tuple[str, str], int] = {}
        self._policies = self.limits.policies()

    async def open(self, conversation: ConversationKey, thread_id: str = "") -> Conversation:
        """Return the conversation in its active thread, begun now if there is none.

        With a `thread_id`, that thread becomes the active one (see `named_thread`).

        Raises:
            InputError: no thread may have that id.
            ThreadTaken: it belongs to another conversation.
        """
        now, told = self.clock.now(), {"origin": conversation.chat.platform, "version": self._version}
        if thread_id:
            thread = await named_thread(self.store, Thread(thread_id, conversation, now, now, metadata=told))
            messages, tokens = await self.store.totals(thread.id)
            thread = replace(thread, messages=messages, tokens=tokens)
        else:
            thread = await self.store.open_thread(conversation, now, told)
        _log.info("memory loaded", extra={"thread_id": thread.id, "messages": thread.messages, "tokens": thread.tokens})
        return Conversation(thread, self, await self._place_settings(conversation.chat))

    async def switch(self, user: UserKey, thread_id: str) -> Thread | None:
        """Make an earlier thread of the person active, and archive the active one of that chat."""
        if await self._owned(user, thread_id) is None:
            return None
        return await self.store.mark(thread_id, ThreadStatus.ACTIVE, self.clock.now())

    async def rename(self, user: UserKey, thread_id: str, title: str) -> Thread | None:
        """Set the title of a thread of the person."""
        thread = await self._owned(user, thread_id)
        return None if thread is None else await self._describe(replace(thread, title=title))

    async def set_policy(self, user: UserKey, thread_id: str, name: str) -> Thread | None:
        """Set the context policy of a thread of the person; "" is the one set for all.

        Raises:
            ValueError: there is no such policy.
        """
        if name and name not in self._policies:
            raise ValueError(f"there is no such policy; there are: {', '.join(POLICIES)}")
        thread = await self._owned(user, thread_id)
        return None if thread is None else await self._describe(replace(thread, policy=name))

    async def archive(self, user: UserKey, thread_id: str) -> Thread | None:
        """Archive a thread of the person; the next message in its chat begins another."""
        if await self._owned(user, thread_id) is None:
            return None
        return await self.store.mark(thread_id, ThreadStatus.ARCHIVED, self.clock.now())

    @property
    def summarises(self) -> bool:
        """Whether a model is there that can summarise."""
        return self.summaries is not None and self.summaries.able()

    def usual_policy(self) -> str:
        """Return the name of the policy for threads without one."""
        if self.limits.policy in self._policies:
            return self.limits.policy
        return SUMMARY if self.summarises else LAST_MESSAGES

    def policy_of(self, thread: Thread, decided: str = "") -> Policy:
        """Return the policy of the thread, or the one `decided` for its chat, or the one set for all."""
        chosen = next((name for name in (thread.policy, decided) if name in self._policies), self.usual_policy())
        return self._policies[chosen]

    def window_tokens(self, mode: str, model: str = "") -> int:
        """Return what a prompt and its answer may take, in the tokenizer's tokens.

        The window is that of the mode's model, or of another `model` that is asked in its place.
        """
        return self.calibration.room(model or self._model_of(mode), self.limits.max_context_tokens)

    async def count(self, text: str) -> int:
        """Return the tokens of a message of that text."""
        return await count(self.tokenizer, text)

    async def system_tokens(self, text: str | None = None) -> int:
        """Return the tokens of a system prompt, or of the usual one. They are counted once: there are few."""
        system = self._system if text is None else text
        key = self.tokenizer.name, system
        if key not in self._system_tokens:
            self._system_tokens[key] = await self.count(system) if system else 0
        return self._system_tokens[key]

    async def longest_fitting(self, forms: Sequence[str], mode: str, model: str = "") -> int | None:
        """Return the index of the first of the system prompts that leaves room to talk in the window; None: none does.

        `forms` are in order, the longest first, each with its tools as text (`core.history.tokens.offered`). They are
        counted as they are, so that the choice does not change with what the model reports of other texts.
        """
        most = self.limits.max_context_tokens
        window = min(self.calibration.window(model or self._model_of(mode)) or most, most)
        for at, form in enumerate(forms):
            if await self.system_tokens(form) <= _MOST_FIXED * window:
                return at
        return None

    async def _owned(self, user: UserKey, thread_id: str) -> Thread | None:
        thread = await self.store.thread(thread_id)
        return thread if thread is not None and thread.conversation.user == user else None

    async def _describe(self, thread: Thread) -> Thread:
        await self.store.describe(thread)
        return thread


class Conversation:
    """A conversation in its active thread, as that was when it was opened. Made by `Conversations.open`.

    `place` are the settings of its chat; `added` is how many messages were stored since.
    """

    def __init__(
        self,
        thread: Thread,
        conversations: Conversations,
        place: PlaceSettings = PlaceSettings(),
    ) -> None:
        self.thread = thread
        self.conversations = conversations
        self.store = conversations.store
        self.place = place
        self._tokens = thread.tokens
        self.added = 0
        self._messages = ReadMessages(conversations.store, thread.id)
        self._entered: tuple[Transition, ...] = ()
        self._begun = 0
        self._told: dict[int, Sequence[ToldMemory]] = {}

    @property
    def _policy(self) -> Policy:
        return self.conversations.policy_of(self.thread, self.place.policy)

    async def threads_begun(self) -> int:
        """Return how many threads the person has begun, in any room, also those that were reset."""
        if not self._begun:
            self._begun = len(await self.store.threads(self.thread.conversation.user))
        return self._begun

    async def add(self, message: Message) -> Message:
        """Store a message and return it with its id, tokens and time.

        Of a memory only the id is stored: who reads it later gets the memory as it is then (`read`). After an answer
        the summary is updated in the background, if it is due.

        Raises:
            ValueError: the message is a status.
        """
        if message.modal is Modal.TEXT_FOR_REPLACE:
            raise ValueError("a message that will be replaced is not stored")
        message = replace(message, quotes=cleaned_quotes(message.quotes, self.conversations.limits.max_quote_chars()))
        message = replace(message, at=message.at or self.conversations.clock.now())
        shown = rendered(message, self.conversations.zone) if is_said_by_person(message) else message.text
        tokens = message.tokens or await self.conversations.count(shown)
        is_recalled = message.modal is Modal.MEMORY and message.memory_id != ""
        content: JSONValue = {"id": message.memory_id} if is_recalled else message.content
        kept = replace(message, content=content, tokens=max(tokens, 1) if is_recalled else tokens)
        stored = await self.store.append(self.thread.id, kept, self._entered)
        self._entered = ()
        self.added += 1
        self._tokens += stored.tokens
        summaries = self.conversations.summaries if self.conversations.summarises else None
        is_long = summaries is not None and self._tokens >= summaries.least_tokens
        if summaries and is_long and stored.role is MessageRole.ASSISTANT and self._policy.summarises:
            summaries.schedule(self.thread.id)
        return replace(stored, content=message.content) if is_recalled else stored

    async def read(self, lookup: Lookup) -> tuple[Message, ...]:
        """Return all that was said in the thread, memories with their present content, without those that are gone."""
        messages = await self.store.get(self.thread.id)
        items = {item.id: item for item in await lookup([each.memory_id for each in messages if each.memory_id])}
        return recalled(messages, items, self.conversations.zone)

    async def context(
        self,
        turn: str,
        *,
        instruction: str = "",
        max_tokens: int | None = None,
        mode: str = "chat",
        model: str = "",
        system: str | None = None,
        lookup: Lookup | None = None,
        zone: tzinfo | None = None,
    ) -> Context:
        """Return what a model is shown in that turn: what the thread's policy chooses, within the token budget.

        The budget leaves room for the `system` prompt (None: the usual one; with tools as text, if there are any), the
        `instruction`, which is all that follows the messages, and the answer. `mode` is that of the model; `model`
        names another that is asked in its place. `max_tokens` limits the messages further, after a model found them too
        long. With `lookup`, memories are shown in their present state, and text about deleted or replaced ones is
        withheld. `zone` is that of times in memories (None: the one of everybody).

        Raises:
            InputTooLong: the person's last message does not fit; `max_chars` would.
            WindowTooSmall: the bot's own instructions do not fit.
        """
        chosen, persona = self._policy, self.place.persona
        window, limits = self.conversations.window_tokens(mode, model), self.conversations.limits
        summary: Summary | None = None
        items: tuple[MemoryItem, ...] = ()
        if chosen.summarises:
            summary, items = await self._summary(limits.summary_tokens(window), lookup)
        bound = chosen.bound(summary)
        fixed = await self.conversations.system_tokens(system) + (
            await self.conversations.count(persona) if persona else 0
        )
        last = await self.conversations.count(instruction) if instruction else 0
        room = Budget(
            max_tokens=window,
            system=fixed + last,
            summary=summary.tokens if summary else 0,
            answer=limits.answer_tokens_of(window),
        )
        if room.remaining + room.summary <= 0:
            raise WindowTooSmall(f"{room.system} tokens of instructions in a window of {window}")
        left = min(room.remaining, bound.max_tokens or room.remaining, max_tokens or room.remaining)
        withheld = withheld_of(self.thread)
        messages = await newest(
            self._messages, bound, turn=turn, max_tokens=left, withheld=withheld, is_steady=limits.steady
        )
        if lookup is not None:
            knowledge = await known(self.store, messages, lookup, self._told)
            items = tuple({item.id: item for item in (*items, *knowledge.items.values())}.values())
            messages = await self._counted(
                knowledge.present(messages, turn, zone or self.conversations.zone), knowledge
            )
        messages = fit(messages, left, is_steady=limits.steady)
        said, memories = parts(messages)
        budget = replace(room, window=said, memories=memories)
        return Context(summary.text if summary else "", messages, persona, items, budget)

    async def _counted(self, messages: Sequence[Message], knowledge: Knowledge) -> tuple[Message, ...]:
        """Return the messages, with new token counts for memories that changed since they were shown."""
        counts = [
            await self.conversations.count(message.text) if knowledge.is_newer(message) else message.tokens
            for message in messages
        ]
        return tuple(
            message if message.tokens == tokens else replace(message, tokens=tokens)
            for message, tokens in zip(messages, counts, strict=True)
        )

    async def _summary(self, max_tokens: int, lookup: Lookup | None) -> tuple[Summary | None, tuple[MemoryItem, ...]]:
        """Return the summary, cut to `max_tokens`, and the memories that it may tell of."""
        items: tuple[MemoryItem, ...] = ()
        if lookup is None:
            summary = await self.store.summary(self.thread.id)
        else:
            summary, items = await clean_summary(self.store, self.thread.id, lookup)
        if summary is None or summary.tokens <= max_tokens * _SUMMARY_SLACK:
            return summary, items
        text, tokens = await shortened(self.conversations.tokenizer, summary.text, max_tokens)
        return replace(summary, text=text, tokens=tokens), items

    async def enter(self, turn: str, state: TurnState, error: str = "") -> None:
        """Store that a turn entered a state, in which it ends or with its next message; `error` names the failure."""
        entered = (*self._entered, Transition(turn, state, self.conversations.clock.now(), error))
        if state in _LAST_STATES:
            await self.store.enter(self.thread.id, *entered)
            entered = ()
        self._entered = entered

    async def reset(self) -> None:
        """End this thread; the next `Conversations.open` begins another. Nothing is deleted."""
        await self.store.mark(self.thread.id, ThreadStatus.RESET, self.conversations.clock.now())


_LAST_STATES = frozenset({TurnState.COMPLETED, TurnState.ERROR})
_MAX_STEM_CHARS = 60  # of an id that gets a number


async def named_thread(store: HistoryStore, wanted: Thread) -> Thread:
    """Make the thread of that id active and return it; a new one takes over the policy of the last one in its chat.

    A thread that was reset is not opened again: its id continues as ID-2, then ID-3.

    Raises:
        InputError: no thread may have that id.
        ThreadTaken: it belongs to another conversation.
    """
    if not is_thread_id(wanted.id):
        raise InputError(f"no thread can have that id: {THREAD_ID_RULE}")
    name, number = wanted.id, 1
    while (thread := await store.thread(name)) is not None and thread.status is ThreadStatus.RESET:
        number += 1
        name = f"{wanted.id[:_MAX_STEM_CHARS]}-{number}"
    if thread is None:
        policies = [t.policy for t in await store.threads(wanted.conversation.user) if _is_beside(t, wanted)]
        new = replace(wanted, id=name, policy=policies[0] if policies else "")
        thread = await store.restore(ThreadRecord(new, ()))
    if not _is_beside(thread, wanted):
        raise ThreadTaken("that thread id belongs to another conversation: choose another")
    if thread.status is ThreadStatus.ACTIVE:
        return thread
    return await store.mark(thread.id, ThreadStatus.ACTIVE, wanted.created_at) or thread


def _is_beside(thread: Thread, other: Thread) -> bool:
    return thread.conversation == other.conversation
