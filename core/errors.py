"""Errors, grouped by what the caller can do about them.

    BotError
    ├── ConfigError(setting, advice)     stop the start; tell the owner what to write
    ├── InputError                       tell the person what to send instead
    │   ├── EmptyInput
    │   ├── InputTooLong(max_chars)
    │   └── ThreadTaken                  name another thread
    ├── ProviderError                    a model or an embedder
    │   ├── ProviderBusy(retry_after_s)  wait, or ask another
    │   ├── ProviderDown                 ask another, or say so
    │   │   └── EmptyReply               ask once more
    │   ├── ProviderRefused              the model declined: say so
    │   ├── KeyRejected                  the owner must correct the key
    │   │   └── CreditGone               the owner must pay
    │   ├── ModelUnknown                 the owner must correct the model's name
    │   ├── ContextTooLong(window)       trim once more and ask again
    │   ├── StepwiseOnly                 go on step by step
    │   ├── StreamCut                    it broke off after some text: keep what came, say so
    │   └── BadReply                     ask once more with the error, then fall back
    ├── ChannelError                     a place to write
    │   ├── ChannelBusy(retry_after_s)   wait, then write only the newest text
    │   │   └── ChannelDown              the same; refused once its server failed for long
    │   ├── ChannelUnclear               it may have been written: repeat it once at most
    │   ├── ChannelForbidden             the right to write is missing: try plain text, then another place
    │   ├── ChannelGone                  try another place
    │   │   └── Undelivered(refusal)     every place was tried: tell the owners
    │   ├── MessageLost                  write it anew
    │   └── FileTooLarge(limit_bytes)    send a smaller one
    ├── StorageError
    │   ├── FileQuotaExceeded            delete files, or ask the owner for more room
    │   ├── StorageDown                  wait: the database server is away
    │   ├── SchemaTooNew                 this database was written by a newer version
    │   ├── SchemaTooOld                 or by one that is too old to be migrated
    │   ├── Damaged                      restore a backup
    │   │   └── Unreadable               or its key is gone: somebody was forgotten
    │   ├── WrongKey                     give the master key that the key file was made with
    │   └── DiskFull                     make room
    ├── WindowTooSmall                   the owner must choose a model with a larger window
    ├── ClaimLost                        another worker goes on with the work: end it, and say nothing
    └── TurnEnded                        the turn ended before its answer
        ├── TurnTimeout                  its deadline passed
        ├── TurnStopped                  the person said /stop
        └── TurnReplaced                 the person edited or deleted the question

Messages are for the log and the owner and never hold a secret or a person's words. People in the chat read the sentence
of the class in `core/answering/outcomes.py`.
"""

from __future__ import annotations


class BotError(Exception):
    """Base of every error that this project raises."""


class ConfigError(BotError):
    """A setting is wrong or missing. `setting` is its name in the environment, `advice` what to write instead."""

    def __init__(self, setting: str, advice: str) -> None:
        super().__init__(f"{setting}: {advice}")
        self.setting = setting
        self.advice = advice


class InputError(BotError):
    """The person's message cannot be answered as it is."""


class EmptyInput(InputError):
    """Nothing readable was left after cleaning."""


class InputTooLong(InputError):
    """The text is longer than MAX_MESSAGE_CHARS."""

    def __init__(self, max_chars: int) -> None:
        super().__init__(f"longer than {max_chars} characters")
        self.max_chars = max_chars


class ThreadTaken(InputError):
    """The thread that was named belongs to another conversation."""


class ProviderError(BotError):
    """A model or an embedder did not answer as asked."""


