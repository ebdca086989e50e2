"""Verbs on the data as a whole: backup, restore, export, forget, usage, reindex.

Knows options, questions and progress. Does not know how anything is done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bot.shell import JsonOption, UserOption, person, run, settings, show
from core.errors import BotError, ConfigError

NewFile = Annotated[Path | None, typer.Argument(help="A file that is not there yet. Default: one named by the time.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def add_to(app: typer.Typer) -> None:
    """Add the verbs, in the order in which help lists them."""
    for verb in (usage, backup, restore, export, forget, reindex):
        app.command()(verb)


def usage(
    days: Annotated[int, typer.Option(min=1, help="How many days back, today included.")] = 30,
    by: Annotated[
        str, typer.Option(help="What to sum by, separated by commas: day, user, mode, model, outcome, room.")
    ] = "day,model",
    as_json: JsonOption = False,
) -> None:
    """Show what models were asked, and what it cost.

    Example: elefante usage --days 7 --by user,model
    """
    from bot import usage as ledger

    parts = [part.strip() for part in by.split(",") if part.strip()]
    show(run(ledger.usage(settings(), days=days, by=parts)), as_json=as_json, plain=ledger.render)


def backup(
    file: NewFile = None,
    list_: Annotated[bool, typer.Option("--list", help="List the backups in the data folder instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy the whole database, verified, while the bot runs or not.

    Without FILE into the data folder, where the newest BACKUPS_KEPT stay. Example: elefante backup before-update.db
    """
    from bot import backup as copies

    if list_:
        show(copies.listed(settings()), as_json=as_json, plain=copies.render)
        return
    with _busy("copying"):
        done = run(copies.backup(settings(), file))
    show(done, as_json=as_json, plain=copies.render)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup; see `backup --list`.")],
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let the database be what a backup is. Refused while the bot runs; what is there now is kept aside.

    Example: elefante restore before-update.db
    """
    from bot import backup as copies

    loaded = settings()
    _ask(f"Replace {loaded.database_path} by {file}?", yes=yes)
    with _busy("verifying and copying"):
        done = run(copies.restore(loaded, file))
    show(done, as_json=as_json, plain=copies.render)


def export(file: NewFile = None, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Write all that is kept of a person into a JSON file, which /import takes in again.

    Example: elefante export --user telegram:123456
    """
    from bot import personal

    loaded = settings()
    with _busy("writing"):
        done = run(personal.export(loaded, person(user, loaded), file))
    show(done, as_json=as_json, plain=personal.render)


def forget(user: UserOption = "", yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete all that is kept of a person, down to the last byte; whoever is owner, admin or blocked stays that.

    Example: elefante forget --user telegram:123456
    """
    from bot import personal

    loaded = settings()
    whose = person(user, loaded)
    kept = run(personal.kept(loaded, whose))
    accounts = ", ".join(kept["accounts"])
    _ask(f"Delete {kept['memories']} memories and {kept['threads']} conversations of {accounts} for good?", yes=yes)
    with _busy("deleting"):
        done = run(personal.forget(loaded, whose))
    show(done, as_json=as_json, plain=personal.render)


def reindex(as_json: JsonOption = False) -> None:
    """Embed what has no vector of the present embedder. May be interrupted; goes on where it stopped."""
    from rich.console import Console
    from rich.progress import Progress

    from bot import reindex as embedding

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding")

        def tick(people: int, total: int, phrases: int) -> None:
            progress.update(task, completed=people, total=total, description=f"embedding, {phrases} phrases")

        document = run(embedding.reindex(settings(), tick))
    show(document, as_json=as_json, plain=embedding.render)


@contextmanager
def _busy(what: str) -> Iterator[None]:
    """Show on standard error that it goes on, where somebody looks at it."""
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


def _ask(question: str, *, yes: bool) -> None:
    """Return if the person says yes.

    Raises:
        ConfigError: nobody can be asked. BotError: they say no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("--yes", f"{question} Nobody is there to be asked; say --yes")
    if not typer.confirm(question, err=True):
        raise BotError("nothing was changed")
