"""Choose the language of a person's answers, by /language or in the chat, and say what holds from then on."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Final

from core.answering.outcomes import INCOGNITO
from core.answering.turn import Asker, Turn
from core.features.preferences.storage import PreferenceStore
from core.locales import head
from core.text.catalogue import text
from core.text.language import from_tag
from core.text.language_names import find_language, name_in
from core.text.unicode import flat
from core.types import Locale, Localized

AUTO: Final = "auto"
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
        return AUTOMATIC[locale]
    language = name_in(tag, locale)
    if from_tag(tag):
        return CHOSEN[locale].format(language=language)
    if limited:
        return WITHOUT_MODEL[locale].format(language=language, ours=", ".join(head(each)["name"] for each in Locale))
    return f"{CHOSEN[locale].format(language=language)} {OWN_SENTENCES[locale].format(ours=head(locale)['name'])}"


CHOSEN = text("preferences.choices.chosen")
AUTOMATIC = text("preferences.choices.automatic")
OWN_SENTENCES = text("preferences.choices.own_sentences")
WITHOUT_MODEL = text("preferences.choices.without_model")
NOT_REMEMBERING = text("preferences.choices.not_remembering")


def why_not_remembering(person: Asker) -> Localized | None:
    """Return the sentence that says why nothing is remembered of a person now; None if it is."""
    if person.is_incognito:
        return INCOGNITO
    return None if person.remembers else NOT_REMEMBERING
