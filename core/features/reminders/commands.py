"""/reminders, /remind and /agenda: look through reminders, change one, set one; buttons below those that were said."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.confirmations import newest
from core.answering.outcomes import INCOGNITO
from core.commands.command import Command, CompletionRequest, Request
from core.commands.menu import MenuEntry, completed_field, number_field, text_field
from core.features.access.gate import named
from core.features.memories.card import PAGE_SIZE, ListedMemories, Page, Row, is_number
from core.features.pending_input import PendingReplies
from core.features.preferences.timezone import local_now
from core.features.reminders.agenda import ON_REMINDERS, agenda_command
from core.features.reminders.card import ReminderCompletion, TimeCompletion, back, entry, line, show_card
from core.features.reminders.on_mention import read_mention
from core.features.reminders.reminders import REMINDER_SET, Kind, Reminder, ReminderState
from core.features.reminders.request import Clearing
from core.features.reminders.service import Refusal, ReminderPlace, Reminders
from core.features.reminders.telling import (
    BACK,
    MOVED,
    PAUSED,
    REMOVED,
    RESUMED,
    REWORDED,
    TAKEN_BACK,
    UNDO,
    WHEN,
    ReminderNotice,
    Wish,
    as_time,
    at_mentions,
    heading,
    place_of,
    put,
    refused,
    settle_time,
    time_in,
    told_set,
    undo_button,
)
from core.outgoing import Button, Suggestion
from core.text.catalogue import Plurals, Sentences, counted, text
from core.text.markdown import time_link
from core.text.replies import means_no
from core.times import wording
from core.times.grammar import find_time
from core.types import Localized

LIST = Sentences("reminders.list")
REMIND = Sentences("reminders.remind")
STEERING_PLURALS = Plurals("reminders.steering")

_PICK: Final = re.compile(r"pick ([A-Z]{4}) (\d{1,2})")
_ALOUD: Final = re.compile(r"aloud ([A-Z]{4})")
_AT: Final = re.compile(r"at ([A-Z]{4})(?:\s+(.*))?", re.DOTALL)
_MEMORY: Final = re.compile(r"memory (\w{1,64})")
_LATER: Final = re.compile(r"later (\w{1,32}) (10m|1h|1d)")
_REWRITES: Final = frozenset({"edit", "when"})
"""The verbs that take the person's words."""

_LENGTHS: Final = {"10m": timedelta(minutes=10), "1h": timedelta(hours=1), "1d": timedelta(days=1)}


class _ReminderWords:
    """What both commands say of a reminder. `replies` keeps which of them waits for a text."""

    def __init__(self, reminders: Reminders, replies: PendingReplies) -> None:
        self.reminders = reminders
        self.replies = replies

    async def changed(self, request: Request, changed: Reminder | Refusal, sentence: Localized) -> None:
        """Show the card of a reminder that was changed, or say why it was not."""
        if isinstance(changed, Refusal):
            await self.refuse(request, changed)
            return
        await show_card(request, changed, sentence[request.locale], can_undo=bool(self.reminders.undo_within))

    async def refuse(self, request: Request, refusal: Refusal) -> None:
        await request.answer.tell(refused(request.turn, self.reminders, refusal).text, choices=[back(request.locale)])

    async def tell_done(self, request: Request) -> bool:
        """Tell what the command had set or moved before a restart, whatever its words mean now; False for nothing."""
        for reminder in (await self.reminders.done(place_of(request.turn)))[:1]:
            if reminder.before is None:
                answer = await told_set(request.turn, self.reminders, reminder)
                await request.answer.tell(answer.text, choices=answer.choices)
            else:
                await self.changed(request, reminder, MOVED)
            return True
        return False

    async def settle(self, request: Request, wish: Wish, words: str) -> None:
        now, _ = local_now(request.turn)
        found = find_time(words, now, request.locale)
        answer = await settle_time(request.turn, self.reminders, wish, None if found is None else found.time)
        await self.tell(request, wish, answer)

    async def tell(self, request: Request, wish: Wish, answer: ReminderNotice) -> None:
        """Show the card of a reminder that was moved, or else what the person is told."""
        if wish.reminder_id and answer.reminder is not None:
            await self.changed(request, answer.reminder, MOVED)
        else:
            await request.answer.tell(answer.text, choices=answer.choices)


