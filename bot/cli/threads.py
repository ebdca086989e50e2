"""`elefante threads ...`: the verbs. Knows options. Does not know how anything is done: `bot/threads.py` does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot import threads
from bot.shell import JsonOption, UserOption, person, run, settings, show
from core.errors import ConfigError
from core.history import policy as policies

app = typer.Typer(no_args_is_help=True, help="See and steer a person's conversations.")

ThreadArgument = Annotated[str, typer.Argument(help="The thread's id; see `threads list`.")]


@app.command("list")
def list_(user: UserOption = "", as_json: JsonOption = False) -> None:
    """List conversations, the one used last first."""
    loaded = settings()
    show(run(threads.listed(loaded, person(user, loaded))), as_json=as_json, plain=threads.render)


@app.command("show")
def show_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Show a conversation: its summary, its newest messages, and what a model is sent of it, in tokens."""
    loaded = settings()
    show(run(threads.shown(loaded, person(user, loaded), thread)), as_json=as_json, plain=threads.render)


@app.command("rename")
def rename_(
    thread: ThreadArgument,
    title: Annotated[str, typer.Argument(help="Its new name.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Name a conversation."""
    _change(thread, user, lambda all_, whose, which: all_.rename(whose, which, title), as_json=as_json)


@app.command("switch")
def switch_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Go on with an earlier conversation; the one that was active in its place is archived."""
    _change(thread, user, lambda all_, whose, which: all_.switch(whose, which), as_json=as_json)


@app.command("archive")
def archive_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Put a conversation away; the next message in its place begins another."""
    _change(thread, user, lambda all_, whose, which: all_.archive(whose, which), as_json=as_json)


@app.command("policy")
def policy_(
    thread: ThreadArgument,
    name: Annotated[str, typer.Argument(help=f"{', '.join(policies.NAMES)}; or usual, for what is set for all.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Choose what of a conversation a model is shown."""
    if name not in {*policies.NAMES, "usual"}:
        raise ConfigError("threads policy", f"there is no {name!r}; write usual or one of {', '.join(policies.NAMES)}")
    chosen = "" if name == "usual" else name
    _change(thread, user, lambda all_, whose, which: all_.set_policy(whose, which, chosen), as_json=as_json)


@app.command("export")
def export_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Print a conversation whole, as JSON lines that `threads import` takes in again."""
    loaded = settings()
    lines = run(threads.exported(loaded, person(user, loaded), thread))
    whole = json.dumps([json.loads(line) for line in lines], ensure_ascii=False, indent=2)
    sys.stdout.write(whole + "\n" if as_json else "".join(f"{line}\n" for line in lines))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `threads export` printed.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take in a conversation that was exported, as that person's."""
    loaded = settings()
    show(run(threads.imported(loaded, person(user, loaded), threads.read(file))), as_json=as_json, plain=threads.render)


def _change(thread: str, user: str, change: threads.Change, *, as_json: bool) -> None:
    loaded = settings()
    changed = run(threads.changed(loaded, person(user, loaded), thread, change))
    show(changed, as_json=as_json, plain=threads.render)
