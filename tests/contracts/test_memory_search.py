"""Every store of memories finds by the words of one person alone, and lets the search decide on the order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from core.stores import (
    NO_NEIGHBOURS,
    Candidate,
    ChangeContext,
    Neighbours,
    SearchableMemoryStore,
    SearchRequest,
)
from core.types import MemoryDraft, MemoryKind, Span, UserKey
from tests.contracts.test_history_search import ENDLESS
from tests.contracts.test_memory_store import ANA, BIA, CAIO, GARDEN, KITCHEN, LATER, PASSWORD, WIFI, texts_of
from tests.fakes.clock import START
from tests.fakes.memories import add, by_words, ids_found, search


def fact(content: str, *bindings: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, content, bindings or (content,))


class Seen:
    """An order that keeps what it was given."""

    def __init__(self) -> None:
        self.candidates: Sequence[Candidate] = ()
        self.count = -1
        self.neighbours = NO_NEIGHBOURS

    def __call__(self, candidates: Sequence[Candidate], count: int, neighbours: Neighbours) -> Sequence[int]:
        self.candidates, self.count, self.neighbours = candidates, count, neighbours
        return [each.number for each in candidates]


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "123456",
        "aliexpress",
        "ALIEXPRESS?",
        "qual é a senha do Aliexpress",
        "senhas",
        "Ali-Express aliexpress",
        "sénha",
    ],
)
async def test_a_memory_is_found_by_its_words_whatever_case_accent_or_ending(
    store: SearchableMemoryStore, query: str
) -> None:
    item, _ = await add(store, ANA, [PASSWORD, fact("O aniversário da Júlia é em 3 de maio")], at=START)
    assert await ids_found(store, ANA, query) == [item.id]


@pytest.mark.parametrize(
    "query",
    [
        "", " ", "?!", '"', "***", "NEAR(", "owner:o1", "words : x", "o1", "o2", "' OR 1=1 --", "(((", "zzz AND", "NOT",
        "^zzz", "zzz*", "{zzz}", "\x00", "\ud800", "ﷺ", "🐘",
    ],
)  # fmt: skip
async def test_no_operator_has_a_meaning_in_a_query(store: SearchableMemoryStore, query: str) -> None:
    await add(store, ANA, [PASSWORD], at=START)
    assert await ids_found(store, ANA, query) == []


async def test_a_word_without_end_is_saved_and_found(store: SearchableMemoryStore) -> None:
    item, _ = await add(store, ANA, [fact(f"the key is {ENDLESS}"), PASSWORD], at=START)
    assert await ids_found(store, ANA, ENDLESS) == [item.id]


async def test_words_that_only_hold_a_sentence_together_do_not_match(store: SearchableMemoryStore) -> None:
    item, _ = await add(store, ANA, [PASSWORD, fact("O aniversário da Júlia é em 3 de maio")], at=START)
    assert await ids_found(store, ANA, "o que é a senha da minha conta") == [item.id]
    assert len(await ids_found(store, ANA, "do")) == 1


async def test_what_holds_more_of_what_is_asked_comes_first_and_the_newest_of_equals(
    store: SearchableMemoryStore,
) -> None:
    drafts = [
        fact("Bia gosta de chá", "chá da Bia"),
        fact("Bia gosta de café preto sem açúcar", "café da Bia"),
        fact("O café fecha às dez", "horário da padaria"),
        fact("O cachorro chama Tobias", "cachorro"),
        fact("Bia mora longe", "casa da Bia"),
    ]
    tea, coffee, cafe, _, far = [item.id for item in await add(store, ANA, drafts, at=START)]
    assert await ids_found(store, ANA, "que café a Bia toma?") == [coffee, cafe, far, tea]


async def test_a_word_weighs_by_how_few_of_ones_own_memories_hold_it(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [fact("senha do banco"), fact("senha da loja"), fact("gato preto")], at=START)
    await add(store, BIA, [fact(f"banco {n}") for n in range(9)], at=START)
    await add(store, CAIO, [fact("papagaio")], at=START)
    seen = Seen()
    await search(store, ANA, "senha do banco do papagaio", order=seen)
    common, rare, unknown = (math.log1p((3 - held + 0.5) / (held + 0.5)) for held in (2, 1, 0))
    whole = common + rare + unknown
    found = {each.number: each.words for each in seen.candidates}
    covered = [(common + rare) / whole, common / whole]
    assert [words for _, (words,) in sorted(found.items())] == pytest.approx(covered)
    assert seen.count == 3
    await search(store, ANA, "senha do banco", order=seen)
    assert max(each.words[0] for each in seen.candidates) == pytest.approx(1.0), "all of it"


async def test_every_candidate_is_scored_for_every_query(store: SearchableMemoryStore) -> None:
    one, two, three = await add(store, ANA, [fact("senha do banco"), fact("gato preto"), fact("café")], at=START)
    [near] = await texts_of(store, ANA, [three.id])
    seen = Seen()
    items = await search(store, ANA, "senha banco", "", "gato senha", order=seen, nearest=frozenset({near}), depth=1)
    assert items == [three, two, one], "the newest first, as the order asked"
    assert [(each.words[0], each.words[1]) for each in seen.candidates] == [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]
    assert [each.words[2] for each in seen.candidates] == [0.0, pytest.approx(0.5), pytest.approx(0.5)]


# --- candidates ------------------------------------------------------------------------------------------------------


async def test_candidates_are_the_memories_of_the_nearest_phrases_and_the_best_by_words(
    store: SearchableMemoryStore,
) -> None:
    items = await add(store, ANA, [fact(f"café {n}", f"bebida {n}") for n in range(6)], at=START)
    [theirs] = await add(store, BIA, [fact("café da Bia")], at=START)
    phrases = {item.id: set(await texts_of(store, ANA, [item.id])) for item in items}
    near = frozenset({max(phrases[items[0].id]), *await texts_of(store, BIA, [theirs.id]), 10**6})
    seen = Seen()
    found = await search(store, ANA, "café", order=seen, nearest=near, depth=2)
    assert found == [items[5], items[4], items[0]]
    assert [set(each.phrases) for each in seen.candidates] == [phrases[item.id] for item in found]
    assert [each.words for each in seen.candidates] == [(1.0,)] * 3
    assert seen.count == 6
    assert await search(store, ANA, order=seen, nearest=near) == [items[0]]
    assert await search(store, CAIO, "café", order=seen, nearest=near) == []


async def test_what_was_told_just_before_says_what_a_memory_is_about(store: SearchableMemoryStore) -> None:
    [sister] = await add(store, ANA, [fact("minha irmã se chama Júlia")], at=START)
    [theirs] = await add(store, BIA, [fact("o gato fugiu")], at=START + timedelta(minutes=1))
    [home] = await add(store, ANA, [fact("mora em Leeds")], at=START + timedelta(minutes=2))
    [later] = await add(store, ANA, [fact("comprei pão")], at=LATER + timedelta(hours=1))
    seen = Seen()
    assert await search(store, ANA, "irmã mora", order=seen) == [home, sister], "not what was told an hour later"
    assert [each.words[0] for each in seen.candidates] == pytest.approx([0.5, 0.5], abs=0.1)
    assert [each.context[0] for each in seen.candidates] == pytest.approx([1.0, 0.5], abs=0.1)
    assert await search(store, ANA, "irmã", order=seen) == [home, sister], "what was told right after it counts, too"
    assert {theirs.id, later.id}.isdisjoint(await ids_found(store, ANA, "irmã gato"))


async def test_what_was_told_at_one_moment_is_a_list_and_no_talk(store: SearchableMemoryStore) -> None:
    items = await add(store, ANA, [fact(f"café {word}") for word in ("azul", "verde", "roxo")], at=START)
    seen = Seen()
    assert await search(store, ANA, "verde", order=seen) == [items[1]]
    assert [each.context for each in seen.candidates] == [(1.0,)]


async def test_in_a_room_what_was_told_before_in_private_says_nothing(store: SearchableMemoryStore) -> None:
    here = ChangeContext(room=KITCHEN)
    await add(store, ANA, [fact("minha irmã se chama Júlia")], at=START)
    [home] = await add(store, ANA, [fact("mora em Leeds")], at=START + timedelta(minutes=1), context=here)
    seen = Seen()
    assert await search(store, ANA, "irmã mora", order=seen, room=KITCHEN) == [home]
    assert [each.context == each.words for each in seen.candidates] == [True]


async def test_what_the_order_names_is_returned_and_nothing_that_is_no_candidate(store: SearchableMemoryStore) -> None:
    items = await add(store, ANA, [fact(f"café {n}") for n in range(3)], at=START)
    [theirs] = await add(store, BIA, [fact("café da Bia")], at=START)
    seen = Seen()
    await search(store, BIA, "café", order=seen)
    [number] = [each.number for each in seen.candidates]

    def order(candidates: Sequence[Candidate], *_: object) -> Sequence[int]:
        return [candidates[-1].number, number, -1, candidates[0].number]

    assert await search(store, ANA, "café", order=order) == [items[0], items[2]]
    assert await search(store, ANA, "café", order=lambda *_: []) == []
    assert await store.get(BIA, [theirs.id]) == [theirs]


async def test_a_search_of_another_version_finds_nothing_and_asks_nobody(store: SearchableMemoryStore) -> None:
    before = await store.version(ANA)
    [item] = await add(store, ANA, [PASSWORD], at=START)
    seen = Seen()
    late = SearchRequest(("senha",), seen, START)
    assert await store.search(ANA, late, version=before) is None
    assert seen.count == -1
    assert await store.search(ANA, late, version=await store.version(ANA)) == [item]
    assert await store.search(ANA, late) == [item]


@pytest.mark.spec("T15")
async def test_one_among_many_is_never_crowded_out(store: SearchableMemoryStore) -> None:
    people = [UserKey("telegram", str(n)) for n in range(40)]
    items = {person: (await add(store, person, [PASSWORD], at=START))[0] for person in people}
    for person in people:
        assert await search(store, person, "senha do aliexpress", depth=1) == [items[person]]


async def test_in_a_room_only_what_is_audible_there_is_found_and_nothing_else_weighs(
    store: SearchableMemoryStore,
) -> None:
    said = fact("O café da cozinha é forte", "café da cozinha")
    [item] = await add(store, ANA, [said], at=START, context=ChangeContext(room=KITCHEN))
    alone = Seen()
    await search(store, ANA, "café da cozinha nova", order=alone, room=KITCHEN)
    private = await add(store, ANA, [fact(f"café da cozinha {n}") for n in range(99)], at=LATER)
    among, near = Seen(), frozenset(await texts_of(store, ANA, [private[0].id]))
    assert await search(store, ANA, "café da cozinha nova", order=among, room=KITCHEN, nearest=near, depth=3) == [item]
    assert (among.candidates, among.count) == (alone.candidates, 1)
    assert len(await search(store, ANA, "café da cozinha", depth=3)) == 3
    assert await ids_found(store, ANA, "café da cozinha", room=GARDEN) == []
    assert await ids_found(store, BIA, "café da cozinha", room=KITCHEN) == []
    await store.flag(ANA, [private[7].id], shared=True)
    assert await ids_found(store, ANA, "café da cozinha", room=GARDEN) == [private[7].id]


async def test_a_search_of_some_days_finds_what_was_said_then(store: SearchableMemoryStore) -> None:
    [old] = await add(store, ANA, [fact("apartamento velho")], at=START)
    [new] = await add(store, ANA, [fact("apartamento novo")], at=LATER)
    for start, end, found in (
        (START, LATER, [old.id]),
        (LATER, LATER, []),
        (START, LATER + timedelta(1), [new.id, old.id]),
    ):
        assert await ids_found(store, ANA, "apartamento", said=Span(start, end), depth=1) == found[:1]
        assert await ids_found(store, ANA, "apartamento", said=Span(start, end)) == found


async def test_what_is_past_is_found_only_when_the_past_is_asked_for(store: SearchableMemoryStore) -> None:
    [ended] = await add(store, ANA, [replace(fact("férias em Natal"), until=LATER)], at=START)
    [home] = await add(store, ANA, [fact("moro em Natal")], at=START)
    moved = await store.update(ANA, home.id, fact("moro no Recife, não em Natal"), at=LATER, keeps_past=True)
    assert moved is not None
    [earlier] = await store.earlier(ANA, [home.id])
    near = frozenset(await texts_of(store, ANA, [ended.id, earlier.id]))
    just_before = LATER - timedelta(microseconds=1)
    assert await search(store, ANA, "Natal", at=just_before, depth=1) == [moved]
    assert set(await ids_found(store, ANA, "Natal", at=just_before)) == {ended.id, home.id}
    assert await ids_found(store, ANA, "Natal", at=LATER, nearest=near) == [home.id]
    assert set(await ids_found(store, ANA, "Natal", at=LATER, past=True)) == {ended.id, home.id, earlier.id}
    seen = Seen()
    await search(store, ANA, "Natal", order=seen)
    assert seen.count == 2, "an earlier version is no memory more"


async def test_the_words_of_linked_accounts_are_one_persons(store: SearchableMemoryStore) -> None:
    [mine] = await add(store, ANA, [fact("senha do banco")], at=START)
    [other] = await add(store, BIA, [fact("senha da loja")], at=START)
    await add(store, CAIO, [fact("senha")], at=START)
    await store.link(ANA, BIA)
    for name in (ANA, BIA):
        seen = Seen()
        assert await search(store, name, "senha da loja", order=seen) == [other, mine]
        assert seen.candidates[0].words == (1.0,)
        assert seen.count == 2
    await store.unlink(ANA, BIA)
    assert await search(store, ANA, "senha da loja") == [mine]
    assert await search(store, BIA, "senha da loja") == [other]


async def test_nobody_has_no_version_and_finds_nothing(store: SearchableMemoryStore) -> None:
    assert await store.version(ANA) == 0
    assert await search(store, ANA, "café", order=by_words) == []
    await add(store, BIA, [WIFI], at=START)
    assert await store.version(ANA) == 0
