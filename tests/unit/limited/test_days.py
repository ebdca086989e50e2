"""Days named from today on are written as dates, in every language."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from core.limited.tasks import dated

NOW = datetime(2026, 11, 22, 23, 30, tzinfo=ZoneInfo("America/Sao_Paulo"))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("my flight is tomorrow at 9", "my flight is tomorrow (2026-11-23) at 9"),
        ("meu voo é amanhã", "meu voo é amanhã (2026-11-23)"),
        ("a festa é depois de amanhã", "a festa é depois de amanhã (2026-11-24)"),
        ("mi vuelo es mañana por la mañana", "mi vuelo es mañana (2026-11-23) por la mañana"),
        ("la cita es pasado mañana", "la cita es pasado mañana (2026-11-24)"),
        ("I parked there yesterday", "I parked there yesterday (2026-11-21)"),
        ("hoje comecei no emprego novo", "hoje (2026-11-22) comecei no emprego novo"),
        ("tomorrow (2026-11-23) at 9", "tomorrow (2026-11-23) at 9"),
        ("the dentist is next Friday at 3pm", "the dentist is next Friday (2026-11-27) at 3pm"),
        ("sexta que vem tenho dentista", "sexta que vem (2026-11-27) tenho dentista"),
        ("a reunião é na próxima segunda-feira", "a reunião é na próxima segunda-feira (2026-11-23)"),
        ("la cita es el próximo domingo", "la cita es el próximo domingo (2026-11-29)"),
        ("viajo daqui a 2 semanas", "viajo daqui a 2 semanas (2026-12-06)"),
        ("the exam is in 3 days", "the exam is in 3 days (2026-11-25)"),
        ("vi o filme esta segunda vez", "vi o filme esta segunda vez"),
        ("I swim every Friday", "I swim every Friday"),
        ("the door code is 4417", "the door code is 4417"),
        ("trabajo cada mañana", "trabajo cada mañana"),
    ],
)
def test_a_day_named_from_today_on_gets_its_date(said: str, kept: str) -> None:
    assert dated(said, NOW) == kept
