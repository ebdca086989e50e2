"""`elefante reminders ...`: a person's reminders from the shell."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from zoneinfo import ZoneInfo

import typer

from adapters import console
from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.errors import BotError, ConfigError, StorageError
from core.features.reminders.reminders import Kind, Reminder, State
from core.features.reminders.request import Request, read_request
from core.features.reminders.service import Limits, Place, Refusal
from core.features.reminders.telling import likely_zone
from core.features.transfer.reminder_entries import to_entry
from core.text.catalogue import in_words
from core.text.language import choose
from core.times.grammar import find_time
from core.times.reading import Beside, Once, Past, Repeated, Time, Unclear
from core.types import ChatKey, Locale, UserKey

app = typer.Typer(no_args_is_help=True, help="See and set reminders; those set here are said in the terminal.")


@app.command("list")
def list_(user: UserOption = "", as_json: JsonOption = False) -> None:
    """List the reminders that are still to come, the next first, and those that could not be delivered.

    Example: elefante reminders list
    """
    loaded = load_settings()
    show(run(listed(loaded, person(user, loaded))), as_json=as_json, plain=render)


@app.command("add")
def add_(
    words: Annotated[str, typer.Argument(metavar="TEXT", help="What to be reminded of, and when.")],
    as_json: JsonOption = False,
) -> None:
    """Set a reminder for yourself, which is said in the terminal: in an open chat, or else at its next start.

    Example: elefante reminders add 'water the plants every Friday at 18:00'
    """
    show(run(added(load_settings(), words)), as_json=as_json, plain=render)


@app.command("delete")
def delete_(
    reminder_id: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete a reminder, and print what it was.

    Example: elefante reminders delete e57wdx63zj
    """
    loaded = load_settings()
    show(run(deleted(loaded, person(user, loaded), reminder_id)), as_json=as_json, plain=render)


