"""Decide what one turn puts on the screen, and when: pure, without I/O and without a clock of its own.

It takes statuses, whole messages, a growing text and the time, and gives one write after another. Three rules:

1. What is new to the person goes out at once: a status, a message, the first words of an answer. Every other write
   waits until the last one is an interval old: `edit_interval_s`, doubling as an answer grows (`Pace`).
2. The newest text wins: what was overtaken before it could be written is never written, and nothing is written twice.
3. A status is replaced in place by whatever comes next; a full message is completed once and then left alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from core.delivery.split import Measure, Splitter, split
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from core.types import Modal


@dataclass(frozen=True, slots=True)
class Pace:
    """How an answer is told as it grows.

    It begins at `first_chars` characters (or complete); the interval between its writes doubles every `stretch_edits`
    writes and never stretches beyond `max_interval_s`. Its last write waits for the unstretched interval only.
    """

    first_chars: int = 1
    stretch_edits: int = 15
    max_interval_s: float = 8.0


@dataclass(frozen=True, slots=True)
class Post:
    """Write a new message, the `index`-th of the turn."""

    index: int
    shown: OutgoingMessage


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the `index`-th message of the turn."""

    index: int
    shown: OutgoingMessage


@dataclass(frozen=True, slots=True)
class Remove:
    """Take away the `index`-th message of the turn, the last one that an earlier process posted."""

    index: int


_UNKNOWN = OutgoingMessage("")
"""What an earlier process wrote, which is not known any more; nothing that should be seen equals it."""


@dataclass(slots=True)
class _Message:
    """A message of the turn: what it should be, what it is (None: not there yet), whether it may skip the interval."""

    wanted: OutgoingMessage
    at_once: bool
    written: OutgoingMessage | None = None

    @property
    def replaceable(self) -> bool:
        return self.wanted.modal is Modal.TEXT_FOR_REPLACE

    @property
    def settled(self) -> bool:
        return self.wanted == self.written


