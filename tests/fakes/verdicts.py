"""Judge what became of the steps of a conversation with a careful secretary: right, asked, missed or harmful."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.text.catalogue import sentences
from core.text.unicode import fold
from core.types import Locale
from tests.fakes.secretary import Asked, Happened, held, holds_all, holds_any

CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "keep": ("keep",),
    "find": ("find", "list"),
    "change": ("change", "add"),
    "remove": ("remove", "missing", "undo"),
    "decline": ("nothing", "world", "talk", "drop"),
}
"""The kinds of outcome that are scored together."""

_SILENT: Final = {"nothing", "world", "talk", "missing", "drop"}
"""The kinds that no memory answers."""

_HEDGES: Final = ("limited.nearest", "limited.other_subject")
_DENIALS: Final = (
    "limited.other_subject",
    "limited.not_found",
    "limited.know_nothing",
    "limited.nothing_to_delete",
    "limited.nothing_to_update",
)
"""Sentences that say a memory is no sure answer, and that there is none."""

_MIN_LEAD_CHARS: Final = 8
_MIN_LINE_CHARS: Final = 6
_SHOWN_CHARS: Final = 30
"""A memory is shown where the beginning of one of its lines is."""

_MIN_WORD_CHARS: Final = 4


class Outcome(StrEnum):
    """How good what became of a step is."""

    RIGHT = "right"
    ASKED = "asked"
    """Right, but the person had to agree first, or was told that it is not sure."""

    MISSED = "missed"
    """Not what was wanted; nothing bad happened."""

    HARMFUL = "harmful"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a step, and why it is not right.

    `follows`: it could not be right any more, as the memory that it is about was not kept or changed before.
    """

    outcome: Outcome
    why: str = ""
    follows: bool = False


def category(kind: str) -> str:
    """Return the name under which that kind of outcome is scored."""
    return next(name for name, kinds in CATEGORIES.items() if kind in kinds)


def judge(happened: Happened) -> Verdict:
    """Return the verdict on a step: harm first, then what is lacking, then whether it took a question."""
    if why := next(_harms(happened), ""):
        return Verdict(Outcome.HARMFUL, why)
    follows = _follows(happened)
    if why := next(_lacks(happened), ""):
        return Verdict(Outcome.MISSED, why, follows)
    wants = happened.said.wants
    if wants.kind in {"find", "list"} and _says(happened.shown, _HEDGES):
        return Verdict(Outcome.ASKED, "found, but not sure")
    usual = 1 if wants.kind in {"change", "remove"} else 0
    if max(len(happened.asked), len(happened.answered)) > usual:
        return Verdict(Outcome.ASKED, "the person had to answer")
    return Verdict(Outcome.RIGHT)


# --- harm ------------------------------------------------------------------------------------------------------------


def _harms(happened: Happened) -> Iterator[str]:
    """Yield what is wrong with memory, or was wrongly said."""
    wants = happened.said.wants
    yield from _harm_to_memory(happened)
    if happened.reminders and wants.kind not in {"keep", "add", "change"}:
        yield "set a reminder"
    if wants.kind in {"remove", "missing"}:
        for asked in happened.asked:
            if asked.kind == "Deletion" and (wants.kind == "missing" or not _is_about(asked, happened)):
                yield "offers to delete another memory"
    if wants.kind == "find":
        yield from _harm_of_answer(happened)
    elif wants.kind in _SILENT and not happened.asked and not _says(happened.shown, _HEDGES):
        yield from (f"shows a memory: {_short(content)}" for content in _memories_shown(happened))


def _harm_to_memory(happened: Happened) -> Iterator[str]:
    wants, before, after = happened.said.wants, happened.before, happened.after
    meant = (*wants.gone, *wants.back)
    for name, old in before.items():
        new = after.get(name)
        if new is None and not (wants.kind in {"change", "remove", "undo"} and holds_any(old, meant)):
            yield f"removed: {_short(old)}"
        elif new is not None and new != old and not _may_change(happened, old, new):
            yield f"changed: {_short(old)} → {_short(new)}"
    had = _in("\n".join(before.values()), wants.stays)
    if lost := _lacking("\n".join(after.values()), had):
        yield f"lost: {', '.join(lost)}"
    for new in (new for name, new in after.items() if name not in before):
        if wants.kind == "undo" and holds_any(new, wants.back):
            continue
        if wants.kind not in {"keep", "add", "change"}:
            yield f"kept: {_short(new)}"
        elif not _is_slice(new, happened.said.text) and not _is_edit(new, before.values(), happened.said.text):
            yield f"kept other words than theirs: {_short(new)}"


def _may_change(happened: Happened, old: str, new: str) -> bool:
    """Return whether a memory may be so changed by that step: it is meant, and has only the person's words."""
    wants, message = happened.said.wants, happened.said.text
    if wants.kind == "undo":
        return holds_any(f"{old}\n{new}", (*wants.back, *wants.gone))
    is_theirs = _is_slice(new, message) or _is_edit(new, (old,), message)
    if holds_any(new, wants.gone):
        return False
    if wants.kind == "add":
        return is_theirs and holds_all(new, held(old, wants.stays)) and holds_all(new, wants.words)
    is_meant = wants.kind in {"change", "remove"} and holds_any(old, wants.gone)
    return is_theirs and is_meant and (wants.kind == "remove" or len(_in(new, wants.after)) > 0)


