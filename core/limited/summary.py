"""Summarise a conversation without a model: the sentences of the person that hold most information."""

from __future__ import annotations

import re
from typing import Final

from core.dialogue import PromptContext
from core.limited.cutting import sentences
from core.text.senses import senses
from core.text.unicode import flat, fold, one_line
from core.types import Message, MessageRole, Modal

MAX_LINES: Final = 24
MAX_LINE_CHARS: Final = 160

_NAME: Final = re.compile(r"(?<=[\w,]\s)[A-ZÀ-Þ][\w'’-]+")
_WEIGHTY: Final = re.compile(
    r"\b(?:prefir|gost|quer|decid|combin|vou|vamos|nao quero|chamo|nasci|moro|prefer|like|want|decid|agree|will|won't|"
    r"name|born|live|quier|acord|voy|vivo|llamo|senha|password|contrasena|meta|goal|saldo|balance)\w*"
)


def summary(context: PromptContext) -> str:
    """Return the previous summary and what the messages add to it, at most MAX_LINES lines, the weightiest kept."""
    old = [(max(_weight(line), 1), line) for line in context.message.splitlines() if line.strip()]
    new = [(_weight(said), f"- {said}") for message in context.history for said in _said(message)]
    lines = list({fold(line): (weight, line) for weight, line in (*old, *new)}.values())
    heavy = sorted(range(len(lines)), key=lambda at: (lines[at][0], at), reverse=True)[:MAX_LINES]
    return "\n".join(lines[at][1] for at in sorted(heavy) if lines[at][0] > 0)


def _said(message: Message) -> list[str]:
    """Return the sentences of a person's message that are no questions."""
    if message.role is not MessageRole.USER or message.modal is not Modal.TEXT:
        return []
    said = (message.text[start:end] for start, end in sentences(message.text))
    return [one_line(each, MAX_LINE_CHARS) for each in said if not each.endswith("?")]


def _weight(line: str) -> int:
    """Return how much information a line holds: numbers and names count double."""
    if len(senses(line)) < 2:  # noqa: PLR2004 - a word alone says nothing later
        return 0
    return 2 * len(re.findall(r"\d+", line)) + 2 * len(_NAME.findall(line)) + len(_WEIGHTY.findall(flat(line)))
