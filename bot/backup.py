"""`elefante backup` and `elefante restore`: copies of the database, and the one of them that becomes the database.

Knows what each verb returns. Does not know how a database is copied, nor where copies lie.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from bot.data_folder import DataFolder
from bot.settings.settings import Settings
from bot.wiring import prepare_folder
from core.clock import SystemClock
from core.errors import StorageError
from core.features.transfer.files import Backup
from core.storage.backup import copy_database, restore_database, verify

Document: TypeAlias = dict[str, Any]

_MIB: Final = 1 << 20


async def backup(settings: Settings, file: Path | None = None) -> Document:
    """Copy the database, into the data folder or that file, while the bot runs or not; return where it is.

    Raises:
        StorageError: there is no copy: there is no database, the file exists, or there is no room.
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
    """Let the database be what that backup is; what it was is kept aside. Refused while the bot runs.

    Raises:
        StorageError: the backup is not sound, or of a newer version, or the bot runs; nothing was changed.
    """
    prepare_folder(settings.data_dir)
    await verify(file)
    folder = DataFolder(settings, SystemClock())
    with folder.alone():
        aside = folder.aside()
        there_was = await restore_database(file, settings.database_path, aside)
    return {"restored": str(file), "database": str(settings.database_path), "aside": str(aside) if there_was else None}


def listed(settings: Settings) -> Document:
    """Return the copies that lie in the data folder, the oldest first."""
    folder = DataFolder(settings, SystemClock())
    return {
        "folder": str(folder.backups),
        "backups": [
            {"file": str(path), "bytes": path.stat().st_size, "at": _made(path)}
            for path in sorted(folder.backups.glob("*.db"))
        ],
    }


def render(document: Document) -> str:
    """Return what was done, or what there is, as a person reads it."""
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
