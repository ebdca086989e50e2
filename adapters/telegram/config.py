"""The settings of the Telegram adapter, as `bot/settings/platforms.py` fills them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WritePace:
    """The budget of a chat, and the least time between two edits of an answer that grows.

    It is `burst` writes at once, `per_s` more each second, and at most `per_minute` in any minute (0: as many as that
    makes).

    Source: core.telegram.org/bots/faq: about one message a second in a chat, 20 a minute in a group, 30 a second in
    all. Edits and chat actions count like messages.
    """

    burst: int
    per_s: float
    per_minute: int = 0
    edit_interval_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where Telegram pushes updates. `cert` and `key` are our own TLS; without them a proxy in front does TLS."""

    url: str
    host: str = "127.0.0.1"
    port: int = 8443
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class TelegramConfig:
    """`base_url` is a Bot API server without the token; an update older than `max_age_s` is not answered.

    `drafts` is whether answers in private chats grow by `sendMessageDraft` instead of edits; `stop_button` puts a Stop
    button below an answer that grows; `waiting_reaction` is put on a message that waits for others in a group, "" for
    none. `inline` offers people their own memories in any chat. `drain_s` limits a graceful stop.
    """

    token: str = field(repr=False)
    base_url: str = "https://api.telegram.org"
    private: WritePace = WritePace(burst=3, per_s=1.0, edit_interval_s=1.5)
    group: WritePace = WritePace(burst=5, per_s=1.0, per_minute=20, edit_interval_s=4.0)
    overall: WritePace = WritePace(burst=5, per_s=25.0)
    poll_timeout_s: int = 50
    max_age_s: float = 6 * 3600.0
    drain_s: float = 20.0
    drafts: bool = False
    stop_button: bool = True
    inline: bool = False
    waiting_reaction: str = "👀"
    webhook: Webhook | None = None


def reactions() -> tuple[str, ...]:
    """Return the emojis with which Telegram lets bots react."""
    from telegram.constants import ReactionEmoji

    return tuple(ReactionEmoji)
