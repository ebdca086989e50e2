"""`elefante memories ...` and `elefante reindex`: a person's memories from the shell, and everybody's vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from bot.cli.shell import JsonOption, UserOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.actions.memory_drafts import to_bindings, to_kind
from core.errors import ConfigError
from core.memory.user_memory import UserMemory
from core.text.unicode import clean, one_line
from core.types import JSONValue, MemoryDraft, MemoryItem, UserKey, room_name

app = typer.Typer(no_args_is_help=True, help="See and change what is remembered of a person.")


@app.command("list")
def list_(
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List memories, the newest first.

    Example: elefante memories list --limit 10
    """
    loaded = load_settings()
    show(run(listed(loaded, person(user, loaded), limit)), as_json=as_json, plain=render)


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
    loaded = load_settings()
    show(run(added(loaded, person(user, loaded), content, binding)), as_json=as_json, plain=render)


@app.command("search")
def search_(
    query: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    user: UserOption = "",
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 8,
    as_json: JsonOption = False,
) -> None:
    """Search memories as the bot does, with the scores.

    Example: elefante memories search 'how do I get online?'
    """
    loaded = load_settings()
    show(run(found(loaded, person(user, loaded), query, limit)), as_json=as_json, plain=render)


@app.command("show")
def show_(
    memory_id: Annotated[str, typer.Argument(help="The memory's id.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show one memory whole.

    Example: elefante memories show e57wdx63zj
    """
    loaded = load_settings()
    show(run(shown(loaded, person(user, loaded), memory_id)), as_json=as_json, plain=render)


@app.command("delete")
def delete_(
    memory_ids: Annotated[list[str], typer.Argument(help="The memories' ids.")],
    user: UserOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete memories for good, and print what they were.

    Example: elefante memories delete e57wdx63zj
    """
    loaded = load_settings()
    show(run(deleted(loaded, person(user, loaded), memory_ids)), as_json=as_json, plain=render)


@app.command("export")
def export_(user: UserOption = "", as_json: JsonOption = False) -> None:
    """Print every memory of a person, one JSON object a line (with --json: one document).

    Example: elefante memories export --user telegram:123456 > memories.jsonl
    """
    loaded = load_settings()
    show(run(exported(loaded, person(user, loaded))), as_json=as_json, plain=json_lines)


PAGE = 500
Document = dict[str, JSONValue]


async def listed(settings: Settings, user: UserKey, limit: int) -> Document:
    """Return the newest `limit` memories and how many there are in all."""
    async with build(settings) as app:
        memory = app.features.memories.of(user)
        items = await _newest(memory, limit)
        return _document(user, items, total=await memory.count())


async def added(settings: Settings, user: UserKey, content: str, bindings: Sequence[str]) -> Document:
    """Save one memory and return it.

    Raises:
        ConfigError: nothing to save, or nothing to find it by.
    """
    text = clean(content)
    kind = to_kind("json" if text[:1] in {"{", "["} else "text", text)
    draft = MemoryDraft(kind, text, to_bindings(bindings))
    if not draft.content or not draft.bindings:
        raise ConfigError("memories add", "write what to remember, and at least one --binding to find it by")
    async with build(settings) as app:
        memory = app.features.memories.of(user)
        vectors = await memory.embed(memory.phrases_of(draft))
        return _document(user, await memory.add([draft], vectors))


async def found(settings: Settings, user: UserKey, query: str, limit: int) -> Document:
    """Search a person's memories; return them with their scores, best first."""
    async with build(settings) as app:
        memory = app.features.memories.of(user)
        hits = await memory.search([query], await memory.embed_queries([query]), limit=limit)
    document = _document(user, [hit.item for hit in hits])
    scores: list[JSONValue] = [
        {name: getattr(hit, name) for name in ("matched", "score", "chance", "dense", "lexical")} for hit in hits
    ]
    return {**document, "query": query, "scores": scores}


async def shown(settings: Settings, user: UserKey, memory_id: str) -> Document:
    """Return one memory, with the messages that it comes from.

    Raises:
        ConfigError: the person has no memory of that id.
    """
    async with build(settings) as app:
        memories, history = app.features.memories, app.parts.conversations.store
        items = await memories.of(user).get([memory_id])
        accounts = await memories.accounts(user)
        said = [each for item in items for account in accounts for each in await history.said(account, item.source_ids)]
    if not items:
        raise ConfigError("memories show", f"{user} has no memory {memory_id!r}; see `elefante memories list`")
    sources: list[JSONValue] = [
        {"at": str(each.message.at or ""), "chat": room_name(each.chat), "text": each.message.text}
        for each in said
        if each.message.text
    ]
    return {**_document(user, items), "sources": sources}


async def deleted(settings: Settings, user: UserKey, memory_ids: Sequence[str]) -> Document:
    """Delete memories and return what they were.

    Raises:
        ConfigError: the person has none of them; nothing was deleted.
    """
    async with build(settings) as app:
        items = await app.features.memories.of(user).delete(memory_ids)
    if not items:
        raise ConfigError("memories delete", f"{user} has none of these; see `elefante memories list`")
    return _document(user, items)


async def exported(settings: Settings, user: UserKey) -> Document:
    """Return every memory, the newest first."""
    async with build(settings) as app:
        memory = app.features.memories.of(user)
        total = await memory.count()
        return _document(user, await _newest(memory, total), total=total)


def render(document: Document) -> str:
    """Return the document as text for a person."""
    items: Any = document["memories"]
    scores: Any = document.get("scores") or [None] * len(items)
    if not items:
        return f"{document['user']} has no {'such ' if 'query' in document else ''}memory."
    lines = []
    for item, score in zip(items, scores, strict=True):
        found_by = f"  {score['score']:.2f} by “{score['matched']}”" if score else ""
        lines.append(f"{item['id']}  {item['updated_at'][:10]}{found_by}\n  {item['content']}")
        lines.append(f"  found by: {', '.join(item['bindings'])}")
    sources: Any = document.get("sources", [])
    lines += [f"  said {each['at'][:10]} in {each['chat']}: {one_line(each['text'], 200)}" for each in sources]
    shown_count, total = len(items), document.get("total")
    if total is not None and total != shown_count:
        lines.append(f"({shown_count} of {total})")
    return "\n".join(lines)


def json_lines(document: Document) -> str:
    """Return one JSON object a memory, a line each."""
    items: Any = document["memories"]
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items)


async def _newest(memory: UserMemory, limit: int) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    while len(items) < limit:
        page = await memory.page(limit=min(PAGE, limit - len(items)), before=items[-1].id if items else "")
        if not page:
            break
        items.extend(page)
    return items


def _document(user: UserKey, items: Sequence[MemoryItem], *, total: int | None = None) -> Document:
    document: Document = {"user": str(user), "memories": [item.to_json() for item in items]}
    return document if total is None else {**document, "total": total}


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
