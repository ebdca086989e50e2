"""What every store of commands that wait for a text promises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.storage.database import Database
from core.storage.inbox import SqlPendingInputs
from core.threads import PendingInput, PendingInputs
from core.types import ChatKey, ConversationKey, UserKey

ANA, BIA = UserKey("telegram", "1"), UserKey("telegram", "2")
HERE = ConversationKey(ChatKey("telegram", "room", "topic"), ANA)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def pending_inputs(database: Database) -> PendingInputs:
    return SqlPendingInputs(database)


@pytest.mark.parametrize(
    "elsewhere",
    [
        ConversationKey(ChatKey("telegram", "room", "topic"), BIA),
        ConversationKey(ChatKey("telegram", "room", ""), ANA),
        ConversationKey(ChatKey("telegram", "other", "topic"), ANA),
        ConversationKey(ChatKey("discord", "room", "topic"), UserKey("discord", "1")),
    ],
    ids=str,
)
async def test_what_waits_waits_in_that_conversation_only(
    pending_inputs: PendingInputs, elsewhere: ConversationKey
) -> None:
    await pending_inputs.put(HERE, PendingInput("/memories edit x", NOON))
    assert await pending_inputs.find(HERE) == PendingInput("/memories edit x", NOON)
    assert await pending_inputs.find(elsewhere) is None
    assert await pending_inputs.take(elsewhere) is None
    assert await pending_inputs.find(HERE) is not None


async def test_one_command_waits_in_a_conversation_the_last(pending_inputs: PendingInputs) -> None:
    await pending_inputs.put(HERE, PendingInput("/memories edit x", NOON))
    await pending_inputs.put(HERE, PendingInput("/memories edit y", NOON + timedelta(microseconds=1)))
    assert await pending_inputs.find(HERE) == PendingInput("/memories edit y", NOON + timedelta(microseconds=1))
    assert await pending_inputs.take(HERE) is not None
    assert await pending_inputs.find(HERE) is None
    assert await pending_inputs.take(HERE) is None


async def test_for_a_person_who_is_forgotten_nothing_waits_anywhere(pending_inputs: PendingInputs) -> None:
    there, of_bia = ConversationKey(ChatKey("telegram", "1"), ANA), ConversationKey(HERE.chat, BIA)
    for conversation in (HERE, there, of_bia):
        await pending_inputs.put(conversation, PendingInput("/memories edit x", NOON))
    await pending_inputs.forget(ANA)
    await pending_inputs.forget(ANA)
    assert await pending_inputs.find(HERE) is None
    assert await pending_inputs.find(there) is None
    assert await pending_inputs.find(of_bia) is not None
