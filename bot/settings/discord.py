"""Settings of Discord: the bot's token, where it answers, addresses and pacing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from bot.settings.signs import SignSettings
from core.errors import ConfigError

if TYPE_CHECKING:
    from adapters.discord.config import DiscordConfig

_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")


class DiscordSettings(SignSettings):
    """The settings of Discord."""

    discord_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token of the Discord bot: developer portal, page Bot, Reset Token. Empty: not on Discord.",
    )
    discord_rooms: Annotated[frozenset[int], NoDecode] = Field(
        default=frozenset(),
        description="Ids of channels, categories or servers where the bot answers, separated by commas. Direct "
        "messages always work. Empty: wherever it was invited to.",
    )
    discord_admin_guild: int = Field(
        default=0,
        ge=0,
        description="Id of the server that alone shows the staff's commands. 0: direct messages do.",
    )
    discord_shards: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="Connections that the servers are spread over. 0: as many as Discord recommends.",
    )
    discord_auto_thread: bool = Field(
        default=False, description="Answer a mention in a thread of its own, opened on the message: true or false."
    )
    discord_stop_button: bool = Field(
        default=True, description="Show a Stop button below an answer that is still growing: true or false."
    )
    discord_edit_interval_s: float = Field(
        default=1.7, ge=1, le=60, description="Least time between two edits of an answer that grows, in seconds."
    )
    discord_max_age_s: float = Field(
        default=6 * 3600.0,
        ge=60,
        description="A message older than this, in seconds, gets one line that the bot was away, and no answer.",
    )
    discord_api_base_url: str = Field(
        default="https://discord.com/api/v10", description="Address of Discord's API, where a proxy stands before it."
    )
    discord_gateway_url: str = Field(
        default="", description="Address of Discord's gateway (wss://...). Empty: the one that the API names."
    )

    @field_validator("discord_rooms", mode="before")
    @classmethod
    def _split_rooms(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        ids = [part.strip() for part in value.split(",") if part.strip()]
        if not all(one.isdecimal() for one in ids):
            raise ConfigError("DISCORD_ROOMS", "write ids, which are digits: developer mode, right click, Copy ID")
        return frozenset(int(one) for one in ids)

    @model_validator(mode="after")
    def _check_discord(self) -> DiscordSettings:
        """Refuse settings that cannot work together."""
        token = self.discord_token.get_secret_value().strip()
        if token and not _TOKEN.fullmatch(token):
            raise ConfigError("DISCORD_TOKEN", "write it as the portal gave it: three parts with dots between them")
        if not self.discord_api_base_url.startswith(("https://", "http://")):
            raise ConfigError("DISCORD_API_BASE_URL", "write an address like https://discord.com/api/v10")
        if self.discord_gateway_url and not self.discord_gateway_url.startswith(("wss://", "ws://")):
            raise ConfigError("DISCORD_GATEWAY_URL", "write an address like wss://gateway.discord.gg")
        return self

    def discord(self) -> DiscordConfig | None:
        """Return the adapter's configuration, or None without a token."""
        token = self.discord_token.get_secret_value().strip()
        if not token:
            return None
        from adapters.discord.config import DiscordConfig  # this loads the vendor's package

        return DiscordConfig(
            token,
            api_base_url=self.discord_api_base_url,
            gateway_url=self.discord_gateway_url,
            rooms=self.discord_rooms,
            admin_guild=self.discord_admin_guild,
            shards=self.discord_shards,
            auto_thread=self.discord_auto_thread,
            stop_button=self.discord_stop_button,
            waiting_reaction=self.waiting_reaction,
            edit_interval_s=self.discord_edit_interval_s,
            max_age_s=self.discord_max_age_s,
        )
