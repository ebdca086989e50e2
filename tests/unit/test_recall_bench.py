"""The bench of recall: both forms of data, what people are padded with, and a whole run."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench import table
from bench.__main__ import main
from bench.memory import FakeEmbedder
from bench.peers import WAYS, Flat, PeerHouse
from bench.recall import DEPTH, SETS, Answer, House, groups, played, sized
from bench.recall_data import ADVERSARIAL, Held, Life, Question, notes, padding, read, subjects

pytestmark = pytest.mark.long

LIFE: dict[str, Any] = {
    "owner": "nadia",
    "language": "en",
    "memories": [
        {"id": "m1", "text": "my locker is number 212", "bindings": ["locker number"]},
        {"id": "m2", "text": "the spare key is under the flowerpot", "bindings": ["spare key"]},
        {"id": "m3", "content": "I'm allergic to penicillin"},
    ],
    "questions": [
        {"text": "my locker is number 212", "kind": "plain", "answers": ["m1"]},
        {"question": "¿dónde está la llave?", "language": "es", "kind": "cross", "ids": ["m2"]},
    ],
    "unrelated": [{"text": "how many planets are there?", "kind": "world"}],
    "changes": [
        {"first": "I live in Leeds", "then": "I live in Leeds", "relation": "same", "question": "where do I live?"},
        {
            "first": "Rex is a dog of mine",
            "then": "Tom is a dog of mine",
            "relation": "both",
            "question": "Tom is a dog of mine",
        },
    ],
}
TALK: dict[str, Any] = {
    "conversation": {
        "speaker_a": "Nora",
        "session_1": [
            {"speaker": "Nora", "dia_id": "D1:1", "text": "I bought a kayak."},
            {"speaker": "Paul", "dia_id": "D1:2", "text": "I sold my drum."},
        ],
    },
    "qa": [
        {"question": "What did Nora buy?", "evidence": ["D1:01"], "category": 4},
        {"question": "What was traded?", "evidence": ["D:1:1; D1:2"], "category": 1},
        {"question": "What did Paul buy?", "evidence": ["D1:2"], "category": 5},
        {"question": "What did nobody say?", "evidence": ["D"], "category": 4},
    ],
}


def written(folder: Path, data: object) -> Path:
    (path := folder / "data.json").write_text(json.dumps(data), "utf-8")
    return path


@pytest.mark.parametrize("data", [LIFE, [LIFE], {"lives": [LIFE]}])
def test_a_life_is_read_whatever_its_texts_and_ids_are_called(tmp_path: Path, data: object) -> None:
    [life] = read(written(tmp_path, data))
    assert [held.text for held in life.memories][2] == "I'm allergic to penicillin"
    assert life.questions[1] == Question("¿dónde está la llave?", "cross", "es", frozenset({"m2"}))
    assert life.unrelated[0].answers == frozenset()
    assert (life.language, len(life.changes), life.is_talk) == ("en", 2, False)


def test_of_a_talk_turns_are_saved_and_written_ids_are_repaired(tmp_path: Path) -> None:
    [turns] = read(written(tmp_path, [TALK]))
    assert turns.memories[0] == Held("Nora: I bought a kayak.", (), frozenset({"D1:1"}))
    assert [sorted(question.answers) for question in turns.questions] == [["D1:1"], ["D1:1", "D1:2"], ["D1:2"]]
    assert [question.kind for question in turns.questions] == ["single-hop", "multi-hop", ADVERSARIAL]


def test_what_is_neither_a_life_nor_a_talk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither memories nor turns"):
        read(written(tmp_path, {"notes": []}))


@pytest.mark.parametrize("name", SETS)
def test_the_sets_of_the_project_are_well_formed(name: str) -> None:
    lives = read(Path(__file__).parents[1] / "data" / name)
    assert len(lives) >= 3
    for life in lives:
        ids = {id_ for held in life.memories for id_ in held.ids}
        assert len(ids) == len(life.memories) >= 60
        assert len(life.questions) >= 60
        assert all(question.answers <= ids for question in life.questions)
        assert min(Counter(question.kind for question in life.unrelated).values()) >= 6
        assert {change.relation for change in life.changes} == {"same", "replaces", "both"}
        assert all(change.old_question for change in life.changes if change.relation == "replaces")


def test_notes_are_many_and_no_two_are_equal() -> None:
    drawn = list(islice(notes(), 6_000))
    assert len({held.text for held in drawn}) == len(drawn)
    assert drawn == list(islice(notes(), 6_000))
    assert not any("{" in part for held in drawn for part in (held.text, *held.bindings))


@pytest.mark.parametrize("name", SETS)
def test_padding_shares_no_subject_with_the_life(name: str) -> None:
    for life in read(Path(__file__).parents[1] / "data" / name):
        padded = list(islice(padding(life), 5_000))
        bound = subjects(phrase for held in life.memories for phrase in held.bindings)
        assert bound.isdisjoint(subjects(phrase for held in padded for phrase in (held.text, *held.bindings)))
        assert not any(held.ids for held in padded)


def test_every_question_is_asked_of_one_small_person_who_knows_the_answer() -> None:
    memories = [Held(f"memory {number}", (), frozenset({str(number)})) for number in range(60)]
    asked = [Question(f"question {number}", "plain", "en", frozenset({str(number)})) for number in range(50)]
    dealt = groups(Life("nadia", "en", memories, asked), 20)
    assert Counter(question.text for _, questions in dealt for question in questions) == {q.text: 1 for q in asked}
    for known, questions in dealt:
        assert len(known) == 20
        assert all(question.answers <= {id_ for held in known for id_ in held.ids} for question in questions)


def test_the_share_found_and_the_place_of_the_first_right_one() -> None:
    question = Question("?", "plain", "en", frozenset({"a", "b"}))
    answer = Answer(question, [Held("x"), Held("y", (), frozenset({"a"})), Held("z", (), frozenset({"b"}))], 0.5)
    assert (answer.is_right, answer.share(2), answer.share(5), answer.reciprocal()) == (False, 0.5, 1.0, 0.5)


async def test_people_are_asked_at_each_size_through_the_house(tmp_path: Path) -> None:
    lives = read(written(tmp_path, LIFE))
    async with AsyncExitStack() as stack:
        found = await sized(await House.open(tmp_path, FakeEmbedder(), stack), lives, [2, 40])
    for asked in found.values():
        [verbatim] = [answer for answer in asked.right if answer.question.kind == "plain"]
        assert verbatim.is_right
        assert len(asked.right) == 2
    assert len(found[40].unrelated) == 1


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_what_is_measured_beside_the_bot_is_told_and_asked_the_same(tmp_path: Path, way: type[Flat]) -> None:
    lives = read(written(tmp_path, LIFE))
    house = PeerHouse(way, FakeEmbedder())
    found = await sized(house, lives, [2, 40])
    await house.close()
    for asked in found.values():
        [verbatim] = [answer for answer in asked.right if answer.question.kind == "plain"]
        assert verbatim.is_right
        assert len(verbatim.found) <= DEPTH
        assert len({held.text for held in verbatim.found}) == len(verbatim.found)


async def test_two_things_said_one_after_the_other_are_counted(tmp_path: Path) -> None:
    [life] = read(written(tmp_path, LIFE))
    async with AsyncExitStack() as stack:
        outcomes = await played(await House.open(tmp_path, FakeEmbedder(), stack), life)
    assert (outcomes["same"].played, outcomes["same"].two_kept) == (1, 0)
    assert (outcomes["both"].two_kept, outcomes["both"].later_shown, outcomes["both"].later_first) == (1, 1, 1)


def test_a_whole_run_prints_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(table, "as_json", False)
    path = written(tmp_path, [LIFE, TALK])
    assert main(["recall", "--data", str(path), "--sizes", "2,10", "--json"]) == 0
    tables = {line["table"]: line["rows"] for line in map(json.loads, capsys.readouterr().out.splitlines())}
    [kinds] = [rows for title, rows in tables.items() if "by kind" in title]
    assert {"all", "plain", "cross"} <= {row["kind"] for row in kinds}
    assert len(tables) == 3
