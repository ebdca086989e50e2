"""What a message finds by itself, within a quarter of a second, and how that stands in a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.answering.search import EMBED_WITHIN_S, MAX_CANDIDATES, Prefetch, searched_text
from core.answering.shown import Labelled
from core.errors import StorageError
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.search import parts
from core.memory.user_memory import UserMemory
from core.providers.cached_embedder import CachedEmbedder
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.text.marks import Citations
from core.types import MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey, Vectors
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder

ANA, BIA = UserKey("test", "ana"), UserKey("test", "bia")
ROOM = ChangeContext(room="test:room")
PASSWORD = MemoryDraft(MemoryKind.TEXT, "123456", ("senha do aliexpress",))
BIRTHDAY = MemoryDraft(MemoryKind.TEXT, "14 de março", ("aniversário da mãe",))
QUESTION = "qual era a senha do aliexpress?"


class SlowEmbedder(HashEmbedder):
    """Answers at once, or not before `gate` opens."""

    def __init__(self) -> None:
        super().__init__(dims=256)
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: asyncio.Queue[Sequence[str]] = asyncio.Queue()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = await super().embed(texts)
        self.asked.put_nowait(texts)
        await self.gate.wait()
        return vectors


@pytest.fixture
def embedder() -> SlowEmbedder:
    return SlowEmbedder()


@pytest.fixture
async def memories(tmp_path: Path, embedder: SlowEmbedder, clock: FakeClock) -> AsyncIterator[Memories]:
    database = await open_database(tmp_path / "test.db")
    store = SqlMemories(database)
    memories = Memories(store, CachedEmbedder(embedder), Indexes(store, FaissIndex), clock)
    yield memories
    await memories.close()
    await database.close()


@pytest.fixture
def ana(memories: Memories) -> UserMemory:
    return memories.of(ANA)


async def save(memory: UserMemory, *drafts: MemoryDraft) -> list[MemoryItem]:
    return list(await memory.add(drafts))


def contents(hits: Sequence[MemoryHit]) -> list[str]:
    return [hit.item.content for hit in hits]


async def found(memory: UserMemory, text: str) -> list[str]:
    return contents(await Prefetch(memory, FakeClock(), text).start().hits())


@pytest.mark.spec("T9")
async def test_the_words_of_a_message_find_its_memory_first(ana: UserMemory) -> None:
    await save(ana, BIRTHDAY, PASSWORD)
    assert (await found(ana, QUESTION))[0] == "123456"


async def test_a_message_is_embedded_once_and_asking_again_costs_nothing(
    ana: UserMemory, embedder: SlowEmbedder
) -> None:
    await save(ana, PASSWORD)
    embedder.calls.clear()
    prefetch = Prefetch(ana, FakeClock(), f" {QUESTION}\n").start()
    assert contents(await prefetch.hits()) == contents(await prefetch.start().hits()) == ["123456"]
    assert list(await ana.embed([QUESTION])) == [QUESTION]
    assert embedder.calls == [[QUESTION, *parts(QUESTION)]]


async def test_one_search_and_weaker_evidence_than_an_answer_needs(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(ana, MemoryDraft(MemoryKind.TEXT, "azul petróleo", ("tinta da varanda",)))
    long = "preciso retocar a parede lá fora hoje, alguém lembra qual tinta comprei naquela loja?"
    searches: list[object] = []
    search = UserMemory.search

    async def counted(*arguments: object, **options: object) -> object:
        searches.append(options)
        return await search(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(UserMemory, "search", counted)
    assert await found(ana, long) == ["azul petróleo"]
    assert len(searches) == 1
    assert await ana.search([long], await ana.embed([long])) == []


async def test_who_has_no_memories_costs_no_embedding(
    ana: UserMemory, memories: Memories, embedder: SlowEmbedder
) -> None:
    assert await found(ana, QUESTION) == []
    assert embedder.calls == []
    await save(ana, PASSWORD)
    embedder.calls.clear()
    assert await found(memories.of(ANA, ROOM), QUESTION) == [], "in a room, what was said in private does not count"
    assert await found(ana, " \x00\n") == []
    assert embedder.calls == []


def test_what_a_memory_holds_is_no_citation_of_another() -> None:
    block = Labelled((item("a", "see chapter [m3] and (m1)", "b"),)).render(UTC)
    assert "[m3]" not in block
    citations = Citations(["m1", "m3"])
    assert (
        citations.feed(block) + citations.finish() == "<memory m1 saved 2026-05-04>see chapter [m3] and (m1)</memory>"
    )
    assert citations.labels == ()


@pytest.mark.spec("T15")
async def test_nobody_finds_what_is_another_persons_or_another_rooms(ana: UserMemory, memories: Memories) -> None:
    room = memories.of(ANA, ROOM)
    await save(ana, PASSWORD)
    await save(room, MemoryDraft(MemoryKind.TEXT, "a do clube é 99", ("senha do aliexpress do clube",)))
    await save(memories.of(BIA), MemoryDraft(MemoryKind.TEXT, "a da Bia é 1", ("senha do aliexpress",)))
    assert sorted(await found(ana, QUESTION)) == ["123456", "a do clube é 99"]
    assert await found(room, QUESTION) == ["a do clube é 99"]
    assert await found(memories.of(BIA), QUESTION) == ["a da Bia é 1"]
    assert await found(memories.of(ANA, ChangeContext(room="test:other")), QUESTION) == []


async def test_a_slow_embedder_is_waited_for_no_longer_than_a_quarter_of_a_second(
    ana: UserMemory, embedder: SlowEmbedder, clock: FakeClock
) -> None:
    await save(ana, PASSWORD, BIRTHDAY)
    await embedder.asked.get()
    embedder.gate.clear()
    embedder.calls.clear()
    prefetch = Prefetch(ana, clock, QUESTION).start()
    await embedder.asked.get()
    hits = asyncio.create_task(prefetch.hits())
    await clock.advance(EMBED_WITHIN_S - 0.01)
    assert not hits.done()
    await clock.advance(0.02)
    embedder.gate.set()
    [hit] = await hits
    assert (hit.item.content, hit.dense) == ("123456", 0), "the vector came too late"
    assert list(await ana.embed([QUESTION])) == [QUESTION]
    assert embedder.calls == [[QUESTION, *parts(QUESTION)]], "and is there for the next who asks"


async def test_ending_a_turn_early_ends_the_search(ana: UserMemory, embedder: SlowEmbedder, clock: FakeClock) -> None:
    await save(ana, PASSWORD)
    await embedder.asked.get()
    before = asyncio.all_tasks()
    embedder.gate.clear()
    never_awaited = Prefetch(ana, clock, QUESTION).start()
    waiting = Prefetch(ana, clock, "outra pergunta")
    hits = asyncio.create_task(waiting.hits())
    for _ in range(2):
        await embedder.asked.get()
    hits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hits
    for prefetch in (never_awaited, waiting, Prefetch(ana, clock, "nie gestartet")):
        await prefetch.close()
        await prefetch.close()
    embedder.gate.set()
    embeddings = asyncio.all_tasks() - before
    assert len(embeddings) == 2, "of the cache, which needs their vectors for the next who asks"
    await asyncio.wait(embeddings)
    assert await found(ana, QUESTION) == ["123456"]


@pytest.mark.parametrize("error", [StorageError("disk full"), MemoryError()])
async def test_a_search_that_fails_finds_nothing(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    await save(ana, PASSWORD)

    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(UserMemory, "search", fail)
    assert await found(ana, QUESTION) == []
    ours = [record.getMessage() for record in caplog.records if record.name == "core.answering.search"]
    assert ours == ["memories were not searched"]


async def test_at_most_eight_candidates_and_none_for_small_talk(ana: UserMemory) -> None:
    await save(ana, *(MemoryDraft(MemoryKind.TEXT, f"valor {n}", (f"senha da loja {n}",)) for n in range(20)))
    assert len(await found(ana, "senha da loja")) == MAX_CANDIDATES
    assert await found(ana, "bom dia, tudo bem com você?") == []


def test_of_a_long_message_both_ends_are_searched() -> None:
    assert searched_text(" curta\r\n") == "curta"
    long = searched_text("Começo " + "palavra " * 5000 + "fim?")
    assert len(long) <= 303
    assert long.startswith("Começo palavra")
    assert long.endswith("palavra fim?")


AT = datetime(2026, 5, 4, 1, 30, tzinfo=UTC)


def item(key: str, content: str, *bindings: str, kind: MemoryKind = MemoryKind.TEXT, days: int = 0) -> MemoryItem:
    return MemoryItem(key, kind, content, bindings, AT, AT + timedelta(days=days))


WIFI = item("abcdefghij", "jabuticaba", "senha do wifi", "internet")
CAT = item("klmnopqrst", "A gata se chama Pipoca", "A gata se chama", "gata")


def test_a_memory_is_one_block_with_its_label_its_day_and_what_it_is_found_by() -> None:
    shown = Labelled((WIFI, CAT))
    assert shown.render(ZoneInfo("America/Sao_Paulo")).splitlines() == [
        "<memory m1 saved 2026-05-03 about senha do wifi; internet>jabuticaba</memory>",
        "<memory m2 saved 2026-05-03>A gata se chama Pipoca</memory>",
    ]
    assert shown.render(UTC, [CAT]) == "<memory m2 saved 2026-05-04>A gata se chama Pipoca</memory>"
    assert Labelled().render(UTC) == ""


def test_a_block_tells_of_a_change_of_json_and_of_a_missing_end() -> None:
    long = item("a", "[" + "1," * 1000 + "1]", "números", kind=MemoryKind.JSON, days=3)
    [block] = Labelled((long,)).render(UTC).splitlines()
    assert block.startswith("<memory m1 saved 2026-05-04 changed 2026-05-07 json cut about números>[1,1,")
    assert block.endswith("…</memory>")
    assert len(block) < 1600


@given(
    st.lists(st.sampled_from(["<", "/", "memory", ">", "</memory>", " m2", "\n", "x", "＜", "TASK", ";"]), max_size=9)
)
def test_no_memory_ends_its_block_or_begins_another(pieces: list[str]) -> None:
    hostile = "".join(pieces)
    cut = len(pieces) // 2
    block = Labelled((item("a", hostile, "".join(pieces[:cut]) or "b", "".join(pieces[cut:]) or "c"),)).render(UTC)
    inside = block.removeprefix("<memory m1 saved 2026-05-04").removesuffix("</memory>").casefold()
    assert inside.count(">") - hostile.count(">") <= 1, "nothing in the bindings ends the opening mark"
    assert "<memory" not in inside
    assert "</memory" not in inside
    assert "<task" not in inside


@pytest.mark.spec("T15")
def test_a_model_names_a_memory_by_its_label_or_its_id() -> None:
    shown = Labelled((WIFI, CAT))
    for name in ("m2", "M2", "[m2]", " m02 ", "memory m2", "<memory m2>", "klmnopqrst", " KLMNOPQRST"):
        assert shown.find(name) == CAT, name
    for name in ("m3", "m0", "m", "", "2", "klmnopqrs", "zzzzzzzzzz", "m1234", "m1 m2"):
        assert shown.find(name) is None, name
    assert shown.cited(["m2", "m9", "m1", "m2", "klmnopqrst"]) == (CAT, WIFI)


def test_what_is_found_later_gets_the_next_labels_and_what_changed_keeps_its_own() -> None:
    new, changed = item("n", "novo", "x"), item(WIFI.id, "outra senha", "senha do wifi", days=1)
    later = Labelled((WIFI,)).also([CAT]).also([changed, new])
    assert dict(later.labels) == {"m1": changed, "m2": CAT, "m3": new}
