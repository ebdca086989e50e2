"""A dinner that several people of one room plan with the bot: its model knows only what its prompt shows."""

from __future__ import annotations

from typing import Final

from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.models import Cycle
from tests.fakes.clock import FakeClock
from tests.fakes.house import House

ASKED: Final = ("pensa num jantar sem carne para quatro", "e a sobremesa?", "então faz a lista de compras")


def dinner(clock: FakeClock) -> House:
    """A bot whose model plans a dinner."""
    return House({Task.SINGLE: _plan}, clock=clock, limits=TurnLimits(cycle=Cycle.SINGLE))


def _plan(prompt: Prompt) -> str:
    shown = "\n".join(turn.whole_text for turn in prompt.turns)
    if prompt.context.message == ASKED[0]:
        return "Risoto de cogumelos, com salada de rúcula."
    if "Risoto" not in shown:
        return "De que jantar?"
    if "Pudim" not in shown:
        return "Pudim de leite: fica bem depois do risoto."
    return "Arroz arbóreo, cogumelos, rúcula, leite, ovos e açúcar."
