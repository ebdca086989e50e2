"""`elefante memories ...`: the verbs. Knows options. Does not know how anything is done: `bot/memories.py` does."""

from __future__ import annotations

from typing import Annotated

import typer

from bot import memories
from bot.shell import JsonOption, UserOption, person, run, settings, show

app = typer.Typer(no_args_is_help=True, help="See and change what is remembered of a person.")


@app.command("list")
def list_(
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List memories, the newest first."""
    loaded = settings()
    show(run(memories.listed(loaded, person(user, loaded), limit)), as_json=as_json, plain=memories.render)


@app.command("add")
def add_(
    content: Annotated[str, typer.Argument(help="What to remember.")],
    binding: Annotated[list[str], typer.Option("--binding", "-b", help="A phrase to find it by; may be repeated.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Save a memory. JSON content is kept as JSON.

    Example: elefante memories add abc123 --binding 'wifi password'
    """
    loaded = settings()
    added = run(memories.added(loaded, person(user, loaded), content, binding))
    show(added, as_json=as_json, plain=memories.render)


@app.command("search")
def search_(
    query: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 8,
    as_json: JsonOption = False,
) -> None:
    """Search memories as the bot does, with the scores."""
    loaded = settings()
    found = run(memories.found(loaded, person(user, loaded), query, limit))
    show(found, as_json=as_json, plain=memories.render)


@app.command("show")
def show_(
    memory_id: Annotated[str, typer.Argument(help="The memory's id.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show one memory whole."""
    loaded = settings()
    show(run(memories.shown(loaded, person(user, loaded), memory_id)), as_json=as_json, plain=memories.render)


@app.command("delete")
def delete_(
    memory_ids: Annotated[list[str], typer.Argument(help="The memories' ids.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete memories for good, and print what they were."""
    loaded = settings()
    deleted = run(memories.deleted(loaded, person(user, loaded), memory_ids))
    show(deleted, as_json=as_json, plain=memories.render)


@app.command("export")
def export_(user: UserOption = "", as_json: JsonOption = False) -> None:
    """Print every memory of a person, one JSON object a line (with --json: one document)."""
    loaded = settings()
    exported = run(memories.exported(loaded, person(user, loaded)))
    show(exported, as_json=as_json, plain=memories.json_lines)
