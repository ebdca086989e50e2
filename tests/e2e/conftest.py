"""What all tests over the wire share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.discord import interaction_handler
from tests.e2e.wire import WIRES, Wire
from tests.fakes.clock import FakeClock


@pytest.fixture(autouse=True)
def _a_busy_machine_offers_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a field offers take longer than people wait, where the machine does other things."""
    monkeypatch.setattr(interaction_handler, "_COMPLETED_WITHIN_S", 120.0)


@pytest.fixture(params=sorted(WIRES))
async def wire(request: pytest.FixtureRequest, clock: FakeClock) -> AsyncIterator[Wire]:
    """Each platform in turn, with nobody connected to it yet."""
    async with WIRES[request.param](clock) as wire:
        yield wire
