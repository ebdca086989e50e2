"""/language, /memory and /think: what people choose for themselves, which holds until they choose otherwise.

What becomes of facts that they tell in passing is theirs to choose up to the most that the owner allows (`LEARN`):
whoever runs the bot and whoever talks to it both have to want that something is saved unasked. In an hour of incognito
nothing of what a person says is kept, and nothing of what is kept is used.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from core.actions.action import Action
from core.actions.proposal import UNDO
from core.answering.outcomes import NOT_REMEMBERING
from core.answering.turn import Additions, Heard, Turn
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
from core.features.memories.card import MemoryCompletion
from core.features.memories.commands import MemoryCommands
from core.features.preferences.storage import PreferenceStore
from core.features.preferences.timezone import AUTO, TimezoneCommand, ZoneAdditions
from core.locales import head
from core.outgoing import Button, Suggestion
from core.text.catalogue import Sentences, counted, forms, text, texts
from core.text.language import english_name, find_language, from_tag, name_in, names_in, spoken
from core.text.markdown import verbatim
from core.text.replies import names_incognito
from core.text.unicode import flat, one_line
from core.types import Learn, Locale, Localized, Preferences

CHOICES = Sentences("preferences.choices")
INCOGNITO = Sentences("preferences.incognito")
LANGUAGE = Sentences("preferences.language")
LEARN = Sentences("preferences.learn")
MEMORY = Sentences("preferences.memory")
STEPS = Sentences("preferences.steps")

_MAX_CHARS: Final = 1_000
_ABOUT: Final = re.compile(
    r"\b(?:languages?|idiomas?|lingua\b|lenguas?\b|"
    r"(?:answer|reply|respond|talk|speak|write|text|chat|switch|stick|stay|keep)\w*(?: \w+){0,4} (?:in|to|with)\b|"
    r"(?:respond|fal[aeo]|convers|escrev|mud|troc|pass|continu|us)\w*(?: \w+){0,4} (?:em|pra|para|pro|no|so)\b|"
    r"(?:contest|respond|habl|escrib|cambi|pas[ae]|sig[au]|us[ae])\w*(?: \w+){0,4} (?:en|al?|solo)\b|"
    r"ingl|engl|portug|brasileiro|espan|spani|castell|castelh|franc[eo]|french|aleman|alem[ao]|germ|deutsch|ital|"
    r"japon|japan|chin[eo]|mandar|cantone|russ[oi]|coreano|korean|arab|hebr|hindi|urdu|bengal|tamil|turc|turk|polac|"
    r"polon|polish|holand|neerland|dutch|suec|swed|norue|norw|dinamar|danish|finland|finn|greg[ao]|griego|greek|tchec|"
    r"chec[oa]|czech|ucrania|ukrain|romen|rumano|romanian|hungar|vietnam|thai|tailand|indones|catal|gale[gs]|galic|"
    r"basc|euskera|latin|esperanto|swahili|suahili|yoruba|igbo|hausa|zulu|tagalo|filipin|guarani|quechua)"
)
"""Words by which a language of answers may be meant, of Portuguese, English and Spanish, without accents."""


def may_choose(text: str) -> bool:
    """Return whether a text may say in which language to answer: it speaks of one, or of the way to write."""
    return _ABOUT.search(flat(text[:_MAX_CHARS])) is not None


async def choose_language(turn: Turn, preferences: PreferenceStore, said: str) -> str | None:
    """Store the language of answers, named by tag or name ("auto": that of messages); return what to tell the person.

    The turn goes on in it. None: there is no such language, and nothing is stored.
    """
    said = said.strip()
    tag = "" if said.casefold() == AUTO else await asyncio.to_thread(find_language, said)
    if not tag and said.casefold() != AUTO:
        return None
    user = turn.conversation.thread.conversation.user
    await preferences.put(user, replace(await preferences.of(user), language=tag))
    turn.person.language = tag
    turn.person.locale = from_tag(tag) or turn.person.locale
    return _told(tag, turn.person.locale, limited=turn.services.models.is_limited)


def _told(tag: str, locale: Locale, *, limited: bool) -> str:
    if not tag:
        return CHOICES.automatic[locale]
    language = name_in(tag, locale)
    if from_tag(tag):
        return CHOICES.chosen[locale].format(language=language)
    if limited:
        return CHOICES.without_model[locale].format(
            language=language, ours=", ".join(head(each)["name"] for each in Locale)
        )
    own = CHOICES.own_sentences[locale].format(ours=head(locale)["name"])
    return f"{CHOICES.chosen[locale].format(language=language)} {own}"


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
            turn.answer.add_buttons((Button(LANGUAGE.same_as_mine[turn.person.locale], f"/language {AUTO}"),))
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


LASTS: Final = timedelta(hours=1)
INCOGNITO_WORD: Final = "incognito"
_INCOGNITO_OFF: Final = f"{INCOGNITO_WORD} off"
"""What the button says to end it, so that one of an hour ago turns nothing else on."""

INCOGNITO_ENDS: Final = frozenset({"on", _INCOGNITO_OFF})
"""What /memory is told to end it."""


async def begin_incognito(request: Request, preferences: PreferenceStore) -> None:
    """Begin an hour of incognito, or begin it anew, and say what that is."""
    user, until = request.incoming.user, request.turn.services.clock.now() + LASTS
    chosen = replace(await preferences.of(user), incognito_until=until, incognito_told=False)
    await preferences.put(user, chosen)
    await tell_incognito(request, until)


async def end_incognito(request: Request, preferences: PreferenceStore) -> None:
    """End it, and say so. What was sent until now and waits for its answer is still answered in incognito."""
    user, now = request.incoming.user, request.incoming.at
    chosen = replace(await preferences.of(user), incognito_until=now, incognito_told=True)
    await preferences.put(user, chosen)
    await request.tell(OVER)


async def tell_incognito(request: Request, until: datetime) -> None:
    """Say that it holds, for how long, and what that is."""
    readers = "" if request.turn.services.models.is_limited else INCOGNITO.readers[request.locale]
    left = math.ceil((until - request.turn.services.clock.now()) / timedelta(minutes=1))
    told = f"{counted(HOLDS, request.locale, left)}\n\n{INCOGNITO.stays[request.locale].format(readers=readers)}"
    await request.answer.tell(told, choices=word_buttons("/memory", {_INCOGNITO_OFF: END}, request.locale))


class IncognitoAdditions(Additions):
    """Says below an answer that the hour is over, once; and that it is not on, to who names it in other words."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def below_answer(self, turn: Turn) -> Heard | None:
        """Return that it is over, if the person was not told yet, or that it is not on.

        Else a model may say that it were, to who asks for it in words that are not read.
        """
        user, locale = turn.conversation.thread.conversation.user, turn.person.locale
        if turn.person.was_incognito:
            await self._preferences.put(user, replace(await self._preferences.of(user), incognito_told=True))
            return Heard(ENDED[locale], word_buttons("/memory", {INCOGNITO_WORD: INCOGNITO.again}, locale))
        if names_incognito(turn.asked.text):
            return Heard(NOT_ON[locale], word_buttons("/memory", {INCOGNITO_WORD: BEGIN}, locale))
        return None


