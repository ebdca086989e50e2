"""The command `elefante`: its table of verbs, and how errors become one line and an exit code.

Exit codes: 0 done; 1 it could not be done; 2 the call or a setting is wrong.
"""

from __future__ import annotations

import logging
import os
import sys
import zoneinfo
from types import TracebackType
from typing import Annotated

import typer

from bot.cli.backup import backup_, restore_
from bot.cli.memories import app as memories_app
from bot.cli.memories import reindex_
from bot.cli.people import actions_app, users_app
from bot.cli.personal import export_, forget_, import_
from bot.cli.reminders import app as reminders_app
from bot.cli.setup import setup_
from bot.cli.shell import JsonOption, load_settings, show
from bot.cli.shell import run as run_now
from bot.cli.think import think_
from bot.cli.threads import app as threads_app
from bot.cli.usage import usage_
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
app.add_typer(actions_app, name="actions")
app.add_typer(memories_app, name="memories")
app.add_typer(threads_app, name="threads")
app.add_typer(reminders_app, name="reminders")


def main() -> None:
    """Run the command line; print our own errors as one line on standard error.

    Zones are those of the tzdata package, not of the system: names that we offer exist, and all who share a database
    compute the same instants. PYTHONTZPATH names another database.
    """
    if not os.environ.get("PYTHONTZPATH"):
        zoneinfo.reset_tzpath(to=())
    try:
        app()
    except ConfigError as error:
        sys.exit(_fail(error, 2))
    except BotError as error:
        sys.exit(_fail(error, 1))
    except KeyboardInterrupt:
        sys.exit(130)


@app.callback()
def _begin() -> None:
    """A chat bot that never forgets what you ask it to remember."""
    sys.excepthook = _unexpected  # here, because Typer sets its own just before


@app.command()
def chat(
    thread: Annotated[str, typer.Option(help="Id of the conversation to go on with. Default: DEFAULT_THREAD.")] = "",
) -> None:
    r"""Talk to the bot in this terminal. No key, no account.

    Example: printf 'Remember that the wifi password is abc123\n' | elefante chat
    """
    from bot.run import chat as talk

    run_now(talk(load_settings(stored=False), thread))


@app.command()
def run() -> None:
    """Run the bot on every platform that has a token."""
    from bot.run import run as run_platforms

    run_now(run_platforms(load_settings(stored=False)))


app.command("think")(think_)


@app.command()
def check(as_json: JsonOption = False) -> None:
    """Check settings, storage, index, embedder and models; exit 1 if one of them fails."""
    from bot import doctor as health

    report = run_now(health.check(load_settings(stored=False)))
    show(report, as_json=as_json, plain=health.render_check)
    if not report["ok"]:
        raise typer.Exit(1)


app.command("setup")(setup_)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Ask every platform who the bot is, and every model one tiny question; exit 1 if one does not answer."""
    from bot import doctor as health

    report = run_now(health.examine(load_settings(stored=False)))
    show(report, as_json=as_json, plain=health.render)
    if not report["ok"]:
        raise typer.Exit(1)


app.command("usage")(usage_)
app.command("backup")(backup_)
app.command("restore")(restore_)
app.command("export")(export_)
app.command("import")(import_)
app.command("forget")(forget_)
app.command("reindex")(reindex_)


def _unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Report a bug in one line; its place is in the log."""
    logging.getLogger(__name__).critical("bug", exc_info=(kind, error, traceback))
    sys.stderr.write(f"elefante: something went wrong that should not ({kind.__name__}); the log says where\n")


def _fail(error: BotError, code: int) -> int:
    sys.stderr.write(f"elefante: {error}\n")
    return code
