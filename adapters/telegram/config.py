"""The settings of the Telegram adapter, as `bot/settings/telegram.py` fills them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pace:
    """The budget of a chat: `writes` in any `period_s`, of which `burst` at once; and the least time between two edits
    of an answer that grows.

    Source: core.telegram.org/bots/faq: about one message a second in a chat, 20 a minute in a group, 30 a second in
    all. Edits and chat actions count like messages.
    """

    writes: int
    period_s: float
    burst: int
    edit_interval_s: float = 0.0

    @property
    def refill_per_s(self) -> float:
        """Tokens a second, so that no window of `period_s` has more than `writes`, burst included."""
        return (self.writes - self.burst) / self.period_s


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
    button below an answer that grows. `inline` offers people their own memories in any chat. `drain_s`
    limits a graceful stop. `state_path` is the file for what outlives the process; None keeps nothing.
    """

    token: str = field(repr=False)
    base_url: str = "https://api.telegram.org"
    private: Pace = Pace(writes=63, period_s=60.0, burst=3, edit_interval_s=1.5)
    group: Pace = Pace(writes=20, period_s=60.0, burst=5, edit_interval_s=4.0)
    overall: Pace = Pace(writes=30, period_s=1.0, burst=5)
    poll_timeout_s: int = 50
    max_age_s: float = 6 * 3600.0
    drain_s: float = 20.0
    drafts: bool = False
    stop_button: bool = True
    inline: bool = False
    state_path: Path | None = None
    webhook: Webhook | None = None
