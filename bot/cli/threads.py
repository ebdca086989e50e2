"""`elefante threads ...`: see, steer, export and import a person's conversations."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import App, build
from core.errors import ConfigError, InputError
from core.features.transfer.thread_lines import from_lines, record_of, to_lines
from core.history import policy as policies
from core.history.conversation import Conversation, Conversations
from core.types import Thread, UserKey

app = typer.Typer(no_args_is_help=True, help="See and steer a person's conversations.")

ThreadArgument = Annotated[str, typer.Argument(help="The thread's id; see `threads list`.")]


@app.command("list")
def list_(user: UserOption = "", as_json: JsonOption = False) -> None:
    """List conversations, the one used last first.

    Example: elefante threads list
    """
    loaded = load_settings()
    show(run(listed(loaded, person(user, loaded))), as_json=as_json, plain=render)


@app.command("show")
def show_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Show a conversation: its summary, its newest messages, and what a model is sent of it, in tokens.

    Example: elefante threads show e57wdx63zj
    """
    loaded = load_settings()
    show(run(shown(loaded, person(user, loaded), thread)), as_json=as_json, plain=render)


@app.command("rename")
def rename_(
    thread: ThreadArgument,
    title: Annotated[str, typer.Argument(help="Its new name.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Name a conversation.

    Example: elefante threads rename e57wdx63zj 'Trip to Lisbon'
    """
    _change(thread, user, lambda all_, whose, which: all_.rename(whose, which, title), as_json=as_json)


@app.command("switch")
def switch_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Go on with an earlier conversation; the one that was active in its place is archived.

    Example: elefante threads switch e57wdx63zj
    """
    _change(thread, user, lambda all_, whose, which: all_.switch(whose, which), as_json=as_json)


@app.command("archive")
def archive_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Put a conversation away; the next message in its place begins another.

    Example: elefante threads archive e57wdx63zj
    """
    _change(thread, user, lambda all_, whose, which: all_.archive(whose, which), as_json=as_json)


@app.command("policy")
def policy_(
    thread: ThreadArgument,
    name: Annotated[str, typer.Argument(help=f"{', '.join(policies.NAMES)}; or usual, for what is set for all.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Choose what of a conversation a model is shown.

    Example: elefante threads policy e57wdx63zj last-messages
    """
    if name not in {*policies.NAMES, "usual"}:
        raise ConfigError("threads policy", f"there is no {name!r}; write usual or one of {', '.join(policies.NAMES)}")
    chosen = "" if name == "usual" else name
    _change(thread, user, lambda all_, whose, which: all_.set_policy(whose, which, chosen), as_json=as_json)


@app.command("export")
def export_(thread: ThreadArgument, user: UserOption = "", as_json: JsonOption = False) -> None:
    """Print a conversation whole, as JSON lines that `threads import` takes in again.

    Example: elefante threads export e57wdx63zj > trip.jsonl
    """
    loaded = load_settings()
    lines = run(exported(loaded, person(user, loaded), thread))
    whole = json.dumps([json.loads(line) for line in lines], ensure_ascii=False, indent=2)
    sys.stdout.write(whole + "\n" if as_json else "".join(f"{line}\n" for line in lines))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `threads export` printed.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take in a conversation that was exported, as that person's.

    Example: elefante threads import trip.jsonl
    """
    loaded = load_settings()
    show(run(imported(loaded, person(user, loaded), read(file))), as_json=as_json, plain=render)


def _change(thread: str, user: str, change: Change, *, as_json: bool) -> None:
    loaded = load_settings()
    show(run(changed(loaded, person(user, loaded), thread, change)), as_json=as_json, plain=render)


Document: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Conversations, UserKey, str], Awaitable[Thread | None]]

_SHOWN_MESSAGES = 20


async def listed(settings: Settings, user: UserKey) -> Document:
    """Return the person's threads, the one used last first."""
    async with build(settings) as app:
        threads = await app.conversations.store.threads(user)
        return {"user": str(user), "threads": [await _described(app, thread) for thread in threads]}


async def shown(settings: Settings, user: UserKey, thread_id: str) -> Document:
    """Return a thread with its summary, its newest messages, and the tokens of each part of its context.

    Raises:
        ConfigError: the person has no such thread.
    """
    async with build(settings) as app:
        thread = await _owned(app, user, thread_id)
        lookup = app.features.memories.of(await app.features.memories.owner(user)).get
        conversation = Conversation(thread, app.conversations)
        context = await conversation.context("", lookup=lookup)
        newest = (await conversation.read(lookup))[-_SHOWN_MESSAGES:]
        budget = asdict(context.budget) | {"remaining": context.budget.remaining}
        return {
            "user": str(user),
            "threads": [await _described(app, thread)],
            **context.to_json(),
            "budget": budget,
            "messages": [
                {"sequence": m.sequence, "at": m.at.isoformat() if m.at else "", "tokens": m.tokens} | m.to_wire()
                for m in newest
            ],
        }


async def changed(settings: Settings, user: UserKey, thread_id: str, change: Change) -> Document:
    """Change a thread and return it.

    Raises:
        ConfigError: the person has no such thread.
    """
    async with build(settings) as app:
        await _owned(app, user, thread_id)
        thread = await change(app.conversations, user, thread_id)
        return {"user": str(user), "threads": [await _described(app, thread)] if thread else []}


async def exported(settings: Settings, user: UserKey, thread_id: str) -> Sequence[str]:
    """Return a thread whole, as JSON lines.

    Raises:
        ConfigError: the person has no such thread.
    """
    async with build(settings) as app:
        return list(to_lines(await record_of(app.conversations.store, await _owned(app, user, thread_id))))


def read(file: Path) -> Sequence[str]:
    """Return the lines of an exported thread.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("threads import", f"{file} cannot be read ({type(error).__name__})") from None


async def imported(settings: Settings, user: UserKey, lines: Sequence[str]) -> Document:
    """Store an exported thread as that person's, and return it.

    Raises:
        ConfigError: the lines are no exported thread, or a thread of that id exists.
    """
    try:
        record = from_lines(lines, owner=user)
    except InputError as error:
        raise ConfigError("threads import", f"this is no exported thread: {error}") from None
    async with build(settings) as app:
        if await app.conversations.store.thread(record.thread.id) is not None:
            raise ConfigError("threads import", f"there is a thread {record.thread.id} already")
        await app.conversations.store.restore(record)
        return {"user": str(user), "threads": [await _described(app, await _owned(app, user, record.thread.id))]}


def render(document: Document) -> str:
    """Return the document as text for a person."""
    lines = [
        f"{thread['id']}  {thread['status']:<8} {thread['updated_at'][:16]}  {thread['messages']} messages  "
        f"{thread['title'] or thread['chat']}"
        for thread in document["threads"]
    ]
    if not lines:
        return f"{document['user']} has no conversation."
    if budget := document.get("budget"):
        lines.append("tokens: " + ", ".join(f"{name} {tokens}" for name, tokens in budget.items()))
    if summary := document.get("cumulativeSummary"):
        lines.append(f"summary: {summary}")
    lines += [f"{m['sequence']:>5} {_said(m)}" for m in document.get("messages", ())]
    return "\n".join(lines)


def _said(message: Document) -> str:
    content = message["content"]
    return f"memory: {content['content']}" if isinstance(content, dict) else f"{message['role']}: {content}"


async def _owned(app: App, user: UserKey, thread_id: str) -> Thread:
    thread = await app.conversations.store.thread(thread_id)
    if thread is None or thread.conversation.user != user:
        raise ConfigError("threads", f"{user} has no thread {thread_id!r}; see `elefante threads list`")
    return thread


async def _described(app: App, thread: Thread) -> Document:
    messages, tokens = await app.conversations.store.totals(thread.id)
    chat = thread.conversation.chat
    return {
        "id": thread.id,
        "title": thread.title,
        "status": thread.status.value,
        "policy": thread.policy,
        "metadata": dict(thread.metadata),
        "chat": ":".join(part for part in (chat.platform, chat.chat, chat.thread) if part),
        "created_at": thread.created_at.isoformat(timespec="seconds"),
        "updated_at": thread.updated_at.isoformat(timespec="seconds"),
        "messages": messages,
        "tokens": tokens,
    }
