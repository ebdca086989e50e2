"""Sentences on what was done to memories, made from committed rows only, and on what failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import tzinfo
from types import MappingProxyType
from typing import Final

from core import errors
from core.dialogue import Effect, Step, Written, committed
from core.text import assertions
from core.text.catalogue import Counted, counted, forms, text, texts
from core.text.days import dated
from core.text.markdown import quoted, verbatim
from core.types import ChangeKind, Locale, Localized, MemoryItem

_MAX_NAMED: Final = 5  # of what was not done
_REMEMBERS: Final = (ChangeKind.SAVED, ChangeKind.UPDATED)
"""What people cannot have who turned remembering off."""


def written(kind: ChangeKind, items: Sequence[MemoryItem], locale: Locale, zone: tzinfo) -> str:
    """Return the sentence on what was saved, changed or deleted, with each memory's words and the days they mean."""
    return listed(DONE[kind][locale], items, locale, zone)


def _told(item: MemoryItem, zone: tzinfo, locale: Locale) -> str:
    return quoted(item.content) + dated(item, zone, locale) + kept_with(item)


def kept_with(item: MemoryItem) -> str:
    """Return the mark of the things that a memory keeps, with their names; "" if it keeps none."""
    names = ", ".join(dict.fromkeys(filter(None, (thing.name for thing in item.attachments))))
    return f" 📎 {verbatim(names)}".rstrip() if item.attachments else ""


def replaced(now: MemoryItem, before: MemoryItem, locale: Locale, zone: tzinfo) -> str:
    """Return the sentence on a memory that has new words, and on those that were true until now."""
    return REPLACED[locale].format(new=_told(now, zone, locale), old=_told(before, zone, locale))


def listed(lead: str, items: Sequence[MemoryItem], locale: Locale, zone: tzinfo) -> str:
    """Return the memories listed below a lead, or a single one beside it, with the days that they mean there."""
    lines = [_told(item, zone, locale) for item in items]
    return f"{lead} {lines[0]}" if len(lines) == 1 else "\n".join((lead, *(f"- {line}" for line in lines)))


def not_done(kind: Written, missing: Sequence[str], locale: Locale, *, some: bool, remembers: bool = True) -> str:
    """Return the sentence on what was not done, naming the `missing` words that are known.

    `some`: other changes of that kind were made.
    """
    hint = kind.hint if isinstance(kind, Effect) else HINTS[kind]
    if not some:
        hint = TURNED_OFF if kind in _REMEMBERS and not remembers else hint
        return f"{_nothing(kind)[locale]} {hint[locale]}"
    told = counted(kind.not_done if isinstance(kind, Effect) else NOT_DONE[kind], locale, len(missing))
    names = [quoted(words) for words in missing if words][:_MAX_NAMED]
    return f"{told}: {', '.join(names)}. {hint[locale]}" if names else f"{told}. {hint[locale]}"


def _nothing(kind: Written) -> Localized:
    return kind.nothing if isinstance(kind, Effect) else NOTHING[kind]


def missing(steps: Iterable[Step]) -> dict[Written, tuple[str, ...]]:
    """Map kinds of change to what steps were asked for, did not do, and no later step made up for."""
    found: dict[Written, tuple[str, ...]] = {}
    for step in steps:
        if step.writes is not None:
            made_up = found.get(step.writes, ())[step.count :]
            found[step.writes] = max(made_up, step.missing, key=len)
    return {kind: words for kind, words in found.items() if words}


def left_undone(steps: Sequence[Step], message: str, effects: Collection[Effect]) -> frozenset[Written]:
    """Return the kinds of change that were tried without success, or else plainly asked for while none was tried.

    Only a step of its own kind makes up for an effect: who asked to be reminded is not content with a memory.
    """
    if tried := missing(steps):
        return frozenset(tried)
    handled = {step.writes for step in steps if step.writes is not None}  # done now, or true before
    asked = assertions.asked(message, effects)
    return asked - {*ChangeKind} - handled if handled else asked


