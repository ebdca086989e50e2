"""`elefante reindex`: vectors of the present embedder for everybody."""

from __future__ import annotations

from collections.abc import Callable

from bot.cli.shell import JsonOption, load_settings, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.types import JSONValue, UserKey

Document = dict[str, JSONValue]


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
