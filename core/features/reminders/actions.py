"""The actions on reminders: cancel, list and set, and what they share.

The words for a time are read by rules (`core.times`), whatever a model makes of them. What only a model could read is
set after the person agreed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final

from core.actions.action import Action
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.features.preferences.timezone import local_now
from core.features.reminders.agenda import agenda, due_within
from core.features.reminders.card import entry
from core.features.reminders.card import line as card_line
from core.features.reminders.mentions import (
    asks_for_all,
    asks_to_hold,
    may_be_about,
    read_agenda,
    read_cancel,
    read_change,
    read_list,
)
from core.features.reminders.on_mention import MentionRequest, is_each, read_mention, subject_in
from core.features.reminders.reminders import REMINDER_SET, Days, Kind, Mention, Reminder
from core.features.reminders.request import (
    QUESTIONS,
    Clearing,
    ReminderRequest,
    Removal,
    read_request,
    read_requests,
)
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import (
    PAUSED_TEXT,
    REMOVED,
    RESUMED_TEXT,
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
from core.outgoing import Button
from core.text.catalogue import Sentences, counted, forms
from core.text.clauses import clauses
from core.text.language import spoken
from core.text.markdown import plain_times, quoted
from core.text.replies import numbered
from core.text.unicode import clean
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.times import rules
from core.times.grammar import find_time
from core.times.reading import Once, Past, Recurrence, Time, Unclear
from core.times.zones import zone_key
from core.types import JSONValue, Locale

ACTIONS = Sentences("reminders.actions")
STEERING = Sentences("reminders.steering")


def reminder_actions(reminders: Reminders) -> tuple[Action, ...]:
    """Return the actions on those, in the order in which limited mode reads: "don't remind me" sets none."""
    return reminder_cancel(reminders), reminder_list(reminders), reminder_set(reminders)


async def say(turn: Turn, step: Step, answer: ReminderNotice) -> Step:
    """Say the answer in our own words, and return the step; a question ends the turn."""
    try:
        step = await turn.answer.report(replace(step, asks=answer.asks), answer.text, answer.choices)
        if answer.asks:
            await turn.answer.complete()
            await turn.answer.view.flush()
    except BaseException:  # nobody can answer what was not shown
        await turn.services.confirmations.drop(turn.conversation.thread.conversation, *QUESTIONS)
        raise
    return step


def line(turn: Turn, reminder: Reminder) -> str:
    """Return a reminder on one line: its words, and when it is due."""
    return plain_times(card_line(reminder, local_now(turn)[0], turn.person.locale))


async def on_that_day(turn: Turn, found: Sequence[Reminder], words: str) -> Sequence[Reminder] | None:
    """Return those of the reminders that are due on the day which the words name; None if they name none."""
    now, _ = local_now(turn)
    day = day_in(words, turn, now)
    return None if day is None else await due_within(found, now, Days.of(day.date()))


async def named_by(turn: Turn, reminders: Reminders, words: str) -> Sequence[Reminder]:
    """Return the reminders that the words name: by number, by their own words, or by the day they are due."""
    place = place_of(turn)
    every = await reminders.of(place)
    if not words:
        return every
    if (numbers := numbered(words, len(every))) is not None:
        return [every[at] for at in numbers]
    matching = await reminders.matching(place, words)
    on_day = await on_that_day(turn, every, words)
    if matching and on_day and (both := [each for each in matching if each in on_day]):
        return _best(both, words)
    return _best(matching, words) or on_day or ()


def _best(found: Sequence[Reminder], words: str) -> Sequence[Reminder]:
    """Return those that share the most words with what was said."""
    wanted = set(folded_words(words)) - FUNCTION_WORDS
    scores = [sum(any(same(word, own) for own in folded_words(each.named_by)) for word in wanted) for each in found]
    return [each for each, score in zip(found, scores, strict=True) if score == max(scores)]


def day_in(words: str, turn: Turn, now: datetime) -> datetime | None:
    """Return an instant on the day that the words name, or None."""
    found = find_time(words, now, turn.person.locale) if words else None
    match found.time if found is not None else None:
        case Once(at) | Past(at) | Unclear((Once(at), *_)) | Recurrence(_, at):
            return at.astimezone(now.tzinfo)
    return None


CANCEL_NAME: Final = "ReminderCancel"
_MAX_OFFERED: Final = 8
_MAX_WORDS_CHARS: Final = 200

CANCEL_WHEN = "They want to be reminded no more."

CANCEL_INSTRUCTION = "`which` are their words for the reminder, or its number in the list."


@dataclass(frozen=True)
class Named:
    """The reminder to delete, in words."""

    which: str


def reminder_cancel(reminders: Reminders) -> Action:
    """Return the action, which deletes reminders there."""

    async def run(turn: Turn, named: Named) -> Step:
        """Delete or hold the one that is named, ask which of several, or say that there is none."""
        words = clean(named.which, _MAX_WORDS_CHARS).strip()
        found = await named_by(turn, reminders, words)
        if len(found) > 1 and asks_for_all(turn.asked.text):
            answer = await _all(turn, found)
        elif not found:
            none = ACTIONS.none_of_these_words if words and not asks_for_all(turn.asked.text) else ACTIONS.none
            answer = ReminderNotice(none[turn.person.locale].format(words=quoted(words)))
        elif len(found) > 1 or not await _is_cancel_asked(turn, words):
            answer = await _which(turn, found)
        else:
            place, held = place_of(turn), asks_to_hold(turn.asked.text)
            if held is None:
                changed, sentence = await reminders.remove(place, found[0].id), REMOVED
            else:
                changed = await reminders.pause(place, found[0].id, paused=held)
                sentence = PAUSED_TEXT if held else RESUMED_TEXT
            if isinstance(changed, Refusal):
                answer = refused(turn, reminders, changed)
            else:
                answer = told(turn, changed, sentence, can_undo=bool(reminders.undo_within))
        return await say(turn, _cancel_step(answer), answer)

    return Action(
        CANCEL_NAME,
        CANCEL_WHEN,
        run,
        arguments=Named,
        instruction=CANCEL_INSTRUCTION,
        example='{"which": "..."}',
        status=ACTIONS.looking,
        called_for=may_be_about,
        asks=True,
        reads=read_cancel,
    )


async def _all(turn: Turn, found: Sequence[Reminder]) -> ReminderNotice:
    """Store that all are meant, and return the question whether to delete them."""
    locale = turn.person.locale
    asked = Clearing(tuple(each.id for each in found))
    code = await turn.services.confirmations.ask(turn.conversation.thread.conversation, asked)
    lines = [f"- {line(turn, each)}" for each in found[:_MAX_OFFERED]]
    more = [counted(MORE, locale, len(found) - len(lines))] if len(found) > len(lines) else []
    choices = (
        Button(STEERING.clear[locale], f"/reminders clear {code}", in_place=True),
        Button(STEERING.keep[locale], f"/reminders keep {code}", in_place=True),
    )
    return ReminderNotice(
        "\n".join((STEERING.clear_all[locale].format(count=len(found)), *lines, *more)), choices, asks=True
    )


async def _is_cancel_asked(turn: Turn, words: str) -> bool:
    """Return whether the person asked to delete or hold a reminder, and said which."""
    is_read = read_cancel(turn.asked.text, turn.services.clock.now(), turn.person.locale) is not None
    return (is_read or turn.support.asks_to_delete()) and (not words or await turn.support.has(words, asked=True))


async def _which(turn: Turn, found: Sequence[Reminder]) -> ReminderNotice:
    """Store which reminders are meant, and return the question which of them, with a button for each."""
    shown = found[:_MAX_OFFERED]
    await turn.services.confirmations.ask(
        turn.conversation.thread.conversation, Removal(tuple(each.id for each in shown))
    )
    lines = [f"{number}. {line(turn, each)}" for number, each in enumerate(shown, 1)]
    choices = tuple(
        Button(f"{number}. {entry(each, turn.person.locale).label}", f"/reminders delete {each.id}", in_place=True)
        for number, each in enumerate(shown, 1)
    )
    return ReminderNotice("\n".join((ACTIONS.which[turn.person.locale], *lines)), choices, asks=True)


def _cancel_step(answer: ReminderNotice) -> Step:
    if answer.reminder is not None:
        return Step(CANCEL_NAME, Outcome.DONE, detail="done; the person was just told this: do not repeat it")
    why = "the person is asked which one; none is deleted before they say" if answer.asks else "none; they were told so"
    return Step(CANCEL_NAME, Outcome.NOTHING, detail=why)


LIST_NAME: Final = "ReminderList"
_MAX_LISTED: Final = 20

LIST_WHEN = "They ask which reminders they have."


def reminder_list(reminders: Reminders) -> Action:
    """Return the action, which lists the reminders there."""

    async def run(turn: Turn, _: None) -> Step:
        """Put into the step's notes what the days have in store that the message asks for, or else all reminders.

        Of a day of which only reminders are asked for, those alone.
        """
        now, said = local_now(turn)[0], turn.asked.text
        days = next(filter(None, (read_agenda(said[slice(*each)], now) for each in clauses(said))), None)
        day = None if days is not None else day_in(turn.asked.text, turn, now)
        if shown := days or (Days.of(day.date()) if day is not None else None):
            told = await agenda(turn, reminders, shown, only_reminders=days is None)
            return Step(LIST_NAME, Outcome.DONE, notes=tuple(map(plain_times, told)))
        lines = [line(turn, each) for each in await reminders.of(place_of(turn))]
        told = lines[:_MAX_LISTED] or [ACTIONS.none[turn.person.locale]]
        if more := len(lines) - _MAX_LISTED if len(lines) > _MAX_LISTED else 0:
            told.append(counted(MORE, turn.person.locale, more))
        return Step(LIST_NAME, Outcome.DONE if lines else Outcome.NOTHING, notes=tuple(told))

    return Action(
        LIST_NAME, LIST_WHEN, run, status=ACTIONS.looking, informs=True, called_for=may_be_about, reads=read_list
    )


SET_NAME: Final = "ReminderSet"

SET_WHEN = (
    'They want to be told of something at a time ("remind me to"). "Remember that I pay rent on the 5th" is a memory.'
)

SET_INSTRUCTION = """\
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
        if (
            turn.support.is_trusted
            and moved is None
            and at_mention is None
            and (several := _asked_together(turn, wanted))
        ):
            return await _set_all(turn, reminders, several)
        if at_mention is not None:
            answer = await _set_at_mention(turn, reminders, wanted, at_mention)
        elif not wish.text and kind is Kind.REMINDER:
            answer = refused(turn, reminders, Refusal.NO_TEXT)
        else:
            time, is_sure = _read(turn, wanted)
            is_sure = is_sure and await _is_set_asked(turn, wanted)
            known = await _known(turn, reminders, wish, time) if is_sure and moved is None else None
            # A restart repeats a turn that it broke off.
            answer = known or await settle_time(turn, reminders, wish, time, is_sure=is_sure)
        if answer.memory is not None:
            await turn.answer.recall([answer.memory])
        if turn.log.written:  # two buttons below one message must not look the same
            answer = with_named_buttons(answer, wish.text)
        return await say(turn, _set_step(answer), answer)

    return Action(
        SET_NAME,
        SET_WHEN,
        run,
        arguments=ReminderWish,
        instruction=SET_INSTRUCTION,
        example='{"text": "...", "when": "...", "at": "", "rule": "", "briefing": false}',
        status=ACTIONS.setting,
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
    request = next(iter(read_requests(message, now, locale)), None)
    return None if request is None else {"text": request.text, "when": request.when, "briefing": request.briefing}


def _asked_together(turn: Turn, wanted: ReminderWish) -> Sequence[ReminderRequest]:
    """Return the requests of the clause that asks for that reminder, if it asks for several; what is plain first."""
    now, said = local_now(turn)[0], turn.asked.text
    locale = spoken(said) or turn.person.locale
    read = (read_requests(said[slice(*each)], now, locale) for each in clauses(said))
    found = next((each for each in read if len(each) > 1 and each[0].text == wanted.text), ())
    return sorted(found, key=lambda each: each.found is not None and isinstance(each.found.time, Unclear))


async def _set_all(turn: Turn, reminders: Reminders, requests: Sequence[ReminderRequest]) -> Step:
    """Set each of several reminders, and say so; the first that lacks anything is asked about, which ends the turn."""
    step = Step(SET_NAME, Outcome.NOTHING, writes=REMINDER_SET)
    for request in requests:
        wish, time = Wish(request.text), None if request.found is None else request.found.time
        answer = await _known(turn, reminders, wish, time) or await settle_time(turn, reminders, wish, time)
        if answer.memory is not None:
            await turn.answer.recall([answer.memory])
        named = wish.text if answer.reminder is None else answer.reminder.text
        step = await say(turn, _set_step(answer), with_named_buttons(answer, named))
        if step.asks:
            break
    return step


def _at_mention(turn: Turn, wanted: ReminderWish) -> MentionRequest | None:
    """Return the wish to be reminded at a mention: as rules read it, else as the model does in the person's words."""
    read = read_mention(turn.asked.text, local_now(turn)[0], spoken(turn.asked.text) or turn.person.locale)
    if read is not None and (wanted.mention or not wanted.when):
        return read
    subject = subject_in(clean(wanted.mention, _MAX_WORDS_CHARS))
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
    locale, when = spoken(turn.asked.text) or turn.person.locale, wanted.when[:_MAX_WORDS_CHARS]
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


async def _is_set_asked(turn: Turn, wanted: ReminderWish) -> bool:
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


def _set_step(answer: ReminderNotice) -> Step:
    if answer.reminder is not None:
        detail = "the person was just told this with its time: do not repeat it"
        return Step(SET_NAME, Outcome.DONE, detail=detail, writes=REMINDER_SET)
    why = (
        "the person is asked when; nothing is set before they answer" if answer.asks else "not set; they were told why"
    )
    return Step(SET_NAME, Outcome.NOTHING, detail=why, writes=REMINDER_SET)


MORE = forms("reminders.actions.more")
