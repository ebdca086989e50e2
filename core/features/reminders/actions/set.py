"""ReminderSet: remind the person of something, once or again and again, at the time that they named.

The words for the time are read by rules (`core.times`), whatever a model makes of them. What only a model could read is
set after the person agreed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from core.actions.action import Action
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.preferences.timezone import local_now
from core.features.reminders.actions.saying import named_by, say
from core.features.reminders.effect import REMINDER_SET
from core.features.reminders.mentions import may_be_about, read_change
from core.features.reminders.on_mention import MentionRequest, is_each, read_mention, subject_in
from core.features.reminders.reminders import Kind, Mention, Reminder
from core.features.reminders.request import read_request
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import (
    SET,
    ReminderNotice,
    Wish,
    as_schedule,
    at_mentions,
    place_of,
    refused,
    settle_time,
    told,
    with_named_buttons,
)
from core.models import NOT_BRIEF
from core.text.catalogue import text
from core.text.language import spoken
from core.text.unicode import clean
from core.text.words import folded_words
from core.times import rules
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Time
from core.times.zones import zone_key
from core.types import JSONValue, Locale

NAME: Final = "ReminderSet"
_MAX_WHEN_CHARS: Final = 200

WHEN = (
    'They want to be told of something at a time ("remind me to"). "Remember that I pay rent on the 5th" is a memory.'
)

INSTRUCTION = """\
`text` is what to remind of, in the person's words without the time. `when` are their words for the time, copied and \
never computed ("dia 5", "every other Friday at 9", "an hour before my flight"), or "". Only if these words leave it \
open: `at` as 2026-11-23T08:00, local, and `rule`, an RRULE; else "". `briefing`: they want to hear what each day has \
in store. `mention`: their words for what to wait for, if they want it said when they mention that ("the dentist")."""


@dataclass(frozen=True)
class ReminderWish:
    """What to remind of, and when."""

    text: str
    when: str = ""
    at: Annotated[str, NOT_BRIEF] = ""
    rule: Annotated[str, NOT_BRIEF] = ""
    briefing: Annotated[bool, NOT_BRIEF] = False
    mention: Annotated[str, NOT_BRIEF] = ""


def reminder_set(reminders: Reminders) -> Action:
    """Return the action, which sets reminders there."""

    async def run(turn: Turn, wanted: ReminderWish) -> Step:
        """Set the reminder and say when it is due, or ask for what is missing, which ends the turn."""
        kind = Kind.BRIEFING if wanted.briefing else Kind.REMINDER
        wish = Wish(clean(wanted.text), kind=kind)
        moved = await _to_move(turn, reminders, wish.text)
        if moved is not None:
            wish = Wish(moved.text, kind=moved.kind, reminder_id=moved.id)
        at_mention = _at_mention(turn, wanted)
        if at_mention is not None:
            answer = await _set_at_mention(turn, reminders, wanted, at_mention)
        elif not wish.text and kind is Kind.REMINDER:
            answer = refused(turn, reminders, Refusal.NO_TEXT)
        else:
            time, is_sure = _read(turn, wanted)
            is_sure = is_sure and await _is_asked(turn, wanted)
            known = await _known(turn, reminders, wish, time) if is_sure and moved is None else None
            # A restart repeats a turn that it broke off.
            answer = known or await settle_time(turn, reminders, wish, time, is_sure=is_sure)
        if answer.memory is not None:
            await turn.answer.recall([answer.memory])
        if turn.log.written:  # two buttons below one message must not look the same
            answer = with_named_buttons(answer, wish.text)
        return await say(turn, _step(answer), answer)

    return Action(
        NAME,
        WHEN,
        run,
        arguments=ReminderWish,
        instruction=INSTRUCTION,
        example='{"text": "...", "when": "...", "at": "", "rule": "", "briefing": false}',
        status=SETTING,
        called_for=may_be_about,
        asks=True,
        writes=REMINDER_SET,
        reads=read_arguments,
    )


def read_arguments(message: str, now: datetime, locale: Locale) -> dict[str, JSONValue] | None:
    """Return the arguments that a message gives by its words; None if it asks for no reminder."""
    if (change := read_change(message)) is not None:
        found = find_time(change, now, locale)
        which = change if found is None else found.without(change)
        when = "" if found is None else " ".join(change[start:end] for start, end in found.spans)
        return {"text": which, "when": when, "briefing": False} if which else None
    if (asked := read_mention(message, now, locale)) is not None:
        return {"text": asked.text, "when": "", "briefing": False, "mention": asked.mention.subject}
    request = read_request(message, now, locale)
    return None if request is None else {"text": request.text, "when": request.when, "briefing": request.briefing}


def _at_mention(turn: Turn, wanted: ReminderWish) -> MentionRequest | None:
    """Return the wish to be reminded at a mention: as rules read it, else as the model does in the person's words."""
    read = read_mention(turn.asked.text, local_now(turn)[0], spoken(turn.asked.text) or turn.person.locale)
    if read is not None and (wanted.mention or not wanted.when):
        return read
    subject = subject_in(clean(wanted.mention, _MAX_WHEN_CHARS))
    if not subject or not wanted.text or not turn.shown.is_said_as(subject):
        return None
    return MentionRequest(clean(wanted.text), Mention(subject, is_each(turn.asked.text)))


