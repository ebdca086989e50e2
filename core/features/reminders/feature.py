"""What reminders add to the bot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.parts import Verdict
from core.answering.turn import Additions, Heard, Turn
from core.commands.command import Request
from core.features.access.rules import Access
from core.features.admin.storage import OFF, Decisions, Matter
from core.features.feature import Contribution, RoomSwitch, Shared, Thought, Undoable, Undoes
from core.features.memories.card import ListedMemories
from core.features.pending_input import QuestionReader
from core.features.preferences.timezone import ZoneChange, local_now
from core.features.reminders.actions import line, reminder_actions
from core.features.reminders.agenda import Briefings
from core.features.reminders.card import TimeCompletion
from core.features.reminders.commands import reminder_commands, tell_undone
from core.features.reminders.delivery import DueMessages
from core.features.reminders.on_mention import asks_about_reminders, read_mention
from core.features.reminders.reminders import IMPORTED, REMINDER_SET, Reminder, Schedule
from core.features.reminders.request import QUESTIONS, read_request, reply
from core.features.reminders.scheduler import LONGEST_SLEEP_S, Allowed, Permission, Scheduler
from core.features.reminders.section import ReminderSection
from core.features.reminders.service import ReminderPlace, Reminders, is_heard
from core.features.reminders.steering import steered
from core.features.reminders.storage import ReminderStore
from core.features.reminders.telling import (
    Wish,
    heading,
    label,
    mentioned,
    place_of,
    time_in,
    undo_button,
    when,
)
from core.outgoing import Button
from core.text import assertions
from core.text.catalogue import Plurals, counted, forms, text
from core.text.markdown import plain_times
from core.text.unicode import one_line
from core.times import rules, wording
from core.types import ChatKey, Incoming, JSONValue, Locale, MemoryItem, UserKey, room_name

TIMEZONE_PLURALS = Plurals("preferences.timezone")

_MAX_OFFERED: Final = 3
_MAX_LABEL_CHARS: Final = 30


class ReminderAdditions(Additions):
    """Finds reminders by the words of a search."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    async def known(self, turn: Turn, queries: Sequence[str]) -> Sequence[str]:
        """Return the reminders that share a telling word with what is looked for, a line each.

        What waits for a mention is said then, and here only to a question about reminders.
        """
        place, is_about = place_of(turn), asks_about_reminders(turn.asked.text)
        matching = await self._reminders.matching(place, *queries)
        return [line(turn, each) for each in matching if each.mention is None or is_about]

    async def below_saved(self, turn: Turn, saved: Sequence[MemoryItem]) -> Sequence[Button]:
        """Return a button for each memory that names a time ahead, unless a reminder was asked for, too."""
        is_asked = REMINDER_SET in turn.log.written or assertions.asks_for(turn.asked.text, REMINDER_SET)
        if is_asked or REMINDER_SET in turn.services.off:
            return ()
        now, _ = local_now(turn)
        if read_request(turn.asked.text, now, turn.person.locale) is not None:
            return ()
        timed = [item for item in saved if time_in(item, now, turn.person.locale) is not None][:_MAX_OFFERED]
        labels = [OFFER[turn.person.locale]] if len(timed) == 1 else [_label(turn, item) for item in timed]
        return [Button(label, f"/remind memory {item.id}") for label, item in zip(labels, timed, strict=True)]

    async def heard(self, turn: Turn) -> Heard | None:
        """Do to a reminder what the message asks for in words, and return what is told; None if it asks for nothing."""
        return await steered(turn, self._reminders)

    async def below_answer(self, turn: Turn) -> Heard | None:
        """Return what the person wanted to be reminded of when they mention what their message mentions."""
        place = place_of(turn)
        if not await self._reminders.of_mentions(place):
            return None
        message, locale = turn.asked.text, turn.person.locale
        is_about = asks_about_reminders(message) or read_mention(message, local_now(turn)[0], locale) is not None
        said = await self._reminders.mentioned(place, "" if is_about else message, turn.memory.embedding)
        again = next((each for each in said if each.mention is not None and each.mention.each), None)
        ending = () if again is None else (Button(NO_MORE[locale], f"/reminders delete {again.id}"),)
        return Heard("\n".join(mentioned(each, locale) for each in said), ending) if said else None


def _label(turn: Turn, item: MemoryItem) -> str:
    return f"{OFFER[turn.person.locale]} {one_line(item.content, _MAX_LABEL_CHARS)}"


OFFER = text("reminders.actions.offer")
NO_MORE = text("reminders.mention.no_more")


MUTED: Final = "reminders"
"""The kind of decision that turns reminders off in a room (PLATFORM:ID), by OFF."""


async def is_muted(decisions: Decisions, chat: ChatKey) -> bool:
    """Return whether reminders are off in that room."""
    return await decisions.value(MUTED, room_name(chat)) == OFF


