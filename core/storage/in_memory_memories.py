"""The truth about memories, in dicts and numpy: the reference that the database is held to, and good for dry runs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from core.storage.lexicon import Lexicon, keywords
from core.storage.record import checked, phrases_of, random_id, storable
from core.stores import MemoryStore
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector, Vectors
from core.unicode import fold
from core.words import folded_words

_STEM_WEIGHT = 0.5


@dataclass(slots=True)
class _Entry:
    """A memory with its phrases (text to id) and the number that says how old it is."""

    number: int
    item: MemoryItem
    phrases: dict[str, int] = field(default_factory=dict)


class InMemoryMemories(MemoryStore):
    """Gone with the process."""

    def __init__(self) -> None:
        self._owners: dict[UserKey, dict[str, _Entry]] = {}
        self._vectors: dict[tuple[int, str], Vector] = {}
        self._numbers = itertools.count(1)
        self._phrase_ids = itertools.count(1)
        self._lexicon = Lexicon()

    async def add(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> Sequence[MemoryItem]:
        """Keep all drafts, in order.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is kept.
        """
        ready = [checked(draft) for draft in drafts]
        _check_space(vectors, space)
        sources = tuple(sorted(set(source_ids)))
        entries = [
            _Entry(next(self._numbers), MemoryItem(random_id(), d.kind, d.content, d.bindings, at, at, sources))
            for d in ready
        ]
        for draft, entry in zip(ready, entries, strict=True):
            self._owners.setdefault(owner, {})[entry.item.id] = entry
            self._set_phrases(entry, draft, vectors or {}, space)
        return [entry.item for entry in entries]

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> MemoryItem | None:
        """Replace kind, content and bindings; None, and nothing changed, if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        ready = checked(draft)
        _check_space(vectors, space)
        entry = self._of(owner).get(memory_id)
        if entry is None:
            return None
        old = entry.item
        entry.item = MemoryItem(old.id, ready.kind, ready.content, ready.bindings, old.created_at, at, old.source_ids)
        self._set_phrases(entry, ready, vectors or {}, space)
        return entry.item

    async def delete(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has; return what was deleted."""
        gone = [self._of(owner).pop(key) for key in dict.fromkeys(memory_ids) if key in self._of(owner)]
        for entry in gone:
            self._drop_vectors(entry.phrases.values())
        return [entry.item for entry in gone]

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        held = self._of(owner)
        return [held[key].item for key in dict.fromkeys(memory_ids) if key in held]

    async def find(self, owner: UserKey, kind: MemoryKind, content: str) -> MemoryItem | None:
        """Return the owner's memory of that kind and content (compared by `core.unicode.fold`), or None."""
        wanted = (kind, fold(storable(content)))
        items = (entry.item for entry in self._of(owner).values())
        return next((item for item in items if (item.kind, fold(item.content)) == wanted), None)

    async def page(self, owner: UserKey, *, limit: int, before: str = "") -> Sequence[MemoryItem]:
        """Return the newest memories first, those older than the memory `before` if it is given."""
        held = self._of(owner)
        newest = sorted(held.values(), key=_age, reverse=True)
        if before:
            newest = [entry for entry in newest if before in held and _age(entry) < _age(held[before])]
        return [entry.item for entry in newest[: max(limit, 0)]]

    async def count(self, owner: UserKey) -> int:
        """Return how many memories the owner has."""
        return len(self._of(owner))

    async def phrase_vectors(self, owner: UserKey, space: str) -> tuple[Sequence[int], Vectors]:
        """Return ids, shape (n,), and vectors, shape (n, dims), of every phrase embedded in that space, by id."""
        ids = sorted(i for _, _, i in self._phrases(owner) if (i, space) in self._vectors)
        vectors = [self._vectors[i, space] for i in ids]
        return ids, np.stack(vectors) if vectors else np.empty((0, 0), np.float32)

    async def phrases(self, owner: UserKey, phrase_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has to (memory id, text)."""
        asked = set(phrase_ids)
        return {i: (entry.item.id, text) for entry, text, i in self._phrases(owner) if i in asked}

    async def memory_phrases(self, owner: UserKey, memory_ids: Sequence[str]) -> Mapping[int, str]:
        """Map the phrase ids of those memories to their texts."""
        asked = set(memory_ids)
        return {i: text for entry, text, i in self._phrases(owner) if entry.item.id in asked}

    async def lexical(self, owner: UserKey, query: str, limit: int) -> Sequence[tuple[str, float]]:
        """Return (memory id, score > 0, higher is better) of the best full-text matches, best first."""
        asked_words = keywords(query)
        asked_stems = self._lexicon.stems(asked_words)
        texts = {}
        for entry in self._of(owner).values():
            found = [word for phrase in entry.phrases for word in folded_words(phrase)]
            texts[entry.item.id] = (Counter(found), Counter(self._lexicon.stems(found)))
        scores = {
            key: _bm25(asked_words, found, [both[0] for both in texts.values()])
            + _STEM_WEIGHT * _bm25(asked_stems, stems, [both[1] for both in texts.values()])
            for key, (found, stems) in texts.items()
        }
        best = sorted(((key, score) for key, score in scores.items() if score > 0), key=lambda hit: -hit[1])
        return best[: max(limit, 0)]

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""
        missing = sorted((i, text) for _, text, i in self._phrases(owner) if (i, space) not in self._vectors)
        return dict(missing[: max(limit, 0)])

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Keep vectors of phrases of the owner's; ids that are gone or another's are left out."""
        _check_space(vectors, space)
        held = {i for _, _, i in self._phrases(owner)}
        self._vectors.update({(i, space): np.array(vector, np.float32) for i, vector in vectors.items() if i in held})

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        return [user]

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        return [owner for owner, held in self._owners.items() if held]

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of the owner's and return how many memories that were."""
        held = self._owners.pop(owner, {})
        for entry in held.values():
            self._drop_vectors(entry.phrases.values())
        return len(held)

    def _of(self, owner: UserKey) -> dict[str, _Entry]:
        return self._owners.get(owner, {})

    def _phrases(self, owner: UserKey) -> Iterator[tuple[_Entry, str, int]]:
        for entry in self._of(owner).values():
            for text, phrase_id in entry.phrases.items():
                yield entry, text, phrase_id

    def _set_phrases(self, entry: _Entry, draft: MemoryDraft, vectors: Mapping[str, Vector], space: str) -> None:
        old = entry.phrases
        texts = phrases_of(draft)
        entry.phrases = {text: old[text] if text in old else next(self._phrase_ids) for text in texts}
        self._drop_vectors([i for text, i in old.items() if text not in entry.phrases])
        known = {storable(text): vector for text, vector in vectors.items()}
        self._vectors.update(
            {(i, space): np.array(known[text], np.float32) for text, i in entry.phrases.items() if text in known}
        )

    def _drop_vectors(self, phrase_ids: Iterable[int]) -> None:
        gone = set(phrase_ids)
        self._vectors = {key: vector for key, vector in self._vectors.items() if key[0] not in gone}


def _age(entry: _Entry) -> tuple[datetime, int]:
    return (entry.item.created_at, entry.number)


def _check_space(vectors: Mapping[str, Vector] | Mapping[int, Vector] | None, space: str) -> None:
    if vectors and not space:
        raise ValueError("vectors need the name of their space")


def _bm25(
    asked: Sequence[str], row: Counter[str], rows: Sequence[Counter[str]], k1: float = 1.2, b: float = 0.75
) -> float:
    """Return the row's BM25 score, with the floor under rare-in-nothing words that FTS5 has.

    Source: https://www.sqlite.org/fts5.html#the_bm25_function
    """
    average = sum(other.total() for other in rows) / len(rows) or 1.0
    score = 0.0
    for term in asked:
        holding = sum(term in other for other in rows)
        idf = max(math.log((len(rows) - holding + 0.5) / (holding + 0.5)), 1e-6)
        score += idf * row[term] * (k1 + 1) / (row[term] + k1 * (1 - b + b * row.total() / average))
    return score
