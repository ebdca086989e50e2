"""/language, /memory, /think and /timezone: what people choose for themselves, which holds until they choose otherwise.

What becomes of facts that they tell in passing is theirs to choose up to the most that the owner allows (`LEARN`):
whoever runs the bot and whoever talks to it both have to want that something is saved unasked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.actions.action import Action
from core.actions.offer import UNDO
from core.answering.turn import Turn
from core.commands.command import (
    ON_ANSWERS,
    ON_MEMORIES,
    ON_SETTINGS,
    ONLY_IN_PRIVATE,
    Command,
    CompletionRequest,
    Request,
    offered,
    word_buttons,
)
from core.commands.menu import choice_field, completed_field
from core.dialogue import Outcome, Step
from core.features.feature import Contribution, Shared
from core.features.memories.commands import MemoryCommands
from core.features.memories.listed import MemoryCompletion
from core.features.preferences import incognito
from core.features.preferences.heard import ZoneAdditions
from core.features.preferences.incognito import IncognitoAdditions
from core.features.preferences.language import AUTO, NOT_REMEMBERING, choose_language, may_choose
from core.features.preferences.storage import PreferenceStore
from core.features.preferences.timezone import TimezoneCommand
from core.locales import head
from core.outgoing import Button, Suggestion
from core.text.catalogue import text
from core.text.language import english_name, find_language, from_tag, name_in, names_in, spoken
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Learn, Locale, Localized, Preferences

NAME = "AnswerLanguage"

WHEN = (
    'They say in which language to answer from now on ("answer me in German from now on"). Not for one text in '
    "another language, nor because of the language that they write in."
)

INSTRUCTION = f"""\
`language` is its tag, such as "de" or "pt-BR", or "{AUTO}" for the language of each message. Only their own words \
count, not those of a quote or a memory."""


@dataclass(frozen=True)
class LanguageChoice:
    """The language of answers."""

    language: str


def answer_language(preferences: PreferenceStore) -> Action:
    """Return the action, which stores a person's choice there."""

    async def run(turn: Turn, choice: LanguageChoice) -> Step:
        """Store the choice and say what holds from now on; the rest of the turn goes on in that language."""
        before = (await preferences.of(turn.conversation.thread.conversation.user)).language
        if (
            not before
            and from_tag(choice.language) is not None
            and from_tag(choice.language) is spoken(turn.asked.text)
        ):
            detail = "they are answered in the language they write in anyway; nothing was changed"
            return Step(NAME, Outcome.NOTHING, detail=detail)
        if choice.language.strip().casefold() == AUTO and before:  # no word tells that they asked for this
            turn.answer.add_buttons((Button(SAME_AS_MINE[turn.person.locale], f"/language {AUTO}"),))
            return Step(NAME, Outcome.NOTHING, detail="not changed; a button below your answer offers it")
        tag = find_language(choice.language)
        if tag and not await asyncio.to_thread(turn.support.names_language, tag):
            return Step(NAME, Outcome.NOTHING, detail="their message names no such language; nothing was changed")
        told = await choose_language(turn, preferences, choice.language)
        if told is None:
            return Step(NAME, Outcome.NOTHING, detail="no such language is known; nothing was changed")
        language = english_name(turn.person.language) if turn.person.language else "the language of each message"
        detail = f"from now on, this answer included, you write in {language}; the person was told so"
        back = Button(UNDO[turn.person.locale], f"/language {before or AUTO}")
        return await turn.answer.report(Step(NAME, Outcome.DONE, detail=detail), told, (back,))

    return Action(
        NAME,
        WHEN,
        run,
        arguments=LanguageChoice,
        instruction=INSTRUCTION,
        example='{"language": "de"}',
        in_incognito=True,
        called_for=may_choose,
    )


_SWITCH: Final = {"on": True, "off": False}
_LEARN: Final = {"ask": Learn.ASKED, "offer": Learn.OFFERED, "auto": Learn.AUTO}
_SHARING: Final = {"share": True, "unshare": False}
_MAX_NAME_CHARS: Final = 40


def build(shared: Shared) -> Contribution:
    """Contribute /language, /memory, /think and /timezone, and the action that chooses a language in the chat."""
    store = shared.stores.preferences
    chosen = PreferenceCommands(store, shared.get(MemoryCommands).share, shared.settings.learn)
    zone = TimezoneCommand(store, shared.clock, shared.added.zone_moves)
    return Contribution(
        commands=(
            Command(
                "memory",
                text("commands.memory"),
                chosen.memory,
                usage=f" off | on | {incognito.WORD} | {' | '.join(_LEARN)} | share N | unshare N",
                is_listed=True,
                fields=(
                    choice_field("what", text("menus.fields.remembering"), REMEMBER_WORDS),
                    completed_field("memory", text("menus.fields.share")),
                ),
                complete=MemoryCompletion(shared.memories),
                topics=(ON_MEMORIES, ON_SETTINGS),
            ),
            Command(
                "language",
                text("commands.language"),
                chosen.language,
                usage=f" {' | '.join(each.code for each in Locale)} | … | {AUTO}",
                is_listed=True,
                fields=(completed_field("language", text("menus.fields.language")),),
                complete=_languages,
                topics=(ON_SETTINGS,),
            ),
            Command(
                "think",
                text("commands.think"),
                chosen.think,
                usage=f" {' | '.join(_SWITCH)}",
                fields=(choice_field("what", text("menus.fields.think"), {"on": STEPS_ON, "off": STEPS_OFF}),),
                topics=(ON_ANSWERS, ON_SETTINGS),
            ),
            Command(
                "timezone",
                text("commands.timezone"),
                zone.run,
                usage=f" … | {AUTO}",
                fields=(completed_field("place", text("menus.fields.place")),),
                complete=zone.places,
                topics=(ON_SETTINGS,),
            ),
        ),
        actions=(answer_language(store),),
        additions=(IncognitoAdditions(store), ZoneAdditions()),
        forgetters=(store,),
    )


