"""Erase everything that is kept of a person, on all their linked accounts, and name the copies that this leaves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from core.features.access.rules import Access
from core.features.feature import Forgets
from core.features.transfer.files import Copies
from core.memory.memories import Memories
from core.ports import Clock
from core.stores import HistoryStore, NoKeys, PeoplesKeys
from core.text.catalogue import counted, forms, text
from core.types import Locale, UserKey

_MAX_NAMED: Final = 10
_KEY: Final = re.compile(r"[0-9a-f]{16}")

Counters: TypeAlias = Sequence[tuple[str, Callable[[Sequence[UserKey]], Awaitable[int]]]]
"""Of what features keep of a person's accounts: its name in English, and how much there is."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was destroyed of a person: how much by kind, when, and the ids of the keys by which it had been sealed."""

    counts: Mapping[str, int]
    at: datetime
    keys: Sequence[str] = ()

    @property
    def number(self) -> str:
        """What shows that the keys are gone (`elefante key check --forgotten`); "" where nothing was sealed."""
        return "-".join(self.keys)


def keys_of(number: str) -> list[str]:
    """Return the ids of the keys that a receipt names.

    Raises:
        ValueError: it is no receipt's number.
    """
    keys = number.strip().lower().split("-")
    if not all(_KEY.fullmatch(key) for key in keys):
        raise ValueError("no receipt")
    return keys


class Erasure:
    """Erase a person from every store; what is erased within `scrubbing` is scrubbed from the disk at its end.

    The person's `keys` go first: from then on nobody reads what was sealed, wherever a copy of it lies. Copies made
    before, `copies`, are not touched.
    """

    def __init__(
        self,
        memories: Memories,
        access: Access,
        stores: Sequence[Forgets],
        *,
        history: HistoryStore,
        clock: Clock,
        copies: Copies,
        counters: Counters = (),
        keys: PeoplesKeys | None = None,
        scrubbing: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._memories = memories
        self._access = access
        self._stores = stores
        self._history = history
        self._clock = clock
        self._copies = copies
        self._counters = counters
        self._keys = keys or NoKeys()
        self._scrubbing = scrubbing

    async def counts(self, user: UserKey) -> Mapping[str, int]:
        """Return how much is kept of a person on all their accounts, by kind."""
        accounts = await self._memories.accounts(user)
        memories = await self._memories.of(accounts[0]).count()
        others = {name: await count(accounts) for name, count in self._counters}
        conversations = sum([len(await self._history.threads(account)) for account in accounts])
        return {"memories": memories, **others, "conversations": conversations}

    async def forget(self, user: UserKey) -> Receipt:
        """Erase the person on every account they linked.

        Owners, admins and the blocked keep their role, without a name.

        Raises:
            StorageError: not all of it was erased; what was sealed with destroyed keys the next start removes.
        """
        counts, accounts = await self.counts(user), await self._memories.accounts(user)
        async with self._scrubbing():
            keys = await self._keys.destroy(accounts)
            await self._memories.of(accounts[0]).forget()
            for account in accounts:
                await self._access.forget(account)
                for store in self._stores:
                    await store.forget(account)
            await self._keys.purged(keys)
        return Receipt(counts, self._clock.now(), keys)

    async def told(self, receipt: Receipt, locale: Locale, *, for_owner: bool) -> str:
        """Return the receipt in words, and which backups and exports can still be read; "" if there is nothing to say.

        Owners are told the newest ten by name, because they can delete them.
        """
        lines = []
        if receipt.keys:
            kinds = ((kind, receipt.counts.get(name, 0)) for name, kind in _KINDS.items())
            counts = ", ".join(counted(kind, locale, count) for kind, count in kinds)
            when = f"{receipt.at:%Y-%m-%d %H:%M} UTC"
            lines.append(RECEIPT[locale].format(number=receipt.number, counts=counts, when=when))
        paths = await (self._copies.readable() if receipt.keys else self._copies.paths())
        if paths:
            names = ", ".join(f"`{path.parent.name}/{path.name}`" for path in paths[-_MAX_NAMED:])
            lines.append(counted(YOURS if for_owner else THEIRS, locale, len(paths), names=names))
        if self._copies.on_server and not receipt.keys:
            lines.append(ON_SERVER[locale])
        return "\n".join(lines)


RECEIPT = text("privacy.receipt.receipt")
_KINDS: Final = {
    "memories": forms("privacy.receipt.memories"),
    "reminders": forms("privacy.receipt.reminders"),
    "conversations": forms("privacy.receipt.conversations"),
}
ON_SERVER = text("privacy.copies_left.on_server")
YOURS = forms("privacy.copies_left.yours")
THEIRS = forms("privacy.copies_left.theirs")
