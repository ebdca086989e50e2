"""`elefante reindex`: embed what has no vector of the present embedder yet.

Knows when to begin and whether it is done. Does not know how a phrase is embedded. Each batch is stored before the next
is begun: interrupted, it goes on where it stopped. A bot that runs meanwhile finds by words what has no vector yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from bot.settings.settings import Settings
from bot.wiring import build
from core.types import UserKey

Document: TypeAlias = dict[str, Any]


async def reindex(settings: Settings, on_progress: Callable[[int, int, int], None] | None = None) -> Document:
    """Embed everything that is missing; return the space, how many people and how many phrases.

    `on_progress` is told how many people are done, how many there are, and how many phrases were embedded so far.

    Raises:
        ProviderError: the embedder does not answer; what was embedded by then stays.
        StorageError: the database cannot be used.
    """
    async with build(settings) as app:
        await app.models.embedder.embed(["elefante"])
        owners = await app.memories.owners()
        phrases = 0
        for number, owner in enumerate(owners):

            def report(_: UserKey, done: int, people: int = number, before: int = phrases) -> None:
                if on_progress is not None:
                    on_progress(people, len(owners), before + done)

            phrases += await app.memories.reembed(owner, on_progress=report)
        await app.models.embedder.embed([f"elefante {phrases}"])  # `reembed` ends quietly when the embedder goes down
        if on_progress is not None:
            on_progress(len(owners), len(owners), phrases)
        return {"space": app.models.embedder.space, "people": len(owners), "phrases": phrases}


def render(document: Document) -> str:
    """Return what was done, in a line."""
    return f"{document['phrases']} phrases of {document['people']} people embedded; all are in {document['space']} now."