class ProviderBusy(ProviderError):
    """Rate limit or overload. `retry_after_s` is the wait that the provider named, or 0.0."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ProviderDown(ProviderError):
    """Network, server error, timeout, or a crashed worker."""


class ProviderRefused(ProviderError):
    """The model declined to answer."""


class KeyRejected(ProviderError):
    """The key is wrong, or lacks a right."""


class CreditGone(KeyRejected):
    """The key is right, but its account has no credit."""


class ModelUnknown(ProviderError):
    """The provider has no model of that name, or none for this key, or the address is wrong."""


class EmptyReply(ProviderDown):
    """The model ended its answer without a word."""


class ContextTooLong(ProviderError):
    """The prompt does not fit the model named `model` ("" if unknown: `provider:model`).

    `window_tokens` is the model's context window, 0 if it did not say.
    """

    def __init__(self, message: str, window_tokens: int = 0, model: str = "") -> None:
        super().__init__(message)
        self.window_tokens = window_tokens
        self.model = model


class StepwiseOnly(ProviderError):
    """The model has no answer to a single call with tools: limited mode, or one whose window is too small for it."""


class WindowTooSmall(BotError):
    """The model's context window cannot hold the bot's own instructions (H4)."""


class StreamCut(ProviderError):
    """The stream broke off after some text."""


class BadReply(ProviderError):
    """The answer does not have the requested form."""


class ChannelError(BotError):
    """A channel refused a write."""


class ChannelBusy(ChannelError):
    """Too many writes. `retry_after_s` is the wait that the platform named; it is obeyed exactly.

    `whole_after_s` is that of a message that stays (`OutgoingMessage.stays`), where the channel lets it go earlier.
    """

    def __init__(self, retry_after_s: float, whole_after_s: float | None = None) -> None:
        super().__init__(f"wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s
        self.whole_after_s = retry_after_s if whole_after_s is None else whole_after_s


class ChannelDown(ChannelBusy):
    """The platform's server failed at this write, which may have succeeded all the same."""


class ChannelUnclear(ChannelError):
    """The platform's answer was lost or cannot be read: the write may have succeeded. Wait before the one repeat."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ChannelForbidden(ChannelError):
    """The bot may not write there, or not in this form."""


class ChannelGone(ChannelError):
    """Blocked, kicked, deleted or closed: nobody reads there any more."""


class Undelivered(ChannelGone):
    """Every possible channel refused a text. `refusal` is the answer of the one where it belonged."""

    def __init__(self, refusal: ChannelError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class MessageLost(ChannelError):
    """The message to change is gone."""


class FileTooLarge(ChannelError):
    """A file that came with a message is larger than `limit_bytes` (0: it is not told how many).

    `of_platform`: no more is handed out by the platform, whatever is allowed here.
    """

    def __init__(self, message: str, limit_bytes: int = 0, *, of_platform: bool = False) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes
        self.of_platform = of_platform


class StorageError(BotError):
    """The database cannot be used."""


class StorageDown(StorageError):
    """The database server cannot be reached now; nothing was changed, or it is not known."""


class SchemaTooNew(StorageError):
    """The database was written by a newer version of this program."""


class SchemaTooOld(StorageError):
    """The database was written by a version from which no migration leads here. Says what to do."""

    def __init__(self, version: int, program: str) -> None:
        writer = f"Elefante {program}" if program else "the version that wrote it"
        super().__init__(
            f"the database has schema {version} of an older Elefante, which this one does not migrate; nothing was "
            f"changed. Export people's memories with {writer} (`elefante export --user PLATFORM:ID`), start this one "
            "on an empty database, and take them in by `elefante import FILE`"
        )


class Damaged(StorageError):
    """The file is not a readable database."""


class Unreadable(Damaged):
    """A sealed value does not open: its key was destroyed, or it was changed, or moved to another place."""


class WrongKey(StorageError):
    """The master key is not the one that the keys were wrapped by."""


class DiskFull(StorageError):
    """The disk is full."""


class FileQuotaExceeded(StorageError):
    """A person would keep more bytes of files than they may."""

    def __init__(self, used: int, quota: int) -> None:
        super().__init__(f"{used} of {quota} bytes are used")
        self.used = used
        self.quota = quota


class ClaimLost(BotError):
    """The work is not this worker's any more; nothing was written."""


class TurnEnded(BotError):
    """The turn ended before its answer."""


class TurnTimeout(TurnEnded):
    """The turn took longer than TURN_TIMEOUT_S."""


class TurnStopped(TurnEnded):
    """The person said /stop."""


class TurnReplaced(TurnEnded):
    """The person edited or deleted the question."""
