"""Find whom somebody means after a verb of /admin, so that a typo names nobody."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from core.commands.command import CompletionRequest, Request, offered
from core.commands.menu import PERSON, MenuOption, completed_field
from core.delivery.notifier import Notifier
from core.enclosures import Speaker
from core.features.access.gate import ROLES, RoomTitles
from core.features.access.rules import Access
from core.features.admin.admin import MAX_ID_CHARS, Run, Verb, WrongUse
from core.outgoing import Suggestion
from core.ports import Channels
from core.text.catalogue import Sentences, text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.text.words import nearest
from core.types import Locale, Localized, UserKey

NAMES = Sentences("admin.names")

EXAMPLE: Final = "telegram:123456"
"""A person, in the examples of verbs."""

SOMEBODY: Final = (PERSON, completed_field("known", text("menus.fields.known")))
"""The fields of a verb that is about a person."""

_MOST_STRANGERS: Final = 100

_SIGNS: Final = re.compile(r"[\[\]()*_~<>|\\#$]")
_ESCAPED: Final = r"\\\g<0>"
"""What would mean something in the words of a link, or end them, is escaped: its bearer chose the name."""

_MENTION: Final = re.compile(r"<@!?([0-9]+)>")


class Names:
    """Say who and where is meant, and find a person by what people type.

    That is PLATFORM:ID, a numeric id, an @name that wrote, a reply or a forwarded message.

    The form of ids is the platform's (`Channels.account_ids`). An id of another form names only an account that is
    known already.
    """

    def __init__(self, access: Access, notifier: Notifier, titles: RoomTitles) -> None:
        self._access = access
        self._notifier = notifier
        self.titles = titles

    async def of_person(self, user: UserKey) -> str:
        """Return how a person is called, as Markdown that leads to their account where that has a page.

        That is their @name and name, or else the id.
        """
        known = await self._access.people.find(user) or await self._access.people.stranger(user)
        handle, name = await self._access.handle(user), known.name if known is not None else ""
        url = self._notifier.account_urls.get(user.platform, "")
        words = [*([f"@{handle}"] if handle else []), *([name] if name != user.user else [])]
        words = [bare for each in words if (bare := each.replace("`", "").strip())]
        if not words:
            return f"`{user}`"
        first, *others = [f"`{each}`" for each in words]
        if url and (handle or "{handle}" not in url):
            first = f"[{_SIGNS.sub(_ESCAPED, words[0])}]({url.format(id=user.user, handle=handle)})"
        return " ".join([first, *(f"({each})" for each in others)])

    async def of_account(self, user: UserKey, name: str = "") -> str:
        """Return how an account of a person's is called: "Telegram: @ana (Ana)"; by `name` if nothing else is known."""
        called = await self.of_person(user)
        if called == f"`{user}`":
            bare = name.replace("`", "").strip()
            called = f"`{bare}`" if bare else ""
        return f"{user.platform.title()}: {called}" if called else verbatim(str(user))

    async def learn(self, request: Request, person: str) -> None:
        """Store how PLATFORM:ID is called, if only the message of theirs tells it that the request replies to."""
        incoming = request.incoming
        if incoming.quoted_user and person == f"{incoming.user.platform}:{incoming.quoted_user}":
            await self._access.learn_name(incoming)

    async def of_room(self, room: str) -> str:
        """Return the title of a room named as PLATFORM:ID, or else that name."""
        title = await self.titles.of(room)
        return f"“{verbatim(title)}”" if title else f"`{room}`"

    def verb(
        self,
        name: str,
        about: Localized,
        run: Run,
        usage: str = " PERSON",
        *,
        example: str = EXAMPLE,
        fields: Sequence[MenuOption] = (),
        **traits: bool,
    ) -> Verb:
        """Return a verb of /admin about a person, whom menus offer; `fields` are those it has besides."""
        return Verb(name, about, run, usage, example, fields=(*SOMEBODY, *fields), complete=self.complete, **traits)

    async def find(self, request: Request, words: Sequence[str], *, more: int = 0) -> UserKey:
        """Return whom the first word names or, if only the `more` other words are there, whose message is quoted.

        Raises:
            WrongUse: that is nobody, or several accounts.
        """
        incoming, locale = request.incoming, request.locale
        if len(words) == more and incoming.quoted_user:
            return UserKey(incoming.user.platform, incoming.quoted_user)
        if len(words) == more and any(quote.speaker is Speaker.OTHER for quote in incoming.quotes):
            raise WrongUse(f"{NAMES.hidden[locale]} {NAMES.how[locale]}")
        if len(words) != more + 1 or len(words[0]) > MAX_ID_CHARS:
            raise WrongUse(f"{NAMES.who[locale]} {NAMES.how[locale]}", waits=not words)
        found = _MENTION.fullmatch(words[0])
        return await self._named(request, found[1] if found else words[0])

    async def complete(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return those who asked to be let in, the newest first, then everybody who has a role."""
        strangers, people = await self._access.strangers(_MOST_STRANGERS), await self._access.people.all()
        told = [(each.user, each.name, "") for each in strangers]
        told += [(each.user, each.name, each.role.value) for each in people]
        return offered(
            request.typed,
            (
                Suggestion(" · ".join(filter(None, (name, ROLES[role][request.locale], str(user)))), str(user))
                for user, name, role in told
            ),
        )

    async def is_seen(self, user: UserKey, request: Request) -> bool:
        """Whether the account ever wrote and was answered or noted, or the request shows a message of it."""
        shown = UserKey(user.platform, request.incoming.quoted_user or "-")
        return user == shown or await self._access.people.account(user) is not None

    async def _named(self, request: Request, word: str) -> UserKey:
        platform, colon, name = word.partition(":")
        if not colon:
            platform, name = "", word
        elif platform not in self._notifier.seen:
            self._refuse_platform(platform, request.locale)
        if name.startswith("@"):
            return await self._by_handle(name[1:], platform, request.locale)
        own = request.incoming.user.platform
        places = [platform] if platform else self._places(name, own)
        users = [UserKey(place, name) for place in places if name.strip() and self._fits(place, name)]
        if len(users) == 1:
            return users[0]
        if users:
            raise _several(users, request.locale)
        known = UserKey(platform or own, name) if name.strip() else None
        if known is None or not await self._is_kept(known):
            raise _wrong(NAMES.not_an_id, name, request.locale)
        return known

    def _places(self, name: str, own: str) -> Sequence[str]:
        """Return the platforms on which an id without one may be: the sender's, or else those with such ids.

        Where everybody is the owner nobody needs a role, so that an id there has to be named with its platform.
        """
        if not self._access.is_trusted(own) and self._fits(own, name):
            return [own]
        return [place for place, form in self._notifier.account_ids.items() if form != Channels.account_ids]

    def _fits(self, platform: str, name: str) -> bool:
        form = self._notifier.account_ids.get(platform, Channels.account_ids)
        return re.fullmatch(form, name) is not None

    async def _by_handle(self, handle: str, platform: str, locale: Locale) -> UserKey:
        users = [user for user in await self._access.people.named(handle) if platform in {"", user.platform}]
        if not users:
            raise _wrong(NAMES.never_seen, f"@{handle}", locale)
        if len(users) > 1:
            raise _several(users, locale)
        return users[0]

    async def _is_kept(self, user: UserKey) -> bool:
        """Whether something is kept of the account, be it a role that an earlier version gave to a typo."""
        access = self._access
        kept = (await access.people.account(user), await access.people.find(user), await access.people.stranger(user))
        return any(each is not None for each in kept)

    def _refuse_platform(self, platform: str, locale: Locale) -> None:
        platforms = sorted(self._notifier.seen)
        said = NAMES.no_platform[locale].format(name=_shown(platform), platforms=", ".join(platforms))
        meant = nearest(platform, platforms)
        raise WrongUse(f"{said} {NAMES.meant[locale].format(name=f'{meant}:…')}" if meant else said)


def _several(users: Sequence[UserKey], locale: Locale) -> WrongUse:
    return WrongUse(NAMES.several[locale].format(users=", ".join(f"`{user}`" for user in users)))


def _wrong(said: Localized, name: str, locale: Locale) -> WrongUse:
    return WrongUse(f"{said[locale].format(name=_shown(name))} {NAMES.how[locale]}")


def _shown(name: str) -> str:
    return verbatim(one_line(name, MAX_ID_CHARS))


NOT_SEEN_YET = text("admin.names.not_seen_yet")
