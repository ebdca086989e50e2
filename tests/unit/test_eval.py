"""The labelled turns are well formed, and the judge sees what it has to see. Limited mode is the bot that is judged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import judging
from bench.eval import Bench, Results, open_bench, summary
from bench.judging import DATA, HALVES, Observed, judge, load, sample
from bot.settings.settings import load as load_settings
from core.actions import ACTIONS
from core.dialogue import Usage
from core.models import Cycle
from tests.fakes import openai_server
from tests.fakes.http_server import LoopbackServer

LABELS = {label.id: label for half in HALVES for label in load(half)}
BIRTHDAY = LABELS["recall-pt-02"]
SAVE = LABELS["save-pt-01"]


def themes(half: str) -> set[str]:
    return {turn["theme"] for turn in json.loads((DATA / f"eval_{half}.json").read_text("utf-8"))["turns"]}


def seen(text: str, *steps: str, **more: Any) -> Observed:
    return Observed([(step, "done") for step in steps], text, **more)


def test_there_are_enough_turns_in_enough_languages_in_two_halves_by_theme() -> None:
    languages = Counter(label.lang for label in LABELS.values())
    assert len(LABELS) == sum(len(load(half)) for half in HALVES) >= 240
    assert min(languages[code] for code in ("pt", "en", "es")) >= 50
    assert sum(count for code, count in languages.items() if code not in {"pt", "en", "es"}) >= 20
    assert not themes("tune") & themes("report")
    assert {label.category for label in load("tune")} == {label.category for label in load("report")}


def test_a_label_names_actions_and_memories_that_there_are() -> None:
    actions = {action.name for action in ACTIONS}
    for name, label in LABELS.items():
        assert label.first, name
        assert set(label.first) <= actions, name
        assert label.data, name
        named = {key for changes in label.data for key in (*changes.updated, *changes.deleted)}
        assert named | set(label.recalls) <= set(label.memories), name
        assert all(label.memories[text] for role, text in label.earlier if role == "memory"), name
        assert all(changes.count[1] >= 1 for changes in label.data if changes.saved is not None), name


def test_a_sample_is_balanced_and_always_the_same() -> None:
    chosen = sample(load("tune"), 24)
    assert chosen == sample(reversed(load("tune")), 24)
    assert set(Counter(label.category for label in chosen).values()) == {2}


def test_an_answer_straight_from_a_memory_counts_as_recall_done_only_if_it_is_right() -> None:
    assert judge(BIRTHDAY, seen("É em 14 de agosto.", "Finish")).is_right
    assert judge(BIRTHDAY, seen("É em 14/08.", "MemorySearch", "Finish")).is_right
    wrong = judge(BIRTHDAY, seen("Não sei.", "Finish"))
    assert (wrong.first_ok, wrong.said_ok) == (False, False)


@pytest.mark.parametrize(
    ("saved", "more", "right"),
    [
        (["senha do Netflix: batata99"], {}, True),
        (["senha do Netflix"], {}, False),
        ([], {}, False),
        (["senha do Netflix: batata99", "gosto de filmes"], {}, False),
        (["senha do Netflix: batata99"], {"deleted": ["wifi"]}, False),
        (["senha do Netflix: batata99"], {"updated": {"wifi": "batata99"}}, False),
    ],
)
def test_data_are_right_only_if_all_that_was_asked_for_changed_and_nothing_else(
    saved: list[str], more: dict[str, Any], right: bool
) -> None:
    assert judge(SAVE, seen("ok", "MemorySave", saved=saved, **more)).data_ok is right


def test_a_changed_memory_has_to_be_the_right_one_with_the_new_words_and_without_the_old() -> None:
    label = LABELS["update-pt-01"]
    for updated, right in (
        ({"wifi": "A senha do wifi é tulipa-4410"}, True),
        ({"wifi": "A senha do wifi era girassol-2031, agora é tulipa-4410"}, False),
        ({"irma": "A senha do wifi é tulipa-4410"}, False),
    ):
        assert judge(label, seen("ok", "MemoryUpdate", updated=updated)).data_ok is right


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Pronto, anotado!", {"saved"}),
        ("I've saved that for you.", {"saved"}),
        ("La clave fue “borrada”.", set()),
        ("Eu não apaguei nada.", set()),
        ("Guarde na geladeira.", set()),
        ("A senha foi atualizada.", {"updated"}),
        ("He borrado el PIN.", {"deleted"}),
        ("Ich habe mir das gemerkt.", {"saved"}),
        ("削除しました", {"deleted"}),
        ("Soll ich das löschen?", set()),
    ],
)
def test_a_claim_of_a_change_that_was_not_made_is_false(text: str, kinds: set[str]) -> None:
    assert set(judge(SAVE, seen(text, "Finish")).false_claims) == kinds
    assert not judge(SAVE, seen(text, "MemorySave", committed=sorted(kinds))).false_claims


def test_an_invented_number_is_a_false_claim_where_the_person_asks_for_their_own() -> None:
    label = LABELS["not_found-pt-01"]
    assert judge(label, seen("A senha é 998877.", "Finish")).false_claims[0] == "invents 998877"
    honest = judge(label, seen("Não encontrei essa senha. A do wifi é girassol-2031.", "MemorySearch", "Finish"))
    assert honest.is_right


def test_an_answer_to_what_nobody_told_is_a_false_claim_and_a_shown_call_is_no_answer() -> None:
    lie = judge(LABELS["not_found-en-03"], seen("You are staying at the Grand.", "Finish"))
    assert (lie.said_ok, lie.false_claims) == (False, ["tells what nobody told"])
    assert not judge(SAVE, seen('{"reply": [{"tool": "MemorySave"}]}', "MemorySave")).said_ok
    assert not judge(BIRTHDAY, seen('{"name": "MemorySearch", "arguments": "14 de agosto"}', "Finish")).said_ok


@pytest.mark.parametrize(
    ("lang", "text", "is_in"),
    [
        ("pt", "Olá! Estou bem, e você?", True),
        ("pt", "I'm fine, how are you?", False),
        ("ja", "はい、元気です。", True),
        ("ja", "Hello", False),
        ("de", "Hallo, mir geht es gut, und dir?", True),
        ("pt", "👍", None),
    ],
)
def test_the_language_of_an_answer(lang: str, text: str, is_in: bool | None) -> None:
    assert judging.is_in(lang, text) is is_in


def test_a_run_that_was_cut_goes_on_where_it_stopped(tmp_path: Path) -> None:
    results = Results(tmp_path / "folder" / "run.jsonl")
    observed = seen("ok", "MemorySave", calls=1, usage=Usage(100, 20, 80))
    verdict = judge(SAVE, observed)
    results.add(replace(verdict, first_ok=False), observed)
    results.add(verdict, None)
    assert results.verdicts() == [verdict]
    assert summary(results.verdicts())["first"] == 1
    assert (verdict.calls, verdict.input_tokens, verdict.cached_tokens, verdict.output_tokens) == (1, 100, 80, 20)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench(load_settings(None, model="", storage_url="memory:"), Cycle.STEPWISE) as opened:
        yield opened


async def test_a_turn_goes_through_the_whole_bot_and_leaves_what_it_did(bench: Bench) -> None:
    observed = await bench.run(SAVE)
    assert observed.steps[0][0] == "MemorySave"
    assert observed.committed == ["saved"]
    assert judge(SAVE, observed).is_right


async def test_a_proposal_is_agreed_to_and_counts_as_done_only_then(bench: Bench) -> None:
    label = LABELS["delete-en-01"]
    observed = await bench.run(label)
    assert observed.deleted == ["garage"]
    assert observed.committed == []
    assert judge(label, observed).is_right


async def test_each_turn_has_a_person_of_its_own_with_what_was_said_before(bench: Bench) -> None:
    wifi, garage, thanked = [await bench.run(LABELS[each]) for each in ("recall-pt-01", "recall-en-01", "talk-pt-04")]
    assert "girassol-2031" in wifi.text
    assert "7716" in garage.text
    assert not any("7716" in each.text for each in (wifi, thanked))


async def test_what_a_turn_took_is_what_the_ledger_has_of_its_person() -> None:
    server = LoopbackServer([openai_server.says("É em 14 de agosto.")])
    async with server.running():
        settings = load_settings(
            None, model="openai:m", openai_api_key="k", openai_base_url=f"{server.url}/v1", storage_url="memory:"
        )
        async with open_bench(settings, Cycle.SINGLE) as bench:
            observed = [await bench.run(BIRTHDAY) for _ in range(2)][-1]
    assert judge(BIRTHDAY, observed).is_right
    assert (observed.calls, observed.usage.input_tokens > 0, len(server.asked)) == (1, True, 2)