def permission_by(access: Access, decisions: Decisions) -> Allowed:
    """Return the function that decides: as for a message that the person would write there now."""

    async def allowed(reminder: Reminder) -> Permission:
        at = reminder.due or reminder.created_at
        # Without a name: the one that they had when it was set would take the place of the one that they have now.
        incoming = Incoming(reminder.chat, reminder.user, "", "", "", at, private=reminder.private)
        verdict = await access.recheck(incoming)
        if verdict is Verdict.TELL_PAUSED:
            return Permission.WAIT
        if verdict is not Verdict.ANSWER:
            return Permission.DROP
        if not reminder.private and await is_muted(decisions, reminder.chat):
            return Permission.PRIVATE
        return Permission.FIRE

    return allowed


_SHOWN_INSTANTS: Final = 5


class ReminderThought(Thought):
    """Tells the reminders that are new from those that were there."""

    def __init__(self, store: ReminderStore) -> None:
        self._store = store

    async def known(self, user: UserKey) -> frozenset[str]:
        """Return the ids of the person's reminders."""
        return frozenset(each.id for each in await self._store.of([user]))

    async def shown(
        self, user: UserKey, known: frozenset[str], asked: object, locale: Locale, now: datetime
    ) -> tuple[dict[str, JSONValue], list[str]]:
        """Return the reminders that are not among the known, and the times of what was asked; and the lines on both."""
        made = [each for each in await self._store.of([user]) if each.id not in known]
        reminders = [_document(each, locale, now) for each in made]
        document: dict[str, JSONValue] = {"reminders": [*reminders]}
        lines = list[str]()
        for each in reminders:
            lines.append(f"⏰ {each['text']}: {each['words']}")
            lines += [f"     {each['rule']}"] if each["rule"] else []
            following = each["next"]
            lines += [f"     {at} {each['zone']}" for at in (following if isinstance(following, list) else [])]
        if isinstance(asked, Wish):
            options = [_option(each, locale, now) for each in asked.options]
            document["asks"] = {"options": [*options]}
            if asked.past:
                document["past"] = asked.past.isoformat()
                lines.append(f"⏰ {document['past']} has passed")
            lines += [f"⏰ or {each['at']} {each['rule']}".rstrip() + f": {each['words']}" for each in options]
        return document, lines


def _document(reminder: Reminder, locale: Locale, now: datetime) -> dict[str, JSONValue]:
    schedule = reminder.schedule
    following = [] if reminder.due is None else [reminder.due]
    while following and len(following) < _SHOWN_INSTANTS:
        later = rules.next_after(schedule.wall, schedule.zone, schedule.rule, following[-1])
        if later is None:
            break
        following.append(later)
    instants: list[JSONValue] = [each.astimezone(ZoneInfo(schedule.zone)).isoformat() for each in following]
    return {
        "text": reminder.text,
        "kind": reminder.kind.value,
        "at": instants[0] if instants else None,
        "rule": schedule.rule,
        "next": instants,
        "zone": schedule.zone,
        "words": plain_times(when(reminder, now, locale)),
        "mention": None if reminder.mention is None else reminder.mention.subject,
    }


def _option(option: Schedule, locale: Locale, now: datetime) -> dict[str, JSONValue]:
    at = rules.instant(option.wall, option.zone).astimezone(ZoneInfo(option.zone))
    return {"at": at.isoformat(), "rule": option.rule, "words": label(option, now, locale)}


class ReminderUndo(Undoes):
    """Takes back changes of reminders; those of an import are taken back with the import."""

    def __init__(self, reminders: Reminders) -> None:
        self._reminders = reminders

    async def take_back(self, turn: Turn, act: str) -> bool | None:
        """Take back all that the act changed; None if it changed nothing, False if something of it stays."""
        await self._reminders.unsaid(place_of(turn), act)
        undone = await self._reminders.undo_act(place_of(turn), act)
        return all(undone) if undone else None

    async def newest(self, turn: Turn) -> Undoable | None:
        """Return the newest change that can still be taken back there."""
        reminder = await self._reminders.newest_change(place_of(turn))
        return None if reminder is None else self._undoable(turn, reminder)

    async def done(self, turn: Turn) -> Undoable | None:
        """Return what this turn took back before a restart broke it off."""
        done = await self._reminders.done(place_of(turn))
        return self._undoable(turn, done[0]) if done else None

    async def take_back_besides(self, turn: Turn, act: str) -> str:
        """Delete the reminders that an import set, and return a line on it; "" if it set none."""
        gone = await self._reminders.take_back(place_of(turn), f"{IMPORTED}{act}")
        return counted(GONE, turn.person.locale, len(gone)) if gone else ""

    async def can_undo(self, incoming: Incoming) -> bool:
        """Return whether its sender changed a reminder lately."""
        here = ReminderPlace(incoming.user, incoming.chat, incoming.private, Locale.PT)
        return await self._reminders.newest_change(here) is not None

    def _undoable(self, turn: Turn, reminder: Reminder) -> Undoable:
        is_imported = reminder.before is None and reminder.batch.startswith(IMPORTED)
        return Undoable(
            reminder.changed_at,
            undo_button(reminder, turn.person.locale),
            partial(tell_undone, reminders=self._reminders, reminder_id=reminder.id),
            reminder.batch.removeprefix(IMPORTED) if is_imported else "",
        )