@app.command("export")
def export_(
    file: Annotated[Path, typer.Argument(metavar="FILE.ics", help="A file that is not there yet.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Write the reminders that are still to come into an iCalendar file, for a calendar to read.

    Example: elefante reminders export reminders.ics
    """
    loaded = load_settings()
    show(run(exported(loaded, person(user, loaded), file)), as_json=as_json, plain=render_export)


Document: TypeAlias = dict[str, Any]


async def listed(settings: Settings, user: UserKey) -> Document:
    """Return the person's reminders, on all their accounts."""
    async with build(settings) as app:
        return _document(user, *await app.features.reminders.of(_place(user)))


async def added(settings: Settings, words: str) -> Document:
    """Set a reminder of the terminal's owner, and return it.

    Raises:
        ConfigError: the words name no time that is plain and ahead, or nothing to be reminded of.
        BotError: there are too many reminders, or it would repeat too often.
    """
    async with build(settings) as app:
        owner = settings.console_owner
        tag = console.system_language()
        locale = settings.locale or choose(words, tag)
        own = (await app.features.stores.preferences.of(owner)).zone
        zone = ZoneInfo(own) if own else likely_zone(app.clock.now(), settings.zone(), tag, locale)
        asked = _read(words, app.clock.now().astimezone(zone), locale)
        time = asked.found.time if asked.found else None
        if not isinstance(time, Once | Repeated):
            raise ConfigError("reminders add", _not_set(time))
        place = Place(owner, console.conversation(owner).chat, private=True, locale=locale, name=owner.user)
        kind = Kind.BRIEFING if asked.briefing else Kind.REMINDER
        made = await app.features.reminders.set(place, asked.text, time, guessed=not own, kind=kind)
        if isinstance(made, Refusal):
            raise _refused(app.features.reminders.limits, made)
        return _document(owner, made)


async def deleted(settings: Settings, user: UserKey, reminder_id: str) -> Document:
    """Delete a reminder and return what it was.

    Raises:
        ConfigError: the person has no reminder of that id.
    """
    async with build(settings) as app:
        reminders, place = app.features.reminders, _place(user)
        found = await reminders.find(place, reminder_id)
        if found is None or isinstance(await reminders.remove(place, reminder_id), Refusal):
            advice = f"{user} has no reminder {reminder_id!r}; see `elefante reminders list`"
            raise ConfigError("reminders delete", advice)
        return _document(user, found)


async def exported(settings: Settings, user: UserKey, file: Path) -> Document:
    """Write the person's open reminders for a calendar; return the path and how many there are.

    Raises:
        ConfigError: there are none.
        StorageError: there is a file of that name, or it cannot be written.
    """
    async with build(settings) as app:
        try:
            count = await app.features.takeout.write_calendar(user, file)
        except FileExistsError as error:
            raise StorageError(f"{file} is there already; name another file") from error
        if not count:
            raise ConfigError("reminders export", f"{user} has no reminder that is still to come; nothing was written")
        return {"user": str(user), "file": str(file), "reminders": count}


def render(document: Document) -> str:
    """Return the document as text for a person."""
    lines = [f"{each['id']}  {_when(each)}\n  {each['text']}" for each in document["reminders"]]
    return "\n".join(lines) or f"{document['user']} has no reminder."


def render_export(document: Document) -> str:
    """Return the document as one line for a person."""
    return f"{document['file']}  (reminders {document['reminders']})"


def _place(user: UserKey) -> Place:
    """Return a private place of the person, where all their reminders are listed."""
    return Place(user, ChatKey(user.platform, ""), private=True, locale=Locale.EN)


def _document(user: UserKey, *reminders: Reminder) -> Document:
    return {"user": str(user), "reminders": [to_entry(each) for each in reminders]}


def _when(entry: Document) -> str:
    """Return when a reminder is due, in its zone; its rule, if it repeats; and its state, if it does not just wait."""
    zone, due = ZoneInfo(entry["zone"]), entry["due"]
    at = f"{datetime.fromisoformat(due).astimezone(zone):%Y-%m-%d %H:%M} {zone.key}" if due else "never"
    state = "" if entry["state"] == State.WAITING else f"({entry['state']})"
    return "  ".join(filter(None, (at, entry["rule"], state)))


def _read(words: str, now: datetime, locale: Locale) -> Request:
    """Return what the words ask for; they need not say that they ask for a reminder."""
    if (asked := read_request(words, now, locale)) is not None:
        return asked
    found = find_time(words, now, locale)
    return Request(found.without(words) if found else words, found)


def _not_set(time: Time | None) -> str:
    """Return what to write instead of words that name no plain time ahead."""
    match time:
        case Unclear():
            options = " or ".join(_at(option) for option in time.options)
            return f"that can mean {options}; write which"
        case Past():
            return f"{time.at:%Y-%m-%d %H:%M} has passed; write a time ahead"
        case Beside():
            return f"when is {time.event!r}? Write the time itself"
    return "no time in it that I understand; write one such as 'tomorrow at 8' or 'every Friday at 18:00'"


def _at(option: Once | Repeated) -> str:
    return (
        f"{option.first:%Y-%m-%d %H:%M} {option.rule}"
        if isinstance(option, Repeated)
        else f"{option.at:%Y-%m-%d %H:%M}"
    )


def _refused(limits: Limits, refusal: Refusal) -> BotError:
    """Return the error that says why a reminder was not set."""
    interval = in_words(limits.smallest_interval, Locale.EN)
    match refusal:
        case Refusal.TOO_MANY:
            return BotError(f"you have as many reminders as MAX_REMINDERS allows: {limits.most}")
        case Refusal.TOO_OFTEN:
            return BotError(f"it may repeat every {interval} at most (REMINDER_MIN_INTERVAL_S)")
        case Refusal.NO_TEXT:
            return ConfigError("reminders add", "write what to be reminded of, together with the time")
    return ConfigError("reminders add", "no time of it is ahead; write a later one")
