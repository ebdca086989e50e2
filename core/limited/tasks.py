"""Answers to the tasks that are no decision: search queries, drafts, ids, the report of a search, the summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from core.dialogue import NOTHING_TO_ADD, Outcome, PromptContext, Step
from core.limited import moves
from core.limited import sentences as say
from core.limited.change import fits, renewed
from core.limited.cues import Cues, Intent
from core.limited.extract import bindings, drafts, queries, sentences
from core.limited.scene import SEARCH, Scene, key_of
from core.limited.understanding import Wish
from core.limited.words import stems, words
from core.text.markdown import quoted
from core.text.unicode import flat, fold, one_line
from core.types import JSONValue, Locale, MemoryDraft, MemoryItem, MemoryKind, Message, MessageRole, Modal

MAX_QUERIES = 8

EVERYTHING = "*"
"""The query that asks for all memories, newest first."""


def search_queries(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[str]:
    """Return the short phrases to search for."""
    found: list[str] = []
    for wish in wishes:
        match wish.intent:
            case Intent.LIST:
                found.append(EVERYTHING)
            case Intent.UPDATE if wish.agreed:
                found += [item.content for item in scene.context.memories if item.id in wish.targets]
            case Intent.DELETE if moves.everything(cues, wish):
                found.append(EVERYTHING)
            case Intent.DELETE:
                found += queries(moves.about_deletion(scene, cues, wish) or wish.text)
            case Intent.UPDATE:
                told = moves.change_of(cues, wish)
                found += queries(told.subject or wish.text)
            case Intent.ASK:
                found += [query for piece in wish.said for query in queries(cues.opened(piece))]
            case _:
                pass
    return list(dict.fromkeys(found))[:MAX_QUERIES] or [scene.message]


def save_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return what to save, in the shape of a MemoryDraft."""
    said = [piece for wish in wishes if wish.intent is Intent.SAVE for piece in wish.said]
    changes = [moves.change_of(cues, wish) for wish in wishes if wish.intent is Intent.UPDATE and not wish.agreed]
    said += [change.told or change.statement for change in changes]
    return [
        {"type": draft.kind.value, "content": _dated(draft, scene), "bindings": list(draft.bindings)}
        for draft in drafts(cues, [piece for piece in said if piece])
    ]


def _dated(draft: MemoryDraft, scene: Scene) -> str:
    return draft.content if draft.kind is MemoryKind.JSON else dated(draft.content, scene.context.now)


def update_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the new text of the one memory that each wish changes; phrases change if they held the old value."""
    found: list[JSONValue] = []
    for wish in wishes:
        if wish.intent is not Intent.UPDATE:
            continue
        told = moves.change_of(cues, wish)
        chosen = moves.targets(scene, wish) if wish.agreed else fits(told.aim, scene.found or scene.shown)[0]
        if chosen and told.value:
            text = dated(renewed(chosen[0].content, told)[0], scene.context.now)
            found.append({"id": chosen[0].id, "type": None, "content": text, "bindings": _rebound(chosen[0], text)})
    return found


def _rebound(item: MemoryItem, text: str) -> list[JSONValue] | None:
    """Return new bindings for the new text; None if no present one names a word that is gone."""
    gone = {fold(word) for word in words(item.content)} - {fold(word) for word in words(text)}
    stale = [phrase for phrase in item.bindings if gone & {fold(word) for word in words(phrase)}]
    if not stale:
        return None
    kept = [phrase for phrase in item.bindings if phrase not in stale]
    return list(dict.fromkeys((*kept, *bindings(text))))


def delete_ids(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the ids of the memories whose deletion is to be proposed."""
    wanted = (wish for wish in wishes if wish.intent is Intent.DELETE)
    return list(dict.fromkeys(item.id for wish in wanted for item in moves.proposed(scene, cues, wish)))


# --- reports ---------------------------------------------------------------------------------------------------------


def report(context: PromptContext) -> str:
    """Return one sentence on what the last step found; "-" for a step that wrote, which the bot reports itself."""
    if not context.steps:
        return say.FAILED[context.locale]
    step = context.steps[-1]
    if step.outcome in {Outcome.FAILED, Outcome.REPEATED}:
        return say.FAILED[context.locale]
    if key_of(context, step) == SEARCH:
        return _search_report(step, context.locale)
    return say.ACK[context.locale] if step.writes is None else NOTHING_TO_ADD


