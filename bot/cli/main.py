"""The command `elefante`: verbs, options, exit codes.

Knows how a person at a shell calls the bot. Does not know how anything is done: each verb is a function elsewhere.

Exit codes: 0 done; 1 it could not be done; 2 the call or a setting is wrong.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from bot.cli import data as cli_data
from bot.cli.memories import app as memories_app
from bot.cli.people import actions_app, users_app
from bot.cli.threads import app as threads_app
from bot.shell import JsonOption, UserOption, person, settings, show
from bot.shell import run as run_now
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


def main() -> None:
    """Run the command line; errors of ours are one clear line on standard error."""
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
    from bot.chat import chat as talk

    run_now(talk(settings(stored=False), thread))


@app.command()
def run() -> None:
    """Run the bot on every platform that has a token."""
    from bot.run import run as run_platforms

    run_now(run_platforms(settings(stored=False)))


@app.command()
def think(
    text: Annotated[str, typer.Argument(help="The message, as you would write it in the chat.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Think one message through, dry: every step, item, hit and timing is shown, and nothing is written.

    Example: elefante think 'What is the wifi password?'
    """
    from bot import think as dry

    loaded = settings(stored=False)
    thought = run_now(dry.think(loaded, text, person(user, loaded)))
    show(thought, as_json=as_json, plain=dry.render)


@app.command()
def check(as_json: JsonOption = False) -> None:
    """Check settings, storage, index, embedder and models; exit 1 if one of them fails."""
    from bot import check as health

    report = run_now(health.check(settings(stored=False)))
    show(report, as_json=as_json, plain=health.render)
    if not report["ok"]:
        raise typer.Exit(1)


@app.command()
def setup() -> None:
    """Ask for tokens and a model, prove each, and write them into .env."""
    from bot import setup as questions

    run_now(questions.setup(Path(".env"), lambda text: typer.prompt(text, default="", show_default=False), typer.echo))


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Ask every platform who the bot is, and every model one tiny question; exit 1 if one does not answer."""
    from bot import doctor as examination

    report = run_now(examination.examine(settings(stored=False)))
    show(report, as_json=as_json, plain=examination.render)
    if not report["ok"]:
        raise typer.Exit(1)


cli_data.add_to(app)


def _unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Tell of a bug in one line; where it is stands in the log."""
    logging.getLogger(__name__).critical("bug", exc_info=(kind, error, traceback))
    sys.stderr.write(f"elefante: something went wrong that should not ({kind.__name__}); the log says where\n")


def _fail(error: BotError, code: int) -> int:
    sys.stderr.write(f"elefante: {error}\n")
    return code
