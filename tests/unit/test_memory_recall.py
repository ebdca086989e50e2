"""What the engine finds, and what it keeps to itself, with the real embedder on questions it was not tuned on.

No constant and no weight was chosen on `memory_reporting.json`. What is over SURE is told as the answer, what is over
NEAR as the nearest; the gates stand a little beside what was measured.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.answering.search import MAX_CANDIDATES, Prefetch
from core.library import new_search
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.types import NEAR, SURE, MemoryDraft, MemoryHit, MemoryKind, UserKey
from tests.contracts.engines import ENGINES
from tests.fakes.clock import FakeClock
from tests.fakes.ram import RamDatabase
from tests.fakes.recorded import RecordedEmbedder
from tests.profile import long

ANA = UserKey("test", "ana")
DATA_FOLDER = Path(__file__).parents[1] / "data"
DATA: dict[str, Any] = json.loads((DATA_FOLDER / "memory_reporting.json").read_text("utf-8"))
DRAFTS = [MemoryDraft(MemoryKind.TEXT, m["content"], tuple(m["bindings"])) for m in DATA["memories"]]
ASKS = [(ask["text"], place) for place, memory in enumerate(DATA["memories"]) for ask in memory["asks"]]
UNRELATED = [ask["text"] for ask in DATA["unrelated"]]
PASSWORD = MemoryDraft(MemoryKind.TEXT, "123456", ("senha do aliexpress",))
PASSWORD_ASKS = ("Qual é a senha do aliexpress?", "What's my aliexpress password?", "¿Cuál es la clave de aliexpress?")


@pytest.fixture(scope="module")
def embedder() -> RecordedEmbedder:
    phrases = [phrase for draft in (*DRAFTS, PASSWORD) for phrase in (*draft.bindings, draft.content)]
    return RecordedEmbedder.of(phrases, [*(text for text, _ in ASKS), *UNRELATED, *PASSWORD_ASKS])


class Person:
    """Somebody with some memories."""

    def __init__(self, memories: Memories) -> None:
        self._memory = memories.of(ANA)

    async def save(self, *drafts: MemoryDraft) -> list[str]:
        return [item.id for item in await self._memory.add(drafts)]

    async def ask(self, question: str, floor: float = NEAR) -> list[str]:
        hits = await self._memory.search([question], floor=floor)
        return [hit.item.id for hit in hits]


def in_ram(embedder: RecordedEmbedder) -> Memories:
    store = SqlMemories(RamDatabase())
    return Memories(store, embedder, Indexes(store, FaissIndex), FakeClock())


@pytest.fixture(params=["ram", "sqlite", long("postgres")])
async def person(request: pytest.FixtureRequest, embedder: RecordedEmbedder, tmp_path: Path) -> AsyncIterator[Person]:
    if request.param == "ram":
        yield Person(in_ram(embedder))
        return
    database = await ENGINES[request.param](tmp_path / "elefante.db")
    store = SqlMemories(database)
    yield Person(Memories(store, embedder, new_search(store), FakeClock()))
    await database.close()


@pytest.mark.spec("T9")
async def test_the_password_is_found_in_three_languages_and_nothing_else_is_answered(person: Person) -> None:
    password = await person.save(PASSWORD)
    for question in PASSWORD_ASKS:
        assert await person.ask(question) == password, question
    assert [question for question in UNRELATED if await person.ask(question, SURE)] == []


@pytest.mark.spec("T9")
async def test_of_a_hundred_questions_nine_in_ten_find_their_memory_first(person: Person) -> None:
    ids = await person.save(*DRAFTS)
    answers = [(await person.ask(question), ids[place]) for question, place in ASKS]
    found = sum(wanted in hits for hits, wanted in answers) / len(ASKS)
    first = sum(hits[:1] == [wanted] for hits, wanted in answers) / len(ASKS)
    beside = sum(len(hits) - (wanted in hits) for hits, wanted in answers) / len(ASKS)
    assert found >= 0.97, f"found {found:.3f} (measured: 0.991)"
    assert first >= 0.94, f"first {first:.3f} (measured: 0.962)"
    assert beside <= 0.95, f"{beside:.2f} others beside it (measured: 0.87)"


@pytest.mark.spec("T9")
async def test_what_is_told_as_the_answer_is_the_memory_asked_for(person: Person) -> None:
    ids = await person.save(*DRAFTS)
    answers = [(await person.ask(question, SURE), ids[place]) for question, place in ASKS]
    first = sum(hits[:1] == [wanted] for hits, wanted in answers) / len(ASKS)
    wrong = sum(bool(hits) and hits[0] != wanted for hits, wanted in answers)
    beside = sum(len(hits) - (wanted in hits) for hits, wanted in answers) / len(ASKS)
    assert first >= 0.82, f"first {first:.3f} (measured: 0.840)"
    assert wrong <= 1, f"{wrong} wrong first (measured: 1)"
    assert beside <= 0.08, f"{beside:.3f} others beside it (measured: 0.066)"


@pytest.mark.spec("T9")
async def test_few_unrelated_questions_are_answered(person: Person) -> None:
    await person.save(*DRAFTS)
    near = [question for question in UNRELATED if await person.ask(question)]
    sure = [question for question in UNRELATED if await person.ask(question, SURE)]
    assert len(near) <= 12, f"{len(near)} of {len(UNRELATED)} (measured: 11): {near}"
    assert len(sure) <= 3, f"{len(sure)} of {len(UNRELATED)} (measured: 3): {sure}"


@pytest.mark.spec("T9")
@pytest.mark.parametrize(
    ("floor", "least_found", "most_answered", "measured"),
    [(SURE, 0.89, 0.005, "0.906, 0.003"), long(NEAR, 0.98, 0.125, "1.000, 0.112")],
)
async def test_the_floors_hold_for_one_memory_alone(
    embedder: RecordedEmbedder, floor: float, least_found: float, most_answered: float, measured: str
) -> None:
    answers = finds = 0
    for place, draft in enumerate(DRAFTS):
        person = Person(in_ram(embedder))
        await person.save(draft)
        answers += sum([bool(await person.ask(question, floor)) for question in UNRELATED])
        finds += sum([bool(await person.ask(question, floor)) for question, wanted in ASKS if wanted == place])
    found, answered = finds / len(ASKS), answers / (len(DRAFTS) * len(UNRELATED))
    said = f"found {found:.3f}, unrelated answered {answered:.3f} (measured: {measured})"
    assert found >= least_found, said
    assert answered <= most_answered, said


# How many messages find their memory without being asked to. This set was used to choose the floors: the figures are no
# promise for other people.

CANDIDATES: dict[str, Any] = json.loads((DATA_FOLDER / "memory_candidates.json").read_text("utf-8"))
PEOPLE = CANDIDATES["people"][:3]
"""One of each language."""

UNNEEDED = [message["text"] for message in CANDIDATES["unneeded"]]


def drafts(person: dict[str, Any]) -> list[MemoryDraft]:
    return [MemoryDraft(MemoryKind.TEXT, each["content"], tuple(each["bindings"])) for each in person["memories"]]


@pytest.fixture(scope="module")
def real() -> RecordedEmbedder:
    phrases = [text for one in PEOPLE for draft in drafts(one) for text in (*draft.bindings, draft.content)]
    return RecordedEmbedder.of(phrases, [*(ask["text"] for one in PEOPLE for ask in one["asks"]), *UNNEEDED])


async def _hits(memory: UserMemory, text: str) -> tuple[MemoryHit, ...]:
    prefetch = Prefetch(memory, FakeClock(), text).start()
    hits = await prefetch.hits()
    await prefetch.close()
    return hits


@pytest.mark.long
@pytest.mark.spec("T9")
async def test_nearly_every_question_finds_its_memory_and_small_talk_carries_little(
    real: RecordedEmbedder,
) -> None:
    asked = found = 0
    carried = []
    for person in PEOPLE:
        memory = in_ram(real).of(ANA)
        ids = [item.id for item in await memory.add(drafts(person))]
        for ask in person["asks"]:
            hits = await _hits(memory, ask["text"])
            asked += 1
            found += any(hit.item.id in {ids[place] for place in ask["wants"]} for hit in hits)
            assert len(hits) <= MAX_CANDIDATES
        carried += [len(await _hits(memory, text)) for text in UNNEEDED]
    assert found / asked >= 0.96, f"found {found / asked:.3f} of {asked} (measured: 0.988)"
    assert sum(carried) / len(carried) <= 2.4, f"{sum(carried) / len(carried):.2f} (measured: 2.22)"
    many = sum(count > 3 for count in carried) / len(carried)
    assert many <= 0.27, f"{many:.2f} carry more than three (measured: 0.25)"


async def test_who_has_many_memories_carries_few_of_them_through_small_talk(real: RecordedEmbedder) -> None:
    memory = in_ram(real).of(ANA)
    for person in PEOPLE:
        await memory.add(drafts(person))
    talk = [message["text"] for message in CANDIDATES["unneeded"] if message["kind"] == "talk"]
    carried = [len(await _hits(memory, text)) for text in talk]
    assert sum(carried) / len(carried) <= 1.0, f"{sum(carried) / len(carried):.2f} (measured: 0.90)"