GONE = forms("undo.reminders_gone")


_MAX_LISTED: Final = 5


def follow_zone(reminders: Reminders) -> Callable[[Request, ZoneChange], Awaitable[Sequence[str]]]:
    """Return the function that moves a person's reminders; in a room it tells of those that were said there.

    Who is there for a time is asked afterwards whether they are back.
    """

    async def moved_to(request: Request, change: ZoneChange) -> Sequence[str]:
        own, zone = request.person.own_zone, change.zone
        moved, stayed = await reminders.move_zone(request.incoming.user, zone, "" if own is None else str(own))
        place, told = place_of(request.turn), list[str]()
        for sentence, found in ((TIMEZONE_PLURALS.moved, moved), (TIMEZONE_PLURALS.stayed, stayed)):
            if heard := [each for each in found if is_heard(each, place)]:
                lines = [_line(each, zone, request) for each in heard[:_MAX_LISTED]]
                rest = len(heard) - len(lines)
                more = [counted(TIMEZONE_PLURALS.more, request.locale, rest)] if rest else []
                told.append("\n".join((counted(sentence, request.locale, len(heard)), *lines, *more)))
        back = await reminders.ask_back(place, change.home, change.until)
        if isinstance(back, Reminder) and back.due is not None:
            told.append(
                ASK_BACK[request.locale].format(
                    day=wording.day_told(back.due.astimezone(ZoneInfo(zone)), request.locale)
                )
            )
        return told

    return moved_to


def _line(reminder: Reminder, zone: str, request: Request) -> str:
    """Return a reminder with when it is due by the new clock."""
    schedule, locale = reminder.schedule, request.locale
    when = ""
    if schedule.rule:
        when = wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone)
    elif reminder.due is not None:
        when = wording.told(reminder.due, request.turn.services.clock.now(), zone, locale)
    return f"- {heading(reminder, locale)} · {when}"


ASK_BACK = text("preferences.heard.ask_back")


_OTHERS_S: Final = 5.0
"""How often a worker looks for what others set."""


def build(shared: Shared) -> Contribution:
    """Contribute reminders; where nobody may set any, what was set before can still be seen and deleted."""
    stores, clock = shared.stores, shared.clock

    async def is_off(chat: ChatKey) -> bool:
        return await is_muted(stores.decisions, chat)

    reminders = Reminders(
        stores.reminders,
        shared.memories,
        clock,
        shared.settings.reminder_limits,
        is_off=is_off,
        answering=shared.access.embedded,
    )

    async def purge() -> None:
        """Remove reminders that are over, and questions that nobody answered, with what they hold."""
        await reminders.purge()
        await shared.confirmations.expire()

    async def count(users: Sequence[UserKey]) -> int:
        return len(await stores.reminders.of(users))

    scheduler = Scheduler(
        stores.reminders,
        shared.notifier,
        DueMessages(shared.locales, Briefings(reminders, shared.memories, clock).told),
        clock,
        allowed=permission_by(shared.access, stores.decisions),
        purge=purge,
        is_alone=shared.worker.is_alone,
        longest_sleep_s=LONGEST_SLEEP_S if shared.worker.is_alone else _OTHERS_S,
    )
    reminders.wake = scheduler.wake
    listed = ListedMemories(stores.kept, "reminders")
    completion = TimeCompletion(stores.preferences.of, clock, stores.quotas.zone)
    actions = reminder_actions(reminders)
    return Contribution(
        commands=reminder_commands(listed, reminders, shared.replies, completion),
        actions=actions,
        off=() if reminders.limits.most else tuple(action.name for action in actions),
        effects=(REMINDER_SET,),
        additions=(ReminderAdditions(reminders),),
        matters=(_MATTER,),
        switches=(_SWITCH,),
        undoes=(ReminderUndo(reminders),),
        questions=(QuestionReader(QUESTIONS, reply),),
        zone_moves=(follow_zone(reminders),),
        forgetters=(listed, stores.reminders),
        counts=(("reminders", count),),
        thoughts=(ReminderThought(stores.reminders),),
        sections=(ReminderSection(reminders, shared.memories, stores.history, clock),),
        tasks=(scheduler.until,),
        offers=(reminders, scheduler),
    )


_MATTER: Final = Matter(
    MUTED,
    text("admin.decide.about.reminders"),
    {OFF: text("admin.decide.values.reminders.off"), "": text("admin.decide.values.reminders.on")},
)
_SWITCH: Final = RoomSwitch(
    MUTED,
    "reminders",
    on=text("admin.reminders.on"),
    off=text("admin.reminders.off"),
    turn_on=text("menus.reminders.on"),
    turn_off=text("menus.reminders.off"),
)
