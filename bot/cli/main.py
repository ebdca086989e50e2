"""The command `elefante`: its table of verbs, and how errors become one line and an exit code.

Exit codes: 0 done; 1 it could not be done; 2 the call or a setting is wrong. With --json an error is a JSON document
with an `error` on standard output, too.
"""

from __future__ import annotations

import logging
import os
import sys
import zoneinfo
from itertools import takewhile
from types import TracebackType
from typing import Annotated, TypeAlias

import typer

from bot.cli.backup import backup_, migrate_, restore_
from bot.cli.key import app as key_app
from bot.cli.people import export_, forget_, import_, users_app
from bot.cli.service import app as service_app
from bot.cli.setup import setup_
from bot.cli.shell import JsonOption, load_settings, show
from bot.cli.shell import run as run_now
from bot.cli.storage import move_storage_, reindex_
from bot.cli.think import as_, think_
from bot.cli.update import update_
from bot.cli.usage import usage_
from bot.program import version_line
from bot.settings.settings import load
from core.clock import SystemClock
from core.errors import BotError, ConfigError

app = typer.Typer(
    name="elefante",
    help="A chat bot that never forgets what you ask it to remember.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(users_app, name="users")
app.add_typer(service_app, name="service")
app.add_typer(key_app, name="key")


def main() -> None:
    """Run the command line; print our own errors as one line on standard error.

    Zones are those of the tzdata package, not of the system: names that we offer exist, and all who share a database
    compute the same instants. PYTHONTZPATH names another database.
    """
    if not os.environ.get("PYTHONTZPATH"):
        zoneinfo.reset_tzpath(to=())
    try:
        code = app(standalone_mode=not _wants_json())  # alone it prints what is wrong with a call, and exits
    except (ConfigError, typer.TyperException) as error:
        sys.exit(_fail(str(error), 2))
    except BotError as error:
        sys.exit(_fail(str(error), 1))
    except typer.Abort:
        sys.exit(_fail("nothing was changed", 1))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def _begin(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A chat bot that never forgets what you ask it to remember."""
    sys.excepthook = _unexpected  # here, because Typer sets its own just before


AnywayOption: TypeAlias = Annotated[
    bool, typer.Option("--anyway", help="Begin with what the database holds, though a backup of it holds more.")
]


@app.command()
def chat(
    thread: Annotated[str, typer.Option(help="Id of the conversation to go on with. Default: DEFAULT_THREAD.")] = "",
    anyway: AnywayOption = False,
) -> None:
    r"""Talk to the bot in this terminal. No key, no account.

    Example: printf 'Remember that the wifi password is abc123\n' | elefante chat
    """
    from bot.run import chat as talk

    run_now(talk(load_settings(stored=False), thread, anyway=anyway))


@app.command()
def run(anyway: AnywayOption = False) -> None:
    """Run the bot on every platform that has a token.

    Example: TELEGRAM_TOKEN=123:abc elefante run
    """
    from bot.run import run as run_platforms

    run_now(run_platforms(load_settings(stored=False), anyway=anyway))


app.command("as")(as_)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether the bot runs, every platform is connected and no alarm stops answers; exit 1 if not.

    Over PostgreSQL: of all workers.

    Example: elefante status --json
    """
    from bot.status_file import render, status_of

    settings = load()  # opens neither folder nor log: a health check of another process changes nothing
    if settings.in_memory:
        raise ConfigError("STORAGE_URL", "nothing is stored with memory:, so a running bot tells nothing of itself")
    report = run_now(status_of(settings, SystemClock().now()))
    show(report, as_json=as_json, plain=render)
    if not report["ok"]:
        raise typer.Exit(1)


app.command("think")(think_)


@app.command()
def check(as_json: JsonOption = False) -> None:
    """Check settings, storage, index, embedder and models; exit 1 if one of them fails. Nothing is changed.

    Example: elefante check --json
    """
    from bot import doctor as health

    report = run_now(health.check(load_settings(stored=False, writes=False)))
    show(report, as_json=as_json, plain=health.render)
    if not report["ok"]:
        raise typer.Exit(1)


app.command("setup")(setup_)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Ask every platform who the bot is, and every model one tiny question; exit 1 if one does not answer.

    Example: MODEL=ollama:qwen3:8b elefante doctor
    """
    from bot import doctor as health

    report = run_now(health.examine(load_settings(stored=False)))
    show(report, as_json=as_json, plain=health.render)
    if not report["ok"]:
        raise typer.Exit(1)


app.command("usage")(usage_)
app.command("backup")(backup_)
app.command("restore")(restore_)
app.command("migrate")(migrate_)
app.command("update")(update_)
app.command("move-storage")(move_storage_)
app.command("export")(export_)
app.command("import")(import_)
app.command("forget")(forget_)
app.command("reindex")(reindex_)


def _unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Report a bug in one line; its place is in the log."""
    logging.getLogger(__name__).critical("bug", exc_info=(kind, error, traceback))
    _fail(f"something went wrong that should not ({kind.__name__}); the log says where", 1)


def _fail(said: str, code: int) -> int:
    """Print an error, as a JSON document too where one is awaited, and return the exit code."""
    if _wants_json():
        show({"error": said}, as_json=True, plain=str)
    sys.stderr.write(f"elefante: {said}\n")
    return code


def _wants_json() -> bool:
    return "--json" in takewhile(lambda argument: argument != "--", sys.argv[1:])
