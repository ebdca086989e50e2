"""One tiny question that proves a model: it is there, takes our key, and answers as its mode is asked.

Knows what is asked. Does not know who wants to know, nor what is made of a failure.
"""

from __future__ import annotations

from typing import Final

from bot.models.presets import Mode
from core.dialogue import Prompt, PromptContext, PromptTurn, Task
from core.models import choose, complete
from core.ports import ChatModel, Clock
from core.text.unicode import one_line
from core.types import Locale, MessageRole

_SYSTEM: Final = "You are being checked. Answer as briefly as you can."
_PLAIN: Final = "Say hello in one word."
_CHOICES: Final = ("Finish", "Question")
_CHOICE: Final = 'Answer with the JSON {"action": "Finish"}.'
_MAX_SAID_CHARS: Final = 60


async def prove(mode: Mode, model: ChatModel, clock: Clock) -> str:
    """Return what the model says to a question of the kind that its mode is asked.

    Raises:
        ProviderError: it did not answer, or not so.
    """
    if mode in {Mode.HEAVY, Mode.REASONING}:
        return await choose(model, _prompt(_CHOICE, clock), _CHOICES)
    return one_line((await complete(model, _prompt(_PLAIN, clock))).text, _MAX_SAID_CHARS)


def _prompt(text: str, clock: Clock) -> Prompt:
    brief = PromptContext(Task.DECIDE, Locale.EN, text, clock.now(), choices=_CHOICES)
    return Prompt(_SYSTEM, (PromptTurn(MessageRole.USER, text),), brief)
