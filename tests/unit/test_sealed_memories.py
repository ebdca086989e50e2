"""Memories and files that are sealed: nothing of them stands in the clear, and no cell is read in another's place."""

# ruff: noqa: S608 - SQL is put together from constants of ours
from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import psycopg
import pytest

from core.enclosures import Attachment, AttachmentKind
from core.errors import StorageError, Unreadable
from core.history.withholding import told_of
from core.library import new_search
from core.memory.embedding import EmbeddingNormalizer
from core.sealing.port import PLAIN
from core.storage.database import Database
from core.storage.files import FolderFiles, SqlFiles, owner_name
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.postgres_vectors import PostgresVectors
from core.storage.record import to_blob
from core.storage.sealed_columns import MEMORIES
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import (
    ChatKey,
    ConversationKey,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageRole,
    Passage,
    UserKey,
    Vector,
)
from tests.contracts.engines import close_key_files, sealing_beside
from tests.contracts.test_vector_search import asked
from tests.fakes.cells import strange_cells
from tests.fakes.clock import START, FakeClock
from tests.fakes.memories import add, ids_found, search
from tests.postgres import database_of, open_test_database

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
SPACE: Final = "made@64"
LATER: Final = START + timedelta(minutes=1)

Opened = Callable[[Path], Awaitable[Database]]


def vector(text: str) -> Vector:
    raw = np.random.default_rng(list(text.encode())).standard_normal(64)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


def draft(*words: str, name: str = "", pages: Sequence[str] = (), until_days: int = 0) -> MemoryDraft:
    """Return a draft with the first word as its binding, all of them as its content."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return MemoryDraft(
        *(MemoryKind.TEXT, " ".join(words), (words[0],)),
        until=START + timedelta(days=until_days) if until_days else None,
        attachments=(Attachment(AttachmentKind.FILE, name, sha256=digest),) if name else (),
        passages=tuple(Passage(page, number) for number, page in enumerate(pages)),
    )


class Diary:
    """Does everything that is done to memories and files, with words that occur nowhere else."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.memories = SqlMemories(database)
        self.history = SqlHistory(database)
        self.files = FolderFiles(folder / "files", FakeClock(), 10**6, database.sealing)
        self.table = SqlFiles(database, FakeClock(), 10**6)
        self.canaries: list[bytes] = []
        self.vectors: list[bytes] = []

    def word(self, said: str) -> str:
        self.canaries.append(said.encode())
        return said

    async def save(self, user: UserKey, new: MemoryDraft, act: str, owner: UserKey | None = None) -> MemoryItem:
        texts = [new.content, *new.bindings, *(each.text for each in new.passages)]
        vectors = {text: vector(text) for text in texts}
        self.vectors += [bytes(to_blob(each))[:32] for each in vectors.values()]
        self.canaries += [each.sha256.encode() for each in new.attachments]
        context = ChangeContext(act, "telegram:room", user)
        [item] = await add(self.memories, owner or user, [new], at=START, vectors=vectors, space=SPACE, context=context)
        return item

    async def write(self) -> None:
        word, store = self.word, self.memories
        pages = (word("zqpageone crimson"), word("zqpagetwo violet"))
        self.canaries += [b"crimson", b"violet"]  # as they are looked up, word by word
        first = await self.save(ANA, draft(word("zqkey"), word("zqpass"), name=word("zqfile.pdf"), pages=pages), "a1")
        await self.save(BIA, draft(word("zqbia"), word("zqbiaword")), "b1")
        await store.update(ANA, first.id, draft(word("zqsecond"), name="zqfile.pdf"), at=LATER, keeps_past=True)
        newer = draft(word("zqthird"), name=word("zqother.pdf"), pages=[word("zqpagethree")])
        await store.update(ANA, first.id, newer, at=LATER, context=ChangeContext("a2"))
        self.canaries += [each.sha256.encode() for each in newer.attachments]
        gone = await self.save(ANA, draft(word("zqgone"), word("zqwentaway")), "a3")
        await store.delete(ANA, [gone.id], at=LATER, context=ChangeContext("a4"))
        await store.undo(ANA, "a4")
        await store.delete(ANA, [gone.id], at=LATER, context=ChangeContext("a5"))
        await store.link(ANA, BIA)
        both = draft(word("zqboth"), word("zqtogether"))
        await self.save(ANA, both, "a6")
        await self.save(BIA, replace(both, bindings=(word("zqalias"),)), "b6", ANA)
        await store.update(
            ANA, first.id, replace(newer, content=word("zqanew")), at=LATER, context=ChangeContext("b7", account=BIA)
        )
        await store.flag(ANA, [first.id], pinned=True, shared=True, room="telegram:room")
        missing = await store.unembedded(ANA, SPACE, 99)
        await store.put_vectors(ANA, SPACE, {phrase: vector(text) for phrase, text in missing.items()})
        self.vectors += [bytes(to_blob(vector(text)))[:32] for text in missing.values()]
        thread = await self.history.open_thread(ConversationKey(ChatKey("telegram", "1"), ANA), START)
        answer = await self.history.append(thread.id, Message(MessageRole.ASSISTANT, word("zqanswer"), turn="t"))
        told = [told_of(item) for item in await store.page(ANA, limit=99)]
        await self.history.tell({answer.id: told})
        self.canaries += [each.version.encode() for each in told]
        for files in (self.files, self.table):
            kept = await files.put(ANA, word("zqbytes of a photo").encode())
            await files.copy(ANA, BIA, [kept])
            self.canaries.append(kept.encode())


