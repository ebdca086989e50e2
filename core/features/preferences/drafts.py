"""/drafts: whether a person's answers grow in a draft, where the platform has those. Knows the words of the choice.

A draft is a preview that the platform animates while an answer is on its way; what stays is a message.
"""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import Command, Request
from core.outgoing import Button
from core.text.catalogue import text
from core.types import Localized

_WORDS = {"on": True, "off": False, "auto": None}


def has_drafts(request: Request) -> bool:
    """Whether the platform that the request comes from has drafts."""
    return request.incoming.chat.platform in request.context.drafts_on


async def drafts(request: Request, argument: str) -> None:
    """Choose, and say what holds; on a platform without drafts say that."""
    if not has_drafts(request):
        await request.tell(NONE_HERE)
        return
    store, user = request.context.stores.preferences, request.incoming.user
    word = argument.casefold()
    if word in _WORDS:
        await store.put(user, replace(await store.of(user), drafts=_WORDS[word]))
    chosen = (await store.of(user)).drafts
    others = [Button(LABELS[name][request.locale], f"/drafts {name}", in_place=True)
              for name, value in _WORDS.items() if value is not chosen]  # fmt: skip
    await request.turn.tell(HOLDS[chosen][request.locale], choices=others)


LABELS: dict[str, Localized] = {
    "on": text("preferences.drafts.labels.on"),
    "off": text("preferences.drafts.labels.off"),
    "auto": text("preferences.drafts.labels.auto"),
}
HOLDS: dict[bool | None, Localized] = {
    True: text("preferences.drafts.holds.on"),
    False: text("preferences.drafts.holds.off"),
    None: text("preferences.drafts.holds.auto"),
}
NONE_HERE = text("preferences.drafts.none_here")

DRAFTS = Command(
    "drafts",
    text("commands.drafts"),
    drafts,
    usage=" on|off|auto",
)
