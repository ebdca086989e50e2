"""What each refusal of a platform means: Telegram's by its words, Discord's by its codes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import discord
import pytest

from adapters.discord.api import InteractionOver, _CannotReply, _ours
from adapters.telegram.failure import Unreadable, refused
from core.errors import ChannelError, ChannelForbidden, ChannelGone, MessageLost

TELEGRAM: dict[str, type[ChannelError]] = {
    "something_new": ChannelError,
    "button_data_invalid": ChannelError,
    "reply message not found": ChannelError,
    "can't parse entities: unsupported start tag at byte offset 0": Unreadable,
    "message can't be edited": MessageLost,
    "message to edit not found": MessageLost,
    "not enough rights to send text messages to the chat": ChannelForbidden,
    "have no rights to send a message": ChannelForbidden,
    "chat_write_forbidden": ChannelForbidden,
    "topic_closed": ChannelGone,
    "message thread not found": ChannelGone,
    "peer_id_invalid": ChannelGone,
    "chat not found": ChannelGone,
}
DISCORD: dict[tuple[int, int], type[ChannelError]] = {
    (400, 30046): ChannelError,
    (400, 50006): ChannelError,
    (400, 50035): ChannelError,
    (400, 99999): ChannelError,
    (405, 0): ChannelError,
    (413, 40005): ChannelError,
    (418, 0): ChannelError,
    (403, 0): ChannelForbidden,
    (403, 50013): ChannelForbidden,
    (403, 160002): _CannotReply,
    (403, 50001): ChannelGone,
    (403, 50007): ChannelGone,
    (404, 10003): ChannelGone,
    (404, 10008): MessageLost,
    (404, 10015): InteractionOver,
    (401, 50027): InteractionOver,
}


@pytest.mark.parametrize("said", TELEGRAM)
def test_telegrams_refusals_are_told_apart_by_their_words(said: str) -> None:
    assert type(refused(f"bad request: {said}")) is TELEGRAM[said]


@pytest.mark.parametrize(("status", "code"), DISCORD)
def test_discords_refusals_are_told_apart_by_their_codes(status: int, code: int) -> None:
    answer: Any = SimpleNamespace(status=status, reason="no")
    error = _ours(discord.HTTPException(answer, {"code": code, "message": "what was sent"}))
    assert type(error) is DISCORD[status, code]
    assert "what was sent" not in str(error)
