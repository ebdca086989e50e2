"""`elefante export` and `elefante forget`: write out or delete everything that is stored of one person."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from bot.cli.shell import JsonOption, NewFile, UserOption, YesOption, busy, confirm, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.errors import StorageError
from core.features.admin.decisions import DecisionKind, record_deed
from core.features.transfer.export import CALENDAR_SUFFIX, file_name
from core.types import UserKey


def export_(file: NewFile = None, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Write all that is kept of a person into a JSON file, which /import takes in again.

    Reminders that are still to come are written into a second one for calendars, with .ics in place of .json.

    Example: elefante export --user telegram:123456
    """
    loaded = load_settings()
    with busy("writing"):
        done = run(export(loaded, person(user, loaded), file))
    show(done, as_json=as_json, plain=render)


def forget_(user: UserOption = "", yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete all that is kept of a person, down to the last byte; whoever is owner, admin or blocked stays that.

    Example: elefante forget --user telegram:123456
    """
    loaded = load_settings()
    whose = person(user, loaded)
    there = run(kept(loaded, whose))
    counts = f"{there['memories']} memories, {there['reminders']} reminders and {there['threads']} conversations"
    confirm(f"Delete {counts} of {', '.join(there['accounts'])} for good?", yes=yes)
    with busy("deleting"):
        done = run(forget(loaded, whose))
    show(done, as_json=as_json, plain=render)


Document: TypeAlias = dict[str, Any]


async def export(settings: Settings, user: UserKey, file: Path | None) -> Document:
    """Write everything stored of a person into a new file, and their open reminders into another beside it.

    Return both paths and how much is in them.

    Raises:
        StorageError: there is a file of that name, or it cannot be written.
    """
    async with build(settings) as app:
        features = app.features
        path = file or Path(file_name(user, app.clock.now()))
        calendar = path.with_suffix(CALENDAR_SUFFIX)
        try:
            tally = await features.takeout.write(user, path)
            coming = await features.takeout.write_calendar(user, calendar)
        except FileExistsError as error:
            raise StorageError(f"{error.filename} is there already; name another file") from error
        if user != settings.console_owner:
            decisions = features.stores.decisions
            await record_deed(decisions, app.clock, settings.console_owner, DecisionKind.EXPORT, str(user))
        return {"user": str(user), "file": str(path), "calendar": str(calendar) if coming else None, **asdict(tally)}


async def kept(settings: Settings, user: UserKey) -> Document:
    """Return how much is stored of a person, over all their linked accounts."""
    async with build(settings) as app:
        accounts = await app.features.memories.accounts(user)
        threads = [thread for account in accounts for thread in await app.conversations.store.threads(account)]
        memories = await app.features.memories.of(accounts[0]).count()
        reminders = await app.features.reminders.store.of(accounts)
        return {
            "accounts": [str(account) for account in accounts],
            "memories": memories,
            "reminders": len(reminders),
            "threads": len(threads),
        }


async def forget(settings: Settings, user: UserKey) -> Document:
    """Delete everything stored of a person; return the backups and exports that may still hold it.

    Raises:
        StorageError: not everything could be deleted.
    """
    async with build(settings) as app:
        features = app.features
        await features.erasure.forget(user)
        await record_deed(features.stores.decisions, app.clock, settings.console_owner, DecisionKind.FORGET)
        return {"forgotten": True, "copies": [str(path) for path in await features.stores.copies.paths()]}


def render(document: Document) -> str:
    """Return the document as text for a person."""
    if "file" in document:
        counts = ", ".join(f"{name} {document[name]}" for name in ("memories", "threads", "messages", "reminders"))
        return "\n".join(filter(None, (f"{document['file']}  ({counts})", document["calendar"])))
    lines = ["Done: everything is forgotten."]
    if document["copies"]:
        lines += ["Copies of before may still hold it; delete them:", *(f"  {path}" for path in document["copies"])]
    return "\n".join(lines)
