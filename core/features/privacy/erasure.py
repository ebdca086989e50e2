"""Erase everything that is kept of a person, on all their linked accounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from core.features.access.rules import Access
from core.features.memories.listed import ListedMemories
from core.memory.memories import Memories
from core.types import UserKey


class Forgets(Protocol):
    """A store that keeps something of people and can forget one of them."""

    def forget(self, user: UserKey, /) -> Awaitable[object]:
        """Delete everything kept of that account."""
        ...


class Erasure:
    """Erase a person from every store; what is erased within `scrubbing` is scrubbed from the disk at its end."""

    def __init__(
        self,
        memories: Memories,
        access: Access,
        listed: ListedMemories,
        stores: Sequence[Forgets],
        scrubbing: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._memories = memories
        self._access = access
        self._listed = listed
        self._stores = stores
        self._scrubbing = scrubbing

    async def forget(self, user: UserKey) -> None:
        """Erase the person on every account they linked.

        Owners, admins and the blocked keep their role, without a name.
        """
        accounts = await self._memories.accounts(user)
        async with self._scrubbing():
            await self._memories.of(accounts[0]).forget()
            for account in accounts:
                await self._access.forget(account)
                for store in self._stores:
                    await store.forget(account)
        self._listed.forget(accounts)
