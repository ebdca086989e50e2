"""The steps of a turn in words, for who wants to see how an answer came about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from core.answering.log import OWN_WORDS
from core.answering.turn import Turn
from core.dialogue import ActionInfo, Outcome, Step, Task
from core.text.catalogue import counted, forms, text
from core.text.unicode import one_line
from core.types import Locale, Localized, StepTaken

_MOST_FOUND: Final = 3
_MAX_CHARS: Final = 50
_NOTHING_NAMED: Final = ("", "")


def trail(turn: Turn) -> str:
    """Return the steps of the turn, a line each below a title, with what they looked for and found; "" for none.

    Where others read along, nothing that was looked for or found is named.
    """
    if not turn.log.steps:
        return ""
    named = [("", _listed(hit.item.content for hit in turn.shown.hits))] if turn.shown.hits else []
    # Limited mode asks with the message first, and besides with names of things that no person says.
    most = 1 if turn.services.models.is_limited else None
    named += [(_listed(step.queries[:most]), _listed(_found(step))) for step in turn.log.steps]
    shown = named if turn.person.is_private else []
    return in_figures(turn.log.steps_taken, turn.services.actions, turn.person.locale, shown)


def in_figures(
    steps: Sequence[StepTaken], actions: Sequence[ActionInfo], locale: Locale, named: Sequence[tuple[str, str]] = ()
) -> str:
    """Return steps, a line each below a title; `named` is what each looked for and found. "" for no steps."""
    if not steps:
        return ""
    seconds = _number(sum(each.seconds for each in steps), locale)
    lines = [f"💭 {counted(TITLE, locale, len(steps), seconds=seconds)}"]
    of_name = {each.name: each for each in actions}
    for at, step in enumerate(steps):
        action = of_name.get(step.action)
        looked_for, found = named[at] if named else _NOTHING_NAMED
        what = _called(step.action, action)[locale].rstrip(" .…")
        came = _result(step, action, locale)
        words = f"{what}: {looked_for}" if looked_for else what
        result = f" → {came}: {found}" if found else f" → {came}" if came else ""
        took = f" · {_number(step.seconds, locale)} s" if step.action != OWN_WORDS else ""
        lines.append(f"• {words}{result}{took}")
    return "\n".join(lines)


def _called(name: str, action: ActionInfo | None) -> Localized:
    """Return what people call a step: what is on the screen while it runs, if it says so."""
    if name == OWN_WORDS:
        return AT_ONCE
    if action is not None and action.task in {Task.FINISH, Task.QUESTION}:
        return ANSWERING
    return action.status if action is not None and action.status is not None else ACTING


def _result(step: StepTaken, action: ActionInfo | None, locale: Locale) -> str:
    """Return what came of a step; "" for the answer itself."""
    searches = step.action == OWN_WORDS or (action is not None and action.task is Task.SEARCH_QUERIES)
    if step.outcome == Outcome.NOTHING:
        return (NOTHING if searches else UNDONE)[locale]
    if step.outcome != Outcome.DONE:
        return (FAILED if step.outcome == Outcome.FAILED else REPEATED)[locale]
    if action is not None and action.task in {Task.FINISH, Task.QUESTION}:
        return ""
    return counted(FOUND, locale, step.count) if searches else DONE[locale]


def _found(step: Step) -> Iterable[str]:
    """Yield in words what a step found or changed."""
    yield from (item.content for item in step.items)
    yield from (quote.message.text for quote in step.quotes)
    yield from step.notes


def _listed(words: Iterable[str]) -> str:
    texts = [f"“{one_line(each, _MAX_CHARS)}”" for each in words]
    more = [f"+ {len(texts) - _MOST_FOUND}"] if len(texts) > _MOST_FOUND else []
    return ", ".join([*texts[:_MOST_FOUND], *more])


def _number(seconds: float, locale: Locale) -> str:
    from babel.numbers import format_decimal  # loaded by the first trail, not by the start

    return str(format_decimal(round(seconds, 2 if seconds < 1 else 1), locale=locale.value.replace("-", "_")))


TITLE = forms("trail.title")
AT_ONCE = text("trail.own_words")
ANSWERING = text("trail.answering")
ACTING = text("trail.acting")
FOUND = forms("trail.found")
DONE = text("trail.done")
NOTHING = text("trail.nothing")
UNDONE = text("trail.undone")
FAILED = text("trail.failed")
REPEATED = text("trail.repeated")
