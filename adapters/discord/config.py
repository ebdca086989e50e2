"""The settings of the Discord adapter, as `bot/settings/platforms.py` fills them in."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DiscordConfig:
    """All settings.

    `rooms` are ids of channels, categories or servers where the bot answers (empty: wherever it was invited to);
    `admin_guild` is the server that alone shows the staff's commands (0: all do, to who manages them); `shards` is how
    many the servers are spread over (0: as many as Discord recommends); `gateway_url` replaces the gateway that
    the API names; `max_age_s` is when a message is too old to answer; `drain_s` bounds a graceful stop.
    `edit_interval_s` keeps an answer just under the 5 edits in 5 s of a channel that people report (the true figure
    comes with each response). `waiting_reaction` is put on a message that waits for others in a channel, "" for none.
    """

    token: str = field(repr=False)
    api_base_url: str = "https://discord.com/api/v10"
    gateway_url: str = ""
    rooms: frozenset[int] = frozenset()
    admin_guild: int = 0
    shards: int = 0
    auto_thread: bool = False
    stop_button: bool = True
    waiting_reaction: str = "👀"
    edit_interval_s: float = 1.7
    max_age_s: float = 6 * 3600.0
    drain_s: float = 20.0
