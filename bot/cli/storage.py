"""`elefante move-storage` and `reindex`: all that is stored in another engine, or with vectors of another embedder.

A move copies everything, compares it, and lets STORAGE_URL name the new place.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, Final

import typer

from bot import logs
from bot.cli.shell import Document, JsonOption, load_settings, run, show
from bot.sealing import check_sealed, sealing_of
from bot.settings.env_file import env_path, write_settings
from bot.settings.settings import Settings, load
from bot.wiring import build
from core.errors import BotError, ConfigError, StorageError
from core.sealing.port import Sealing
from core.storage.move import Progress, Source, Target, move, move_files
from core.storage.move_sqlite import sqlite_source, sqlite_target
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import Migrated, upgrade
from core.types import UserKey

_SETTING: Final = "STORAGE_URL"
_DIRECT: Final = "STORAGE_DIRECT_URL"
_LOCKED_FOR_S: Final = 60.0  # a migration by another process is waited for
_MANY_ROWS: Final = 50_000  # fewer take some seconds, and need no progress


def move_storage_(
    to: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:. Without it you are asked, and what you "
            "type is not shown.",
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Move all that is said and remembered to PostgreSQL, or back to SQLite. Refused while a bot runs.

    Every row is copied and compared, then STORAGE_URL is written into `.env`. What is moved stays where it was, too.
    Broken off at any point, nothing was switched, and the same command begins again.

    Example: elefante move-storage postgresql://elefante:PASSWORD@127.0.0.1/elefante
    """
    settings = load_settings()
    if not to and sys.stdin.isatty():
        to = str(typer.prompt(f"{_SETTING} of the new place", hide_input=True, err=True)).strip()
    try:
        done = move_storage(settings, to)
    except KeyboardInterrupt:
        raise BotError("broken off; nothing was switched. The same command begins again") from None
    show(done, as_json=as_json, plain=render_moved)


def move_storage(settings: Settings, to: str) -> Document:
    """Move everything to the place that a STORAGE_URL names, and return what was done.

    Raises:
        ConfigError: it is no such place, or the one that is in use.
        StorageError: one of the two cannot be used, or the copy is not equal; nothing was switched.
    """
    try:
        chosen = {"storage_url": load(storage_url=to).storage_url, "storage_direct_url": None}
    except ConfigError as error:
        raise ConfigError("TARGET", error.advice) if error.setting == _SETTING else error from None
    there = settings.model_copy(update=chosen)
    logs.strike_out(there.storage_secrets())
    if there.in_memory:
        raise ConfigError(
            "TARGET", "memory: keeps nothing; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE or sqlite:"
        )
    if _place(there) == _place(settings):
        raise ConfigError("TARGET", f"all is in {_place(there)} already")
    began_s = time.monotonic()
    with ExitStack() as opened:
        sealing = opened.enter_context(sealing_of(settings))
        check_sealed(settings, sealing)
        migrated, source = _source(settings, opened)
        target = _target(there, opened, sealing)
        moved = move(source, target, opened.enter_context(progress()))
        files = move_files(
            settings.files_folder if settings.engine == "sqlite" else source,
            there.files_folder if there.engine == "sqlite" else target,
            sealing,
        )
    switched = _switch(settings, there)
    return {
        "from": _place(settings),
        "to": _place(there),
        "people": moved.people,
        "rows": sum(moved.rows.values()),
        "tables": dict(moved.rows),
        "files": files.files,
        "broken_files": files.broken,
        "replaced": moved.replaced,
        "seconds": round(time.monotonic() - began_s, 1),
        "migrated_from": migrated and migrated.before,
        "engine": settings.engine,
        **switched,
    }


def render_moved(document: Document) -> str:
    """Return what was done as text for a person."""
    to, before, env = document["to"], document["from"], document["settings"] or env_path()
    counts = f"{document['rows']:,} rows, people: {document['people']:,}, {document['seconds']:g} s"
    lines = [f"All is in {to} now, and equal to what is in {before}, row by row: {counts}."]
    if document["files"]:
        lines.append(f"Files that people have kept: {document['files']:,}, each compared with its digest.")
    if document["broken_files"]:
        lines.append(f"Files that are damaged on the disk, and were left behind: {document['broken_files']}.")
    if document["migrated_from"]:
        lines.append(f"{before} was of an older version (schema {document['migrated_from']}), and was migrated first.")
    if document["replaced"]:
        lines.append(
            f"Texts with a character that PostgreSQL cannot hold (NUL, or none of UTF-8): {document['replaced']}. "
            "It is � there."
        )
    if document["settings"]:
        lines.append(f"{env} has the new {_SETTING}: start the bot as ever.")
    else:
        lines.append(f"Now write the new {_SETTING} yourself: {document['why']}.")
    if document["engine"] == "sqlite":
        lines += [
            f"{before} is as it was. To go back before the bot has run: {_SETTING}=sqlite: in {env}.",
            f"To go back with what is said from then on: mv {before} {before}.old and `elefante move-storage sqlite:`.",
        ]
    else:
        lines += [
            f"{before} is as it was. To go back before the bot has run: its {_SETTING} in {env}.",
            "To go back with what is said from then on: `elefante move-storage` with an empty database.",
        ]
    return "\n".join(lines)