def _harm_of_answer(happened: Happened) -> Iterator[str]:
    wants, shown = happened.said.wants, happened.shown
    is_there, stale = holds_any(shown, wants.words), held(shown, wants.unwanted)
    if is_there and _says(shown, _DENIALS):
        yield "says it found nothing, and shows it"
    if _says(shown, _HEDGES):
        return
    if stale and not _follows(happened):
        yield f"shows {', '.join(stale)}"
    elif not is_there and not stale and not happened.asked:
        other = _memories_shown(happened)
        if other and not any(holds_any(each, wants.words) for each in other):  # else it is the right one, cut short
            yield f"shows another memory: {_short(other[0])}"


# --- what is lacking -------------------------------------------------------------------------------------------------


def _lacks(happened: Happened) -> Iterator[str]:
    """Yield what a careful secretary would have done besides."""
    wants, before, after, shown = happened.said.wants, happened.before, happened.after, happened.shown
    new = [content for name, content in after.items() if before.get(name) != content]
    told, kept = "\n".join(new), "\n".join(after.values())
    text, words, stale = {
        "keep": (told, wants.words, ()),
        "add": (told, wants.words, ()),
        "find": (shown, wants.words, wants.unwanted),
        "list": (shown, wants.words, wants.unwanted),
        "change": (kept, wants.after, wants.gone),
        "remove": (kept, (), () if wants.leave and happened.asked else wants.gone),
        "undo": (kept, wants.back, wants.gone),
    }.get(wants.kind, ("", (), ()))
    where = "shown" if text is shown else "kept"
    if lacking := _lacking(text, words):
        yield f"not {where}: {', '.join(lacking)}"
    if left := held(text, stale):
        yield f"still {where}: {', '.join(left)}"
    is_list = wants.kind in {"keep", "add"} and "\n" in happened.said.text
    if is_list and all(_lacking(content, words) for content in new):
        yield "cut into pieces"
    if wants.kind in _SILENT and not happened.asked and (seen := _memories_shown(happened)):
        yield f"shows a memory, though not as sure: {_short(seen[0])}"


def _follows(happened: Happened) -> bool:
    """Return whether an earlier step already lost what this one is about."""
    wants, kept = happened.said.wants, "\n".join(happened.before.values())
    if wants.kind in {"find", "list"}:
        return bool(_lacking(kept, wants.words))
    if wants.kind == "undo":
        return not _lacking(kept, wants.back) and not holds_any(kept, wants.gone)
    return not holds_all(kept, wants.gone)


# --- words -----------------------------------------------------------------------------------------------------------


def _in(text: str, words: Sequence[str]) -> list[str]:
    return [each for each in words if fold(each) in fold(text)]


def _lacking(text: str, words: Sequence[str]) -> list[str]:
    return [each for each in words if fold(each) not in fold(text)]


def _is_slice(content: str, message: str) -> bool:
    """Return whether the content stands in the message to the letter; white space does not matter."""
    return " ".join(content.split()) in " ".join(message.split())


def _is_edit(content: str, olds: Iterable[str], message: str) -> bool:
    """Return whether the content is one of the old ones, some words put in or out; what was put in is the message's."""
    said = f" {' '.join(_words(message))} "
    return any(all(f" {' '.join(new)} " in said for new in _inserted(_words(old), _words(content))) for old in olds)


def _inserted(old: list[str], new: list[str]) -> Iterator[list[str]]:
    for kind, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in {"insert", "replace"}:
            yield new[start:end]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


def _memories_shown(happened: Happened) -> list[str]:
    """Return the memories that are shown after the step, the latest first, but for what the person just said."""
    shown, said = fold(happened.first), fold(happened.said.text)
    known = dict.fromkeys((*happened.before.values(), *happened.earlier))
    return [content for content in known if any(line in shown and line not in said for line in _lines(content))]


def _lines(content: str) -> list[str]:
    """Return how each line of a memory begins, and the whole, as they are compared; short lines tell nothing."""
    lines = [fold(line) for line in content.splitlines()]
    whole = fold(content)
    return [whole[:_SHOWN_CHARS], *(line[:_SHOWN_CHARS] for line in lines if len(line) >= _MIN_LINE_CHARS)]


def _is_about(asked: Asked, happened: Happened) -> bool:
    """Return whether a memory of the proposal is meant, or has at least a word of the message."""
    said = {word for word in _words(happened.said.text) if len(word) >= _MIN_WORD_CHARS}
    return any(holds_any(old, happened.said.wants.gone) or said & set(_words(old)) for old in asked.olds)


def _says(shown: str, keys: Sequence[str]) -> bool:
    """Return whether one of these sentences is shown, in any language, as far as it has them."""
    known = (sentences(locale).get(key, "") for locale in Locale for key in keys)
    leads = (fold(max(re.split(r"\{\w+\}", each), key=len)) for each in known)
    return any(len(lead) >= _MIN_LEAD_CHARS and lead in fold(shown) for lead in leads)


def _short(content: str) -> str:
    flat = " ".join(content.split())
    return f"“{flat if len(flat) <= 2 * _SHOWN_CHARS else flat[: 2 * _SHOWN_CHARS] + '…'}”"
