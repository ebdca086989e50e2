"""A person on one line, and the card by which one is let in or not. Knows how they look. Does not decide anything."""

from __future__ import annotations

from datetime import UTC, datetime

from core.features.access.people import Person, Stranger
from core.features.admin.decide import ROLES
from core.outgoing import MAX_COMMAND_BYTES, Button, OutgoingMessage
from core.text.catalogue import text
from core.types import Locale, Localized, UserKey


def card(stranger: Stranger, locale: Locale) -> OutgoingMessage:
    """Return the card of somebody who asks to be let in. What they wrote is not on it: it was not kept."""
    return OutgoingMessage(CARD[locale].format(who=stranger_line(stranger)), choices=verdicts(stranger.user, locale))


def verdicts(user: UserKey, locale: Locale) -> tuple[Button, ...]:
    """Return the buttons that decide on a stranger; none where the id is too long for a button."""
    return tuple(
        Button(label[locale], command, in_place=True)
        for verb, label in VERDICTS.items()
        if fits(command := f"/admin {verb} {user}")
    )


def fits(command: str) -> bool:
    """Whether a button can hold the command."""
    return len(command.encode()) <= MAX_COMMAND_BYTES


def person_line(person: Person, locale: Locale) -> str:
    """Return who somebody is to the bot."""
    return " · ".join([ROLES[person.role.value][locale], f"`{person.user}`", *named(person.name)])


def stranger_line(stranger: Stranger) -> str:
    """Return when a stranger wrote, who they are and what they speak."""
    return " · ".join([minute(stranger.at), f"`{stranger.user}`", *named(stranger.name), *named(stranger.language)])


def named(name: str) -> list[str]:
    """Return a name as it is written, whatever marks are in it: whoever asks chose it."""
    return [f"`{bare}`"] if (bare := name.replace("`", "").strip()) else []


def minute(at: datetime) -> str:
    """Return a moment as people read it, UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


CARD = text("access.card.card")
VERDICTS: dict[str, Localized] = {
    "allow": text("access.card.verdicts.allow"),
    "deny": text("access.card.verdicts.deny"),
    "block": text("access.card.verdicts.block"),
}
