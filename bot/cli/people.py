"""`elefante users`, `export`, `import` and `forget`: who may use the bot, and what is stored of one person.

Decisions are recorded as the console owner's, like those that owners make in a chat.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.shell import (
    Document,
    JsonOption,
    NewFile,
    UserOption,
    YesOption,
    busy,
    confirm,
    load_settings,
    person,
    run,
    show,
)
from bot.settings.settings import Settings
from bot.wiring import App, build
from core.errors import BotError, ConfigError, StorageError
from core.features.access.rules import STRANGERS_KEPT
from core.features.admin.storage import ALLOWED, Applied, Decision, DecisionKind
from core.features.privacy.forget import FORGET, Erasure
from core.features.transfer.export import CALENDAR_SUFFIX, EXPORT, Takeout, file_name
from core.features.transfer.import_ import SHOWN, known_of, save, with_files
from core.features.transfer.intake import Intake, read
from core.memory.user_memory import UndoResult
from core.stores import ChangeContext
from core.text.unicode import one_line
from core.types import Role, UserKey

users_app = typer.Typer(
    no_args_is_help=True,
    help="""See and change who may use the bot. A bot that runs sees it at once.

    Example: elefante users list""",
)

PersonArgument = Annotated[str, typer.Argument(metavar="PLATFORM:ID", help="Who, such as telegram:123456.")]


@users_app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List who has which role, which rooms are let in, and who wrote without being known.

    Example: elefante users list
    """
    show(run(users(load_settings())), as_json=as_json, plain=render_users)


@users_app.command("allow")
def allow_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Let a person in, as a member.

    Example: elefante users allow telegram:123456
    """
    loaded = load_settings()
    show(run(allow(loaded, person(user, loaded))), as_json=as_json, plain=render_users)


@users_app.command("deny")
def deny_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Take a person's role away.

    Example: elefante users deny telegram:123456
    """
    _give(user, "", as_json=as_json)


@users_app.command("block")
def block_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Answer a person no more, wherever they write.

    Example: elefante users block telegram:123456
    """
    _give(user, Role.BLOCKED.value, as_json=as_json)


@users_app.command("role")
def role_(
    user: PersonArgument,
    role: Annotated[str, typer.Argument(help=", ".join(ROLES))],
    as_json: JsonOption = False,
) -> None:
    """Give a person a role.

    Example: elefante users role telegram:123456 admin
    """
    if role not in ROLES:
        raise ConfigError("users role", f"there is no role {role!r}; write one of {', '.join(ROLES)}")
    _give(user, role, as_json=as_json)


def _give(user: str, role: str, *, as_json: bool) -> None:
    loaded = load_settings()
    show(run(give(loaded, person(user, loaded), role)), as_json=as_json, plain=render_users)


ROLES: Final = tuple(role.value for role in Role if role is not Role.BLOCKED)
_MAX_STRANGERS: Final = 100
_REFUSED: Final = {
    Applied.STALE: "that changed meanwhile; see how it stands and try again",
    Applied.LAST_OWNER: "the bot would be left without an owner on that platform",
}


async def users(settings: Settings) -> Document:
    """Return who has which role, which rooms are allowed, and which strangers wrote lately."""
    async with build(settings) as app:
        access = app.features.access
        rooms = await app.features.stores.decisions.values(DecisionKind.ROOM)
        return {
            "users": [
                {
                    "user": str(each.user),
                    "role": each.role.value,
                    "name": each.name,
                    "since": each.since.isoformat(timespec="seconds"),
                }
                for each in await access.people.all()
            ],
            "rooms": [name for name, value in rooms.items() if value == ALLOWED],
            "strangers": [
                {"user": str(each.user), "name": each.name, "at": each.at.isoformat(timespec="seconds")}
                for each in await access.strangers(_MAX_STRANGERS)
            ],
        }


async def give(settings: Settings, user: UserKey, role: str) -> Document:
    """Give a person a role, "" for none, and return what it was and is.

    Raises:
        BotError: their platform would be left without an owner; nothing was changed.
    """
    async with build(settings) as app:
        return await _decide(app, DecisionKind.ROLE, str(user), role)


async def allow(settings: Settings, user: UserKey) -> Document:
    """Let a person in as a member; owners and admins keep their role."""
    async with build(settings) as app:
        person = await app.features.access.people.find(user)
        is_in = person is not None and person.role in {Role.OWNER, Role.ADMIN}
        role = person.role.value if person is not None and is_in else Role.MEMBER.value
        return await _decide(app, DecisionKind.ROLE, str(user), role)


def render_users(document: Document) -> str:
    """Return the document as text for a person."""
    lines = (
        [f"{document['name']}: {document['before'] or '-'} → {document['after'] or '-'}"] if "name" in document else []
    )
    if "users" in document:
        lines += [f"{each['role']:<8} {each['user']}  {each['name']}".rstrip() for each in document["users"]]
        lines += [f"room     {name}" for name in document["rooms"]]
        lines += [
            f"stranger {each['user']}  {each['name']}".rstrip() + f"  (wrote {each['at'][:16]})"
            for each in document["strangers"]
        ]
        lines = lines or [f"Nobody has a role, and nobody wrote in {STRANGERS_KEPT.days} days."]
    return "\n".join(lines)


async def _decide(app: App, matter: DecisionKind, name: str, after: str) -> Document:
    """Record a decision of the console owner; do nothing if it holds already."""
    before = await app.features.stores.decisions.value(matter, name)
    if before != after:
        by = app.settings.console_owner
        applied = await app.features.decider.make(Decision(app.clock.now(), by, matter, name, before, after))
        if applied is not Applied.DONE:
            raise BotError(f"{name}: {_REFUSED[applied]}; nothing was changed")
    return {"name": name, "before": before, "after": after}


# --- what is stored of one person

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
    show(done, as_json=as_json, plain=render_person)


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
        show(run(taken_back(loaded, whose, undo)), as_json=as_json, plain=render_person)
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
    show(done, as_json=as_json, plain=render_person)


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
    show(done, as_json=as_json, plain=render_person)


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


def render_person(document: Document) -> str:
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
