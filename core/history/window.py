"""Choose the messages that a model is shown: as far back as a policy looks, and as many as fit the token budget.

The budget is never exceeded, nothing is reordered, the person's last message always stays, and fitting what fits
changes nothing. The cost depends on what is shown, never on the length of the thread.

No more is trimmed than must be, unless the owner wants it steady: then it is trimmed further, to a boundary that stays
where it is while the thread grows (`steady`), and the next prompts begin with the same bytes, which providers and local
servers have in their caches.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.enclosures import MAX_QUOTE_CHARS
from core.errors import InputError, InputTooLong
from core.history.withholding import NOTHING, Withheld
from core.ports import Tokenizer
from core.stores import HistoryStore
from core.threads import Summary
from core.types import Message, MessageRole, Modal, is_said_by_person

LAST_MESSAGES = "last-messages"
LAST_TOKENS = "last-tokens"
SUMMARY = "summary"
POLICIES = (SUMMARY, LAST_MESSAGES, LAST_TOKENS)
"""Names of policies in settings and threads, the default first."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far back a model looks: only to sequences greater than `after`, and at most so many messages and tokens."""

    after: int = 0
    max_messages: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a context is chosen: the newest messages or tokens, or a summary and every message after it (J1 to J5)."""

    max_messages: int | None = None
    max_tokens: int | None = None
    summarises: bool = False

    def bound(self, summary: Summary | None) -> Bound:
        """Return the bound of a thread with that newest summary, if the policy shows one."""
        return Bound(summary.through if summary and self.summarises else 0, self.max_messages, self.max_tokens)


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Settings of conversation memory, with the values of the documents.

    `policy` "" means the summary if a model can summarise, else the last messages. `max_context_tokens` is the most of
    a model's context window that is used, answer included. In a small window the answer gets at most a quarter and the
    summary an eighth; messages are summarised once they take three eighths with the summary. `steady`: what has to be
    trimmed is trimmed further, so that prompts begin alike (`core.history.window.steady`).
    """

    policy: str = ""
    max_messages: int = 40
    max_tokens: int = 8_000
    max_context_tokens: int = 32_000
    steady: bool = False
    answer_tokens: int = 1_024
    window_messages: int = 4  # RECENT_WINDOW_SIZE
    window_cycles: int = 2
    threshold_tokens: int = 3_500  # TOKEN_THRESHOLD
    max_summary_tokens: int = 800
    batch_tokens: int = 6_000

    def answer_tokens_of(self, window_tokens: int) -> int:
        """Return the tokens reserved for the answer in a window of that size."""
        return min(self.answer_tokens, window_tokens // 4)

    def summary_tokens(self, window_tokens: int) -> int:
        """Return the most tokens of a summary in a window of that size."""
        return min(self.max_summary_tokens, window_tokens // 8)

    def threshold_tokens_of(self, window_tokens: int) -> int:
        """Return the tokens from which on messages are summarised that are shown in a window of that size."""
        return min(self.threshold_tokens, window_tokens * 3 // 8)

    def max_quote_chars(self) -> int:
        """Return the most characters of a quote, so that it leaves room for the message itself."""
        return min(MAX_QUOTE_CHARS, max(self.max_context_tokens // 4, 1))

    def policies(self) -> Mapping[str, Policy]:
        """Return the policies by name, with these settings."""
        return {
            SUMMARY: Policy(summarises=True),
            LAST_MESSAGES: Policy(max_messages=self.max_messages),
            LAST_TOKENS: Policy(max_tokens=self.max_tokens),
        }


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a context, by part. `answer` is reserved for the answer."""

    max_tokens: int
    system: int = 0
    summary: int = 0
    window: int = 0
    memories: int = 0
    answer: int = 0

    @property
    def remaining(self) -> int:
        """Tokens that can still be added."""
        return self.max_tokens - self.system - self.summary - self.window - self.memories - self.answer


def fit(messages: Sequence[Message], max_tokens: int, *, is_steady: bool = False) -> tuple[Message, ...]:
    """Return the newest messages that fit, always with the person's last one (H3), and log how many were dropped.

    Messages are dropped oldest first, up to a `steady` boundary if that is wanted; a tool's result is dropped with its
    request (L5).

    Raises:
        InputTooLong: the person's last message alone does not fit; `max_chars` would (H4).
    """
    last = last_said(messages)
    left = max_tokens
    if last is not None:
        left -= messages[last].tokens
        if left < 0:
            raise InputTooLong(max(max_tokens, 0) * len(messages[last].text) // messages[last].tokens)
    start = len(messages)
    while start and (left := left - (messages[start - 1].tokens if start - 1 != last else 0)) >= 0:
        start -= 1
    kept: Sequence[Message] = messages[start:]
    if last is not None and last < start:
        kept = (messages[last], *kept)
    elif start and is_steady:
        kept = steady(kept)
    shown = without_orphans(kept)
    if dropped := len(messages) - len(shown):
        _log.info("history trimmed", extra={"dropped": dropped, "shown": len(shown), "max_tokens": max_tokens})
    return shown


_KEPT: Final = 0.6  # measured: prompts begin anew more often at 0.7, and hardly less often at 0.5
_LEAST_TOKENS: Final = 256  # fewer are read anew within a moment, and every one of them is worth more


def steady(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the trimmed messages without some more of the oldest, so that later prompts begin at the same one.

    The first is that of the roundest sequence, in binary, among those that leave at least `_KEPT` of the tokens: it
    stays the roundest until it is so far back that the next as round takes its place. Nothing has to be stored for
    that, and a budget that varies a little changes nothing. The person's last message and what follows it always stay.
    Fewer than `_LEAST_TOKENS` stay as they are.
    """
    left = sum(message.tokens for message in messages)
    least = max(left * _KEPT, _LEAST_TOKENS)
    last = last_said(messages)
    best = 0
    for at, message in enumerate(messages):
        if left < least or (last is not None and at > last):
            break
        if _roundness(message) > _roundness(messages[best]):
            best = at
        left -= message.tokens
    return tuple(messages[best:])


def _roundness(message: Message) -> int:
    """Return the greatest power of two that divides the sequence; 0 for a message that was not stored."""
    return message.sequence & -message.sequence


def without_orphans(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without tool results whose request is not before them."""
    asked: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if message.pair and message.role is MessageRole.ASSISTANT:
            asked.add(message.pair)
        if not message.pair or message.pair in asked:
            kept.append(message)
    return tuple(kept)


def last_said(messages: Sequence[Message]) -> int | None:
    """Return the index of the last message that the person wrote."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if is_said_by_person(messages[at])), None)


def parts(messages: Sequence[Message]) -> tuple[int, int]:
    """Return the tokens of the messages: of those that were said, and of the memories among them."""
    memories = sum(message.tokens for message in messages if message.modal is Modal.MEMORY)
    return sum(message.tokens for message in messages) - memories, memories


_PAGE, _MAX_PAGE = 64, 512


class ReadMessages:
    """The messages of a thread that were read so far, each once, however often they are asked for."""

    def __init__(self, store: HistoryStore, thread_id: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self._read: list[Message] = []  # the oldest first

    async def backwards(self) -> AsyncIterator[Message]:
        """Yield all that is in the thread, the newest first, reading what is missing in pages that grow."""
        await self._renew()
        place, size = len(self._read), _PAGE
        while True:
            while place:
                place -= 1
                yield self._read[place]
            before = self._read[0].sequence if self._read else 0
            page = await self._store.tail(self._thread_id, size, before=before) if before != 1 else ()
            if not page:
                return
            self._read[:0] = page
            place, size = len(page), min(size * 2, _MAX_PAGE)

    async def _renew(self) -> None:
        """Add what is new; where the last message is not there any more, all is read again."""
        if self._read:
            last = self._read.pop()
            newer = await self._store.since(self._thread_id, last.sequence - 1)
            is_there = bool(newer) and newer[0].id == last.id
            self._read = [*self._read, *newer] if is_there else []


async def newest(
    messages: ReadMessages,
    bound: Bound,
    *,
    turn: str,
    max_tokens: int,
    withheld: Withheld = NOTHING,
    is_steady: bool = False,
) -> tuple[Message, ...]:
    """Return the messages shown to a turn within the bound, oldest first; `max_tokens` only says when to stop reading.

    The bound does not apply to messages of this turn, which would otherwise search again for what it just found, nor to
    the person's last message. Where it leaves messages out that no summary covers, it leaves out some more if that is
    to be `steady`.
    """
    taken: list[Message] = []
    tokens = 0
    said = is_cut = False
    async for message in messages.backwards():
        if not is_shown(message, turn) or withheld.hides(message):
            continue
        own = bool(turn) and message.turn == turn
        beyond = not own and _is_beyond(bound, message, len(taken), tokens)
        is_cut = is_cut or (beyond and message.sequence > bound.after)
        full = tokens > max_tokens or beyond
        if full and said:
            break
        if full and not is_said_by_person(message):
            continue
        said = said or is_said_by_person(message)
        tokens += message.tokens
        taken.append(message)
    shown = tuple(reversed(taken))
    return steady(shown) if is_cut and is_steady else shown


def is_shown(message: Message, turn: str) -> bool:
    """Return whether a model is shown the message in that turn.

    Of earlier turns: all that was said and recalled, final answers included. Of the turn itself: only messages marked
    for later calls. Nothing of a question that was edited or deleted.
    """
    if message.modal is Modal.TEXT_FOR_REPLACE:
        return False
    if turn and message.turn == turn:
        return message.in_history
    return message.role is not MessageRole.SYSTEM or message.modal is Modal.MEMORY


def _is_beyond(bound: Bound, message: Message, taken: int, tokens: int) -> bool:
    return (
        message.sequence <= bound.after
        or (bound.max_messages is not None and taken >= bound.max_messages)
        or (bound.max_tokens is not None and tokens + message.tokens > bound.max_tokens)
    )


class ChatHistory:
    """Keep messages and return the newest that fit. Each message is counted once, when it is added."""

    def __init__(self, max_context_tokens: int, tokenizer: Tokenizer) -> None:
        self._max_tokens = max_context_tokens
        self._tokenizer = tokenizer
        self._system: Message | None = None
        self._messages: list[Message] = []

    def add_message(self, message: Message | None) -> None:
        """Add a message; a system message sets the system prompt.

        Raises:
            InputError: it is None, or has no content.
        """
        if message is None or message.content is None:
            raise InputError("there is no message to add: None")
        if message.role is MessageRole.SYSTEM:
            self.add_system_prompt(message.text)
        else:
            self._messages.append(self._counted(message))

    def add_system_prompt(self, prompt: str | None) -> None:
        """Set the one system prompt, or remove it with "".

        Raises:
            InputError: it is None.
        """
        if prompt is None:
            raise InputError('there is no system prompt to set: None; "" removes it')
        if self._system is None or self._system.text != prompt:
            self._system = self._counted(Message(MessageRole.SYSTEM, prompt)) if prompt else None

    def get_trimmed_history(self) -> tuple[Message, ...]:
        """Return the system prompt, then the newest messages that fit beside it, the person's last one always.

        Raises:
            InputTooLong: the system prompt and the person's last message do not fit together.
        """
        if self._system is None:
            return fit(self._messages, self._max_tokens)
        if self._system.tokens > self._max_tokens:
            raise InputTooLong(0)
        return (self._system, *fit(self._messages, self._max_tokens - self._system.tokens))

    def get_remaining_budget(self) -> int:
        """Return how many tokens can be added before a message is dropped.

        Raises:
            InputTooLong: as `get_trimmed_history`.
        """
        return self._max_tokens - sum(message.tokens for message in self.get_trimmed_history())

    def clear_history(self) -> None:
        """Remove every message but the system prompt."""
        self._messages.clear()

    def _counted(self, message: Message) -> Message:
        return replace(message, tokens=message.tokens or self._tokenizer.count_tokens([message]))
