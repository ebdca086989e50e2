"""Choose the language of a person's answers, by /language or in the chat, and say what holds from then on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from core.answering.turn import Turn
from core.features.preferences.storage import PreferenceStore
from core.locales import head
from core.text.catalogue import text
from core.text.language import from_tag
from core.text.language_names import find_language, name_in
from core.types import Locale

AUTO: Final = "auto"


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
