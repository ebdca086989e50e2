"""Memories in SQLite: more of them than are looked at word by word, and two processes over one file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from core.storage import memory_search
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add
from tests.reference.memories import InMemoryMemories
from tests.reference.searches import ids_found, search

ANA = UserKey("test", "ana")


def draft(text: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, text, (text,))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlMemories]:
    database = await open_database(tmp_path / "test.db")
    yield SqlMemories(database)
    await database.close()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a few memories many."""
    for name, most in (("_NEWEST", 8), ("_ROWS", 100), ("_BROUGHT", 80)):
        monkeypatch.setattr(memory_search, name, most)


@pytest.mark.usefixtures("narrow")
async def test_words_of_more_memories_than_are_read_at_once_score_as_they_should(store: SqlMemories) -> None:
    texts = [" ".join(w for w, every in (("ruby", 11), ("opal", 5), ("jade", 3)) if n % every == 0) for n in range(200)]
    drafts = [draft(f"{text} n{n}") for n, text in enumerate(texts)]
    reference = InMemoryMemories()
    for each in (store, reference):
        await add(each, ANA, drafts, at=START)
    for query in ("ruby", "opal", "ruby opal", "ruby opal jade", "jade n7 n33"):
        real, wanted = [await search(each, ANA, query, depth=15) for each in (store, reference)]
        assert [item.content for item in real] == [item.content for item in wanted], query


@pytest.mark.usefixtures("narrow")
async def test_a_common_word_scores_what_rarer_ones_bring_and_alone_brings_the_newest(store: SqlMemories) -> None:
    [wanted] = await add(store, ANA, [draft("telefone do chefe")], at=START)
    items = await add(store, ANA, [draft(f"telefone {n}") for n in range(300)], at=START)
    [near] = await add(store, ANA, [draft("telefone da loja")], at=START)
    assert (await ids_found(store, ANA, "Qual é o telefone do meu chefe?"))[0] == wanted.id
    newest = [near.id, *(item.id for item in reversed(items))]
    assert await ids_found(store, ANA, "telefone", depth=5) == newest[:5]
    [phrase] = await store.phrases(ANA, memory_ids=[items[0].id])
    found = await search(store, ANA, "telefone do chefe", nearest=frozenset({phrase}))
    assert [item.id for item in found] == [wanted.id, items[0].id]


async def test_an_old_memory_with_all_the_words_beats_newer_ones_with_one_each(store: SqlMemories) -> None:
    [wanted] = await add(store, ANA, [draft("telefone do chefe")], at=START)
    await add(store, ANA, [draft(f"{word} {n}") for n in range(600) for word in ("telefone", "chefe")], at=START)
    found = await ids_found(store, ANA, "Qual é o telefone do meu chefe?", depth=5)
    assert found[0] == wanted.id
    assert len(found) == 5


def merge(item: MemoryItem, said: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    return replace(item.draft, bindings=tuple(dict.fromkeys((*item.bindings, *said.bindings)))), item.rooms


async def test_two_who_save_the_same_store_it_once(tmp_path: Path) -> None:
    databases = [await open_database(tmp_path / "test.db") for _ in range(2)]
    stores = [SqlMemories(database) for database in databases]
    for round_ in range(10):
        said = [MemoryDraft(MemoryKind.TEXT, f"fato {round_}", (f"chave {n}",)) for n in range(6)]
        saved = await asyncio.gather(
            *(stores[n % 2].save(ANA, [each], at=START, merge=merge, source_ids=[n]) for n, each in enumerate(said))
        )
        assert len({item.id for each in saved for item in each.items}) == 1
        assert sum(len(each.new) for each in saved) == 1
        [item] = await stores[0].page(ANA, limit=1)
        assert set(item.bindings) == {f"chave {n}" for n in range(6)}
        assert item.source_ids == tuple(range(6))
    assert await stores[1].count(ANA) == 10
    for database in databases:
        await database.close()


async def test_what_another_process_writes_shows_in_the_version(tmp_path: Path, store: SqlMemories) -> None:
    [item] = await add(store, ANA, [draft("café")], at=START)
    before = await store.version(ANA)
    database = await open_database(tmp_path / "test.db")
    await SqlMemories(database).flag(ANA, [item.id], pinned=True)
    await database.close()
    assert await store.version(ANA) != before


async def test_how_many_memories_there_are_is_known_after_a_thousand_versions(store: SqlMemories) -> None:
    counted: list[int] = []

    def count(_: object, held: int, __: object) -> Sequence[int]:
        counted.append(held)
        return []

    for number in range(12):
        store._counts.update({(-n, ""): 0 for n in range(1, 1001)})
        await add(store, ANA, [draft(f"café {number}")], at=START)
        await search(store, ANA, "café", order=count)
        await search(store, ANA, "café", order=count)
    assert counted == [n for n in range(1, 13) for _ in range(2)]
    assert len(store._counts) < 10
