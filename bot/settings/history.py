"""Settings of conversation memory: what a model is shown of a conversation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from core.history.window import HistoryLimits

_USUAL = HistoryLimits()


class HistorySettings(BaseSettings):
    """The settings of conversation memory."""

    history_policy: Literal["", "summary", "last-messages", "last-tokens"] = Field(
        default="",
        description="What of a conversation a model is shown: a summary and the latest messages (summary), or only the "
        "latest (last-messages, last-tokens). Default: summary, where there is a language model to summarise.",
    )
    history_max_messages: int = Field(
        default=_USUAL.max_messages, ge=2, description="For last-messages: how many messages are shown."
    )
    history_max_tokens: int = Field(
        default=_USUAL.max_tokens, ge=100, description="For last-tokens: how many tokens of messages are shown."
    )
    history_steady: bool = Field(
        default=False,
        description="Whether up to two fifths fewer messages are shown, so that prompts begin alike, which caches "
        "make cheaper.",
    )
    max_context_tokens: int = Field(
        default=_USUAL.max_context_tokens,
        ge=2_000,
        le=2_000_000,
        description="The most of a model's context window that is used, in tokens, answer included; a model with a "
        "smaller one gets less.",
    )
    tokenizer: Literal["", "provider", "o200k_base", "cl100k_base", "characters", "words"] = Field(
        default="",
        description="How tokens of messages are counted: provider (Claude's own count, a request for each message), "
        "o200k_base or cl100k_base (OpenAI's, now and until GPT-4), characters (four a token), words (three quarters "
        "of one a token). Default: exactly for OpenAI's models, by characters for others, corrected by what each model "
        "reports.",
    )
    recent_window_size: int = Field(
        default=_USUAL.window_messages, ge=2, description="Messages that a summary never covers."
    )
    token_threshold: int = Field(
        default=_USUAL.threshold_tokens, ge=100, description="Tokens held from which on older messages are summarised."
    )
    max_summary_tokens: int = Field(
        default=_USUAL.max_summary_tokens, ge=50, description="Tokens from which on a summary is folded again."
    )

    def history_limits(self) -> HistoryLimits:
        """Return these settings as the limits of conversation memory."""
        return HistoryLimits(
            policy=self.history_policy,
            max_messages=self.history_max_messages,
            max_tokens=self.history_max_tokens,
            max_context_tokens=self.max_context_tokens,
            steady=self.history_steady,
            window_messages=self.recent_window_size,
            window_cycles=max(self.recent_window_size // 2, 1),
            threshold_tokens=self.token_threshold,
            max_summary_tokens=self.max_summary_tokens,
        )