@pytest.fixture(autouse=True)
def _key_files() -> Iterator[None]:
    yield
    close_key_files()


@asynccontextmanager
async def diary_in(folder: Path, opened: Opened) -> AsyncIterator[Diary]:
    database = await opened(folder / "elefante.db")
    try:
        yield Diary(database, folder)
    finally:
        await database.close()


async def sealed(path: Path) -> Database:
    return await open_database(path, sealing=sealing_beside(path))


async def sealed_postgres(path: Path) -> Database:
    return await open_test_database(path, sealing=sealing_beside(path))


def raw_of_folder(path: Path) -> bytes:
    """Return every byte of the folder of a database, its log and its files, with their names."""
    return b"".join(
        str(each).encode() + (each.read_bytes() if each.is_file() else b"") for each in path.parent.rglob("*")
    )


def raw_of_postgres(path: Path) -> bytes:
    """Return every row, as text and vectors as bytes, and what lies in the folder."""
    with psycopg.connect(database_of(str(path))) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [str(row[0]) for (name,) in tables for row in connection.execute(f'SELECT t::text FROM "{name}" AS t')]
        held = connection.execute("SELECT vector FROM vectors").fetchall()
        blobs = connection.execute("SELECT content FROM files").fetchall()
    vectors = [to_blob(np.array(eval(v) if isinstance(v, str) else [], np.float32)) for (v,) in held]  # noqa: S307
    sealed = [v for (v,) in held if isinstance(v, bytes)]
    return b"".join([*map(str.encode, rows), *vectors, *sealed, *(b for (b,) in blobs), raw_of_folder(path)])


