"""Show people to owners: a person on one line, and the card with the buttons that decide on a stranger."""

from __future__ import annotations

from datetime import UTC, datetime

from core.features.access.people import DENIED, Person, Stranger
from core.outgoing import MAX_COMMAND_BYTES, Button, OutgoingMessage
from core.text.catalogue import text
from core.types import Locale, Localized, Role, UserKey


def card(stranger: Stranger, locale: Locale) -> OutgoingMessage:
    """Return the card that asks about a stranger. What they wrote is not on it, for it was not kept."""
    return OutgoingMessage(CARD[locale].format(who=stranger_line(stranger)), choices=verdicts(stranger.user, locale))


def verdicts(user: UserKey, locale: Locale) -> tuple[Button, ...]:
    """Return the buttons that decide on a stranger; those whose command is too long for a button are left out."""
    return tuple(
        Button(label[locale], command, in_place=True)
        for verb, label in VERDICTS.items()
        if fits(command := f"/admin {verb} {user}")
    )


def fits(command: str) -> bool:
    """Whether a button can hold the command."""
    return len(command.encode()) <= MAX_COMMAND_BYTES


def person_line(person: Person, locale: Locale) -> str:
    """Return a person's role, id and name on one line."""
    return " · ".join([ROLES[person.role.value][locale], f"`{person.user}`", *named(person.name)])


def stranger_line(stranger: Stranger) -> str:
    """Return when a stranger wrote, their id, name and language on one line."""
    return " · ".join([minute(stranger.at), f"`{stranger.user}`", *named(stranger.name), *named(stranger.language)])


def named(name: str) -> list[str]:
    """Return a name so that no Markdown in it takes effect, for its bearer chose it; nothing for an empty one."""
    return [f"`{bare}`"] if (bare := name.replace("`", "").strip()) else []


def minute(at: datetime) -> str:
    """Return a moment as people read it, UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


ROLES: dict[str, Localized] = {
    Role.OWNER.value: text("admin.decide.roles.owner"),
    Role.ADMIN.value: text("admin.decide.roles.admin"),
    Role.MEMBER.value: text("admin.decide.roles.member"),
    Role.GUEST.value: text("admin.decide.roles.guest"),
    Role.BLOCKED.value: text("admin.decide.roles.blocked"),
    DENIED: text("admin.decide.roles.denied"),
    "": text("admin.decide.roles.stranger"),
}
"""What each role is called; a stranger's is ""."""

CARD = text("access.card.card")
VERDICTS: dict[str, Localized] = {
    "allow": text("access.card.verdicts.allow"),
    "deny": text("access.card.verdicts.deny"),
    "block": text("access.card.verdicts.block"),
}
