"""/language and /memory: what people choose for themselves, which holds until they choose otherwise.

What becomes of facts that they tell in passing is theirs to choose up to the most that the owner allows (`LEARN`):
whoever runs the bot and whoever talks to it both have to want that something is saved unasked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from core.commands.choices import word_buttons
from core.commands.command import ONLY_IN_PRIVATE, Command, Complete, CompletionRequest, Request
from core.commands.completion import offered
from core.commands.menu import choice_field, completed_field
from core.features.preferences.language import AUTO, choose_language
from core.features.preferences.store import PreferenceStore
from core.locales import head
from core.outgoing import Choice
from core.text.catalogue import text
from core.text.language import from_tag
from core.text.language_names import known_tags, name_in
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Learn, Locale, Localized

_SWITCH: Final = {"on": True, "off": False}
_LEARN: Final = {"ask": Learn.ASKED, "offer": Learn.OFFERED, "auto": Learn.AUTO}
_SHARING: Final = {"share": True, "unshare": False}
_MAX_NAME_CHARS: Final = 40


class ShareMemory(Protocol):
    """What shares memories with rooms."""

    async def __call__(self, request: Request, argument: str, /, *, shared: bool) -> None:
        """Let the memory that the argument names be spoken of in rooms, or stop that, and tell what holds."""
        ...


class PreferenceCommands:
    """Offer /language and /memory. `memories` offers those to share; `learn` is the most that people may choose."""

    def __init__(self, preferences: PreferenceStore, share: ShareMemory, memories: Complete, learn: Learn) -> None:
        self._preferences = preferences
        self._memories = memories
        self._share = share
        self._learn = learn

    @property
    def language(self) -> Command:
        """The command /language."""
        usage = f" {' | '.join(each.code for each in Locale)} | … | {AUTO}"
        return Command(
            "language",
            text("commands.language"),
            self._language,
            usage=usage,
            is_listed=True,
            fields=(completed_field("language", text("menus.fields.language")),),
            complete=_languages,
        )

    @property
    def memory(self) -> Command:
        """The command /memory."""
        usage = f" off | on | {' | '.join(_LEARN)} | share N | unshare N"
        return Command(
            "memory",
            text("commands.memory"),
            self._memory,
            usage=usage,
            is_listed=True,
            fields=(
                choice_field("what", text("menus.fields.remembering"), REMEMBER_WORDS),
                completed_field("memory", text("menus.fields.share")),
            ),
            complete=self._memories,
        )

    async def _language(self, request: Request, argument: str) -> None:
        """Choose the language of every answer, or let it follow what the person writes."""
        told = await choose_language(request.turn, self._preferences, argument) if argument else None
        if told is not None:
            await request.answer.tell(told)
            return
        turn, locale = request.turn, request.locale
        tag = (await self._preferences.of(request.incoming.user)).language
        name = verbatim(one_line(argument, _MAX_NAME_CHARS))
        holds = ALWAYS_IN[locale].format(language=name_in(tag, locale)) if tag else AS_WRITTEN[locale]
        lines = [UNKNOWN_LANGUAGE[locale].format(name=name)] if argument else []
        own = from_tag(tag) if tag else None
        words = {each.code: dict.fromkeys(Locale, head(each)["name"].capitalize()) for each in Locale} | {
            AUTO: SAME_AS_MINE
        }
        choices = word_buttons("/language", words, locale, now=own.code if own else "" if tag else AUTO)
        await turn.answer.tell("\n".join([*lines, holds, OTHER_LANGUAGES[locale]]), choices=choices)

    async def _memory(self, request: Request, argument: str) -> None:
        """Show or choose whether anything new is remembered, and what of that unasked; or share a memory with rooms."""
        verb, _, rest = argument.partition(" ")
        if verb.casefold() in _SHARING:
            if request.incoming.private:
                await self._share(request, rest.strip(), shared=_SHARING[verb.casefold()])
            else:
                await request.tell(ONLY_IN_PRIVATE)
            return
        user, word = request.incoming.user, argument.casefold()
        before = chosen = await self._preferences.of(user)
        if word in _SWITCH:
            chosen = replace(before, remembers=_SWITCH[word])
        elif word in _LEARN:
            chosen = replace(before, learn=_LEARN[word])
        if chosen != before:
            await self._preferences.put(user, chosen)
        if not chosen.remembers:
            told = NOT_REMEMBERING[request.locale]
            await request.answer.tell(told, choices=word_buttons("/memory", {"on": TURN_ON}, request.locale))
            return
        locale, learn = request.locale, (chosen.learn or self._learn).within(self._learn)
        is_limited = request.turn.services.models.is_limited
        lines = [] if word in _LEARN else [REMEMBERING[locale]]
        if word in _LEARN and learn is not _LEARN[word]:
            lines.append(NOT_ALLOWED[locale].format(wanted=CHOOSE[_LEARN[word]][locale], learn=CHOOSE[learn][locale]))
        lines.append(learning(learn, locale, limited=is_limited))
        if word in _LEARN and is_limited:
            lines.append(UNLIMITED[locale].format(learn=CHOOSE[learn][locale]))
        others = [
            (verb, each) for verb, each in _LEARN.items() if each is not learn and each.within(self._learn) is each
        ]
        words = {verb: CHOOSE[each] for verb, each in others} | {"off": TURN_OFF}
        choices = word_buttons("/memory", words, locale)
        await request.answer.tell("\n".join(lines), choices=choices)


async def _languages(request: CompletionRequest) -> Sequence[Choice]:
    """Return the bot's own languages, that of each message, and, once something is typed, all others."""
    locale = request.locale
    own = [Choice(name_in(each.value, locale), each.code) for each in Locale]
    own.append(Choice(SAME_AS_MINE[locale], AUTO))
    others = (Choice(name_in(tag, locale), tag) for tag in known_tags(locale)) if request.typed else ()
    return offered(request.typed, (*own, *others))