ENGINES: Final = [
    pytest.param(open_database, sealed, raw_of_folder, id="sqlite"),
    pytest.param(open_test_database, sealed_postgres, raw_of_postgres, id="postgres", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("unsealed", "sealed", "raw_of"), ENGINES)
async def test_nothing_that_was_said_or_sent_stands_in_the_clear(
    tmp_path: Path, unsealed: Opened, sealed: Opened, raw_of: Callable[[Path], bytes]
) -> None:
    written, found = await canaries_left(tmp_path / "open", unsealed, raw_of)
    assert found >= set(written.canaries), "each is found where nothing is sealed"
    assert len(found & set(written.vectors)) > 5, "and so is each vector that is still needed"
    _, found = await canaries_left(tmp_path / "sealed", sealed, raw_of)
    assert found == set()


async def canaries_left(folder: Path, opened: Opened, raw_of: Callable[[Path], bytes]) -> tuple[Diary, set[bytes]]:
    """Write everything, and return what of it is found while the database is open and once it is closed."""
    async with diary_in(folder, opened) as diary:
        await diary.write()
        raw = raw_of(folder / "elefante.db")
    raw += raw_of(folder / "elefante.db")
    return diary, {canary for canary in (*diary.canaries, *diary.vectors) if canary in raw}


@pytest.mark.parametrize("opened", [sealed, pytest.param(sealed_postgres, marks=pytest.mark.long)])
async def test_each_cell_is_sealed_for_who_said_it(tmp_path: Path, opened: Opened) -> None:
    async with diary_in(tmp_path, opened) as diary:
        await diary.write()
        assert await strange_cells(diary.database) == []
        await diary.memories.unlink(ANA, BIA)
        assert await strange_cells(diary.database) == []
        for user in (ANA, BIA):
            for item in await diary.memories.page(user, limit=99):
                assert item.id in await ids_found(diary.memories, user, item.content)


async def test_what_another_account_says_anew_is_theirs_with_its_passages_and_vectors(tmp_path: Path) -> None:
    async with diary_in(tmp_path, sealed) as diary:
        store, before = diary.memories, draft("lease", "old", name="lease.pdf", pages=("pets are forbidden",))
        item = await diary.save(ANA, before, "a")
        await store.link(ANA, BIA)
        known = await store.vectors(ANA, SPACE)
        new = replace(before, content="lease of the flat")
        await store.update(ANA, item.id, new, at=LATER, context=ChangeContext("b", account=BIA))
        assert await strange_cells(diary.database) == []
        ids, vectors = await store.vectors(BIA, SPACE)
        assert set(ids) < set(known[0]), "the old content is gone, the binding and the passage keep their vectors"
        assert vectors.tobytes() == np.stack([known[1][list(known[0]).index(i)] for i in ids]).tobytes()
        [found] = await search(store, BIA, "pets")
        assert found.found_in == before.passages[0]


# --- cells that were moved ---


READS: Final[dict[str, Callable[[Diary], Awaitable[object]]]] = {
    "memories.content": lambda diary: diary.memories.page(ANA, limit=99),
    "memories.enclosed": lambda diary: diary.memories.page(ANA, limit=99),
    "memories.meant": lambda diary: diary.memories.page(ANA, limit=99),
    "phrases.text": lambda diary: diary.memories.unembedded(ANA, "none", 99),
    "vectors.vector": lambda diary: diary.memories.vectors(ANA, SPACE),
    "changes.before": lambda diary: diary.memories.changes(ANA),
    "changes.after": lambda diary: diary.memories.changes(ANA),
    "changes.enclosed": lambda diary: diary.memories.files_named(),
    "told_memories.version": lambda diary: diary.history.told_by(ANA),
}


async def two_of_each(diary: Diary) -> None:
    for number in (1, 2):
        old = replace(draft(f"key{number}", f"words{number}", name=f"{number}.pdf"), meant=f"2026-05-0{number}")
        item = await diary.save(ANA, old, f"save {number}")
        new = replace(old, content=f"other{number}")
        await diary.memories.update(ANA, item.id, new, at=LATER, context=ChangeContext(f"update {number}"))
        thread = await diary.history.open_thread(ConversationKey(ChatKey("telegram", "1"), ANA), START)
        answer = await diary.history.append(thread.id, Message(MessageRole.ASSISTANT, "yes", turn=str(number)))
        await diary.history.tell({answer.id: [told_of(item)]})


@pytest.mark.parametrize("column", READS)
async def test_a_cell_in_place_of_another_is_not_read(tmp_path: Path, column: str) -> None:
    async with diary_in(tmp_path, sealed) as diary:
        await two_of_each(diary)
        await READS[column](diary)
        table, name = column.split(".")
        [(first,), *_, (last,)] = await diary.database.rows(f"SELECT {name} FROM {table} WHERE {name} != ''")
        assert first != last
        await diary.database.change(f"UPDATE {table} SET {name} = ? WHERE {name} = ?", (first, last))
        with pytest.raises(Unreadable):
            await READS[column](diary)


async def test_a_memory_that_is_put_under_another_person_is_not_read(tmp_path: Path) -> None:
    async with diary_in(tmp_path, sealed) as diary:
        mine = await diary.save(ANA, draft("zqkey", "secret"), "a")
        await diary.save(BIA, draft("zqother"), "b")
        theirs = "(SELECT id FROM owners WHERE platform = 'discord')"
        for table in ("memories", "phrases", "rooms", "changes"):
            await diary.database.change(f"UPDATE {table} SET owner = {theirs}")
        with pytest.raises(Unreadable):
            await diary.memories.get(BIA, [mine.id])
        with pytest.raises(Unreadable):
            await diary.memories.changes(BIA, memory_id=mine.id)


def test_every_column_of_memories_is_tried() -> None:
    assert READS.keys() == {each.name for each in MEMORIES if each.row}


async def test_a_file_in_place_of_another_is_not_handed_out(tmp_path: Path) -> None:
    async with diary_in(tmp_path, sealed) as diary:
        files = diary.files
        first, second = await files.put(ANA, b"first"), await files.put(ANA, b"second")
        one, other = sorted((tmp_path / "files" / owner_name(ANA)).iterdir())
        assert {first, second}.isdisjoint({one.name, other.name})
        one.write_bytes(other.read_bytes())
        assert {await files.get(ANA, each) for each in (first, second)} in ({None, b"first"}, {None, b"second"})


async def test_files_of_one_person_with_the_same_bytes_are_one_and_those_of_two_have_nothing_in_common(
    tmp_path: Path,
) -> None:
    async with diary_in(tmp_path, sealed) as diary:
        files = diary.files
        for user in (ANA, BIA, ANA):
            await files.put(user, b"the same photo")
        names = {path.name for path in (tmp_path / "files").glob("*/*")}
        assert len(names) == 2


# --- vectors in PostgreSQL ---


@pytest.mark.long
async def test_vectors_may_be_left_open_for_the_server_to_search(tmp_path: Path) -> None:
    sealing = sealing_beside(tmp_path / "elefante.db", left_open={"vectors.vector"})
    async with diary_in(tmp_path, partial(open_test_database, sealing=sealing)) as diary:
        await diary.save(ANA, draft("zqkey", "zqsecret"), "a")
        search = new_search(diary.memories)
        assert isinstance(search, PostgresVectors)
        normalizer = EmbeddingNormalizer(SPACE, np.zeros(64, np.float32))
        seen, _ = await asked(search, ANA, normalizer, np.stack([vector("zqkey")]), 1)
        [(_, text)] = (await diary.memories.phrases(ANA, seen.nearest)).values()
        assert text == "zqkey"
        [(content,)] = await diary.database.rows("SELECT content FROM memories")
        assert "zqsecret" not in content


@pytest.mark.long
async def test_vectors_of_another_kind_are_refused_and_those_of_nobody_make_way(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_test_database(path)
    item = await Diary(database, tmp_path).save(ANA, draft("key", "words"), "a")
    await database.close()
    with pytest.raises(StorageError, match="elefante key seal"):
        await sealed_postgres(path)
    database = await open_postgres(database_of(str(path)), sealing=PLAIN)
    await SqlMemories(database).delete(ANA, [item.id])
    await database.close()
    database = await sealed_postgres(path)
    await Diary(database, tmp_path).save(ANA, draft("key", "words"), "a")
    await database.close()
