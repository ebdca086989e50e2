"""Memories that a model is shown under short labels (m1, m2, ...), by which it cites and names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from core.text.citations import not_cited
from core.text.marks import quoted
from core.text.unicode import one_line
from core.types import MemoryItem, MemoryKind

_MAX_ABOUT_CHARS: Final = 200
_MAX_CONTENT_CHARS: Final = 1500
_ENDED: Final = "no longer true, true until"
_TELLING_WORDS: Final = 4
"""A content of fewer words is shown with what it is found by; with others small models take that for the content."""

_NAME: Final = re.compile(r"\W*(?:memory\s+)?m0*([1-9][0-9]{0,2})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Memories that a model is shown, the first under the label m1, the second m2, and so on."""

    items: tuple[MemoryItem, ...] = ()

    def also(self, items: Iterable[MemoryItem]) -> Labelled:
        """Return these and those, under the next labels; a memory that has one keeps it, in its new state."""
        found = {item.id: item for item in self.items} | {item.id: item for item in items}
        return Labelled(tuple(found.values()))

    @property
    def labels(self) -> Mapping[str, MemoryItem]:
        """The memories by their labels."""
        return {f"m{number}": item for number, item in enumerate(self.items, 1)}

    def find(self, name: str) -> MemoryItem | None:
        """Return the memory that a model names by its label (m2, M2, [m2]) or its id; None if it was not shown."""
        if found := _NAME.fullmatch(name):
            return self.labels.get(f"m{found[1]}")
        wanted = name.strip().casefold()
        return next((item for item in self.items if item.id.casefold() == wanted), None)

    def cited(self, names: Iterable[str]) -> tuple[MemoryItem, ...]:
        """Return the memories of those names that were shown, each once, in the order named."""
        found = [item for name in names if (item := self.find(name)) is not None]
        return tuple({item.id: item for item in found}.values())

    def render(self, zone: tzinfo, items: Iterable[MemoryItem] | None = None) -> str:
        """Return a `<memory m1 saved 2026-05-03>` block for each memory, or for those of the items among them.

        A block holds the bindings and the content; nothing in them ends it or is a citation. `changed` is the day of
        the last change, if that is another one; `until`, when it ends, or ended if something else is true since;
        `means`, the day or the minute that its words mean; `json` marks JSON, `cut` a content of which the end is
        missing. Days are in that zone.
        """
        wanted = {item.id for item in (self.items if items is None else items)}
        return "\n".join(_block(label, item, zone) for label, item in self.labels.items() if item.id in wanted)


def _last_day(until: datetime, zone: tzinfo) -> str:
    """Return the last day on which something is true: what ends with a day ends as the next one begins."""
    return f"{(until - timedelta(microseconds=1)).astimezone(zone):%Y-%m-%d}"


def _block(label: str, item: MemoryItem, zone: tzinfo) -> str:
    saved, changed = (f"{at.astimezone(zone):%Y-%m-%d}" for at in (item.created_at, item.updated_at))
    is_cut = len(item.content) > _MAX_CONTENT_CHARS
    facts = [
        f"saved {saved}",
        *([f"changed {changed}"] if changed != saved else []),
        *([f"{_ENDED if item.current else 'until'} {_last_day(item.until, zone)}"] if item.until else []),
        *([f"means {item.meant}"] if item.meant else []),
        *(["json"] if item.kind is MemoryKind.JSON else []),
        *(["cut"] if is_cut else []),
    ]
    content = f"{item.content[:_MAX_CONTENT_CHARS].rstrip()}…" if is_cut else item.content
    if item.kind is MemoryKind.JSON or len(content.split()) < _TELLING_WORDS:
        about = one_line("; ".join(item.bindings), _MAX_ABOUT_CHARS).replace("<", "‹").replace(">", "›")
        facts.append(f"about {quoted(not_cited(about))}")
    inside = quoted(not_cited(content))
    return f"<memory {label} {' '.join(facts)}>{inside}</memory>"
