"""`elefante export`, `import` and `forget`: write out, take in or delete what is stored of one person."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from bot.cli.shell import JsonOption, NewFile, UserOption, YesOption, busy, confirm, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.errors import ConfigError, StorageError
from core.features.privacy.forget import FORGET, Erasure
from core.features.transfer.export import CALENDAR_SUFFIX, EXPORT, Takeout, file_name
from core.features.transfer.import_ import SHOWN, known_of, save, with_files
from core.features.transfer.intake import Intake, read
from core.memory.user_memory import UndoResult
from core.stores import ChangeContext
from core.text.unicode import one_line
from core.types import UserKey

MAX_BYTES: Final = 500_000_000
"""The largest file that is read from the shell."""

_MAX_SHOWN_CHARS: Final = 100


def export_(file: NewFile = None, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Write all that is kept of a person into a JSON file, which /import takes in again.

    Reminders that are still to come are written into a second one for calendars, with .ics in place of .json.

    Example: elefante export --user telegram:123456
    """
    loaded = load_settings()
    with busy("writing"):
        done = run(export(loaded, person(user, loaded), file))
    show(done, as_json=as_json, plain=render)


def import_(
    file: Annotated[
        Path | None, typer.Argument(help="An export, a list, or what another program exports; see docs/import.md.")
    ] = None,
    user: UserOption = "",
    undo: Annotated[str, typer.Option("--undo", help="Take back the import that printed this name.")] = "",
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Save the memories of a file: an export of ours, ChatGPT or Claude, or a list as text, Markdown, CSV or JSON.

    Reminders of an export are left out: /import in a chat sets them there.

    Example: elefante import memories.md
    """
    loaded = load_settings()
    whose = person(user, loaded)
    if undo:
        show(run(taken_back(loaded, whose, undo)), as_json=as_json, plain=render)
        return
    if file is None:
        raise ConfigError("import", "name a file")
    held, known = run(look(loaded, whose, file))
    shown = [f"- {one_line(each.draft.content, _MAX_SHOWN_CHARS)}" for each in held.taken[:SHOWN]]
    left_out = held.refused + sum(held.unread.values()) + sum(map(len, held.besides.values()))
    counts = f"{len(held.taken)} memories, {known} of them known already, for {whose}; {left_out} entries are left out"
    confirm("\n".join((*shown, f"Save {counts}?")), yes=yes)
    with busy("saving"):
        done = run(take_in(loaded, whose, held, file))
    show(done, as_json=as_json, plain=render)


def forget_(user: UserOption = "", yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete all that is kept of a person, down to the last byte; whoever is owner, admin or blocked stays that.

    Example: elefante forget --user telegram:123456
    """
    loaded = load_settings()
    whose = person(user, loaded)
    there = run(kept(loaded, whose))
    *counts, last = [f"{count} {name}" for name, count in there["counts"].items()]
    confirm(f"Delete {', '.join(counts)} and {last} of {', '.join(there['accounts'])} for good?", yes=yes)
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
            tally = await features.get(Takeout).write(user, path)
            coming = await features.get(Takeout).write_calendar(user, calendar)
        except FileExistsError as error:
            raise StorageError(f"{error.filename} is there already; name another file") from error
        if user != settings.console_owner:
            await features.decider.record(EXPORT, settings.console_owner, str(user))
        counts = {"memories": tally.memories, "threads": tally.threads, "messages": tally.messages, **tally.besides}
        counts |= {"files": tally.files} if tally.files else {}
        return {"user": str(user), "file": str(tally.path), "calendar": str(calendar) if coming else None, **counts}


async def look(settings: Settings, user: UserKey, file: Path) -> tuple[Intake, int]:
    """Return what a file holds for a person, and how many of its memories are known already.

    Raises:
        InputError: nothing of it can be imported.
        StorageError: it cannot be opened.
    """
    async with build(settings) as app:
        accounts = await app.features.memories.accounts(user)
        try:
            with file.open("rb") as opened:
                held = read(opened, accounts, app.features.added.sections, name=file.name, max_bytes=MAX_BYTES)
        except OSError as error:
            raise StorageError(f"{file} cannot be read: {error.strerror}") from error
        return held, len(await known_of(app.features.memories.of(accounts[0]), held.taken))


async def take_in(settings: Settings, user: UserKey, held: Intake, file: Path) -> Document:
    """Save the memories of a file as one act, and return its name and how many were new and known.

    Raises:
        StorageError: it cannot be opened any more, or nothing can be saved.
    """
    async with build(settings) as app:
        act = ChangeContext(uuid.uuid4().hex, account=user)
        memory = app.features.memories.of(await app.features.memories.owner(user), act)
        try:
            with file.open("rb") as opened:
                held = await with_files(memory, held, opened)
        except OSError as error:
            raise StorageError(f"{file} cannot be read: {error.strerror}") from error
        known = await known_of(memory, held.taken)
        await save(memory, held.taken, known)
        counts = {"files": held.files, "unkept": held.unkept} if held.files or held.unkept else {}
        saved = len(held.taken) - len(known)
        return {"user": str(user), "saved": saved, "known": len(known), "act": act.act, **counts}


async def taken_back(settings: Settings, user: UserKey, act: str) -> Document:
    """Take back an import, and return how many memories that changed.

    Raises:
        ConfigError: there is no such act, it is too late, or a memory was changed since.
    """
    async with build(settings) as app:
        undone = await app.features.memories.of(await app.features.memories.owner(user)).undo(act)
    if undone.result is not UndoResult.DONE:
        raise ConfigError("--undo", f"nothing was changed: {_WHY_NOT[undone.result]}")
    return {"user": str(user), "undone": len(undone.changes)}


_WHY_NOT: Final = {
    UndoResult.NOTHING: "this person has no such import, or it was taken back before",
    UndoResult.TOO_LATE: "it is too late",
    UndoResult.CHANGED: "one of the memories was changed since",
}


async def kept(settings: Settings, user: UserKey) -> Document:
    """Return how much is stored of a person, over all their linked accounts."""
    async with build(settings) as app:
        accounts = await app.features.memories.accounts(user)
        counts = await app.features.get(Erasure).counts(user)
        return {"accounts": [str(account) for account in accounts], "counts": dict(counts)}


async def forget(settings: Settings, user: UserKey) -> Document:
    """Delete everything stored of a person; return the receipt, and the backups and exports that may still hold it.

    Raises:
        StorageError: not everything could be deleted.
    """
    async with build(settings) as app:
        features = app.features
        receipt = await features.get(Erasure).forget(user)
        await features.decider.record(FORGET, settings.console_owner)
        copies = features.stores.copies
        return {
            "forgotten": True,
            "counts": dict(receipt.counts),
            "at": receipt.at.isoformat(timespec="seconds"),
            "receipt": receipt.number or None,
            "copies": [str(path) for path in await (copies.readable() if receipt.keys else copies.paths())],
            "sealed_copies": [str(path) for path in await copies.paths() if path not in set(await copies.readable())]
            if receipt.keys
            else [],
        }


def render(document: Document) -> str:
    """Return the document as text for a person."""
    if "saved" in document:
        undo = f"elefante import --user {document['user']} --undo {document['act']}"
        return (
            f"Saved {document['saved']} new memories; {document['known']} were known already.\nTo take it back: {undo}"
        )
    if "undone" in document:
        return f"Taken back: {document['undone']} memories."
    if "file" in document:
        counts = ", ".join(f"{name} {count}" for name, count in document.items() if isinstance(count, int))
        return "\n".join(filter(None, (f"{document['file']}  ({counts})", document["calendar"])))
    lines = ["Done: everything is forgotten."]
    if document["receipt"]:
        counts = ", ".join(f"{name}: {count}" for name, count in document["counts"].items())
        lines += [
            f"Receipt {document['receipt']}: the key was destroyed at {document['at']} ({counts}).",
            *_unreadable(document["sealed_copies"]),
            f"To check it: elefante key check --forgotten {document['receipt']}",
        ]
    if document["copies"]:
        lines += ["Copies of before may still hold it; delete them:", *(f"  {path}" for path in document["copies"])]
    return "\n".join(lines)


def _unreadable(copies: Sequence[str]) -> list[str]:
    if not copies:
        return []
    return ["What these copies hold of it nobody can open any more:", *(f"  {path}" for path in copies)]
