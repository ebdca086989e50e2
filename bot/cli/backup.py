"""`elefante backup`, `restore` and `migrate`: copy all that makes a bot, put a copy in its place, update the schema."""

from __future__ import annotations

import asyncio
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.archive import FILES_ASIDE, Contents, given_settings, pack, unpack
from bot.cli.shell import Document, JsonOption, NewFile, YesOption, busy, confirm, load_settings, run, show
from bot.data_folder import DUMP, DataFolder, copied_by_server, known_marks, put_back_by_server
from bot.sealing import check_opens, key_path, mark_of, sealing_of
from bot.settings.env_file import env_path
from bot.settings.settings import Settings, load
from bot.wiring import build, prepare_folder
from core.clock import SystemClock
from core.errors import ConfigError, StorageError
from core.features.transfer.files import Backup, private_file
from core.storage.forgotten import Revived
from core.storage.sqlite_backup import raise_marks, restore_database, settle, unwritten
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import upgrade


def backup_(
    file: NewFile = None,
    list_: Annotated[bool, typer.Option("--list", help="List the backups in BACKUP_DIR instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy all that makes a bot into one file, verified, while the bot runs or not. Secrets are not in it.

    Without FILE into BACKUP_DIR, where the newest BACKUPS_KEPT stay.

    Example: elefante backup before-move.zip
    """
    loaded = load_settings()
    if loaded.engine == "postgres":
        raise copied_by_server(loaded, DUMP, file)
    if list_:
        show(listed(loaded), as_json=as_json, plain=render)
        return
    with busy("copying"):
        done = run(backup(loaded, file))
    show(done, as_json=as_json, plain=render)


def restore_(
    file: Annotated[Path, typer.Argument(help="A backup; see `backup --list`.")],
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place, here or on another machine. Refused while the bot runs; what is there now is kept aside.

    The settings are written into `.env` where there is none; the secrets are left for you to fill in.

    Example: elefante restore before-move.zip
    """
    loaded = load_settings(lambda: load() if env_path().exists() else load(None))  # the backup may bring the file
    if loaded.engine == "postgres":
        raise put_back_by_server(loaded, file)
    if loaded.database_path.exists():
        confirm(f"Replace {loaded.database_path} by {file}?", yes=yes)
    with busy("verifying and copying"):
        done = run(restore(loaded, file))
    show(done, as_json=as_json, plain=render)


def migrate_(as_json: JsonOption = False) -> None:
    """Back up and migrate the database of an older version now. A start does it, too. Refused while the bot runs.

    PostgreSQL is migrated while workers run, and not backed up before: use pg_dump.

    Example: elefante migrate
    """
    with busy("migrating"):
        done = migrate(load_settings(stored=False))
    show(done, as_json=as_json, plain=render)


_MIB: Final = 1 << 20
_LOCKED_FOR_S: Final = 60.0  # another migration is waited for


async def backup(settings: Settings, file: Path | None = None) -> Document:
    """Make a backup in `file`, or in BACKUP_DIR, while the bot runs or not; return where it is.

    Raises:
        StorageError: there is no database, the file exists, or there is no room.
    """
    prepare_folder(settings.data_dir)
    if not settings.database_path.exists():
        raise StorageError(f"there is nothing to copy yet: no {settings.database_path}")
    clock = SystemClock()
    if file is not None:
        made = Backup(file, await pack(settings, file, clock.now()))
    else:
        made = await DataFolder(settings, clock).make()
    return {"file": str(made.path), "bytes": made.size_bytes, "removed": [str(path) for path in made.removed]}


async def restore(settings: Settings, file: Path) -> Document:
    """Put a backup, or a bare database file, in place; what it replaces is kept aside. Refused while the bot runs.

    Raises:
        StorageError: the backup is damaged or of a newer version, or the bot runs; nothing was changed.
    """
    prepare_folder(settings.data_dir)
    folder = DataFolder(settings, SystemClock())
    with folder.alone():
        scratch, aside = folder.scratch(), folder.aside()
        try:
            contents = await asyncio.to_thread(unpack, file, scratch)
            await asyncio.to_thread(check_opens, settings, contents.database)
            known = await asyncio.to_thread(known_marks, settings)
            kept = await restore_database(contents.database, settings.database_path, aside)
            kept += await asyncio.to_thread(_put_files, contents, settings.files_folder, aside)
            await asyncio.to_thread(raise_marks, settings.database_path, known)
        finally:
            scratch.unlink(missing_ok=True)
            shutil.rmtree(f"{scratch}{FILES_ASIDE}", ignore_errors=True)
        revived = await _forgotten_again(settings)
        needs_sealing = key_path(settings) is not None and await asyncio.to_thread(mark_of, settings) is None
        env, about = None, contents.about
        if about is not None:
            env = _write_settings(contents)
        here = given_settings()
    return {
        "restored": str(file),
        "program": about and about.program,
        "at": about and about.at,
        "database": str(settings.database_path),
        "aside": [str(path) for path in kept],
        "forgotten": [str(owner) for owner in revived.owners],
        "removed_rows": revived.rows,
        "in_the_clear": needs_sealing,
        "settings": env and str(env),
        "secrets": [name for name in (about.secrets if about else ()) if not here.get(name)],
        "paths": [name for name in (about.paths if about else ()) if not here.get(name)],
    }


async def _forgotten_again(settings: Settings) -> Revived:
    """Remove what a backup brought back of people who were forgotten since; return whose it was, and how much.

    A database that is not sealed as the settings say is left as it is: the next start says what to do.
    """
    try:
        with sealing_of(settings) as sealing:
            if not sealing.is_on or await asyncio.to_thread(mark_of, settings) is None:
                return Revived()
        async with build(settings) as app:
            return app.revived
    except ConfigError:  # of another setting, which a restore may bring
        return Revived()


def _put_files(contents: Contents, folder: Path, aside: Path) -> list[Path]:
    """Put the files of a backup in the place of those that are there; return where these are kept, if there are any.

    A bare database leaves them in their place.
    """
    if contents.files is None:
        return []
    try:
        kept = [aside.with_suffix(FILES_ASIDE)] if folder.is_dir() and any(folder.iterdir()) else []
        for path in kept:
            shutil.move(folder, path)
        shutil.copytree(contents.files, folder, dirs_exist_ok=True)
        folder.chmod(0o700)
        for path in (*folder.rglob("*"), folder):
            settle(path)
    except OSError as error:
        raise unwritten(folder, error) from error
    return kept


def migrate(settings: Settings) -> Document:
    """Migrate the database, if it is of an older version; return the versions, equal if it is not, and the backup.

    Raises:
        StorageError: another process has it open, or it failed; nothing was changed.
    """
    if settings.engine == "postgres":
        return _migrate_postgres(settings)
    path, done = settings.database_path, None
    if not settings.in_memory and path.exists():
        done = upgrade(path, MIGRATIONS, settings.backups_folder, wait_s=_LOCKED_FOR_S)
    return {
        "database": str(path),
        "before": done.before if done else len(MIGRATIONS),
        "after": len(MIGRATIONS),
        "backup": str(done.backup) if done and done.backup else None,
    }


def _migrate_postgres(settings: Settings) -> Document:
    from core.storage import postgres_schema  # these load psycopg
    from core.storage.postgres_connection import parameters
    from core.storage.postgres_schema import MIGRATIONS as OF_POSTGRES

    named = parameters(settings.storage_url.get_secret_value())
    before = postgres_schema.inspect(named, OF_POSTGRES).version
    postgres_schema.prepare(named, OF_POSTGRES)
    after = max(before, len(OF_POSTGRES))
    return {"database": settings.storage_place, "before": before, "after": after, "backup": None}


def listed(settings: Settings) -> Document:
    """Return the backups in BACKUP_DIR, the oldest first."""
    folder = DataFolder(settings, SystemClock())
    found = [path for path in folder.backups.glob("*") if path.suffix in {".db", ".zip"}]
    return {
        "folder": str(folder.backups),
        "backups": [
            {"file": str(path), "bytes": path.stat().st_size, "at": _made(path)} for path in sorted(found, key=_made)
        ],
    }


def render(document: Document) -> str:
    """Return the document as text for a person."""
    if "restored" in document:
        return "\n".join(_restored_lines(document))
    if "backups" in document:
        lines = [f"{each['at']}  {each['bytes'] / _MIB:8.1f} MB  {each['file']}" for each in document["backups"]]
        return "\n".join(lines) or f"There is no backup in {document['folder']}."
    if "before" in document:
        if document["before"] == document["after"]:
            return f"There is nothing to migrate: schema {document['after']} is the present one."
        said = f"{document['database']} is migrated from schema {document['before']} to {document['after']}."
        return said + (f"\nWhat it was before is kept as {document['backup']}" if document["backup"] else "")
    removed = "".join(f"\nremoved {path}" for path in document["removed"])
    return f"{document['file']}  {document['bytes'] / _MIB:.1f} MB, verified{removed}"


def _restored_lines(document: Document) -> list[str]:
    of = f", of {document['at']} by Elefante {document['program']}" if document["program"] else ""
    lines = [f"{document['database']} is now what {document['restored']} was{of}."]
    lines += [f"What was there before is kept as {path}" for path in document["aside"]]
    if document["forgotten"]:
        lines.append(
            f"It held {document['removed_rows']:,} rows of people who were forgotten since, which nobody can read any "
            f"more; they were removed: {', '.join(document['forgotten'])}."
        )
    if document["in_the_clear"]:
        lines.append("It was made before there was a key: `elefante key seal` before the next start.")
    if document["settings"]:
        lines.append(f"The settings were written into {document['settings']}.")
    fill_in = ", ".join(document["secrets"])
    if fill_in and document["settings"]:
        lines.append(f"Fill in there: {fill_in}.")
    elif document["program"]:
        lines.append(f"{env_path()} was left as it is.{f' It needs: {fill_in}.' if fill_in else ''}")
    if document["paths"]:
        lines.append(f"Paths are those of each machine; there it had set {', '.join(document['paths'])}.")
    return lines


def _write_settings(contents: Contents) -> Path | None:
    """Write the settings of the backup where there are none yet, and return the path of the file."""
    try:
        descriptor = private_file(path := env_path())
    except FileExistsError:
        return None
    except OSError as error:
        raise StorageError(f"the bot was put back, but not its settings: {env_path()}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(contents.settings or "")
    return path


def _made(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
