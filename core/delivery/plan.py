"""Plan the writes of one turn: pure, without I/O and without a clock of its own.

It takes statuses, whole messages, a growing text and the time, and returns one write after another. Three rules:

1. News go out at once: a message, and the last write of an answer, which completes it; its first words after
   `Pace.gather_s`, in which a short answer ends and is written once; a status after `Pace.status_after_s`, if nothing
   better has come by then.
   Every other write waits until the last one is an interval old: `edit_interval_s`, doubling as an answer grows
   (`Pace`). The channel itself refuses what its platform would not bear.
2. The newest text wins: an outdated text is never written, and nothing is written twice.
3. The next message replaces a status in place; a full message is completed once and not changed again.

The text of an answer is one message, or several if it is too long, however many statuses come meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.delivery.split import Measure, Splitter, split
from core.outgoing import Button, ChannelLimits, OutgoingMessage, albums, memories_shown, takes_caption
from core.types import MemoryNote, Modal


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a growing answer, and the seconds before a status is shown.

    The answer begins when it is complete, `gather_s` after it has `first_chars` characters, or, with fewer,
    `first_wait_s` after its first one. The interval between its writes doubles every `stretch_edits` writes, up to
    `max_interval_s`.
    """

    first_chars: int = 20
    gather_s: float = 0.15
    first_wait_s: float = 1.0
    stretch_edits: int = 15
    max_interval_s: float = 8.0
    status_after_s: float = 0.0


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
    """Remove the `index`-th message of the turn, the last one that an earlier process posted."""

    index: int


_UNKNOWN = OutgoingMessage("")
"""The unknown text of an earlier process; it equals no text to show."""


@dataclass(slots=True)
class _PlannedMessage:
    """A message of the turn: the wanted one, the written one (None: not yet), and why it may skip the interval.

    `news`: nothing of it was seen yet, apart from a status; `whole`: the answer is complete with it; `from_s`: when it
    may be written first.
    """

    wanted: OutgoingMessage
    news: bool
    written: OutgoingMessage | None = None
    whole: bool = False
    from_s: float = -math.inf

    @property
    def replaceable(self) -> bool:
        return self.wanted.modal is Modal.TEXT_FOR_REPLACE

    @property
    def settled(self) -> bool:
        return self.wanted == self.written


class _GrowingAnswer:
    """A text that comes piece by piece. Pieces may be added by one thread while another reads them."""

    def __init__(self, splitter: Splitter, pace: Pace) -> None:
        self._splitter = splitter
        self._pace = pace
        self._whole_chars = 0  # that came whole
        self._began_s = math.inf  # when its first characters were read
        self._enough_s = math.inf  # when there were enough of them to begin with

        self.pending: list[str] = []
        """The pieces that were not read yet."""

        self.told = False
        """Whether a part of it is among the messages."""

        self.growing = False
        """Whether the last message is its open part."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing of it can be seen yet."""
        return not (self.told or self._splitter.open.text or any(map(str.strip, self.pending)))

    @property
    def unread_chars(self) -> int:
        """The length of the text that the next `read` must read."""
        return sum(map(len, self.pending)) + len(self._splitter.open.source)

    @property
    def begins_s(self) -> float:
        """When its first words are due."""
        return min(self._began_s + self._pace.first_wait_s, self._enough_s + self._pace.gather_s)

    @property
    def closing(self) -> str:
        """What closes a block of code that is open at its end, or ""."""
        return self._splitter.closing

    def feed(self, more: str, *, whole: bool) -> None:
        """Add a piece."""
        self._whole_chars += len(more) if whole else 0
        self.pending.append(more)

    def rest(self) -> None:
        """Count all of it as come whole."""
        self._whole_chars, self._enough_s = self.unread_chars, math.inf

    def read(self, now_s: float) -> tuple[Sequence[str], str]:
        """Read the pending pieces; return the parts that are complete now, and the open one, as they are shown."""
        fed = len(self.pending)  # more may be added meanwhile
        closed = self._splitter.feed("".join(self.pending[:fed]))
        del self.pending[:fed]
        text = self._splitter.open.text
        if text:
            self._began_s = min(self._began_s, now_s)
        if len(text) >= self._pace.first_chars + self._whole_chars:
            self._enough_s = min(self._enough_s, now_s)
        return [part.text for part in closed], text