def _source(settings: Settings, opened: ExitStack) -> tuple[Migrated | None, Source]:
    if settings.engine == "postgres":
        from core.storage.move_postgres import postgres_source  # this loads psycopg

        return None, opened.enter_context(postgres_source(_url(settings), _place(settings)))
    path = settings.database_path
    if not path.exists():
        raise StorageError(f"there is nothing to move yet: no {path}. Write {_SETTING} into {env_path()} instead")
    migrated = upgrade(path, MIGRATIONS, settings.backups_folder, wait_s=_LOCKED_FOR_S)
    return migrated, opened.enter_context(sqlite_source(path))


def _target(there: Settings, opened: ExitStack, sealing: Sealing) -> Target:
    if there.engine == "postgres":
        from core.storage.move_postgres import postgres_target  # this loads psycopg

        try:
            return opened.enter_context(postgres_target(_url(there), _place(there), sealing))
        except ConfigError as error:
            raise ConfigError("TARGET", error.advice) from error
    return opened.enter_context(sqlite_target(there.database_path))


def _place(settings: Settings) -> str:
    """Return where that is, for people: without a password."""
    return settings.storage_place if settings.engine == "postgres" else str(settings.database_path)


def _url(settings: Settings) -> str:
    return settings.storage_url.get_secret_value()


def _switch(before: Settings, there: Settings) -> Document:
    """Write the new STORAGE_URL; return the file, or why it is not enough."""
    values = {_SETTING: _url(there)}
    if before.storage_direct_url is not None:  # it leads to the old database
        values[_DIRECT] = ""
    env = env_path()
    if os.environ.get(_SETTING):
        return {"settings": None, "why": f"it is set in the environment, which counts more than {env}"}
    try:
        write_settings(env, values)
        if (now := load()).storage_url == there.storage_url and now.storage_direct_url is None:
            return {"settings": str(env), "why": None}
        why = f"{env} would be read otherwise; put it in single quotes there"
    except BotError as error:
        why = str(error)
    return {"settings": None, "why": why}


@contextmanager
def progress() -> Iterator[Progress]:
    """Show how far it is, on standard error: a bar in a terminal, else a line where something long begins."""
    from rich.console import Console

    if not (console := Console(stderr=True)).is_terminal:

        def tell(what: str, done: int, rows: int) -> None:
            if not done and rows >= _MANY_ROWS:
                typer.echo(f"{what} {rows:,} rows", err=True)

        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def draw(what: str, done: int, rows: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=rows)
            bars.update(tasks[what], completed=done)

        yield draw


# --- vectors


def reindex_(as_json: JsonOption = False) -> None:
    """Embed what has no vector of the present embedder. May be interrupted; goes on where it stopped.

    Example: elefante reindex
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding")

        def tick(people: int, total: int, phrases: int) -> None:
            progress.update(task, completed=people, total=total, description=f"embedding, {phrases} phrases")

        document = run(reindex(load_settings(), tick))
    show(document, as_json=as_json, plain=render_reindex)


async def reindex(settings: Settings, on_progress: Callable[[int, int, int], None] | None = None) -> Document:
    """Embed every phrase without a vector in the present space; return the space and how many people and phrases.

    Each batch is stored before the next is begun. A bot that runs meanwhile finds by words what has no vector yet.
    A person's vectors of other embedders are deleted once every phrase has one of the present embedder.

    `on_progress` gets (people done, people in all, phrases embedded so far).

    Raises:
        ProviderError: the embedder does not answer; what was embedded so far stays.
        StorageError: the database cannot be used.
    """
    async with build(settings) as app:
        await app.parts.services.models.embedder.embed(["elefante"])
        owners = await app.features.memories.owners()
        phrases = 0
        for number, owner in enumerate(owners):

            def report(_: UserKey, done: int, people: int = number, before: int = phrases) -> None:
                if on_progress is not None:
                    on_progress(people, len(owners), before + done)

            phrases += await app.features.memories.reembed(owner, on_progress=report)
            await app.features.memories.keep_space(owner)
        await app.parts.services.models.embedder.embed(
            [f"elefante {phrases}"]
        )  # `reembed` ends quietly when the embedder goes down
        if on_progress is not None:
            on_progress(len(owners), len(owners), phrases)
        return {"space": app.parts.services.models.embedder.space, "people": len(owners), "phrases": phrases}


def render_reindex(document: Document) -> str:
    """Return the document as one line for a person."""
    return f"{document['phrases']} phrases of {document['people']} people embedded; all are in {document['space']} now."