def _search_report(step: Step, locale: Locale) -> str:
    if EVERYTHING in step.queries:
        return say.LOOKED_AT_ALL[locale].format(count=len(step.items))
    first = quoted(step.queries[0]) if step.queries else "…"
    told = say.FOUND_NOTHING if not step.items else say.FOUND_ONE if len(step.items) == 1 else say.FOUND_MANY
    return told[locale].format(queries=first, count=len(step.items))


# --- the summary -----------------------------------------------------------------------------------------------------

MAX_LINES = 24
MAX_LINE_CHARS = 160

_NAME = re.compile(r"(?<=[\w,]\s)[A-ZÀ-Þ][\w'’-]+")
_WEIGHTY = re.compile(
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
    return [one_line(said, MAX_LINE_CHARS) for said in sentences(message.text) if not said.endswith("?")]


def _weight(line: str) -> int:
    """Return how much information a line holds: numbers and names count double."""
    if len(stems(line)) < 2:  # noqa: PLR2004 - a word alone says nothing later
        return 0
    return 2 * len(re.findall(r"\d+", line)) + 2 * len(_NAME.findall(line)) + len(_WEIGHTY.findall(flat(line)))


# --- days named from today on, written as dates: "tomorrow" is another day when it is read again ---------------------

_WEEKDAYS: Final = (
    ("monday", "segunda", "lunes"),
    ("tuesday", "terca", "martes"),
    ("wednesday", "quarta", "miercoles"),
    ("thursday", "quinta", "jueves"),
    ("friday", "sexta", "viernes"),
    ("saturday", "sabado", "sabado"),
    ("sunday", "domingo", "domingo"),
)
_WEEKDAY: Final = rf"(?:{'|'.join(sorted({name for names in _WEEKDAYS for name in names}))})(?:-feira)?"
_DAY: Final = re.compile(
    r"\b(?:(?P<after>depois de amanha|pasado manana|(?:the )?day after tomorrow)|"
    r"(?P<before>anteontem|anteayer|antes de ayer|(?:the )?day before yesterday)|"
    r"(?P<tomorrow>amanha|tomorrow|(?<!la )(?<!una )(?<!cada )(?<!esta )(?<!esa )manana)|"
    r"(?P<yesterday>ontem|ayer|yesterday)|(?P<today>hoje|hj|hoy|today|tonight)|"
    r"(?:in|em|en|daqui a|dentro de) (?P<count>\d{1,3}) (?:(?P<weeks>weeks?|semanas?)|days?|dias?)|"
    rf"(?:next|this|proxim[ao]|est[ae]) (?P<coming>{_WEEKDAY})(?! (?:vez|parte|etapa|fase|semana|edic|temporada))|"
    rf"(?P<that_comes>{_WEEKDAY}) que (?:vem|viene))\b"
    r"(?! ?\(\d{4}-)"
)
_DAYS: Final = {"after": 2, "tomorrow": 1, "today": 0, "yesterday": -1, "before": -2}


def dated(text: str, now: datetime) -> str:
    """Return the text with the date after each word that names a day from `now`: "tomorrow (2026-11-23)".

    "Next Friday" is the first one after today.
    """
    written, end = [], 0
    for found in _DAY.finditer(flat(text)):
        date = now.date() + timedelta(days=_days_ahead(found, now.weekday()))
        written += [text[end : found.end()], f" ({date.isoformat()})"]
        end = found.end()
    return "".join((*written, text[end:]))


def _days_ahead(found: re.Match[str], today: int) -> int:
    if found["count"]:
        return int(found["count"]) * (7 if found["weeks"] else 1)
    if name := found["coming"] or found["that_comes"]:
        name = name.removesuffix("-feira")
        weekday = next(number for number, names in enumerate(_WEEKDAYS) if name in names)
        return (weekday - today - 1) % 7 + 1
    return next(days for group, days in _DAYS.items() if found[group])
