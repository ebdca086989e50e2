"""What stands on the screen for a message is kept with what is owed, so that a restart goes on in place."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from core.delivery.view import View
from core.errors import ChannelError, StorageError
from core.ports import Channel
from core.refusals import Refusals
from core.stores import Inbox
from core.types import Incoming

_log = logging.getLogger(__name__)


class Screens:
    """Opens the view of each turn."""

    def __init__(self, inbox: Inbox, refusals: Refusals) -> None:
        self._inbox = inbox
        self._refusals = refusals

    def open(self, incoming: Incoming, channel: Channel, posted: Sequence[str] | None = None) -> View:
        """Return the view of one turn; `posted` is what an earlier process that began it left on the screen."""
        return self._refusals.view(incoming, channel, posted=posted, note=partial(self._note, incoming))

    async def clear(self, incoming: Incoming, channel: Channel, posted: Sequence[str]) -> None:
        """Take what an earlier process left on the screen away."""
        try:
            await self.open(incoming, channel, posted).close()
        except ChannelError as error:
            _log.info("not cleared", extra={"error": type(error).__name__})

    async def _note(self, incoming: Incoming, handles: Sequence[str]) -> None:
        try:
            await self._inbox.put_posted(incoming, handles)
        except StorageError as error:  # a restart would write anew
            _log.warning("what was posted is not kept", extra={"error": type(error).__name__})
