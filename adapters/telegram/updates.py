"""The long poll: ask for updates. The offset tells the server what it may forget.

Each update is taken, and thereby on disk, before the next batch is asked for: a crash repeats updates and never loses
one. One worker of the bot asks, the one that was elected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from telegram import Bot, Update
from telegram.error import Conflict, EndPointNotFound, InvalidToken, RetryAfter, TelegramError

from adapters.running import Backoff, Connected, Hindered
from adapters.telegram.config import TelegramConfig
from adapters.telegram.failure import MALFORMED, rejected_token, seconds
from core.errors import StorageDown
from core.ports import Clock
from core.text.catalogue import text

_LOG = logging.getLogger(__name__)

Take: TypeAlias = Callable[[Update], Awaitable[None]]

_KINDS = (
    "message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation", "message_reaction",
)  # fmt: skip


def kinds(config: TelegramConfig) -> tuple[str, ...]:
    """Return the kinds of update we ask for; the server keeps the list between runs."""
    return (*_KINDS, "inline_query") if config.inline else _KINDS


_ANSWER_SLACK_S: Final = 10.0  # beyond the poll's own time, before we call the connection dead
_CONFLICT_PAUSE_S: Final = 5.0
_CONFLICT_S: Final = 60.0
"""A conflict that lasts so long is the owner's to end; after so long without one it is over.

One answer between two conflicts proves nothing: the other program may ask again a moment later.
"""
_HANDOVER_PAUSE_S: Final = 1.0
_HANDOVER_S: Final = 60.0
"""For so long after it was elected, a worker may meet the last question of the one before it.

