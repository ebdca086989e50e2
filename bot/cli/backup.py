"""`elefante backup` and `elefante restore`: copy the database, and put a copy in its place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from bot.cli.shell import JsonOption, NewFile, YesOption, busy, confirm, load_settings, run, show
from bot.data_folder import DataFolder
from bot.settings.settings import Settings
from bot.wiring import prepare_folder
from core.clock import SystemClock
from core.errors import StorageError
from core.features.transfer.files import Backup
from core.storage.sqlite_backup import copy_database, restore_database, verify


def backup_(
    file: NewFile = None,
    list_: Annotated[bool, typer.Option("--list", help="List the backups in the data folder instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy the whole database, verified, while the bot runs or not.

    Without FILE into the data folder, where the newest BACKUPS_KEPT stay.

    Example: elefante backup before-update.db
    """
    if list_:
        show(listed(load_settings()), as_json=as_json, plain=render)
        return
    with busy("copying"):
        done = run(backup(load_settings(), file))
    show(done, as_json=as_json, plain=render)


def restore_(
    file: Annotated[Path, typer.Argument(help="A backup; see `backup --list`.")],
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replace the database by a backup. Refused while the bot runs; what is there now is kept aside.

    Example: elefante restore before-update.db
    """
    loaded = load_settings()
    confirm(f"Replace {loaded.database_path} by {file}?", yes=yes)
    with busy("verifying and copying"):
        done = run(restore(loaded, file))
    show(done, as_json=as_json, plain=render)


Document: TypeAlias = dict[str, Any]

_MIB: Final = 1 << 20


async def backup(settings: Settings, file: Path | None = None) -> Document:
    """Copy the database to `file`, or into the data folder, while the bot runs or not; return where the copy is.

    Raises:
        StorageError: there is no database, the file exists, or there is no room.
    """
    prepare_folder(settings.data_dir)
    if not settings.database_path.exists():
        raise StorageError(f"there is nothing to copy yet: no {settings.database_path}")
    if file is not None:
        made = Backup(file, await copy_database(settings.database_path, file))
    else:
        made = await DataFolder(settings, SystemClock()).make()
    return {"file": str(made.path), "bytes": made.size_bytes, "removed": [str(path) for path in made.removed]}


async def restore(settings: Settings, file: Path) -> Document:
    """Replace the database by a backup; the replaced one is kept aside. Refused while the bot runs.

    Raises:
        StorageError: the backup is damaged or of a newer version, or the bot runs; nothing was changed.
    """
    prepare_folder(settings.data_dir)
    await verify(file)
    folder = DataFolder(settings, SystemClock())
    with folder.alone():
        aside = folder.aside()
        there_was = await restore_database(file, settings.database_path, aside)
    return {"restored": str(file), "database": str(settings.database_path), "aside": str(aside) if there_was else None}


def listed(settings: Settings) -> Document:
    """Return the backups in the data folder, the oldest first."""
    folder = DataFolder(settings, SystemClock())
    return {
        "folder": str(folder.backups),
        "backups": [
            {"file": str(path), "bytes": path.stat().st_size, "at": _made(path)}
            for path in sorted(folder.backups.glob("*.db"))
        ],
    }


def render(document: Document) -> str:
    """Return the document as text for a person."""
    if "restored" in document:
        aside = f"\nWhat was there before is kept as {document['aside']}" if document["aside"] else ""
        return f"{document['database']} is now what {document['restored']} was.{aside}"
    if "backups" in document:
        lines = [f"{each['at']}  {each['bytes'] / _MIB:8.1f} MB  {each['file']}" for each in document["backups"]]
        return "\n".join(lines) or f"There is no backup in {document['folder']}."
    removed = "".join(f"\nremoved {path}" for path in document["removed"])
    return f"{document['file']}  {document['bytes'] / _MIB:.1f} MB, verified{removed}"


def _made(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