HOLDS = forms("preferences.incognito.holds")
NOT_ON = text("preferences.incognito.not_on")
OVER = text("preferences.incognito.over")
ENDED = text("preferences.incognito.ended")
BEGIN = text("preferences.incognito.begin")
END = text("preferences.incognito.end")


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
                usage=f" off | on | {INCOGNITO_WORD} | {' | '.join(_LEARN)} | share N | unshare N",
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
                fields=(choice_field("what", text("menus.fields.think"), {"on": STEPS.show, "off": STEPS.hide}),),
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
        holds = LANGUAGE.always_in[locale].format(language=name_in(tag, locale)) if tag else LANGUAGE.as_written[locale]
        lines = [LANGUAGE.unknown[locale].format(name=name)] if argument else []
        own = from_tag(tag) if tag else None
        words = {each.code: dict.fromkeys(Locale, head(each)["name"].capitalize()) for each in Locale} | {
            AUTO: LANGUAGE.same_as_mine
        }
        choices = word_buttons("/language", words, locale, now=own.code if own else "" if tag else AUTO)
        await turn.answer.tell("\n".join([*lines, holds, LANGUAGE.others[locale]]), choices=choices)

    async def think(self, request: Request, argument: str) -> None:
        """Show or choose whether the steps of each turn stand below its answer."""
        user, locale = request.incoming.user, request.locale
        before = await self._preferences.of(user)
        chosen = replace(before, shows_steps=_SWITCH.get(argument.casefold(), before.shows_steps))
        if chosen != before:
            await self._preferences.put(user, chosen)
        word, label = ("off", STEPS.hide) if chosen.shows_steps else ("on", STEPS.show)
        told = STEPS.shown if chosen.shows_steps else STEPS.hidden
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
        if word == INCOGNITO_WORD:
            await begin_incognito(request, self._preferences)
            return
        if request.person.is_incognito and word in INCOGNITO_ENDS:
            await end_incognito(request, self._preferences)
            return
        before = chosen = await self._preferences.of(user)
        if word in _SWITCH:
            chosen = replace(before, remembers=_SWITCH[word])
        elif word in _LEARN:
            chosen = replace(before, learn=_LEARN[word])
        if chosen != before:
            await self._preferences.put(user, chosen)
        if request.person.is_incognito and chosen.incognito_until is not None:
            await tell_incognito(request, chosen.incognito_until)
        elif chosen.remembers:
            await self._tell_learning(request, chosen, word)
        else:
            told = f"{NOT_REMEMBERING[request.locale]}\n{CHOICES.still_kept[request.locale]}"
            words = {"on": MEMORY.turn_on, INCOGNITO_WORD: BEGIN}
            await request.answer.tell(told, choices=word_buttons("/memory", words, request.locale))

    async def _tell_learning(self, request: Request, chosen: Preferences, word: str) -> None:
        """Say what is saved unasked, and offer the other choices; `word` is what was just chosen."""
        locale, learn = request.locale, (chosen.learn or self._learn).within(self._learn)
        is_limited = request.turn.services.models.is_limited
        lines = [] if word in _LEARN else [CHOICES.remembering[locale]]
        if word in _LEARN and learn is not _LEARN[word]:
            lines.append(
                LEARN.not_allowed[locale].format(wanted=CHOOSE[_LEARN[word]][locale], learn=CHOOSE[learn][locale])
            )
        lines.append(learning(learn, locale, limited=is_limited))
        if word in _LEARN and is_limited:
            lines.append(LEARN.unlimited[locale].format(learn=CHOOSE[learn][locale]))
        others = [
            (verb, each) for verb, each in _LEARN.items() if each is not learn and each.within(self._learn) is each
        ]
        words = {verb: CHOOSE[each] for verb, each in others} | {"off": MEMORY.turn_off, INCOGNITO_WORD: BEGIN}
        choices = word_buttons("/memory", words, locale)
        await request.answer.tell("\n".join(lines), choices=choices)


async def _languages(request: CompletionRequest) -> Sequence[Suggestion]:
    """Return the bot's own languages, that of each message, and, once something is typed, all others."""
    locale = request.locale
    own = [Suggestion(name_in(each.value, locale), each.code) for each in Locale]
    own.append(Suggestion(LANGUAGE.same_as_mine[locale], AUTO))
    if not request.typed:
        return own
    names = await asyncio.to_thread(names_in, locale)
    others = (Suggestion(name, tag) for tag, name in names.items())
    return await asyncio.to_thread(offered, request.typed, (*own, *others))


def learning(learn: Learn, locale: Locale, *, limited: bool) -> str:
    """Return the sentence on what becomes of what is told in passing; limited mode saves whatever it is told."""
    return (LEARN.limited if limited else LEARNING[learn])[locale]


LEARNING = texts("preferences.learn", Learn)
CHOOSE = texts("preferences.learn.choose", Learn)
REMEMBER_WORDS: Mapping[str, Localized] = {
    **texts("menus.remembering", ("off", "on", INCOGNITO_WORD)),
    **{verb: CHOOSE[learn] for verb, learn in _LEARN.items()},
    **texts("menus.remembering", _SHARING),
}
