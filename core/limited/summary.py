"""The conversation so far in few lines: those sentences of it that hold names, numbers, dates, wishes or decisions.

Knows what is worth a line. Does not know why the conversation has to be short.
"""

from __future__ import annotations

import re

from core.dialogue import PromptContext
from core.limited.extract import sentences
from core.limited.words import stems
from core.text.unicode import flat, fold, one_line
from core.types import Message, MessageRole, Modal

MAX_LINES = 24
MAX_LINE_CHARS = 160

_NAME = re.compile(r"(?<=[\w,]\s)[A-ZÀ-Þ][\w'’-]+")
_WEIGHTY = re.compile(
    r"\b(?:prefir|gost|quer|decid|combin|vou|vamos|nao quero|chamo|nasci|moro|prefer|like|want|decid|agree|will|won't|"
    r"name|born|live|quier|acord|voy|vivo|llamo|senha|password|contrasena|meta|goal|saldo|balance)\w*"
)


def summary(brief: PromptContext) -> str:
    """Return the previous summary and what the messages add to it, at most MAX_LINES lines, the weightiest kept."""
    old = [(max(_weight(line), 1), line) for line in brief.message.splitlines() if line.strip()]
    new = [(_weight(said), f"- {said}") for message in brief.history for said in _said(message)]
    lines = list({fold(line): (weight, line) for weight, line in (*old, *new)}.values())
    heavy = sorted(range(len(lines)), key=lambda at: (lines[at][0], at), reverse=True)[:MAX_LINES]
    return "\n".join(lines[at][1] for at in sorted(heavy) if lines[at][0] > 0)


def _said(message: Message) -> list[str]:
    """Return what of a message may be worth a line: the person's own words, whole sentences, no questions."""
    if message.role is not MessageRole.USER or message.modal is not Modal.TEXT:
        return []
    return [one_line(said, MAX_LINE_CHARS) for said in sentences(message.text) if not said.endswith("?")]


def _weight(line: str) -> int:
    """Return how much a line holds: numbers and names count double."""
    if len(stems(line)) < 2:  # noqa: PLR2004 - a word alone says nothing later
        return 0
    return 2 * len(re.findall(r"\d+", line)) + 2 * len(_NAME.findall(line)) + len(_WEIGHTY.findall(flat(line)))
