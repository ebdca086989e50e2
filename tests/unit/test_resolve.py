"""What becomes of a statement that is saved, over SQLite and the embedded embedder, without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.relation import Compared, Relation, Resolved
from core.memory.user_memory import UndoResult, UserMemory
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder

ANA = UserKey("test", "ana")
ROOM = "test:room"
SAME, REPLACES, NEW = Relation.SAME, Relation.REPLACES, Relation.NEW


class Person:
    """Says things, each an act of its own, in private or in a room."""

    def __init__(self, memories: Memories, clock: FakeClock) -> None:
        self._memories = memories
        self._clock = clock
        self._said = 0

    def memory(self, room: str = "", act: str = "") -> UserMemory:
        return self._memories.of(ANA, ChangeContext(act or f"act {self._said}", room, ANA))

    async def say(self, *texts: str, room: str = "", hints: Mapping[str, str] | None = None) -> Resolved:
        """Save the texts together, and return what became of the first."""
        self._said += 1
        memory = self.memory(room)
        drafts = [MemoryDraft(MemoryKind.TEXT, text, (text[:40],)) for text in texts]
        return (await memory.save(drafts, source_ids=[self._said], hints=hints))[0]

    async def pass_time(self) -> None:
        await self._clock.advance(60)

    async def known(self, room: str = "") -> list[str]:
        """The contents of all current memories, the newest first."""
        return [item.content for item in await self.memory(room).page(limit=99)]

    async def earlier(self, memory_id: str) -> list[str]:
        """The contents of the earlier versions of a memory, the newest first."""
        return [item.content for item in await self.memory().store.earlier(ANA, [memory_id])]


@asynccontextmanager
async def person(folder: Path, embedder: Embedder) -> AsyncIterator[Person]:
    """Let Ana have memories in a database of their own."""
    clock = FakeClock()
    database = await open_database(folder / "test.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    yield Person(memories, clock)
    await memories.close()
    await database.close()


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Usem3Embedder()


@pytest.fixture
async def ana(tmp_path: Path, embedder: Embedder) -> AsyncIterator[Person]:
    async with person(tmp_path, CachedEmbedder(embedder)) as ana:
        yield ana


async def test_one_fact_said_ten_times_in_other_words_is_one_memory_with_ten_sources(ana: Person) -> None:
    wordings = (
        "A senha do wifi de casa é Banana#77",
        "a senha do wifi de casa é Banana#77.",
        "senha do wifi de casa: Banana#77",
        "SENHA DO WIFI DE CASA: Banana#77",
        "wifi de casa, senha: Banana#77",
        "Banana#77 é a senha do wifi de casa",
        "the home wifi password is Banana#77",
        "la clave del wifi de casa es Banana#77",
        "o wifi de casa é Banana#77",
        "a senha do wi-fi de casa é Banana#77!",
    )
    first = await ana.say(wordings[0])
    assert first.relation is NEW
    told = [await ana.say(wording) for wording in wordings[1:]]
    assert [each.relation for each in told] == [SAME] * 9
    assert await ana.known() == [wordings[0]]
    [item] = await ana.memory().get([first.item.id])
    assert item.source_ids == tuple(range(1, 11))


async def test_coffee_tea_coffee_serves_coffee(ana: Person) -> None:
    first = await ana.say("I prefer coffee")
    tea = await ana.say("Now I prefer tea")
    assert (tea.relation, tea.item.id) == (REPLACES, first.item.id)
    assert tea.before is not None
    assert tea.before.content == "I prefer coffee"
    again = await ana.say("Actually I prefer coffee again")
    assert again.relation is REPLACES
    assert await ana.known() == ["Actually I prefer coffee again"]
    assert await ana.earlier(first.item.id) == ["Now I prefer tea", "I prefer coffee"]


async def test_two_moves_leave_two_earlier_versions(ana: Person) -> None:
    home = await ana.say("Moro em Lisboa")
    await ana.say("me mudei pro Porto")
    await ana.say("agora moro em Faro")
    assert await ana.known() == ["agora moro em Faro"]
    assert await ana.earlier(home.item.id) == ["me mudei pro Porto", "Moro em Lisboa"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tenho um gato chamado Tom", "tenho um gato chamado Nino"),
        ("comprar leite", "comprar pão"),
        ("a senha do wifi de casa é sol2020", "a senha do wifi do trabalho é lua2024"),
        ("o Theo estuda no colégio Santa Cruz", "a Clara estuda no colégio Santa Cruz"),
        ("Ana owes Bob 50", "Bob owes Ana 50"),
        ("sou alérgico a camarão", "descobri que também sou alérgico a amendoim"),
    ],
)
async def test_what_looks_alike_and_is_true_beside_it_stays_two(ana: Person, one: str, other: str) -> None:
    await ana.say(one)
    assert (await ana.say(other)).relation is NEW
    assert len(await ana.known()) == 2


async def test_things_said_together_do_not_replace_each_other(ana: Person) -> None:
    await ana.say("a senha do wifi é a1b2", "a senha do wifi agora é c3d4")
    assert len(await ana.known()) == 2
    await ana.say("a senha do wifi mudou para e5f6", "a senha do wifi mudou para g7h8")
    assert len(await ana.known()) == 3, "one memory gives way to one draft"


async def test_undo_brings_the_old_words_back_and_leaves_no_version_behind(ana: Person) -> None:
    home = await ana.say("I live in Boston")
    await ana.say("I just moved to Chicago")
    undone = await ana.memory().undo()
    assert undone.result is UndoResult.DONE
    assert await ana.known() == ["I live in Boston"]
    assert await ana.earlier(home.item.id) == []
    assert (await ana.say("I just moved to Chicago")).relation is REPLACES, "it is found again by its meaning"


async def test_in_a_room_nothing_private_is_touched_nor_told(ana: Person) -> None:
    await ana.say("the gate code is 4410")
    said = await ana.say("gate code: 4410", room=ROOM)
    assert said.relation is NEW
    changed = await ana.say("the gate code changed to 7782", room=ROOM)
    assert (changed.relation, changed.item.id) == (REPLACES, said.item.id)
    assert sorted(await ana.known()) == ["the gate code changed to 7782", "the gate code is 4410"]
    assert await ana.known(ROOM) == ["the gate code changed to 7782"]


async def test_what_a_room_heard_and_is_replaced_in_private_is_known_in_private_only(ana: Person) -> None:
    await ana.say("the gate code is 4410", room=ROOM)
    assert (await ana.say("the gate code changed to 7782")).relation is REPLACES
    assert await ana.known(ROOM) == []


async def test_a_model_that_names_a_memory_of_the_same_thing_helps(ana: Person) -> None:
    cat = await ana.say("a gata se chama Mel")
    text = "a gata da casa atende por Melzinha"
    told = await ana.say(text, hints={text: cat.item.id})
    assert (told.relation, told.item.id) == (REPLACES, cat.item.id)
    again = await ana.say(text.upper(), hints={text.upper(): cat.item.id})
    assert again.relation is SAME
    assert await ana.known() == [text]


@pytest.mark.parametrize("hint", ["", "another", "gone"])
async def test_what_is_sure_holds_whatever_a_model_names(ana: Person, hint: str) -> None:
    await ana.say("my locker is number 57")
    other = await ana.say("the shed needs paint")
    named = other.item.id if hint == "another" else hint
    new, same = "my locker is number 61", "locker number: 61"
    assert (await ana.say(new, hints={new: named})).relation is REPLACES
    assert (await ana.say(same, hints={same: named})).relation is SAME
    assert sorted(await ana.known()) == [new, "the shed needs paint"]


async def test_a_memory_of_another_thing_is_not_overwritten_though_a_model_names_it(ana: Person) -> None:
    shed = await ana.say("the shed needs paint")
    text = "my locker is number 61"
    [found] = await ana.memory().compare([MemoryDraft(MemoryKind.TEXT, text, (text,))], {}, hints={text: shed.item.id})
    assert (found.relation, found.known) == (Relation.DOUBTS, shed.item)
    await ana.say(text, hints={text: shed.item.id})
    assert sorted(await ana.known()) == [text, "the shed needs paint"]


TWO, STOPPED = "I take metformin 500 twice a day and lisinopril in the morning", "I no longer take lisinopril"


async def test_what_tells_more_than_the_new_words_stays_beside_them_and_is_told_behind_them(ana: Person) -> None:
    await ana.say(TWO)
    await ana.pass_time()
    assert (await ana.say(STOPPED)).relation is NEW
    hits = await ana.memory().find("do I take lisinopril?", limit=5)
    assert [hit.item.content for hit in hits] == [STOPPED, TWO]
    assert [hit.item.over for hit in hits] == ["", hits[0].item.id]


async def test_what_was_kept_beside_a_memory_is_found_with_it_in_front(ana: Person) -> None:
    known = (await ana.say("my sister lives in Leeds")).item
    await ana.pass_time()
    beside = MemoryDraft(MemoryKind.TEXT, "she moved", ("she moved",), may_replace=known.id)
    await ana.memory().add([beside], {})
    hits = await ana.memory().find("where does my sister live?", limit=5)
    assert [hit.item.content for hit in hits] == ["she moved", "my sister lives in Leeds"]
    assert [hit.item.over for hit in hits] == ["", hits[0].item.id]
    await ana.memory().confirm([hit.item for hit in hits])
    assert {hit.item.over for hit in await ana.memory().find("where does my sister live?", limit=5)} == {""}


async def test_what_took_the_place_of_a_memory_is_found_by_the_same_question(ana: Person) -> None:
    memory = ana.memory()
    work = MemoryDraft(MemoryKind.TEXT, "trabajo en Movistar", ("trabalho work trabajo", "Movistar"))
    left = MemoryDraft(MemoryKind.TEXT, "renuncié a Movistar y entré en Claro", ("Claro",))
    await memory.add([work], {})
    [resolved] = await memory.save([left], {}, hints={left.content: ""})
    if resolved.before is None:
        [resolved] = await memory.put([Compared(left, REPLACES, resolved.item)], {})
    assert resolved.item.bindings == ("Claro", "trabalho work trabajo")


async def test_what_is_said_to_be_so_still_is_not_told_as_over(ana: Person) -> None:
    await ana.say(TWO)
    await ana.pass_time()
    await ana.say(STOPPED)
    await ana.pass_time()
    await ana.memory().confirm([hit.item for hit in await ana.memory().find("do I take lisinopril?", limit=5)])
    assert [hit.item.over for hit in await ana.memory().find("do I take lisinopril?", limit=5)] == ["", ""]


async def test_what_will_be_replaces_nothing(ana: Person) -> None:
    await ana.say("la clave del wifi es perro22")
    assert (await ana.say("mañana cambio la clave del wifi")).relation is NEW


async def test_json_is_compared_by_its_letters_only(ana: Person) -> None:
    memory = ana.memory()
    for content in ('{"cats": 2}', '{"cats": 3}', '{"cats": 3}'):
        await memory.save([MemoryDraft(MemoryKind.JSON, content, ("cats",))], {})
    assert sorted(await ana.known()) == ['{"cats": 2}', '{"cats": 3}']


async def test_without_vectors_words_find_what_is_known(tmp_path: Path) -> None:
    down = HashEmbedder()
    down.down = True
    async with person(tmp_path, down) as ana:
        await ana.say("The gate code is 4410")
        assert (await ana.say("gate code: 4410")).relation is SAME
        assert (await ana.say("the gate code changed to 7782")).relation is NEW, "no cosine, no supersession by cues"
        assert (await ana.say("my locker is number 57")).relation is NEW
        assert (await ana.say("my locker is number 61")).relation is REPLACES


async def test_what_was_said_earlier_does_not_replace_what_was_said_since(ana: Person) -> None:
    now = await ana.say("my locker is number 61")
    draft = MemoryDraft(MemoryKind.TEXT, "my locker is number 57", ("locker",))
    memory = ana.memory()
    before = replace(draft, said_at=now.item.created_at - timedelta(days=9))
    assert [each.relation for each in await memory.save([before], {})] == [NEW]


async def test_a_file_is_stored_as_it_is(ana: Person) -> None:
    texts = ("my locker is number 57", "my locker is number 61", "locker number 61")
    await ana.memory().add([MemoryDraft(MemoryKind.TEXT, text, (text,)) for text in texts], {})
    assert sorted(await ana.known()) == sorted(texts)
