"""The command `elefante`: verbs, options, exit codes.

Knows how a person at a shell calls the bot. Does not know how anything is done: each verb is a function elsewhere.

Exit codes: 0 done; 1 it could not be done; 2 the call or a setting is wrong.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Coroutine
from types import TracebackType
from typing import Annotated, Any

import typer

from bot import logs
from bot.settings import Settings, load
from core.errors import BotError, ConfigError
from core.types import JSONValue, UserKey

app = typer.Typer(
    name="elefante",
    help="A chat bot that never forgets what you ask it to remember.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
memories_app = typer.Typer(no_args_is_help=True, help="See and change what is remembered of a person.")
app.add_typer(memories_app, name="memories")

UserOption = Annotated[str, typer.Option("--user", help="Whose memory, as PLATFORM:ID. Default: you, in the terminal.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


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
def chat() -> None:
    r"""Talk to the bot in this terminal. No key, no account.

    Example: printf 'Remember that the wifi password is abc123\n' | elefante chat
    """
    from bot.chat import chat as talk

    _run(talk(_settings()))


@app.command()
def run() -> None:
    """Run the bot on every platform that has a token."""
    from bot.run import run as run_platforms

    _run(run_platforms(_settings()))


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

    settings = _settings()
    thought = _run(dry.think(settings, text, _user(user, settings)))
    _print(thought, as_json=as_json, plain=dry.render)


@app.command()
def check(as_json: JsonOption = False) -> None:
    """Check settings, storage, index, embedder and models; exit 1 if one of them fails."""
    from bot import check as health

    report = _run(health.check(_settings()))
    _print(report, as_json=as_json, plain=health.render)
    if not report["ok"]:
        raise typer.Exit(1)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Ask every configured model one tiny question, which proves its key; exit 1 if one does not answer."""
    from bot import doctor as examination

    report = _run(examination.doctor(_settings()))
    _print(report, as_json=as_json, plain=examination.render)
    if not report["ok"]:
        raise typer.Exit(1)


@app.command()
def usage(
    days: Annotated[int, typer.Option(min=1, help="How many days back, today included.")] = 30,
    by: Annotated[str, typer.Option(help="What to sum by, separated by commas: day, user, mode, model, outcome.")] = (
        "day,model"
    ),
    as_json: JsonOption = False,
) -> None:
    """Show what models were asked, and what it cost.

    Example: elefante usage --days 7 --by user,model
    """
    from bot import usage as ledger

    parts = [part.strip() for part in by.split(",") if part.strip()]
    _print(_run(ledger.usage(_settings(), days=days, by=parts)), as_json=as_json, plain=ledger.render)


@app.command()
def reindex(as_json: JsonOption = False) -> None:
    """Embed what has no vector of the present embedder. May be interrupted; goes on where it stopped."""
    from rich.console import Console
    from rich.progress import Progress

    from bot import reindex as embedding

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding")

        def show(people: int, total: int, phrases: int) -> None:
            progress.update(task, completed=people, total=total, description=f"embedding, {phrases} phrases")

        document = _run(embedding.reindex(_settings(), show))
    _print(document, as_json=as_json, plain=embedding.render)


@memories_app.command("list")
def memories_list(
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List memories, the newest first."""
    from bot import memories

    settings = _settings()
    _print(_run(memories.listed(settings, _user(user, settings), limit)), as_json=as_json, plain=memories.render)


@memories_app.command("add")
def memories_add(
    content: Annotated[str, typer.Argument(help="What to remember.")],
    binding: Annotated[list[str], typer.Option("--binding", "-b", help="A phrase to find it by; may be repeated.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Save a memory. JSON content is kept as JSON.

    Example: elefante memories add abc123 --binding 'wifi password'
    """
    from bot import memories

    settings = _settings()
    added = _run(memories.added(settings, _user(user, settings), content, binding))
    _print(added, as_json=as_json, plain=memories.render)


@memories_app.command("search")
def memories_search(
    query: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 8,
    as_json: JsonOption = False,
) -> None:
    """Search memories as the bot does, with the scores."""
    from bot import memories

    settings = _settings()
    found = _run(memories.found(settings, _user(user, settings), query, limit))
    _print(found, as_json=as_json, plain=memories.render)


@memories_app.command("show")
def memories_show(
    memory_id: Annotated[str, typer.Argument(help="The memory's id.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show one memory whole."""
    from bot import memories

    settings = _settings()
    _print(_run(memories.shown(settings, _user(user, settings), memory_id)), as_json=as_json, plain=memories.render)


@memories_app.command("delete")
def memories_delete(
    memory_ids: Annotated[list[str], typer.Argument(help="The memories' ids.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete memories for good, and print what they were."""
    from bot import memories

    settings = _settings()
    deleted = _run(memories.deleted(settings, _user(user, settings), memory_ids))
    _print(deleted, as_json=as_json, plain=memories.render)


@memories_app.command("export")
def memories_export(user: UserOption = "", as_json: JsonOption = False) -> None:
    """Print every memory of a person, one JSON object a line (with --json: one document)."""
    from bot import memories

    settings = _settings()
    exported = _run(memories.exported(settings, _user(user, settings)))
    _print(exported, as_json=as_json, plain=memories.json_lines)


def _settings() -> Settings:
    settings = load()
    from bot.wiring import prepare_folder

    prepare_folder(settings.data_dir)
    logs.configure(settings.data_dir, settings.log_level, settings.secrets())
    return settings


def _user(text: str, settings: Settings) -> UserKey:
    if not text:
        return settings.console_owner
    platform, _, user = text.partition(":")
    if not platform.strip() or not user.strip():
        raise ConfigError("--user", f"{text!r} is not a person; write PLATFORM:ID, such as telegram:123456")
    return UserKey(platform.strip(), user.strip())


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def _print(document: dict[str, JSONValue], *, as_json: bool, plain: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) if as_json else plain(document))
    sys.stdout.write("\n")


def _unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Tell of a bug in one line; where it is stands in the log."""
    logging.getLogger(__name__).critical("bug", exc_info=(kind, error, traceback))
    sys.stderr.write(f"elefante: something went wrong that should not ({kind.__name__}); the log says where\n")


def _fail(error: BotError, code: int) -> int:
    sys.stderr.write(f"elefante: {error}\n")
    return code
