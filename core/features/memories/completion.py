"""Offer a person's own memories in the field of a command while they type, without asking any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.commands.command import CompletionRequest
from core.commands.completion import MOST_OFFERED, offered
from core.features.memories.card import mark
from core.memory.memories import Memories
from core.outgoing import Choice
from core.types import MemoryItem

_MOST_READ: Final = 500


@dataclass(frozen=True, slots=True)
class MemoryCompletion:
    """Offers the newest memories with the typed letters in them, then what the typed words find; only in private."""

    memories: Memories

    async def __call__(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return the memories by their ids."""
        if not request.incoming.private:
            return ()
        memory = self.memories.of(await self.memories.owner(request.incoming.user))
        found = offered(request.typed, map(_choice, await memory.page(limit=_MOST_READ)))
        if request.typed and len(found) < MOST_OFFERED:
            hits = [_choice(hit.item) for hit in await memory.search([request.typed], {}, limit=MOST_OFFERED)]
            found = list({choice.value: choice for choice in (*found, *offered("", hits))}.values())
        return found[:MOST_OFFERED]


def _choice(item: MemoryItem) -> Choice:
    return Choice(f"{mark(item)}{item.bindings[0]}: {item.content}", item.id)
