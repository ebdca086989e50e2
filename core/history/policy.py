"""Context policies: how far back in a thread a model looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.enclosures import MAX_QUOTE_CHARS
from core.threads import Summary

LAST_MESSAGES = "last-messages"
LAST_TOKENS = "last-tokens"
SUMMARY = "summary"
NAMES = (SUMMARY, LAST_MESSAGES, LAST_TOKENS)
"""Names of policies in settings and threads, the default first."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far back a model looks: only to sequences greater than `after`, and at most so many messages and tokens."""

    after: int = 0
    max_messages: int | None = None
    max_tokens: int | None = None


class Policy(Protocol):
    """Decide how far back a model looks, and whether a summary stands for what is further back."""

    @property
    def summarises(self) -> bool:
        """Whether summaries are made and shown."""

    def bound(self, summary: Summary | None) -> Bound:
        """Return the bound of a thread with that newest summary."""


@dataclass(frozen=True, slots=True)
class LastMessages(Policy):
    """The newest `count` messages."""

    count: int
    summarises: bool = False

    def bound(self, summary: Summary | None) -> Bound:  # noqa: ARG002 - this policy shows none
        """Return the newest messages."""
        return Bound(max_messages=self.count)


@dataclass(frozen=True, slots=True)
class LastTokens(Policy):
    """The newest messages that cost `tokens` together; no message is cut."""

    tokens: int
    summarises: bool = False

    def bound(self, summary: Summary | None) -> Bound:  # noqa: ARG002 - this policy shows none
        """Return the newest tokens."""
        return Bound(max_tokens=self.tokens)


@dataclass(frozen=True, slots=True)
class RollingSummary(Policy):
    """A summary of earlier messages, and every message that it does not cover (J1 to J5)."""

    summarises: bool = True

    def bound(self, summary: Summary | None) -> Bound:
        """Return the end of the summary."""
        return Bound(after=summary.through if summary else 0)


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Settings of conversation memory, with the values of the documents.

    `policy` "" means the summary if a model can summarise, else the last messages. `max_context_tokens` is a model's
    context window, answer included; the answer and the summary each get at most a quarter of it.
    """

    policy: str = ""
    max_messages: int = 40
    max_tokens: int = 8_000
    max_context_tokens: int = 32_000
    answer_tokens: int = 1_024
    window_messages: int = 4  # RECENT_WINDOW_SIZE
    window_cycles: int = 2
    threshold_tokens: int = 3_500  # TOKEN_THRESHOLD
    max_summary_tokens: int = 800
    batch_tokens: int = 6_000
    context_tokens: Mapping[str, int] = field(default_factory=dict)
    """Context tokens by mode (`core.models.MODES`), where that is not `max_context_tokens` (H1)."""

    def context_tokens_of(self, mode: str) -> int:
        """Return the context window of the mode's model, answer included."""
        return self.context_tokens.get(mode, self.max_context_tokens)

    def answer_tokens_of(self, window_tokens: int) -> int:
        """Return the tokens reserved for the answer in a window of that size."""
        return min(self.answer_tokens, window_tokens // 4)

    def summary_tokens(self, window_tokens: int) -> int:
        """Return the most tokens of a summary in a window of that size."""
        return min(self.max_summary_tokens, window_tokens // 4)

    def max_quote_chars(self) -> int:
        """Return the most characters of a quote, so that it leaves room for the message itself."""
        return min(MAX_QUOTE_CHARS, max(self.max_context_tokens // 4, 1))

    def policies(self) -> Mapping[str, Policy]:
        """Return the policies by name, with these settings."""
        return {
            SUMMARY: RollingSummary(),
            LAST_MESSAGES: LastMessages(self.max_messages),
            LAST_TOKENS: LastTokens(self.max_tokens),
        }
