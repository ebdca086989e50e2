"""The sentence about channels that were not read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from adapters.discord.read_back import Unread, Why
from bot.platforms import sentence
from core.types import Locale

NOON = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def test_owners_read_how_many_channels_why_and_when() -> None:
    unread = Unread({Why.TOO_MUCH: 1, Why.NO_RIGHT: 2}, ("#a", "#b", "#c"), NOON - timedelta(minutes=18), NOON)
    assert sentence(unread, NOON, SAO_PAULO, Locale.PT) == (
        "Discord: depois que fiquei fora, não consegui ler tudo em 3 canais (#a, #b, #c): em 2 não posso ler o que foi "
        "escrito antes, 1 tem mensagens novas demais; perguntas feitas lá entre 11:42 e 12:00 podem ter ficado sem "
        "resposta."
    )


def test_another_day_is_named_and_of_many_channels_the_first() -> None:
    names = tuple(f"#{number}" for number in range(9))
    unread = Unread({Why.TOO_OLD: 9}, names, NOON - timedelta(days=2), NOON - timedelta(hours=1))
    told = sentence(unread, NOON, SAO_PAULO, Locale.EN)
    assert "9 channels (#0, #1, #2, #3, #4, …): 9 have messages older than I answer" in told
    assert "between Thursday, March 12, at 12:00" in told
