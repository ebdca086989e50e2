"""Render `.env.example`: each setting with its purpose and default."""

from __future__ import annotations

import textwrap

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from bot.settings.limits import HistorySettings, QuotaSettings
from bot.settings.models import ModelSettings
from bot.settings.platforms import DiscordSettings, SignSettings, TelegramSettings
from bot.settings.reminders import ReminderSettings
from bot.settings.settings import Settings
from bot.settings.storage import StorageSettings

HEADER = """\
# Every setting of Elefante, with its default. Copy this file to .env and change what you need; an empty or missing
# setting means its default. `elefante check` says whether all is well."""

SECTIONS: dict[str, type[BaseSettings]] = {
    "Telegram and Discord: signs of life": SignSettings,
    "Telegram": TelegramSettings,
    "Discord": DiscordSettings,
    "Models. Without one the bot runs in limited mode, without a language model": ModelSettings,
    "Conversation memory": HistorySettings,
    "Money: who may spend how much": QuotaSettings,
    "Reminders": ReminderSettings,
    "Storage": StorageSettings,
}


def render() -> str:
    """Return the whole file."""
    parts = [HEADER]
    named: set[str] = set()
    for title, mixin in SECTIONS.items():
        parts.append(f"\n# --- {title} ---")
        own = [name for name in mixin.model_fields if name not in named]
        parts += [_entry(name, Settings.model_fields[name]) for name in own]
        named.update(own)
    parts.append("\n# --- The bot ---")
    parts += [_entry(name, field) for name, field in Settings.model_fields.items() if name not in named]
    return "\n".join(parts) + "\n"


def _entry(name: str, field: FieldInfo) -> str:
    about = textwrap.fill(field.description or "", 116, initial_indent="# ", subsequent_indent="# ")
    examples = "".join(f"\n#   {name.upper()}={example}" for example in field.examples or ())
    return f"{about}{examples}\n{name.upper()}={_default(field)}"


def _default(field: FieldInfo) -> str:
    value = field.default if field.default_factory is None else ""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | frozenset):
        return ",".join(sorted(map(str, value)))
    return f"{value:g}" if isinstance(value, float) else str(value)
