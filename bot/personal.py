"""`elefante export` and `elefante forget`: all that is kept of one person, taken out or deleted from the shell.

Knows what each verb returns. Does not know what is kept, nor where.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from bot.settings.settings import Settings
from bot.wiring import build
from core.errors import StorageError
from core.features.admin.decisions import DecisionKind
from core.features.transfer import takeout
from core.features.transfer.admin_data import note
from core.types import UserKey

Document: TypeAlias = dict[str, Any]


async def export(settings: Settings, user: UserKey, file: Path | None) -> Document:
    """Write all that is kept of a person into a file of their own, and return where it is and what is in it.

    Raises:
        StorageError: there is a file of that name, or it cannot be written.
    """
    async with build(settings) as app:
        context = app.parts.context
        path = file or Path(takeout.file_name(user, app.clock.now()))
        try:
            tally = await takeout.write(context, user, path)
        except FileExistsError as error:
            raise StorageError(f"{path} is there already; name another file") from error
        if user != settings.console_owner:
            await note(context, settings.console_owner, DecisionKind.EXPORT, str(user))
        counts = {"memories": tally.memories, "threads": tally.threads, "messages": tally.messages}
        return {"user": str(user), "file": str(path), **counts}


async def kept(settings: Settings, user: UserKey) -> Document:
    """Return how much is kept of a person, on all of their accounts."""
    async with build(settings) as app:
        accounts = await app.memories.accounts(user)
        threads = [thread for account in accounts for thread in await app.conversations.threads(account)]
        memories = await app.memories.of(accounts[0]).count()
        return {"accounts": [str(account) for account in accounts], "memories": memories, "threads": len(threads)}


async def forget(settings: Settings, user: UserKey) -> Document:
    """Keep nothing of that person any more, and return which copies of before may still hold it.

    Raises:
        StorageError: it could not be deleted whole.
    """
    async with build(settings) as app:
        context = app.parts.context
        await context.erasure.forget(user)
        await note(context, settings.console_owner, DecisionKind.FORGET)
        return {"forgotten": True, "copies": [str(path) for path in await context.stores.copies.paths()]}


def render(document: Document) -> str:
    """Return what was done, as a person reads it."""
    if "file" in document:
        counts = ", ".join(f"{name} {document[name]}" for name in ("memories", "threads", "messages"))
        return f"{document['file']}  ({counts})"
    lines = ["Done: everything is forgotten."]
    if document["copies"]:
        lines += ["Copies of before may still hold it; delete them:", *(f"  {path}" for path in document["copies"])]
    return "\n".join(lines)