class StreamPlan:
    """Ask for `due_s`; when that time has come ask for `next`; report with `wrote` or `hold`."""

    def __init__(self, limits: ChannelLimits, measure: Measure, pace: Pace, *, posted: int = 0, whole: int = 0) -> None:
        """Plan for a channel of these limits, measured its way.

        An earlier process posted `posted` messages of the turn, of which the first `whole` ones are complete: the
        messages of this plan take their places, one by one, and what is left over in the end is removed.
        """
        self._limits = limits
        self._measure = measure
        self._pace = pace
        self._messages: list[_Message] = []
        self._posted = self._reused = posted
        self._whole = whole
        self._unsettled = 0  # every message before it is as it should be, for good
        self._answer: Splitter | None = None
        self._told = False  # something of the answer is among the messages
        self._growing = False  # and the last of them is its open part
        self._pending: list[str] = []
        self._writes = 0
        self._wrote_s = -math.inf
        self._held_s = -math.inf

    # --- what should be seen ---

    def status(self, text: str) -> None:
        """Show a text that the next message replaces."""
        self.finish()
        parts = self.parts(text)
        if parts:
            self._place(OutgoingMessage(parts[0], Modal.TEXT_FOR_REPLACE))

    def parts(self, text: str) -> list[str]:
        """Return what there is to see of a text, in as many pieces as it takes. Changes nothing."""
        return [part.text for part in split(text, self._limits.max_chars, self._measure) if part.text]

    def show(self, shown: OutgoingMessage, parts: list[str] | None = None) -> None:
        """Show a whole message, in several `parts` where it is too long."""
        if shown.modal is Modal.TEXT_FOR_REPLACE:
            self.status(shown.text)
            return
        self.finish()
        if shown.file is not None:
            if self._messages and self._messages[-1].replaceable:  # no file can take the place of a text
                self._place(OutgoingMessage(shown.text))
                shown = replace(shown, text="")
            self._reused = min(self._reused, len(self._messages))
            self._append(shown, at_once=True)
            return
        parts = self.parts(shown.text) if parts is None else parts
        if len(parts) == 1:
            self._place(replace(shown, text=parts[0]))
            return
        for number, text in enumerate(parts, 1):
            buttons = (shown.choices, shown.menu) if number == len(parts) else ((), ())
            self._place(OutgoingMessage(text, shown.modal, choices=buttons[0], menu=buttons[1]), at_once=number == 1)

    def show_again(self, shown: OutgoingMessage) -> None:
        """Show what was shown before a restart. Where that is complete it is left as it stands, its buttons too."""
        first = len(self._messages)
        self.show(shown)
        for message in self._messages[first : self._whole]:
            message.written = message.wanted

    def feed(self, more: str) -> None:
        """Let the answer grow."""
        if self._answer is None:
            self._answer = Splitter(self._limits.max_chars, self._measure)
            self._writes = 0
            self._told = self._growing = False
        self._pending.append(more)

    def finish(self, choices: tuple[Button, ...] = ()) -> None:
        """The answer is complete; `choices` go below it."""
        if self._answer is not None:
            self._absorb(final=True)
            self._answer = None
            if choices and self._told:
                self._change(replace(self._messages[-1].wanted, choices=choices))

    def close(self, ended: str) -> None:
        """Nothing comes after this: a status that is still on the screen becomes `ended`."""
        self.finish()
        if self._messages and self._messages[-1].replaceable:
            if self._messages[-1].written is None:
                self._messages.pop()
            else:
                self._place(OutgoingMessage(ended))
        self._reused = min(self._reused, len(self._messages))

    # --- what to write, and when ---

    @property
    def due_s(self) -> float:
        """When to ask for the next write, on the caller's monotonic clock; infinite while there is nothing to write."""
        while self._unsettled < len(self._messages) and self._messages[self._unsettled].settled:
            self._unsettled += 1
        if self._posted > self._reused:
            return self._held_s
        if self._unsettled < len(self._messages):
            at_once = self._messages[self._unsettled].at_once
        elif self._pending:
            at_once = not self._told
        else:
            return math.inf
        return self._held_s if at_once else max(self._held_s, self._wrote_s + self._interval_s())

    @property
    def unread_chars(self) -> int:
        """How much text `next` and `finish` have to read."""
        return sum(map(len, self._pending)) + (len(self._answer.open.source) if self._answer else 0)

    def next(self, now_s: float) -> Post | Edit | Remove | None:
        """Return the next write that is due, if there is one."""
        if self.due_s > now_s:
            return None
        if self._posted > self._reused:
            return Remove(self._posted - 1)
        self._absorb()
        if self.due_s > now_s:
            return None
        message = self._messages[self._unsettled]
        return (Post if message.written is None else Edit)(self._unsettled, message.wanted)

    def wrote(self, operation: Post | Edit | Remove, now_s: float) -> None:
        """That write succeeded."""
        if isinstance(operation, Remove):
            self._posted = operation.index
            return
        message = self._messages[operation.index]
        message.written = operation.shown
        overtaken = operation.shown.modal is Modal.TEXT_FOR_REPLACE and not message.replaceable
        message.at_once = message.at_once and overtaken  # what replaced the status meanwhile still goes out at once
        self._wrote_s = now_s
        self._writes += 1

    def hold(self, until_s: float) -> None:
        """Nothing may be written before that time; and it was written too often, so go slower from now on."""
        self._held_s = max(self._held_s, until_s)
        self._writes += self._pace.stretch_edits

    # --- inside ---

    def _interval_s(self) -> float:
        base_s = self._limits.edit_interval_s
        if self._answer is None:
            return base_s
        doublings = min(self._writes // self._pace.stretch_edits, 16)
        return min(base_s * 2.0**doublings, max(base_s, self._pace.max_interval_s))

    def _place(self, shown: OutgoingMessage, *, at_once: bool = True) -> None:
        """Put a message where the status is, if there is one, else below."""
        last = self._messages[-1] if self._messages else None
        if last and last.replaceable:
            last.at_once = shown.modal is not Modal.TEXT_FOR_REPLACE or last.at_once
            self._change(shown)
        else:
            self._append(shown, at_once=at_once)

    def _append(self, shown: OutgoingMessage, *, at_once: bool) -> None:
        stands = len(self._messages) < self._reused
        self._messages.append(_Message(shown, at_once, _UNKNOWN if stands else None))

    def _change(self, shown: OutgoingMessage) -> None:
        """Make the last message that one; no other ever changes."""
        self._messages[-1].wanted = shown
        self._unsettled = min(self._unsettled, len(self._messages) - 1)

    def _absorb(self, *, final: bool = False) -> None:
        """Bring the messages of the answer up to what was fed."""
        if self._answer is None:
            return
        fed = len(self._pending)  # more may be fed meanwhile, from another thread
        closed = self._answer.feed("".join(self._pending[:fed]))
        del self._pending[:fed]
        for part in closed:
            self._tell(part.text, final=True)
            self._growing = False
        text = self._answer.open.text
        if final or self._told or len(text) >= self._pace.first_chars:
            self._tell(text, final=final)

    def _tell(self, text: str, *, final: bool) -> None:
        """Let the answer's last message, or a new one, show that text."""
        if not text:
            return
        if self._growing:
            self._change(OutgoingMessage(text, final=final))
        else:
            self._place(OutgoingMessage(text, final=final), at_once=not self._told)
        self._growing = self._told = True
