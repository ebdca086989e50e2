"""Settings of limits: what of a conversation a model is shown, and how much each person, room and the bot may spend."""

from __future__ import annotations

from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from core.errors import ConfigError
from core.features.quotas.limits import Defaults, Limits, NotALimit, read
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
        default=_USUAL.threshold_tokens,
        ge=100,
        description="Tokens held from which on older messages are summarised.",
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


_TIMEZONE = "TIMEZONE"


class QuotaSettings(BaseSettings):
    """The settings of quotas and of time."""

    quota_person: str = Field(
        default="messages_minute=30",
        description="Limits of each person who is no guest and no owner, separated by spaces: messages_minute, "
        "tokens_day, tokens_month, cost_day, cost_month (in US dollars). 0 means zero; of what is not written there is "
        "no limit; none: nothing is limited. A text of more than 4,000 characters counts as several messages. "
        "/admin quota changes them while the bot runs.",
        examples=["messages_minute=10 tokens_day=50000 cost_month=2.50"],
    )
    quota_guest: str = Field(
        default="messages_minute=6 tokens_day=100000 tokens_month=1000000",
        description="Limits of each guest: whoever is answered only because a room was let in, or everybody is.",
    )
    quota_room: str = Field(
        default="messages_minute=60", description="Limits of each room, for all who write there together."
    )
    quota_bot: str = Field(
        default="messages_minute=600", description="Limits of the whole bot, for everybody together, owners too."
    )
    timezone: str = Field(
        default="UTC",
        description="The time zone in which people are told times, and in which days and months begin at midnight: an "
        "IANA name such as America/Sao_Paulo or Europe/Lisbon.",
    )

    @model_validator(mode="after")
    def _check_quotas(self) -> QuotaSettings:
        """Refuse limits or a time zone that cannot be read."""
        self.quotas()
        self.zone()
        return self

    def quotas(self) -> Defaults:
        """Return the limits that hold where no owner decided others."""
        return Defaults(
            person=_limits("QUOTA_PERSON", self.quota_person),
            guest=_limits("QUOTA_GUEST", self.quota_guest),
            room=_limits("QUOTA_ROOM", self.quota_room),
            bot=_limits("QUOTA_BOT", self.quota_bot),
        )

    def zone(self) -> ZoneInfo:
        """Return the time zone of days, months and all times shown to people."""
        try:
            return ZoneInfo(self.timezone.strip())
        except (ZoneInfoNotFoundError, ValueError, OSError):
            advice = f"there is no time zone {self.timezone!r}; write a name such as America/Sao_Paulo, or UTC"
            raise ConfigError(_TIMEZONE, advice) from None


def _limits(setting: str, text: str) -> Limits:
    try:
        return read(text)
    except NotALimit as error:
        raise ConfigError(setting, str(error)) from None
