"""Write what pages take from the code: `.env.example`, tables of commands and models, the actions of a model, the
README's examples and figures.

`make fix` runs it.
"""

from __future__ import annotations

import asyncio
import io
import re
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings
from typer.core import TyperGroup

from adapters.console import PipeChannel
from adapters.console.channel import Layout
from adapters.console.output import Output
from adapters.console.person import TerminalUser
from bot.cli.main import app
from bot.cli.think import StoppedClock
from bot.models.presets import PROVIDERS, SUGGESTED, example
from bot.settings.limits import HistorySettings, QuotaSettings
from bot.settings.models import ModelSettings
from bot.settings.platforms import DiscordSettings, SignSettings, TelegramSettings
from bot.settings.reminders import ReminderSettings
from bot.settings.settings import Settings, load
from bot.settings.storage import StorageSettings
from bot.wiring import build
from core.answering.chatbot import ChatBot
from core.commands.command import Command
from core.types import Locale
from tests.fakes.commands import COMMANDS, VERBS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXAMPLE = re.compile(r"(?<=^```\n)› .*?(?=^```$)", re.MULTILINE | re.DOTALL)
SAID_AT = datetime(2026, 11, 21, 15, 10, tzinfo=UTC)
COLUMNS = 100
ENV_EXAMPLE = ROOT / ".env.example"
PAGE = ROOT / "docs" / "commands.md"
MODELS = ROOT / "docs" / "models.md"
SECURITY = ROOT / "docs" / "security.md"
PROOF = ROOT / "docs" / "proof.md"
_WHOLE = 500  # characters: more than any first sentence has
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


def with_tables(page: str) -> str:
    """Return the page of commands with its two tables as the commands are."""
    everybodys = [_row(f"{each.name}{each.usage}", each.about[Locale.EN], _where(each)) for each in COMMANDS.values()]
    staffs = [
        _row(f"admin {each.name}{each.usage}", each.about[Locale.EN], "owners" if each.for_owners else "owners, admins")
        for each in VERBS.values()
    ]
    page = _put(page, "command | what it does | where", everybodys)
    return _put(page, "command | what it does | who", staffs)


def _where(command: Command) -> str:
    if command.for_managers:
        return "in rooms, by who manages them"
    return "in private" if command.in_private else "anywhere"


def _row(name: str, about: str, where: str) -> str:
    usage = name.replace("|", "\\|")
    return f"| `/{usage}` | {about} | {where} |\n"


def _put(page: str, head: str, rows: list[str]) -> str:
    table = f"| {head} |\n| --- | --- | --- |\n" + "".join(rows)
    pattern = rf"^\| {re.escape(head)} \|\n(?:\|.*\n)*"
    found, count = re.subn(pattern, lambda _: table, page, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"docs/commands.md has no table of {head}")
    return found


def with_verbs(page: str) -> str:
    """Return the README with the table of what `elefante` can do at the shell, as its own help says it."""
    rows = []
    for name, verb in typer.main.get_group(app).commands.items():
        wanted = [re.sub("[{}]", "", piece).upper() for piece in verb.collect_usage_pieces(typer.Context(verb))[1:]]
        usage = " ".join([name] if isinstance(verb, TyperGroup) else [name, *wanted])
        more = f" ({', '.join(verb.commands)})" if isinstance(verb, TyperGroup) else ""
        about = verb.get_short_help_str(limit=_WHOLE).removesuffix(".")
        rows.append(f"| `{usage}` | {about}{more} |\n")
    head = re.escape("| `elefante …` | what it does |\n| --- | --- |\n")
    return re.sub(rf"(?<={head})(?:\|.*\n)+", lambda _: "".join(rows), page)


def with_example(page: str) -> str:
    """Return the README with what `make chat` answers to the messages of its example, those lines that begin with ›."""
    if (found := EXAMPLE.search(page)) is None:
        raise ValueError("README.md has no example")
    said = [line.removeprefix("› ") for line in found[0].splitlines() if line.startswith("› ")]
    return page[: found.start()] + asyncio.run(_talk(said)) + page[found.end() :]


def with_models(page: str) -> str:
    """Return a page with the lines that set a model, or the table of them, as the presets have them."""
    lines = [(f"MODEL={example(name)}", _and_key(name)) for name in SUGGESTED]
    width = max(len(setting) for setting, _ in lines)
    block = "".join(f"{setting:<{width}}     # {key}\n" for setting, key in lines)
    page = re.sub(r"(?<=^```sh\n)(?:MODEL=.*\n)+(?=```$)", lambda _: block, page, flags=re.MULTILINE)
    rows = "".join(
        f"| {preset.about} | `MODEL={example(name)}`"
        + (f" and `{preset.key_setting}=...`" if preset.key_setting else "")
        + " |\n"
        for name, preset in PROVIDERS.items()
    )
    head = re.escape("| you have | write |\n| --- | --- |\n")
    return re.sub(rf"(?<={head})(?:.*`MODEL=(?!openai:NAME).*\n)+", lambda _: rows, page)


def _and_key(provider: str) -> str:
    setting = PROVIDERS[provider].key_setting
    return f"and {setting}=..." if setting else "on your own machine, no key"


def with_actions(page: str, names: Sequence[str]) -> str:
    """Return docs/security.md with the list of all that a model may ask for."""
    listed = textwrap.fill(f"{', '.join(f'`{name}`' for name in names)}.", 150)
    return re.sub(r"(?<=but where the person asked:\n)(?:`\w+`[,.]\s)+", lambda _: f"{listed}\n", page)


async def actions() -> Sequence[str]:
    """Return the names of the actions of a bot with the default settings."""
    async with build(load(None, storage_url="memory:")) as app:
        return [action.name for action in app.parts.registry.enabled]


def with_proof(page: str, proof: str) -> str:
    """Return the README with its table of what was measured as the proof has it."""
    found = re.search(r"(?<=^## In short\n\n)(?:\|.*\n)+", proof, re.MULTILINE)
    if found is None:
        raise ValueError("docs/proof.md has no figures for README")
    return re.sub(r"(^## Measured\n\n.*\n\n)(?:\|.*\n)+", lambda at: at[1] + found[0], page, flags=re.MULTILINE)


async def _talk(messages: Sequence[str]) -> str:
    """Return what a terminal shows of a new bot without a model that is sent those messages, a minute apart."""
    settings = load(None, storage_url="memory:", model="", timezone="America/New_York", console_user="ana")
    clock, layout, shown = StoppedClock(SAID_AT), Layout(COLUMNS, colour=False), io.StringIO()
    person, channel = TerminalUser(settings.console_owner, "en_US.UTF-8", clock), PipeChannel(Output(shown))
    async with build(settings, clock=clock) as built, ChatBot(built.parts) as chatbot:
        for message in messages:
            shown.write(f"› {message}\n")
            await (await chatbot.receive(person.says(channel.buttons.pressed(message)), channel))
            shown.write("\n")
            clock.at += timedelta(minutes=1)
    return "".join(f"{row.text}\n" for row in layout.rows(shown.getvalue().rstrip("\n")))


def env_example() -> str:
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


if __name__ == "__main__":
    ENV_EXAMPLE.write_text(env_example(), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    page = with_verbs(with_models(with_example(README.read_text(encoding="utf-8"))))
    README.write_text(with_proof(page, PROOF.read_text(encoding="utf-8")), encoding="utf-8")
    security = with_actions(SECURITY.read_text(encoding="utf-8"), asyncio.run(actions()))
    SECURITY.write_text(security, encoding="utf-8")
    MODELS.write_text(with_models(MODELS.read_text(encoding="utf-8")), encoding="utf-8")
