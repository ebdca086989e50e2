"""The commands, as a person meets them."""

from __future__ import annotations

import pytest

from core.types import MemoryDraft, MemoryKind, MessageRole, UserKey
from tests.fakes.house import ANA, House


async def ask(house: House, *texts: str, user: UserKey = ANA) -> list[str]:
    """Send messages and return what stayed on the screen."""
    return (await house.say(*texts, user=user)).texts


async def fill(house: House, count: int) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"thing {n}",)) for n in range(count)]
    await house.memories.of(ANA).add(drafts, {})


@pytest.mark.spec("D6")
async def test_reset_starts_a_conversation_that_knows_nothing_of_the_old_one_but_memories_stay() -> None:
    house = House()
    await fill(house, 1)
    await ask(house, "my name is Edmar", "/reset", "what is my name?")
    told = house.model.prompts[-1].context.history
    assert [m.text for m in told if m.role is MessageRole.USER] == ["what is my name?"]
    assert await house.memories.of(ANA).count() == 1


async def test_commands_and_their_answers_are_no_part_of_the_conversation_that_a_model_reads() -> None:
    house = House()
    await ask(house, "hi", "/help", "and now?")
    assert [m.text for m in house.model.prompts[-1].context.history] == ["hi", "ok", "and now?"]
