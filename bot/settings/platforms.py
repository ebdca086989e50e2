"""Settings of the platforms: signs of life on each, and the token, addresses and pacing of Telegram and Discord."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from core.errors import ConfigError

if TYPE_CHECKING:
    from adapters.discord.config import DiscordConfig
    from adapters.telegram.config import TelegramConfig

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


_TELEGRAM_TOKEN = re.compile(r"\d+:[\w-]+")


class TelegramSettings(SignSettings):
    """The settings of Telegram."""

    telegram_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token of the Telegram bot, from @BotFather. Empty: the bot is not on Telegram.",
    )
    telegram_api_base_url: str = Field(
        default="https://api.telegram.org", description="Address of the Bot API, where an owner runs their own server."
    )
    telegram_edit_interval_s: float = Field(
        default=1.5,
        ge=0.5,
        le=60,
        description="Least time between two edits of an answer that grows, in a private chat, seconds.",
    )
    telegram_group_edit_interval_s: float = Field(
        default=4.0, ge=3, le=60, description="The same in a group, where Telegram bears 20 writes a minute."
    )
    telegram_drafts: bool = Field(
        default=False,
        description="Stream into private chats as a draft, which grows smoothly, instead of by edits: true or false.",
    )
    telegram_stop_button: bool = Field(
        default=True, description="Show a Stop button below an answer that is still growing: true or false."
    )
    telegram_inline: bool = Field(
        default=False,
        description="Offer people their own memories when they write the bot's @name and some words in any chat: "
        "true or false.",
    )
    telegram_max_age_s: float = Field(
        default=6 * 3600.0,
        ge=60,
        description="A message older than this, in seconds, gets one line that the bot was away, and no answer.",
    )
    telegram_webhook_url: str = Field(
        default="", description="Public https address that Telegram pushes updates to. Empty: the bot asks for them."
    )
    telegram_webhook_host: str = Field(default="127.0.0.1", description="Address that the webhook listens on.")
    telegram_webhook_port: int = Field(default=8443, ge=1, le=65_535, description="Port that the webhook listens on.")
    telegram_webhook_cert: Path | None = Field(
        default=None, description="Certificate (PEM) for TLS of the webhook's own. Empty: a proxy in front speaks TLS."
    )
    telegram_webhook_key: Path | None = Field(default=None, description="Private key (PEM) of that certificate.")

    @model_validator(mode="after")
    def _check_telegram(self) -> TelegramSettings:
        """Refuse settings that cannot work together."""
        token = self.telegram_token.get_secret_value().strip()
        if token and not _TELEGRAM_TOKEN.fullmatch(token):
            raise ConfigError("TELEGRAM_TOKEN", "write it as @BotFather gave it: digits, a colon, letters")
        if not self.telegram_api_base_url.startswith(("https://", "http://")):
            raise ConfigError("TELEGRAM_API_BASE_URL", "write an address like http://127.0.0.1:8081")
        if self.telegram_webhook_url and not self.telegram_webhook_url.startswith("https://"):
            raise ConfigError("TELEGRAM_WEBHOOK_URL", "Telegram pushes to https addresses only")
        if (self.telegram_webhook_cert is None) != (self.telegram_webhook_key is None):
            raise ConfigError("TELEGRAM_WEBHOOK_KEY", "a certificate and its key come together: write both, or neither")
        return self

    def telegram(self) -> TelegramConfig | None:
        """Return the adapter's configuration, or None without a token.

        Raises:
            ConfigError: Telegram lets bots react with other emojis only.
        """
        token = self.telegram_token.get_secret_value().strip()
        if not token:
            return None
        from adapters.telegram.config import TelegramConfig, Webhook, reactions  # this loads the vendor's package

        if self.waiting_reaction and self.waiting_reaction not in reactions():
            raise ConfigError(
                "WAITING_REACTION",
                f"bots on Telegram cannot react with {self.waiting_reaction}; write {NO_REACTION} or one of "
                f"{' '.join(reactions())}",
            )
        webhook = Webhook(
            url=self.telegram_webhook_url,
            host=self.telegram_webhook_host,
            port=self.telegram_webhook_port,
            cert=self.telegram_webhook_cert,
            key=self.telegram_webhook_key,
        )
        usual = TelegramConfig(token)
        return replace(
            usual,
            base_url=self.telegram_api_base_url,
            private=replace(usual.private, edit_interval_s=self.telegram_edit_interval_s),
            group=replace(usual.group, edit_interval_s=self.telegram_group_edit_interval_s),
            drafts=self.telegram_drafts,
            stop_button=self.telegram_stop_button,
            inline=self.telegram_inline,
            waiting_reaction=self.waiting_reaction,
            max_age_s=self.telegram_max_age_s,
            webhook=webhook if webhook.url else None,
        )


_DISCORD_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")


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
        if token and not _DISCORD_TOKEN.fullmatch(token):
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
