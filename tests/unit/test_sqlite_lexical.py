"""Full text over more memories than are looked at for one word."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START

ANA, BIA = UserKey("test", "ana"), UserKey("test", "bia")


def _draft(text: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, text, (text,))


async def test_an_old_memory_with_all_the_words_beats_newer_ones_with_one_each(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "test.db")
    try:
        store = SqlMemories(database)
        [wanted] = await store.add(ANA, [_draft("telefone do chefe")], at=START)
        for number in range(100):
            await store.add(ANA, [_draft(f"telefone {number}"), _draft(f"chefe {number}")], at=START)
        hits = await store.lexical(ANA, "Qual é o telefone do meu chefe?", 5)
        assert hits[0][0] == wanted.id
        assert len(hits) == 5
    finally:
        await database.close()


async def test_a_rare_word_weighs_more_than_a_common_one(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "test.db")
    try:
        store = SqlMemories(database)
        [rare] = await store.add(ANA, [_draft("periquito verde")], at=START)
        await store.add(ANA, [_draft(f"nome {number}") for number in range(30)], at=START)
        assert (await store.lexical(ANA, "nome do periquito", 3))[0][0] == rare.id
    finally:
        await database.close()


@pytest.mark.spec("T15")
async def test_scores_do_not_depend_on_what_others_store(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "test.db")
    try:
        store = SqlMemories(database)
        await store.add(ANA, [_draft("senha do banco"), _draft("senha da loja")], at=START)
        before = list(await store.lexical(ANA, "senha da loja", 9))
        await store.add(BIA, [_draft(f"loja {number}") for number in range(200)], at=START)
        assert list(await store.lexical(ANA, "senha da loja", 9)) == before
    finally:
        await database.close()