async def _set_at_mention(
    turn: Turn, reminders: Reminders, wanted: ReminderWish, asked: MentionRequest
) -> ReminderNotice:
    """Set the reminder, or ask whether to, if it was not asked for in these words."""
    is_own = wanted.text in asked.text or asked.text in wanted.text
    wish = Wish(clean(wanted.text) if is_own else asked.text, kind=Kind.MENTION, mention=asked.mention)
    same = (each for each in await reminders.of(place_of(turn)) if _is(each, wish) and each.mention == wish.mention)
    if (known := next(same, None)) is not None:
        return told(turn, known, SET, can_undo=bool(reminders.undo_within))
    is_sure = turn.support.asks_for(REMINDER_SET) and await turn.support.has(wish.text, asked=True)
    return await at_mentions(turn, reminders, wish, asked.until, is_sure=is_sure)


def _read(turn: Turn, wanted: ReminderWish) -> tuple[Time | None, bool]:
    """Return the time that the person named (None: none), and whether that is sure: read by rules, in their words.

    Times are counted from when the message was said.
    """
    now, _ = local_now(turn)
    said = turn.asked.at.astimezone(now.tzinfo) if turn.asked.at is not None else now
    locale, when = spoken(turn.asked.text) or turn.person.locale, wanted.when[:_MAX_WHEN_CHARS]
    request = read_request(turn.asked.text, said, locale)
    whole = find_time(turn.asked.text, said, locale) if request is None else request.found
    part = find_time(when, said, locale) if when else None
    if whole is not None and set(folded_words(when)) <= {
        word for start, end in whole.spans for word in folded_words(turn.asked.text[start:end])
    }:  # a model may leave out a part of the words
        return whole.time, True
    if part is not None:
        return part.time, turn.shown.is_said_as(when)
    return _given(wanted, said), False


async def _is_asked(turn: Turn, wanted: ReminderWish) -> bool:
    """Return whether the person asked for a reminder, or to move one, and said of what; or to hear what a day holds."""
    now, _ = local_now(turn)
    message, locale = turn.asked.text, spoken(turn.asked.text) or turn.person.locale
    request = read_request(message, now, locale)
    if wanted.briefing:
        return turn.support.is_trusted or (request is not None and request.briefing)
    is_read = request is not None or read_change(message) is not None
    return (is_read or turn.support.asks_for(REMINDER_SET)) and await turn.support.has(wanted.text, asked=True)


async def _to_move(turn: Turn, reminders: Reminders, words: str) -> Reminder | None:
    """Return the one reminder that the message asks to move, or None."""
    if read_change(turn.asked.text) is None:
        return None
    found = await named_by(turn, reminders, words)
    return found[0] if len(found) == 1 else None


def _given(wanted: ReminderWish, now: datetime) -> Once | Recurrence | Past | None:
    """Return the time that the model gives as numbers, if it can be understood."""
    rule = wanted.rule.strip().upper().removeprefix("RRULE:")
    try:
        at = datetime.fromisoformat(wanted.at) if wanted.at else None
    except ValueError:
        at = None
    if at is not None:
        at = at.replace(tzinfo=now.tzinfo) if at.tzinfo is None else at.astimezone(now.tzinfo)
    if rule and not rules.problem(rule):
        begin = at or now.replace(second=0, microsecond=0)
        first = rules.next_after(begin.replace(tzinfo=None), zone_key(now), rule, now)
        return None if first is None else Recurrence(rule, first.astimezone(now.tzinfo))
    if at is None:
        return None
    return Once(at) if at > now else Past(at)


async def _known(turn: Turn, reminders: Reminders, wish: Wish, time: Time | None) -> ReminderNotice | None:
    """Return the sentence on a reminder of the same words and times that is set already; None if there is none."""
    if not isinstance(time, Once | Recurrence):
        return None
    place, wanted = place_of(turn), as_schedule(time)
    same = (each for each in await reminders.of(place) if _is(each, wish) and each.chat == place.chat)
    found = next(
        (each for each in same if (each.schedule.wall, each.schedule.rule) == (wanted.wall, wanted.rule)), None
    )
    return None if found is None else told(turn, found, SET, can_undo=bool(reminders.undo_within))


def _is(reminder: Reminder, wish: Wish) -> bool:
    return reminder.kind is wish.kind and reminder.text == wish.text


def _step(answer: ReminderNotice) -> Step:
    if answer.reminder is not None:
        detail = "the person was just told this with its time: do not repeat it"
        return Step(NAME, Outcome.DONE, detail=detail, writes=REMINDER_SET)
    why = (
        "the person is asked when; nothing is set before they answer" if answer.asks else "not set; they were told why"
    )
    return Step(NAME, Outcome.NOTHING, detail=why, writes=REMINDER_SET)


SETTING = text("reminders.actions.setting")
