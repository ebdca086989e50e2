"""What deleting does not reach: copies that were made before. Knows how that is said. Deletes nothing."""

from __future__ import annotations

from typing import Any

from core.text.catalogue import forms
from core.text.plural import counted
from core.types import Locale

_MAX_NAMED = 10


async def leftover(context: Any, locale: Locale, *, for_owner: bool) -> str:
    """Return a sentence on the copies that still hold what was deleted, "" if there are none.

    Owners are told which they are: they can delete them.
    """
    paths = await context.stores.copies.paths()
    if not paths:
        return ""
    names = ", ".join(f"`{path.parent.name}/{path.name}`" for path in paths[-_MAX_NAMED:])
    return counted(YOURS if for_owner else THEIRS, locale, len(paths), names=names)


YOURS = forms("transfer.leftover.yours")
THEIRS = forms("transfer.leftover.theirs")
