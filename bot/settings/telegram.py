"""Settings of Telegram: the bot's token, addresses, webhook and pacing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, SecretStr, model_validator

from bot.settings.signs import NO_REACTION, SignSettings
from core.errors import ConfigError

if TYPE_CHECKING:
    from adapters.telegram.config import TelegramConfig

_TOKEN = re.compile(r"\d+:[\w-]+")


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
        if token and not _TOKEN.fullmatch(token):
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