def undone(
    steps: Sequence[Step],
    kinds: Collection[Written],
    locale: Locale,
    *,
    remembers: bool = True,
    off: Mapping[Written, Localized] = MappingProxyType({}),
) -> str:
    """Return the sentences on changes of these kinds that the steps did not make; of those that are `off`, only why.

    Nothing advises what is turned off.
    """
    tried, done = missing(steps), committed(steps)
    told = [
        off[kind][locale]
        if kind in off
        else not_done(kind, tried.get(kind, ()), locale, some=kind in done, remembers=remembers)
        for kind in _in_order(kinds)
    ]
    return "\n".join(dict.fromkeys(told))


def nothing(kinds: Collection[Written], locale: Locale) -> str:
    """Return the sentences that no change of these kinds was made."""
    return " ".join(_nothing(kind)[locale] for kind in _in_order(kinds))


def _in_order(kinds: Collection[Written]) -> Sequence[Written]:
    """Return changes of memory first, then the effects of features."""
    effects = sorted((kind for kind in kinds if isinstance(kind, Effect)), key=lambda effect: effect.value)
    return [*(kind for kind in ChangeKind if kind in kinds), *effects]


DONE = texts("outcomes.done", ChangeKind)
KNOWN = text("outcomes.known")
REPLACED = text("resolve.replaced")
SAME = text("outcomes.same")
NOTHING = texts("outcomes.nothing", ChangeKind)
UNCHANGED = text("outcomes.unchanged")
_WHICH = text("outcomes.which")
TURNED_OFF = text("outcomes.turned_off")
SWITCHED_OFF = text("outcomes.switched_off")
INCOGNITO = text("outcomes.incognito")
NOT_REMEMBERING = text("preferences.choices.not_remembering")
HINTS: dict[ChangeKind, Localized] = {
    ChangeKind.SAVED: text("outcomes.hints.saved"),
    ChangeKind.UPDATED: _WHICH,
    ChangeKind.DELETED: _WHICH,
}
NOT_DONE: dict[ChangeKind, Counted] = {
    ChangeKind.SAVED: forms("outcomes.not_done.saved"),
    ChangeKind.UPDATED: forms("outcomes.not_done.updated"),
    ChangeKind.DELETED: forms("outcomes.not_done.deleted"),
}

FAILURES: dict[type[errors.BotError], Localized] = texts(
    "failures",
    (
        errors.EmptyInput,
        errors.InputTooLong,
        errors.ThreadTaken,
        errors.ProviderBusy,
        errors.ProviderDown,
        errors.EmptyReply,
        errors.WindowTooSmall,
        errors.ProviderRefused,
        errors.KeyRejected,
        errors.CreditGone,
        errors.ModelUnknown,
        errors.ContextTooLong,
        errors.StreamCut,
        errors.BadReply,
        errors.StorageError,
        errors.Damaged,
        errors.DiskFull,
        errors.TurnTimeout,
        errors.TurnStopped,
        errors.BotError,
    ),
)

STILL_KNOWN = text("failures.still_known")
"""What follows a full disk's sentence where somebody looks for memories: reading goes on."""

CLAIMED = text("common.claimed")
CLAIMED_OPEN = text("common.claimed_open")
PRIVATE = text("common.private")
LET_IN = text("common.let_in")
AWAY = text("common.away")
LISTENING = text("files.listening")
LISTENING_LONG = text("files.listening_long")
HEARD_SO_FAR = text("files.heard_so_far")
NOTHING_SAID = text("common.nothing_said")
DEAD_BUTTON = text("common.dead_button")
BROKE_OFF = text("common.broke_off")
"""For a turn that failed after it wrote to memory: "nothing was changed" would not be true."""

TRY_AGAIN = text("common.try_again")
AGAIN = text("common.again")
PAUSED = text("common.paused")
LENGTH_STOP = text("common.length_stop")
CONTINUE = text("conversations.continue.label")


def failure_text(error: BaseException, locale: Locale) -> str:
    """Return the sentence of a failure: that of its nearest class in the tree."""
    for kind in type(error).__mro__:
        if issubclass(kind, errors.BotError) and kind in FAILURES:
            return FAILURES[kind][locale].format_map(vars(error))
    return FAILURES[errors.BotError][locale]


def helps_to_retry(error: BaseException) -> bool:
    """Return whether the same message may be answered a moment later."""
    return isinstance(error, errors.ProviderBusy | errors.ProviderDown | errors.StreamCut | errors.TurnTimeout)