The server sends the older question away (tdlib/telegram-bot-api, Client.cpp, `process_get_updates_query`); one that
hangs at another of Telegram's machines may stay open for its own time, 50 s at most.
"""

_SECOND_POLLER: Final = "another program polls with the same token"
_WEBHOOK: Final = "another program set a webhook with the same token; it is deleted"


class LongPoll:
    """Asks for updates until cancelled. Only one process may do so for one bot.

    `lost` is set when that is another worker: what it took last is not acknowledged then, for that would send the other
    one's question away.
    """

    def __init__(
        self,
        bot: Bot,
        take: Take,
        clock: Clock,
        config: TelegramConfig,
        *,
        connected: Connected,
        hindered: Hindered,
        lost: asyncio.Event,
    ) -> None:
        self._bot = bot
        self._take = take
        self._clock = clock
        self._timeout_s = config.poll_timeout_s
        self._kinds = kinds(config)
        self._connected = connected
        self._hindered = hindered
        self._lost = lost
        self._unhooked = False
        self._offset = 0
        self._failures = 0  # in a row
        self._backoff = Backoff()
        self._handover_until_s = clock.monotonic() + _HANDOVER_S
        self._conflict_since_s: float | None = None
        self._conflict_at_s = clock.monotonic()  # the last one; this start may have been in the middle of them

    async def run(self) -> None:
        """Poll for ever; what was taken is acknowledged when this is cancelled.

        Raises:
            ConfigError: the token is no longer valid.
        """
        try:
            await self._poll()
        finally:
            if not self._lost.is_set():
                await self._acknowledge()

    async def _poll(self) -> None:
        while True:
            try:
                self._unhooked = self._unhooked or await self._bot.delete_webhook(drop_pending_updates=False)
                await self._take_all(await self._fetch(limit=100, timeout_s=self._timeout_s))
            except (InvalidToken, EndPointNotFound):
                raise rejected_token() from None
            except (StorageDown, TelegramError, *MALFORMED) as error:
                await self._clock.sleep(self._pause_s(error))
            else:
                self._recovered()

    async def _acknowledge(self) -> None:
        """Tell the server what it may forget; without this it repeats updates, which are known by their ids."""
        if self._offset:
            try:
                await self._fetch(limit=1, timeout_s=0)
            except (TelegramError, *MALFORMED) as error:
                _LOG.info("last updates not acknowledged", extra={"error": type(error).__name__})

    async def _fetch(self, *, limit: int, timeout_s: int) -> list[Any]:
        # By its bare name, because the typed call reads a whole batch or none: one update that the library cannot read
        # would come back for ever. Method names know no case; this spelling is not the typed call's.
        asked = {"offset": self._offset, "limit": limit, "timeout": timeout_s, "allowed_updates": list(self._kinds)}
        batch: list[Any] = await self._bot.do_api_request(
            "GetUpdates", api_kwargs=asked, read_timeout=timeout_s + _ANSWER_SLACK_S
        )
        return batch

    async def _take_all(self, batch: list[Any]) -> None:
        before = self._offset
        for raw in batch:
            await self._one(raw)
        if batch and self._offset == before:  # nothing of it can be acknowledged: it would come again at once
            raise ValueError("updates without a number")

    async def _one(self, raw: Any) -> None:
        number = raw.get("update_id") if isinstance(raw, Mapping) else None
        if not isinstance(number, int) or number < self._offset:
            return
        await take_one(raw, self._bot, self._take)
        self._offset = number + 1

    def _pause_s(self, error: Exception) -> float:
        """Return how long to wait before asking again; only the first failure in a row is logged."""
        if isinstance(error, Conflict):
            return self._conflicted("webhook" in error.message.casefold())
        self._failures += 1
        if isinstance(error, StorageDown):  # the updates that were not stored come again
            if self._failures == 1:
                _LOG.warning("updates cannot be stored")
            return self._backoff.next_s()
        self._connected(False)
        if self._failures == 1:
            _LOG.warning("telegram cannot be reached", extra={"error": type(error).__name__})
        if isinstance(error, RetryAfter):
            return seconds(error)
        return self._backoff.next_s()

    def _conflicted(self, by_webhook: bool) -> float:
        """Note that another program asks with the same token, or set a webhook; return how long to wait."""
        now_s = self._conflict_at_s = self._clock.monotonic()
        since_s = self._conflict_since_s = now_s if self._conflict_since_s is None else self._conflict_since_s
        if by_webhook:
            self._unhooked = False
        elif now_s < self._handover_until_s:
            _LOG.info("the last poll of another worker is still open")
            return _HANDOVER_PAUSE_S
        self._failures += 1
        why = _WEBHOOK if by_webhook else _SECOND_POLLER
        if self._failures == 1:
            _LOG.error(why)
        self._connected(False, why)
        if now_s - since_s >= _CONFLICT_S:
            self._hindered(WEBHOOK if by_webhook else SECOND_POLLER)
        return _CONFLICT_PAUSE_S

    def _recovered(self) -> None:
        if self._failures:
            _LOG.info("telegram answers again", extra={"failures": self._failures})
            self._connected(True)
        self._failures = 0
        self._backoff.reset()
        if self._clock.monotonic() - self._conflict_at_s >= _CONFLICT_S:
            self._conflict_since_s = None
            self._hindered(None)


async def take_one(raw: Mapping[str, Any], bot: Bot, take: Take) -> None:
    """Take one update; one that cannot be read or taken is logged, left out and never tried again.

    Raises:
        StorageDown: it was not stored; bring it again.
    """
    try:
        await take(Update.de_json(_completed(raw), bot))
    except StorageDown:
        raise
    except Exception as error:  # noqa: BLE001  (whatever stands in it)
        _LOG.exception("an update was left out", extra={"update": raw.get("update_id"), "error": type(error).__name__})


def _completed(part: Any) -> Any:
    """Return a part of an update with what the library wants of every poll, and older servers lack.

    Source: core.telegram.org/bots/api-changelog, Bot API 9.6 and 10.0.
    """
    if isinstance(part, list):
        return [_completed(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    whole = {name: _completed(value) for name, value in part.items()}
    if {"question", "options"} <= whole.keys():
        return {"allows_revoting": False, "members_only": False, **whole}
    return {"persistent_id": "", **whole} if {"text", "voter_count"} <= whole.keys() else whole


SECOND_POLLER = text("telegram.second_poller")
WEBHOOK = text("telegram.webhook")