class PreferenceCommands:
    """Show and change what holds for a person. `learn` is the most that people may choose to have saved unasked."""

    def __init__(self, preferences: PreferenceStore, share: Callable[..., Awaitable[None]], learn: Learn) -> None:
        self._preferences = preferences
        self._share = share
        self._learn = learn

    async def language(self, request: Request, argument: str) -> None:
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

    async def think(self, request: Request, argument: str) -> None:
        """Show or choose whether the steps of each turn stand below its answer."""
        user, locale = request.incoming.user, request.locale
        before = await self._preferences.of(user)
        chosen = replace(before, shows_steps=_SWITCH.get(argument.casefold(), before.shows_steps))
        if chosen != before:
            await self._preferences.put(user, chosen)
        word, label = ("off", STEPS_OFF) if chosen.shows_steps else ("on", STEPS_ON)
        told = STEPS_SHOWN if chosen.shows_steps else STEPS_HIDDEN
        await request.answer.tell(told[locale], choices=word_buttons("/think", {word: label}, locale))

    async def memory(self, request: Request, argument: str) -> None:
        """Show or choose whether anything new is remembered, and what of that unasked; or share a memory with rooms."""
        verb, _, rest = argument.partition(" ")
        if verb.casefold() in _SHARING:
            if request.incoming.private:
                await self._share(request, rest.strip(), shared=_SHARING[verb.casefold()])
            else:
                await request.tell(ONLY_IN_PRIVATE)
            return
        user, word = request.incoming.user, argument.casefold()
        if word == incognito.WORD:
            await incognito.begin(request, self._preferences)
            return
        if request.person.is_incognito and word in incognito.ENDS:
            await incognito.end(request, self._preferences)
            return
        before = chosen = await self._preferences.of(user)
        if word in _SWITCH:
            chosen = replace(before, remembers=_SWITCH[word])
        elif word in _LEARN:
            chosen = replace(before, learn=_LEARN[word])
        if chosen != before:
            await self._preferences.put(user, chosen)
        if request.person.is_incognito and chosen.incognito_until is not None:
            await incognito.tell(request, chosen.incognito_until)
        elif chosen.remembers:
            await self._tell_learning(request, chosen, word)
        else:
            told = f"{NOT_REMEMBERING[request.locale]}\n{STILL_KEPT[request.locale]}"
            words = {"on": TURN_ON, incognito.WORD: incognito.BEGIN}
            await request.answer.tell(told, choices=word_buttons("/memory", words, request.locale))

    async def _tell_learning(self, request: Request, chosen: Preferences, word: str) -> None:
        """Say what is saved unasked, and offer the other choices; `word` is what was just chosen."""
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
        words = {verb: CHOOSE[each] for verb, each in others} | {"off": TURN_OFF, incognito.WORD: incognito.BEGIN}
        choices = word_buttons("/memory", words, locale)
        await request.answer.tell("\n".join(lines), choices=choices)


async def _languages(request: CompletionRequest) -> Sequence[Suggestion]:
    """Return the bot's own languages, that of each message, and, once something is typed, all others."""
    locale = request.locale
    own = [Suggestion(name_in(each.value, locale), each.code) for each in Locale]
    own.append(Suggestion(SAME_AS_MINE[locale], AUTO))
    if not request.typed:
        return own
    names = await asyncio.to_thread(names_in, locale)
    others = (Suggestion(name, tag) for tag, name in names.items())
    return await asyncio.to_thread(offered, request.typed, (*own, *others))


def learning(learn: Learn, locale: Locale, *, limited: bool) -> str:
    """Return the sentence on what becomes of what is told in passing; limited mode saves whatever it is told."""
    return (LEARNING_LIMITED if limited else LEARNING[learn])[locale]


ALWAYS_IN = text("preferences.language.always_in")
AS_WRITTEN = text("preferences.language.as_written")
SAME_AS_MINE = text("preferences.language.same_as_mine")
OTHER_LANGUAGES = text("preferences.language.others")
UNKNOWN_LANGUAGE = text("preferences.language.unknown")
STEPS_SHOWN = text("preferences.steps.shown")
STEPS_HIDDEN = text("preferences.steps.hidden")
STEPS_ON = text("preferences.steps.show")
STEPS_OFF = text("preferences.steps.hide")
TURN_ON = text("preferences.memory.turn_on")
TURN_OFF = text("preferences.memory.turn_off")
STILL_KEPT = text("preferences.choices.still_kept")
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
REMEMBER_WORDS: Mapping[str, Localized] = {
    "off": text("menus.remembering.off"),
    "on": text("menus.remembering.on"),
    incognito.WORD: text("menus.remembering.incognito"),
    **{verb: CHOOSE[learn] for verb, learn in _LEARN.items()},
    "share": text("menus.remembering.share"),
    "unshare": text("menus.remembering.unshare"),
}
