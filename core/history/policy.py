"""Context policies: how far back in a thread a model looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
