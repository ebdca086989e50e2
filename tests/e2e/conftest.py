"""What all tests over the wire share."""

from __future__ import annotations

import pytest

from adapters.discord import interaction_handler


@pytest.fixture(autouse=True)
def _a_busy_machine_offers_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a field offers take longer than people wait, where the machine does other things."""
    monkeypatch.setattr(interaction_handler, "_COMPLETED_WITHIN_S", 120.0)