class _WriteTimes:
    """When writes may be done: an interval apart, which grows with an answer, and not while the channel refuses."""

    def __init__(self, interval_s: float, pace: Pace) -> None:
        self._interval_s = interval_s
        self._pace = pace
        self._writes = 0  # of the present answer
        self._wrote_s = -math.inf
        self.held_s = -math.inf
        """Before when nothing is written that may still change."""

        self.whole_held_s = -math.inf
        """Before when nothing is written that stays."""

    def begin(self) -> None:
        """Begin an answer: the interval is short again."""
        self._writes = 0

    def paced_s(self, due_s: float, *, grows: bool) -> float:
        """Return when something is written that is due then; `grows` tells whether an answer is under way."""
        interval_s = self._interval_s
        if grows:
            doublings = min(self._writes // self._pace.stretch_edits, 16)
            interval_s = min(interval_s * 2.0**doublings, max(interval_s, self._pace.max_interval_s))
        return max(due_s, self._wrote_s + interval_s)

    def wrote(self, now_s: float) -> None:
        """Count a write."""
        self._wrote_s = now_s
        self._writes += 1

    def hold(self, until_s: float, whole_until_s: float) -> None:
        """Write nothing before these times, and more slowly after them."""
        self.defer(until_s)
        self.whole_held_s = max(self.whole_held_s, whole_until_s)
        self._writes += self._pace.stretch_edits

    def defer(self, until_s: float) -> None:
        """Write nothing before that time that may still change."""
        self.held_s = max(self.held_s, until_s)

    def release(self) -> None:
        """Hold nothing back any more."""
        self.held_s = self.whole_held_s = -math.inf


class StreamPlan:
    """Call `next` at `due_s`, and report the result with `wrote` or `hold`.

    An earlier process posted `posted` messages of the turn: the messages of this plan take their places, and those left
    over in the end are removed, the last `spare` of them at once.
    """

    def __init__(self, limits: ChannelLimits, measure: Measure, pace: Pace, *, posted: int = 0, spare: int = 0) -> None:
        self._limits = limits
        self._measure = measure
        self._pace = pace
        self._messages: list[_PlannedMessage] = []
        self._posted, self._reused = posted, posted - spare
        self._unsettled = 0  # index: every message before it is written and final
        self._answer: _GrowingAnswer | None = None
        self._times = _WriteTimes(limits.edit_interval_s, pace)
        self._mark = ""  # ends the answer, which was stopped
        self.is_marked = False  # it was put there
        self._writing: int | None = None  # index of the message that is being written

    # --- what should be seen ---

    def status(self, text: str, now_s: float = -math.inf) -> None:
        """Show a text that the next message replaces; none is shown within an answer."""
        if self._answer is not None and not self._answer.is_blank:
            return
        parts = self.parts(text)
        if parts:
            stood = self._status
            self._place(OutgoingMessage(parts[0], Modal.TEXT_FOR_REPLACE))
            if stood is None:
                self._messages[-1].from_s = now_s + self._pace.status_after_s

    def parts(self, text: str, *, reserved: int = 0) -> list[str]:
        """Return the visible parts of a text, each at least `reserved` below the limit; the plan does not change."""
        return [part.text for part in split(text, self._limits.max_chars - reserved, self._measure) if part.text]

    def show(self, shown: OutgoingMessage, parts: list[str] | None = None) -> None:
        """Show a whole message, in several `parts` if it is too long."""
        if shown.modal is Modal.TEXT_FOR_REPLACE:
            self.status(shown.text)
            return
        self.complete()
        if shown.files:
            self._hand_over(shown)
            return
        parts = self.parts(shown.text, reserved=shown.reserved) if parts is None else parts
        if len(parts) > 1 and shown.modal is Modal.MEMORY:
            shown = replace(shown, memories=())  # the text lists them
        for number, text in enumerate(parts, 1):
            part = shown if number == len(parts) else replace(shown, choices=(), menu=(), memories=(), folded="")
            part = replace(part, text=text, mention=shown.mention if number == 1 else None, goes_on=number > 1)
            self._place(part, news=number == 1)
        if parts:
            self._messages[-1].whole = True

    def _hand_over(self, shown: OutgoingMessage) -> None:
        """Show files, several as albums; below an album stand no buttons."""
        self._drop_unseen_status()
        first, *others = albums(shown.files)
        above = OutgoingMessage(shown.text)
        if len(shown.files) > 1 and (shown.choices or shown.menu):
            above = replace(above, choices=shown.choices, menu=shown.menu)
            shown = replace(shown, choices=(), menu=())
        if shown.text and (self._status is not None or not takes_caption(first) or above.choices or above.menu):
            self._place(above)  # nor can a file replace a text
            shown = replace(shown, text="")
        self._reused = min(self._reused, len(self._messages))
        self._append(replace(shown, files=first), news=True)
        for files in others:
            self._append(OutgoingMessage("", files=files), news=False)

    def feed(self, more: str, *, whole: bool = False) -> None:
        """Add text to the answer; a `whole` one waits `first_wait_s` for what may follow it, and for its buttons."""
        if (answer := self._answer) is None:
            answer = self._answer = _GrowingAnswer(Splitter(self._limits.max_chars, self._measure), self._pace)
            self._times.begin()
        answer.feed(more, whole=whole)

    def rest(self) -> None:
        """Let the answer, if nothing of it was written yet, wait like a whole text: what was being said has ended."""
        if self._answer is not None:
            self._answer.rest()

    def complete(
        self, choices: tuple[Button, ...] = (), memories: tuple[MemoryNote, ...] = (), folded: str = ""
    ) -> None:
        """Complete the answer, with `choices`, the memories it rests on and what is `folded` below it.

        Without a text to complete, the memories are a message of their own.
        """
        told = False
        if (answer := self._answer) is not None:
            self._absorb(answer, final=True)
            if self._mark and answer.told:
                answer.feed(f"{answer.closing}\n\n{self._mark}", whole=False)
                self._absorb(answer, final=True)
                self._change(replace(self._messages[-1].wanted, urgent=True))
                self._mark, self.is_marked = "", True
            self._answer, told = None, answer.told
            if answer.pending:  # added meanwhile
                self.feed("".join(answer.pending))
        if told:
            self._messages[-1].whole = True
        if told and (choices or memories or folded):
            below = replace(self._messages[-1].wanted, choices=choices, memories=memories, folded=folded)
            self._change(below)
        elif memories:
            self.show(memories_shown(memories, choices))

    def stop(self, mark: str) -> None:
        """Let the answer end with that mark, if it has words when it is completed; nothing holds it back any more."""
        self._mark = mark
        self._times.release()

    def close(self, ended: str) -> None:
        """Complete the turn; a status that is still on the screen becomes `ended`."""
        self.complete()
        self._drop_unseen_status()
        if self._status is not None:
            self._place(OutgoingMessage(ended))
        self._reused = min(self._reused, len(self._messages))

    # --- what to write, and when ---

    @property
    def due_s(self) -> float:
        """The time of the next write on the caller's monotonic clock; infinite if there is none."""
        while self._unsettled < len(self._messages) and self._messages[self._unsettled].settled:
            self._unsettled += 1
        times, answer = self._times, self._answer
        if self._posted > self._reused:
            return times.held_s
        message = self._messages[self._unsettled] if self._unsettled < len(self._messages) else None
        due_s = math.inf
        if message is not None:
            due_s = max(times.whole_held_s if message.wanted.stays else times.held_s, message.from_s)
            if not (message.news or message.whole):
                due_s = times.paced_s(due_s, grows=answer is not None)
        if answer is not None and (message is None or message.replaceable):  # text may follow, or replace a status
            if answer.pending:
                due_s = min(due_s, times.paced_s(times.held_s, grows=True) if answer.told else times.held_s)
            elif not answer.told:
                due_s = min(due_s, max(times.held_s, answer.begins_s))
        return due_s

    @property
    def unread_chars(self) -> int:
        """The length of the text that `next` and `complete` must read."""
        return self._answer.unread_chars if self._answer is not None else 0

    def next(self, now_s: float) -> Post | Edit | Remove | None:
        """Return the write that is due, if any."""
        if self.due_s > now_s:
            return None
        if self._posted > self._reused:
            return Remove(self._posted - 1)
        if self._answer is not None:
            self._absorb(self._answer, now_s)
        if self.due_s > now_s:
            return None
        message, self._writing = self._messages[self._unsettled], self._unsettled
        if message.written is None:
            return Post(self._unsettled, replace(message.wanted, stoppable=False))
        return Edit(self._unsettled, message.wanted)

    def completes(self, operation: Post | Edit) -> bool:
        """Return whether an answer is complete with that write."""
        return operation.shown.stays and self._messages[operation.index].whole

    def wrote(self, operation: Post | Edit | Remove, now_s: float) -> None:
        """Record that the write succeeded."""
        self._writing = None
        if isinstance(operation, Remove):
            self._posted = operation.index
            return
        message = self._messages[operation.index]
        message.written = operation.shown
        overtaken = operation.shown.modal is Modal.TEXT_FOR_REPLACE and not message.replaceable
        message.news = message.news and overtaken  # a replacement of the status still goes out at once
        self._times.wrote(now_s)

    def hold(self, until_s: float, whole_until_s: float | None = None) -> None:
        """Write nothing before that time (or before `whole_until_s` what stays), and more slowly after it."""
        self._writing = None
        self._times.hold(until_s, until_s if whole_until_s is None else whole_until_s)

    def defer(self, until_s: float) -> None:
        """Write nothing that may still change before that time."""
        self._writing = None
        self._times.defer(until_s)

    # --- inside ---

    @property
    def _status(self) -> _PlannedMessage | None:
        """The status that the next message replaces, if there is one."""
        return self._messages[-1] if self._messages and self._messages[-1].replaceable else None

    def _drop_unseen_status(self) -> None:
        status = self._status
        if status is not None and status.written is None and self._writing != len(self._messages) - 1:
            self._messages.pop()

    def _place(self, shown: OutgoingMessage, *, news: bool = True) -> None:
        """Replace the status by a message, if there is one, else append it."""
        if (status := self._status) is not None:
            if shown.modal is not Modal.TEXT_FOR_REPLACE:
                status.news, status.from_s = True, -math.inf
            self._change(shown)
        else:
            self._append(shown, news=news)

    def _append(self, shown: OutgoingMessage, *, news: bool) -> None:
        stands = len(self._messages) < self._reused
        self._messages.append(_PlannedMessage(self._stoppable(shown), news, _UNKNOWN if stands else None))

    def _stoppable(self, shown: OutgoingMessage) -> OutgoingMessage:
        """Return the message with the button that stops it, if it may still change."""
        return replace(shown, stoppable=self._limits.stops and not shown.stays)

    def _change(self, shown: OutgoingMessage) -> None:
        """Replace the last message; no other ever changes."""
        self._messages[-1].wanted = self._stoppable(shown)
        self._unsettled = min(self._unsettled, len(self._messages) - 1)

    def _absorb(self, answer: _GrowingAnswer, now_s: float = math.inf, *, final: bool = False) -> None:
        """Move the pending text of the answer into messages."""
        closed, text = answer.read(now_s)
        for part in closed:
            self._tell(answer, part, final=True)
            answer.growing = False
        if final or answer.told or now_s >= answer.begins_s:
            self._tell(answer, text, final=final)

    def _tell(self, answer: _GrowingAnswer, text: str, *, final: bool) -> None:
        """Show a text in the answer's last message, or in a new one."""
        if not text:
            return
        if answer.growing:
            self._change(replace(self._messages[-1].wanted, text=text, final=final))
        else:
            self._place(OutgoingMessage(text, final=final, goes_on=answer.told), news=not answer.told)
        answer.growing = answer.told = True
