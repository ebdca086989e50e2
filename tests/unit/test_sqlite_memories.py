"""Memories in SQLite: more of them than are looked at word by word, and two processes over one file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from core.storage import memory_search
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found, search

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
    narrow_to(monkeypatch, newest=8, rows=100, brought=80)


def narrow_to(monkeypatch: pytest.MonkeyPatch, *, newest: int, rows: int, brought: int) -> None:
    for name, most in (("_NEWEST", newest), ("_ROWS", rows), ("_BROUGHT", brought)):
        monkeypatch.setattr(memory_search, name, most)


async def test_words_of_more_memories_than_are_read_at_once_score_as_if_all_were_read(
    store: SqlMemories, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [" ".join(w for w, every in (("ruby", 11), ("opal", 5), ("jade", 3)) if n % every == 0) for n in range(200)]
    await add(store, ANA, [draft(f"{text} n{n}") for n, text in enumerate(texts)], at=START)
    found = []
    for most in (8, 10_000):
        narrow_to(monkeypatch, newest=most, rows=max(most, 100), brought=max(most, 80))
        queries = ("ruby", "opal", "ruby opal", "ruby opal jade", "jade n7 n33")
        found.append([await search(store, ANA, query, depth=16) for query in queries])
    assert found[0] == found[1]


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


async def test_how_many_memories_there_are_is_known_after_a_thousand_versions(store: SqlMemories) -> None:
    counted: list[int] = []

    def count(_: object, held: int, __: object) -> Sequence[int]:
        counted.append(held)
        return []

    for number in range(12):
        store._counts.update({(-n, ""): (0, 0) for n in range(1, 1001)})
        await add(store, ANA, [draft(f"café {number}")], at=START)
        await search(store, ANA, "café", order=count)
        await search(store, ANA, "café", order=count)
    assert counted == [n for n in range(1, 13) for _ in range(2)]
    assert len(store._counts) < 10
