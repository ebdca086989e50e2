"""Memories that stand in a prompt before the model asks for any: found by the person's own words, cited by a label.

The search runs while the person's message is being stored. A model reads what it finds, so much weaker evidence counts
than where a memory is the answer. The constants were chosen on tests/data/memory_tuning.json and
tests/data/memory_candidates.json.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final, Self

from core.errors import BotError
from core.memory.asking import search_asked, wordings
from core.memory.past import asks_past
from core.memory.user_memory import MemoryReading
from core.ports import Clock
from core.text.citations import not_cited
from core.text.marks import quoted
from core.text.unicode import clean, one_line
from core.types import AskedTime, MemoryHit, MemoryItem, MemoryKind, Vector

MAX_CANDIDATES: Final = 8
CANDIDATE_FLOOR: Final = 0.02
"""The chance of being an answer over which a memory is shown to a model."""

EMBED_WITHIN_S: Final = 0.25
"""How long after its start a search waits for the embedder; then words alone serve."""

_EDGE_CHARS: Final = 150
"""How much is searched of each end of a long message: 300 characters take the embedded embedder 5 ms."""

_MAX_ABOUT_CHARS: Final = 200
_MAX_CONTENT_CHARS: Final = 1500
_ENDED: Final = "no longer true, true until"
_TELLING_WORDS: Final = 4
"""A content of fewer words is shown with what it is found by; with others small models take that for the content."""

_NAME: Final = re.compile(r"\W*(?:memory\s+)?m0*([1-9][0-9]{0,2})\W*", re.IGNORECASE)

_log = logging.getLogger(__name__)


def searched_text(text: str) -> str:
    """Return the words of a message that are searched: all, or the beginning and the end of a long one."""
    whole = clean(text)
    if len(whole) <= 2 * _EDGE_CHARS:
        return whole
    return f"{whole[:_EDGE_CHARS].rstrip()} … {whole[-_EDGE_CHARS:].lstrip()}"


class Prefetch:
    """One search of a person's memories by their own words, in a task of its own. `close` it.

    It costs at most one call of the embedder and one search, and nothing where the person has no memories.
    """

    def __init__(self, memory: MemoryReading, clock: Clock, text: str, asked: AskedTime | None = None) -> None:
        """`memory` knows whose memories are searched, and in which room; `text` is the person's message.

        `asked` is the time that it names, if any.
        """
        self._memory = memory
        self._clock = clock
        self._asked = asked
        self._past = asks_past(text)
        said = asked is not None and asked.said
        self._texts = [searched for each in wordings(text, asked, said=said) if (searched := searched_text(each))]
        self._task: asyncio.Task[tuple[MemoryHit, ...]] | None = None

    def start(self) -> Self:
        """Begin to search, if it has not begun."""
        self._started()
        return self

    async def hits(self) -> tuple[MemoryHit, ...]:
        """Return at most MAX_CANDIDATES memories, the best first; none if the search failed.

        It waits for the embedder until EMBED_WITHIN_S after the start. Cancelling it ends the search.
        """
        return await self._started()

    async def close(self) -> None:
        """End the search, if it is still under way."""
        if self._task is not None and self._task.cancel():
            await asyncio.wait({self._task})

    def _started(self) -> asyncio.Task[tuple[MemoryHit, ...]]:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._search())
        return self._task

    async def _search(self) -> tuple[MemoryHit, ...]:
        due_s = self._clock.monotonic() + EMBED_WITHIN_S
        try:
            if not self._texts or not await self._memory.page(limit=1):
                return ()
            vectors = await self._embedded(due_s - self._clock.monotonic())
            hits = await search_asked(
                *(self._memory, self._texts, vectors, self._asked),
                limit=MAX_CANDIDATES,
                floor=CANDIDATE_FLOOR,
                past=self._past,
            )
        except BotError as error:
            _log.warning("memories were not searched", extra={"error": type(error).__name__})
            return ()
        except Exception:  # noqa: BLE001  (an answer without candidates is better than none)
            _log.exception("memories were not searched")
            return ()
        return tuple(hits)

    async def _embedded(self, within_s: float) -> Mapping[str, Vector]:
        """Return the texts' vectors by the texts; nothing if the embedder fails or takes longer."""
        embedding = asyncio.create_task(self._memory.embed_queries(self._texts))
        timer = asyncio.create_task(self._clock.sleep(within_s))
        try:
            await asyncio.wait({embedding, timer}, return_when=asyncio.FIRST_COMPLETED)
            return embedding.result() if embedding.done() else {}
        finally:
            timer.cancel()
            embedding.cancel()  # the cache goes on with it, so that whoever asks again need not wait


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