def learning(learn: Learn, locale: Locale, *, limited: bool) -> str:
    """Return the sentence on what becomes of what is told in passing; limited mode saves whatever it is told."""
    return (LEARNING_LIMITED if limited else LEARNING[learn])[locale]


ALWAYS_IN = text("preferences.language.always_in")
AS_WRITTEN = text("preferences.language.as_written")
SAME_AS_MINE = text("preferences.language.same_as_mine")
OTHER_LANGUAGES = text("preferences.language.others")
UNKNOWN_LANGUAGE = text("preferences.language.unknown")
TURN_ON = text("preferences.memory.turn_on")
TURN_OFF = text("preferences.memory.turn_off")
LEARNING: dict[Learn, Localized] = {
    Learn.ASKED: text("preferences.learn.asked"),
    Learn.OFFERED: text("preferences.learn.offered"),
    Learn.AUTO: text("preferences.learn.auto"),
}
LEARNING_LIMITED = text("preferences.learn.limited")
NOT_ALLOWED = text("preferences.learn.not_allowed")
UNLIMITED = text("preferences.learn.unlimited")
CHOOSE: dict[Learn, Localized] = {
    Learn.ASKED: text("preferences.learn.choose.asked"),
    Learn.OFFERED: text("preferences.learn.choose.offered"),
    Learn.AUTO: text("preferences.learn.choose.auto"),
}
REMEMBERING = text("preferences.choices.remembering")
NOT_REMEMBERING = text("preferences.choices.not_remembering")
REMEMBER_WORDS: Mapping[str, Localized] = {
    "off": text("menus.remembering.off"),
    "on": text("menus.remembering.on"),
    **{verb: CHOOSE[learn] for verb, learn in _LEARN.items()},
    "share": text("menus.remembering.share"),
    "unshare": text("menus.remembering.unshare"),
}
