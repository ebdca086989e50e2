"""Erase everything that is kept of a person, on all their linked accounts, and name the copies that this leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from core.features.access.rules import Access
from core.features.feature import Forgets
from core.features.transfer.files import Copies
from core.memory.memories import Memories
from core.text.catalogue import counted, forms, text
from core.types import Locale, UserKey

_MAX_NAMED: Final = 10


class Erasure:
    """Erase a person from every store; what is erased within `scrubbing` is scrubbed from the disk at its end.

    Copies made before, `copies`, are not touched.
    """

    def __init__(
        self,
        memories: Memories,
        access: Access,
        stores: Sequence[Forgets],
        *,
        copies: Copies,
        scrubbing: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._memories = memories
        self._access = access
        self._stores = stores
        self._copies = copies
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

    async def copies_left(self, locale: Locale, *, for_owner: bool) -> str:
        """Return a sentence on the backups and exports that still hold what was erased; "" if there are none.

        Owners are told the newest ten by name, because they can delete them.
        """
        paths = await self._copies.paths()
        if not paths:
            return ON_SERVER[locale] if self._copies.on_server else ""
        names = ", ".join(f"`{path.parent.name}/{path.name}`" for path in paths[-_MAX_NAMED:])
        said = counted(YOURS if for_owner else THEIRS, locale, len(paths), names=names)
        return f"{said}\n{ON_SERVER[locale]}" if self._copies.on_server else said


ON_SERVER = text("privacy.copies_left.on_server")
YOURS = forms("privacy.copies_left.yours")
THEIRS = forms("privacy.copies_left.theirs")
