"""Memories as they are searched, in dicts: phrases, vectors, words, and what may be spoken of where."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from core.storage.lexicon import Lexicon
from core.storage.record import phrases_of, storable
from core.stores import NO_NEIGHBOURS, Candidate, Fresh, Neighbours, PhraseStore, Search
from core.types import MemoryItem, UserKey, Vector, Vectors
from tests.reference.changes import Entry
from tests.reference.words import best, covers


class InMemoryPhrases(PhraseStore):
    """Phrases of the memories of `InMemoryMemories`."""

    def __init__(self) -> None:
        self._owners: dict[UserKey, dict[str, Entry]] = {}
        self._linked: dict[UserKey, UserKey] = {}
        self._vectors: dict[tuple[int, str], Vector] = {}
        self._phrase_ids = itertools.count(1)
        self._lexicon = Lexicon()
        self._bumps = itertools.count(1)
        self._versions: dict[UserKey, int] = {}
        self._removed: dict[UserKey, int] = {}

    async def search(
        self, owner: UserKey, search: Search, neighbours: Neighbours = NO_NEIGHBOURS, *, version: int | None = None
    ) -> Sequence[MemoryItem] | None:
        """Return the memories that `search.order` names, in its order; None if the owner's version is not `version`."""
        if version not in {None, await self.version(owner)}:
            return None
        heard = self._audible(owner, search.room) if search.room else self._of(owner).keys()
        held = {entry.number: entry for key, entry in self._of(owner).items() if key in heard}
        count = sum(not entry.item.current for entry in held.values())
        terms = {number: frozenset(self._lexicon.index_terms(entry.phrases)) for number, entry in held.items()}
        covered = [covers(self._lexicon, query, terms, count) for query in search.queries]
        there = [number for number, entry in held.items() if _counts(entry.item, search)]
        near = {number for number in there if neighbours.nearest.intersection(held[number].phrases.values())}
        chosen = near.union(*(best(each, there)[: search.depth] for each in covered))
        candidates = [
            Candidate(number, tuple(held[number].phrases.values()), tuple(each.get(number, 0.0) for each in covered))
            for number in sorted(chosen, reverse=True)
        ]
        return [held[number].item for number in search.order(candidates, count, neighbours) if number in chosen]

    async def version(self, owner: UserKey) -> int:
        """Return a number that changes with every change of the owner's memories."""
        return self._versions.get(self._owner(owner), 0)

    async def fresh(self, owner: UserKey, space: str, after: int) -> Fresh:
        """Return the phrases with an id greater than `after` that are embedded in that space, and their vectors."""
        new = [i for _, _, i in self._phrases(owner) if i > after]
        ids, vectors = await self.vectors(owner, space, new)
        version = await self.version(owner)
        return Fresh(version, ids, vectors, self._removed.get(self._owner(owner), 0), partial=len(ids) < len(new))

    async def embedded(self, owner: UserKey, space: str) -> frozenset[int]:
        """Return the ids of every phrase embedded in that space."""
        return frozenset(i for _, _, i in self._phrases(owner) if (i, space) in self._vectors)

    async def vectors(
        self, owner: UserKey, space: str, phrase_ids: Collection[int] | None = None
    ) -> tuple[Sequence[int], Vectors]:
        """Return ids and vectors, shape (n, dims), of the owner's phrases embedded in that space, by id."""
        there = await self.embedded(owner, space)
        ids = sorted(there if phrase_ids is None else there.intersection(phrase_ids))
        vectors = [self._vectors[i, space] for i in ids]
        return ids, np.stack(vectors) if vectors else np.empty((0, 0), np.float32)

    async def phrases(
        self, owner: UserKey, phrase_ids: Collection[int] = (), *, memory_ids: Sequence[str] = ()
    ) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has, or all of those memories', to (memory id, text)."""
        found = {i: (entry.item.id, text) for entry, text, i in self._phrases(owner)}
        return {i: (key, text) for i, (key, text) in found.items() if i in phrase_ids or key in memory_ids}

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""
        missing = sorted((i, text) for _, text, i in self._phrases(owner) if (i, space) not in self._vectors)
        return dict(missing[: max(limit, 0)])

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Keep vectors of phrases of the owner's; ids that are gone or another's are left out."""
        check_space(vectors, space)
        held = {i for _, _, i in self._phrases(owner)}
        self._vectors.update({(i, space): np.array(vector, np.float32) for i, vector in vectors.items() if i in held})
        self._bump(owner, removed=True)

    async def keep_space(self, owner: UserKey, space: str) -> None:
        """Delete the owner's vectors of every other space."""
        held = {i for _, _, i in self._phrases(owner)}
        self._vectors = {(i, of): v for (i, of), v in self._vectors.items() if of == space or i not in held}

    def _bump(self, owner: UserKey, *, removed: bool = False) -> None:
        self._versions[self._owner(owner)] = next(self._bumps)
        if removed:
            self._removed[self._owner(owner)] = next(self._bumps)

    def _vectors_of(self, phrase_id: int) -> dict[str, Vector]:
        return {space: vector for (known, space), vector in self._vectors.items() if known == phrase_id}

    def _audible(self, owner: UserKey, room: str) -> frozenset[str]:
        return frozenset(e.item.id for e in self._of(owner).values() if e.item.shared or room in e.item.rooms)

    def _owner(self, user: UserKey) -> UserKey:
        return self._linked.get(user, user)

    def _of(self, owner: UserKey) -> dict[str, Entry]:
        return self._owners.get(self._owner(owner), {})

    def _phrases(self, owner: UserKey) -> Iterator[tuple[Entry, str, int]]:
        for entry in self._of(owner).values():
            for text, phrase_id in entry.phrases.items():
                yield entry, text, phrase_id

    def _set_phrases(self, entry: Entry, vectors: Mapping[str, Vector], space: str) -> None:
        old = entry.phrases
        texts = phrases_of(entry.item.draft)
        entry.phrases = {text: old[text] if text in old else next(self._phrase_ids) for text in texts}
        gone = [i for text, i in old.items() if text not in entry.phrases]
        self._drop_vectors(gone)
        self._bump(entry.account, removed=bool(gone) or not old.keys().isdisjoint(vectors))
        known = {storable(text): vector for text, vector in vectors.items()}
        self._vectors.update(
            {(i, space): np.array(known[text], np.float32) for text, i in entry.phrases.items() if text in known}
        )

    def _drop_vectors(self, phrase_ids: Iterable[int]) -> None:
        gone = set(phrase_ids)
        self._vectors = {key: vector for key, vector in self._vectors.items() if key[0] not in gone}


def _counts(item: MemoryItem, search: Search) -> bool:
    """Return whether a search may return a memory that is audible where it is asked."""
    said = search.said is None or search.said.start <= item.created_at < search.said.end
    return said and (search.past or not item.is_past(search.at))


def check_space(vectors: Mapping[str, Vector] | Mapping[int, Vector] | None, space: str) -> None:
    """Raise ValueError for vectors of no space."""
    if vectors and not space:
        raise ValueError("vectors need the name of their space")