class ReminderCommand(_ReminderWords):
    """Offer /reminders, which lists them, and does something with one."""

    def __init__(self, listed: ListedMemories, reminders: Reminders, replies: PendingReplies) -> None:
        super().__init__(reminders, replies)
        self._listed = listed
        self._verbs: Mapping[str, Callable[[Request, Reminder, str], Awaitable[None]]] = {
            "show": self._show,
            "edit": self._edit,
            "when": self._when,
            "pause": partial(self._hold, paused=True),
            "resume": partial(self._hold, paused=False),
            "delete": self._delete,
            "undo": self._undo,
        }

    def command(self, completion: TimeCompletion) -> Command:
        """Return the command, whose fields offer reminders and times."""
        return Command(
            "reminders",
            text("commands.reminders"),
            self._browse,
            usage=" [N]",
            is_listed=True,
            complete=ReminderCompletion(self.reminders, completion),
            begins=self._begun,
            verbs=_VERBS,
            topics=(ON_REMINDERS,),
        )

    async def _begun(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the text of the reminder that a button edits, as it is now."""
        said = request.incoming
        if said.text.split()[1:2] != ["edit"]:
            return ()
        found = await self.reminders.find(
            ReminderPlace(said.user, said.chat, said.private, request.locale), said.text.split()[-1]
        )
        return () if found is None else (Suggestion("", found.text),)

    async def _browse(self, request: Request, argument: str) -> None:
        """Show a page of the list, or do something with one of it, named by its number or id."""
        verb, _, rest = argument.partition(" ")
        verb, name = verb.casefold(), rest.strip()
        if verb == "done" and name:
            await self._done(request, name)
        elif verb in {"clear", "keep"} and name:
            await self._clear(request, name, is_agreed=verb == "clear")
        elif verb == "restore" and name:
            await self._restore(request, name)
        elif verb in self._verbs and name:
            name, _, rest = name.partition(" ")
            await self._one(request, verb, name, rest.strip())
        elif is_number(number := (name if verb == "list" else verb) or "1"):
            await self._page(request, int(number))
        else:
            await request.tell(LIST.how_to_browse)

    async def _one(self, request: Request, verb: str, name: str, rest: str) -> None:
        here = request.incoming.conversation
        reminder_id = await self._listed.memory_id(here, int(name)) if is_number(name) else name.casefold()
        reminder = await self.reminders.find(place_of(request.turn), reminder_id) if reminder_id else None
        if reminder is None:
            await self.replies.settle(request)
            await self._tell_not_found(request, reminder_id or "")
        elif request.person.is_incognito and verb in _REWRITES:
            await self.replies.settle(request)
            await request.tell(INCOGNITO)
        else:
            await self._verbs[verb](request, reminder, rest)

    async def _tell_not_found(self, request: Request, reminder_id: str) -> None:
        """Say that there is no such reminder, or whose it is: in a room others see the buttons, too."""
        name = await self.reminders.name_of_other(place_of(request.turn), reminder_id)
        if name is None:
            await self.refuse(request, Refusal.GONE)
        elif names := named(name):
            await request.refuse(REMIND.theirs, name=names[0])
        else:
            await request.refuse(REMIND.not_yours)

    async def _page(self, request: Request, number: int) -> None:
        locale, (now, _) = request.locale, local_now(request.turn)
        found = await self.reminders.of(place_of(request.turn))
        if not found:
            none = NONE_SET if REMINDER_SET in request.turn.services.off else LIST.none
            await request.tell(none if request.incoming.private else LIST.none_here)
            return
        page = Page.of("reminders", number, len(found))
        title = LIST.title if request.incoming.private else LIST.title_here
        rows = [
            Row(each.id, line(each, now, locale), entry(each, locale))
            for each in found[page.before : page.before + PAGE_SIZE]
        ]
        await self._listed.show(request, title[locale].format(total=len(found)), rows, page=page)

    async def _show(self, request: Request, reminder: Reminder, _: str) -> None:
        if reminder.state is ReminderState.REMOVED:
            await self.refuse(request, Refusal.GONE)
        else:
            await show_card(request, reminder)

    async def _edit(self, request: Request, reminder: Reminder, words: str) -> None:
        """Change the words; without any, take the person's next message for them."""
        if not words:
            await self.replies.await_text(request, f"/reminders edit {reminder.id}")
            await request.answer.tell(LIST.ask_words[request.locale].format(text=heading(reminder, request.locale)))
            return
        await self.replies.settle(request)
        changed = await self.reminders.reword(place_of(request.turn), reminder.id, words)
        await self.changed(request, changed, REWORDED)

    async def _when(self, request: Request, reminder: Reminder, words: str) -> None:
        """Change the time; without any, take the person's next message for it."""
        if not words:
            await self.replies.await_text(request, f"/reminders when {reminder.id}")
            await request.answer.tell(WHEN[request.locale].format(text=heading(reminder, request.locale)))
            return
        await self.replies.settle(request)
        wish = Wish(reminder.text, kind=reminder.kind, reminder_id=reminder.id)
        if not await self.tell_done(request):
            await self.settle(request, wish, words)

    async def _hold(self, request: Request, reminder: Reminder, _: str, *, paused: bool) -> None:
        """Pause a reminder, or let it go on."""
        held = await self.reminders.pause(place_of(request.turn), reminder.id, paused=paused)
        await self.changed(request, held, PAUSED if paused else RESUMED)

    async def _delete(self, request: Request, reminder: Reminder, _: str) -> None:
        removed = await self.reminders.remove(place_of(request.turn), reminder.id)
        if isinstance(removed, Refusal):
            await self.refuse(request, removed)
            return
        gone = REMOVED[request.locale].format(text=heading(removed, request.locale))
        undo = [undo_button(removed, request.locale)] if self.reminders.undo_within else []
        await request.answer.tell(gone, choices=[*undo, back(request.locale)])

    async def _clear(self, request: Request, code: str, *, is_agreed: bool) -> None:
        """Delete all that was asked about, or leave it."""
        place = place_of(request.turn)
        asked = await request.confirmed(code, Clearing, over=OVER)
        if asked is None:
            return
        if not is_agreed:
            await request.tell(NOT_CLEARED)
            return
        gone = [await self.reminders.remove(place, each) for each in asked.reminder_ids]
        count = sum(isinstance(each, Reminder) for each in gone)
        undo = Button(UNDO[request.locale], f"/reminders restore {place.act}", in_place=True)
        can_undo = bool(self.reminders.undo_within and place.act and count)
        await request.answer.tell(
            counted(STEERING_PLURALS.cleared, request.locale, count), choices=[undo] if can_undo else []
        )

    async def _restore(self, request: Request, act: str) -> None:
        """Bring back what one act deleted."""
        undone = await self.reminders.undo_act(place_of(request.turn), act)
        if not any(undone):
            await self.refuse(request, Refusal.TOO_LATE)
            return
        await request.answer.tell(
            counted(STEERING_PLURALS.restored, request.locale, sum(undone)), choices=[back(request.locale)]
        )

    async def _undo(self, request: Request, reminder: Reminder, _: str) -> None:
        await tell_undone(request, self.reminders, reminder.id)

    async def _done(self, request: Request, batch: str) -> None:
        """Tick off what was said below that button."""
        said = await self.reminders.said(place_of(request.turn), batch)
        if not said:
            await request.tell(REMIND.not_yours)
            return
        await request.answer.tell("\n".join(f"✓ {heading(each, request.locale)}" for each in said))


class RemindCommand(_ReminderWords):
    """Offer /remind, which sets a reminder by words, or does what a button below one says."""

    def command(self, completion: TimeCompletion) -> Command:
        """Return the command, whose field offers times."""
        return Command(
            "remind",
            text("commands.remind"),
            self._remind,
            usage=" …",
            writes=REMINDER_SET,
            in_conversation=True,
            for_all=True,
            fields=(WHAT_AND_WHEN,),
            complete=completion,
            topics=(ON_REMINDERS,),
            wish=text("help.wishes.remind"),
        )

    async def _remind(self, request: Request, argument: str) -> None:
        """Set a reminder by the words for a time and the rest of the text, or what a button says."""
        if not argument:
            await request.tell(REMIND.how_to)
        elif not _LATER.fullmatch(argument) and await self.tell_done(request):
            pass
        elif (found := _PICK.fullmatch(argument)) is not None:
            await self._pick(request, found[1], int(found[2]))
        elif (found := _ALOUD.fullmatch(argument)) is not None:
            await self._aloud(request, found[1])
        elif (found := _AT.fullmatch(argument)) is not None:
            await self._at(request, found[1], (found[2] or "").strip())
        elif (found := _LATER.fullmatch(argument)) is not None:
            await self._later(request, found[1], found[2])
        elif (found := _MEMORY.fullmatch(argument)) is not None and await self._of_memory(request, found[1]):
            pass
        else:
            now, _ = local_now(request.turn)
            asked = read_mention(argument, now, request.locale, is_asked=True)
            read = find_time(argument, now, request.locale)
            wish = Wish(argument if read is None else read.without(argument))
            if asked is not None:
                wish = Wish(asked.text, kind=Kind.MENTION, mention=asked.mention)
                await self.tell(request, wish, await at_mentions(request.turn, self.reminders, wish, asked.until))
            elif wish.text:
                time = None if read is None else read.time
                await self.tell(request, wish, await settle_time(request.turn, self.reminders, wish, time))
            else:
                await self.refuse(request, Refusal.NO_TEXT)

    async def _pick(self, request: Request, code: str, number: int) -> None:
        """Set the reminder that was asked about, at the time of that number."""
        wish = await request.confirmed(code, Wish)
        await self.replies.settle(request)
        if wish is None or not 1 <= number <= len(wish.options):
            await request.tell(OVER)
            return
        time = as_time(wish.options[number - 1])
        await self.tell(request, wish, await put(request.turn, self.reminders, wish, time))

    async def _aloud(self, request: Request, code: str) -> None:
        """Set the reminder that was asked about as one that speaks to somebody of the room."""
        wish = await request.confirmed(code, Wish)
        await self.replies.settle(request)
        if wish is None or not wish.aloud:
            await request.tell(OVER)
            return
        said = replace(wish, text=wish.aloud, aloud="")
        if said.options:
            answer = await put(request.turn, self.reminders, said, as_time(said.options[0]))
        else:
            answer = await settle_time(request.turn, self.reminders, said, None)
        await self.tell(request, said, answer)

    async def _at(self, request: Request, code: str, words: str) -> None:
        """Set the reminder that was asked about at the time in words; without any, take the next message for it."""
        incoming, confirmations = request.incoming, request.turn.services.confirmations
        open_now = await confirmations.all_open(incoming.conversation, confirmations.arrived(incoming.at))
        asked = newest([*await confirmations.all_taken(incoming), *open_now], Wish)
        if asked is None or asked[0] != code:
            await self.replies.settle(request)
            await request.tell(OVER)
        elif not words:
            await self.replies.await_text(request, f"/remind at {code}")
            await request.answer.tell(WHEN[request.locale].format(text=heading(asked[1], request.locale)))
        else:
            await self.replies.settle(request)
            await request.confirmed(code, Wish)
            now, _ = local_now(request.turn)
            if means_no(words) and find_time(words, now, request.locale) is None:  # "no, at 9"
                await request.tell(REMIND.left)
            else:
                await self.settle(request, asked[1], words)

    async def _of_memory(self, request: Request, memory_id: str) -> bool:
        """Set a reminder for what a memory says, at the time that it names; return whether there is that memory."""
        items = await request.turn.memory.get([memory_id.casefold()])
        for item in items:
            now, _ = local_now(request.turn)
            time = time_in(item, now, request.locale)
            wish = Wish(item.content)
            await self.tell(request, wish, await settle_time(request.turn, self.reminders, wish, time))
        return bool(items)

    async def _later(self, request: Request, batch: str, length: str) -> None:
        """Let what was said below that button be said again: in ten minutes, an hour, or tomorrow."""
        place = place_of(request.turn)
        said = await self.reminders.said(place, batch)
        if not said:
            await request.tell(REMIND.not_yours)
            return
        now, until = (
            request.turn.services.clock.now(),
            _until(request.turn.services.clock.now(), said[0].schedule.zone, length),
        )
        again = await self.reminders.snooze(place, batch, until)
        if not again:
            await self.refuse(request, Refusal.GONE)
            return
        until = again[0].due or until  # put off before a restart, it is due by the time of then
        at = time_link(wording.told(until, now, said[0].schedule.zone, request.locale), until)
        lines = [REMIND.again[request.locale].format(when=at), *(heading(each, request.locale) for each in again)]
        await request.answer.tell("\n".join(lines))


def reminder_commands(
    listed: ListedMemories, reminders: Reminders, replies: PendingReplies, completion: TimeCompletion
) -> Sequence[Command]:
    """Return /remind, /reminders and /agenda, in the order of menus."""
    return (
        RemindCommand(reminders, replies).command(completion),
        ReminderCommand(listed, reminders, replies).command(completion),
        agenda_command(reminders),
    )


async def tell_undone(request: Request, reminders: Reminders, reminder_id: str) -> None:
    """Take back the last change of a reminder, and say what it is now."""
    undone = await reminders.undo(place_of(request.turn), reminder_id)
    if isinstance(undone, Refusal):
        answer = refused(request.turn, reminders, undone)
        await request.answer.tell(answer.text, choices=[back(request.locale)])
    elif undone.state is ReminderState.REMOVED:
        told = TAKEN_BACK[request.locale].format(text=heading(undone, request.locale))
        await request.answer.tell(told, choices=[back(request.locale)])
    else:
        await show_card(request, undone, BACK[request.locale])


def _until(now: datetime, zone: str, length: str) -> datetime:
    """Return when that length of time is over; a day is the same hour by the clock on the wall."""
    if length != "1d":
        return now + _LENGTHS[length]
    wall = now.astimezone(ZoneInfo(zone)) + _LENGTHS[length]
    return wall.astimezone(UTC)


_ONE: Final = completed_field("reminder", text("menus.fields.reminder"), required=True)
_NEW_WORDS: Final = text_field("text", text("menus.fields.reminder_text"))
_NEW_TIME: Final = completed_field("time", text("menus.fields.reminder_time"))
_VERBS: Final = (
    MenuEntry("list", text("reminders.verbs.list"), " [N]", fields=(number_field("page", text("menus.fields.page")),)),
    MenuEntry("show", text("reminders.verbs.show"), " N", fields=(_ONE,)),
    MenuEntry("edit", text("reminders.verbs.edit"), " N [TEXT]", fields=(_ONE, _NEW_WORDS)),
    MenuEntry("when", text("reminders.verbs.when"), " N [TIME]", fields=(_ONE, _NEW_TIME)),
    MenuEntry("pause", text("reminders.verbs.pause"), " N", fields=(_ONE,)),
    MenuEntry("resume", text("reminders.verbs.resume"), " N", fields=(_ONE,)),
    MenuEntry("delete", text("reminders.verbs.delete"), " N", fields=(_ONE,)),
    MenuEntry("undo", text("reminders.verbs.undo"), " N", fields=(_ONE,)),
)
WHAT_AND_WHEN: Final = completed_field("text", text("reminders.remind.field"), required=True)
NONE_SET = text("reminders.actions.none")
OVER = text("reminders.remind.over")
NOT_CLEARED = text("reminders.steering.not_cleared")
