"""Find the memories that a message may need before a model is asked, and show them to it by short marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.text.marks import quoted
from core.types import MemoryHit, MemoryItem


class Prefetch(Protocol):
    """A search under way."""

    async def hits(self) -> Sequence[MemoryHit]:
        """Return what was found, the best first."""


@dataclass(slots=True)
class Labelled:
    """The memories that the prompts of a turn show, each by a mark: m1, m2, ..."""

    _items: dict[str, MemoryItem] = field(default_factory=dict)

    @property
    def items(self) -> tuple[MemoryItem, ...]:
        """The memories, in the order of their marks."""
        return tuple(self._items.values())

    def add(self, items: Iterable[MemoryItem]) -> str:
        """Give marks to the memories that have none, and return a block for each of them all."""
        blocks = []
        for item in items:
            mark = next((mark for mark, known in self._items.items() if known.id == item.id), "")
            if not mark:
                mark = f"m{len(self._items) + 1}"
                self._items[mark] = item
            bindings = f"({quoted('; '.join(item.bindings))}) " if item.bindings else ""
            saved = f"{item.updated_at:%Y-%m-%d}"
            blocks.append(f"<memory {mark} saved {saved}>{bindings}{quoted(item.content)}</memory>")
        return "\n".join(blocks)

    def cited(self, marks: Iterable[str]) -> Sequence[MemoryItem]:
        """Return the memories of the marks, in that order, without those that do not exist."""
        return [self._items[mark] for mark in dict.fromkeys(marks) if mark in self._items]

    def id_of(self, name: str) -> str:
        """Return the id of the memory with that mark; any other name as it is."""
        item = self._items.get(name.strip().lower())
        return name if item is None else item.id
