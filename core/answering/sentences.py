"""Sentences of the engine, and the sentence for each failure."""

from __future__ import annotations

from core import errors
from core.text.catalogue import text
from core.types import Locale, Localized

FAILURES: dict[type[errors.BotError], Localized] = {
    errors.EmptyInput: text("failures.empty_input"),
    errors.InputTooLong: text("failures.input_too_long"),
    errors.ThreadTaken: text("failures.thread_taken"),
    errors.ProviderBusy: text("failures.provider_busy"),
    errors.ProviderDown: text("failures.provider_down"),
    errors.EmptyReply: text("failures.empty_reply"),
    errors.WindowTooSmall: text("failures.window_too_small"),
    errors.ProviderRefused: text("failures.provider_refused"),
    errors.KeyRejected: text("failures.key_rejected"),
    errors.CreditGone: text("failures.credit_gone"),
    errors.ModelUnknown: text("failures.model_unknown"),
    errors.ContextTooLong: text("failures.context_too_long"),
    errors.StreamCut: text("failures.stream_cut"),
    errors.BadReply: text("failures.bad_reply"),
    errors.StorageError: text("failures.storage_error"),
    errors.Damaged: text("failures.damaged"),
    errors.DiskFull: text("failures.disk_full"),
    errors.TurnTimeout: text("failures.turn_timeout"),
    errors.TurnStopped: text("failures.turn_stopped"),
    errors.BotError: text("failures.bot_error"),
}

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
