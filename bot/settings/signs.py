"""Settings of signs of life: what shows in a chat that an answer is on its way, and that it is there."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from core.errors import ConfigError

NO_REACTION = "none"
_MAX_EMOJI_CHARS = 16


class SignSettings(BaseSettings):
    """The settings of signs of life on every platform."""

    status_after_s: float = Field(
        default=1.5,
        ge=0,
        le=60,
        description='Seconds before a status such as "Searching…" is shown, if nothing of the answer is there by then. '
        "0: at once.",
    )
    notify_after_s: float = Field(
        default=20.0,
        ge=0,
        description="Whoever asked is notified of an answer that is ready this many seconds after the question, or "
        "later, or that waited for others. 0: never.",
    )
    waiting_reaction: str = Field(
        default="👀",
        description="Emoji that is put on a message that waits for others in a room. none: there is no such sign.",
    )

    @field_validator("waiting_reaction")
    @classmethod
    def _check_reaction(cls, value: str) -> str:
        emoji = value.strip()
        if emoji.casefold() == NO_REACTION:
            return ""
        if not emoji or emoji.isascii() or len(emoji) > _MAX_EMOJI_CHARS or emoji[0].isalpha():
            raise ConfigError("WAITING_REACTION", f"write one emoji, such as 👀, or {NO_REACTION}")
        return emoji
