"""Prompts made for caches: what is shown of a conversation grows at its end, and begins anew only at few trims."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from core.answering.prompting import SYSTEM, build
from core.dialogue import PromptContext, Task
from core.history.conversation import Conversations
from core.history.summary import Summarizer
from core.history.tokens import ByCharacters, Calibration
from core.history.window import LAST_MESSAGES, LAST_TOKENS, SUMMARY, HistoryLimits
from core.storage.history import SqlHistory
from core.types import ChatKey, ConversationKey, Locale, Message, MessageRole, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import ScriptedModel
from tests.fakes.ram import RamDatabase

TURNS = 50
LAST_PART = "<task>"
WORDS = (
    "amanhã vou viajar para Lisboa com a Júlia e preciso guardar dinheiro porque o hotel custa caro mas a passagem "
    "ficou barata quando é mesmo o aniversário dela acho que maio então compro um presente antes e depois te conto"
).split()


@pytest.mark.parametrize(
    ("policy", "window", "most_trims", "least_share"),
    [
        (SUMMARY, 4_096, 11, 0.75),  # ten exchanges fit
        (SUMMARY, 131_072, 2, 0.9),
        (LAST_MESSAGES, 16_384, 5, 0.85),
        (LAST_TOKENS, 4_096, 11, 0.75),
        (LAST_TOKENS, 16_384, 2, 0.9),
        (LAST_TOKENS, 131_072, 2, 0.9),
    ],
)
async def test_a_request_begins_with_the_one_before_it_except_at_few_trims(
    policy: str, window: int, most_trims: int, least_share: float
) -> None:
    trims, share = resent(await stable_parts(HistoryLimits(policy, max_context_tokens=window, steady=True)))
    assert trims <= most_trims
    assert share >= least_share


def resent(asked: Sequence[str]) -> tuple[int, float]:
    """Return how many prompts do not begin with the one before, and the share of all those that the next repeats."""
    anew = sum(not after.startswith(before) for before, after in pairwise(asked))
    common = sum(_common(before, after) for before, after in pairwise(asked))
    return anew, common / sum(map(len, asked[:-1]))


def _common(one: str, other: str) -> int:
    places = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(places, min(len(one), len(other)))


async def stable_parts(limits: HistoryLimits) -> list[str]:
    """Return of each prompt of a talk all that comes before the part which changes from turn to turn.

    The last part has another length in each turn, and the model reports its tokens never quite the same.
    """
    store, clock, dice, calibration = SqlHistory(RamDatabase()), FakeClock(), random.Random(3), Calibration()  # noqa: S311  (not for secrets)
    model = ScriptedModel({Task.SUMMARY: lambda _: sentence(dice, 60, 90)})
    most = limits.max_context_tokens
    summarizer = Summarizer(store, model, ByCharacters(), clock, limits, shown_in=lambda: calibration.room("a:1", most))
    conversations = Conversations(
        store, clock, limits, system=SYSTEM, calibration=calibration, model_of=lambda _: "a:1"
    )
    conversation = await conversations.open(ConversationKey(ChatKey("test", "c"), UserKey("test", "ana")))
    asked = []
    for turn in range(TURNS):
        await clock.advance(60)
        await conversation.add(Message(MessageRole.USER, sentence(dice, 5, 40), turn=f"t{turn}"))
        last = sentence(dice, 60, 120)
        shown = await conversation.context(f"t{turn}", instruction=last)
        prompt = build(PromptContext(Task.FINISH, Locale.PT, "", clock.now(), history=shown.messages), shown, last)
        turns = "".join(f"\n[{turn.role.value}]\n{turn.text}" for turn in prompt.turns)
        asked.append((prompt.system + turns[: turns.rindex(LAST_PART)]).rstrip())
        calibration.observe("a:1", counted=1_000, reported=dice.randint(1_130, 1_170))
        answer = sentence(dice, 40, 180)
        await conversation.add(Message(MessageRole.ASSISTANT, answer, turn=f"t{turn}", in_history=False))
        if limits.policy == SUMMARY:
            await summarizer.fold(conversation.thread.id)
    return asked


def sentence(dice: random.Random, least: int = 5, most: int = 30) -> str:
    """Return some words at random."""
    return " ".join(dice.choices(WORDS, k=dice.randint(least, most)))
