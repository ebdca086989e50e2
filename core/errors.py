"""Every failure, as one tree drawn by what the caller can do about it.

    BotError
    ├── ConfigError(setting, advice)     stop the start; tell the owner what to write
    ├── InputError                       tell the person what to send instead
    │   ├── EmptyInput
    │   ├── InputTooLong(max_chars)
    │   └── ThreadTaken                  name another thread
    ├── ProviderError                    a model or an embedder
    │   ├── ProviderBusy(retry_after_s)  wait, or ask another
    │   ├── ProviderDown                 ask another, or say so
    │   ├── ProviderRefused              the model declined: say so
    │   ├── KeyRejected                  the owner must mend the key
    │   ├── ContextTooLong               trim once more and ask again
    │   ├── StreamCut                    it broke off after some text: keep what came, say so
    │   └── BadReply                     ask once more with the error, then fall back
    ├── SurfaceError                     a place to write
    │   ├── SurfaceBusy(retry_after_s)   wait, then write only the newest text
    │   │   └── SurfaceDown              the same; refused, once its server failed for long
    │   ├── SurfaceUnclear               it may have been written: repeat it once at most
    │   ├── SurfaceForbidden             the right to write is missing: try less, then another place
    │   ├── SurfaceGone                  try another place
    │   │   └── Undelivered(refusal)     every place was tried: tell the owners
    │   ├── MessageLost                  write it anew
    │   └── FileTooLarge
    ├── StorageError
    │   ├── SchemaTooNew                 this database was written by a newer version
    │   ├── Damaged                      restore a backup
    │   └── DiskFull                     make room
    └── TurnEnded                        the turn ended before its answer
        ├── TurnTimeout                  its deadline passed
        └── TurnStopped                  the person said /stop

Messages are for the log and the owner: no secret and no person's words are ever put into one. What the person in the
chat reads stands in `core/texts.py`, by class.
"""

from __future__ import annotations


class BotError(Exception):
    """Anything this project raises on purpose."""


class ConfigError(BotError):
    """A setting is wrong or missing. `setting` is its name in the environment, `advice` what to write instead."""

    def __init__(self, setting: str, advice: str) -> None:
        """Name the setting first: it is what the owner looks for."""
        super().__init__(f"{setting}: {advice}")
        self.setting = setting
        self.advice = advice


class InputError(BotError):
    """What the person sent cannot be answered as it is."""


class EmptyInput(InputError):
    """Nothing readable was left after cleaning."""


class InputTooLong(InputError):
    """The text is longer than MAX_MESSAGE_CHARS."""

    def __init__(self, max_chars: int) -> None:
        """Keep the limit for the sentence that the person reads."""
        super().__init__(f"longer than {max_chars} characters")
        self.max_chars = max_chars


class ThreadTaken(InputError):
    """The thread that was named belongs to another conversation."""


class ProviderError(BotError):
    """A model or an embedder did not answer as asked."""


class ProviderBusy(ProviderError):
    """Rate limit or overload. `retry_after_s` is the wait it named, 0.0 if it named none."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        """Keep the wait for whoever decides between waiting and asking another."""
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ProviderDown(ProviderError):
    """Network, server error, timeout, or a crashed worker."""


class ProviderRefused(ProviderError):
    """The model declined to answer."""


class KeyRejected(ProviderError):
    """The key is wrong, lacks a right, or has no credit."""


class EmptyReply(ProviderDown):
    """The model ended its answer without a word."""


class ContextTooLong(ProviderError):
    """The prompt does not fit the model. `window_tokens` is what the model takes in all, 0 where it did not say."""

    def __init__(self, message: str, window_tokens: int = 0) -> None:
        """Keep the size of the window for whoever makes the next prompt."""
        super().__init__(message)
        self.window_tokens = window_tokens


class WindowTooSmall(BotError):
    """The model's window does not even hold the bot's own instructions (H4)."""


class StreamCut(ProviderError):
    """The stream ended without saying that it was done."""


class BadReply(ProviderError):
    """The answer is not of the shape that was asked for."""


class ChannelError(BotError):
    """A place to write refused."""


class ChannelBusy(ChannelError):
    """Written too often. `retry_after_s` is the wait it named."""

    def __init__(self, retry_after_s: float) -> None:
        """Keep the wait: it is obeyed to the letter."""
        super().__init__(f"wait {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class ChannelDown(ChannelBusy):
    """The platform's server failed at this write. It may have been done nevertheless."""


class ChannelUnclear(ChannelError):
    """The platform's answer was lost or cannot be understood, while others can: the write may have been done."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        """Keep the wait before the one repeat."""
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ChannelForbidden(ChannelError):
    """The bot lacks a right there: to write at all, or to write it in this form."""


class ChannelGone(ChannelError):
    """Blocked, kicked, deleted or closed: nobody will read it there."""


class Undelivered(ChannelGone):
    """A text was refused wherever it could be said. `refusal` is what the place where it was asked for answered."""

    def __init__(self, refusal: ChannelError) -> None:
        """Keep the refusal for whoever tells the owners."""
        super().__init__(str(refusal))
        self.refusal = refusal


class MessageLost(ChannelError):
    """The message to change is not there any more."""


class FileTooLarge(ChannelError):
    """A file that came with a message holds more than was asked for."""


class StorageError(BotError):
    """The database cannot be used."""


class SchemaTooNew(StorageError):
    """The database was written by a newer version of this program."""


class Damaged(StorageError):
    """The database file is not readable as one."""


class DiskFull(StorageError):
    """There is no room to write."""


class TurnEnded(BotError):
    """The turn ended before its answer."""


class TurnTimeout(TurnEnded):
    """The turn took longer than TURN_TIMEOUT_S."""


class TurnStopped(TurnEnded):
    """The person said /stop."""
