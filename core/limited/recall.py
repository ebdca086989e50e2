"""Choose which of the memories that a search found answer a question, and quote them; nothing is composed."""

from __future__ import annotations

from collections.abc import Sequence

from core.limited import sentences as say
from core.limited.change import bound
from core.limited.cues import Cues
from core.limited.scene import Scene, day, line
from core.limited.words import is_kind, silent, stem, stems, subject, words
from core.text.markdown import quoted
from core.types import Locale, MemoryItem

MAX_QUOTES = 5
MAX_LISTED = 25
GOOD = 0.5
"""The share of the question's weight that a memory must hold to be its answer."""

_NAME_WEIGHT = 2
_SAID = 0.6
"""The score of a past message that answers a question to which no memory does."""


def best(phrase: str, found: Sequence[MemoryItem], *, asking: bool = True) -> tuple[list[MemoryItem], float]:
    """Return the memories that hold most of a phrase, and how much of its weight, 0..1.

    A word for a kind of thing (password, birthday) weighs less than a name: "the netflix password" is not answered by
    another password.
    """
    named = stems(phrase, asking=asking)
    weights = {name: 1 if is_kind(name) else _NAME_WEIGHT for name in named}
    held = [named & stems(" ".join((item.content, *item.bindings))) for item in found]
    scores = [sum(weights[name] for name in names) for names in held]
    top = max(scores, default=0)
    kept = [item for item, score in zip(found, scores, strict=True) if score == top]
    if top:  # of equals, what was told last comes first
        kept.sort(key=lambda item: item.updated_at, reverse=True)
    return bound(kept, named), top / max(sum(weights.values()), 1)


def answered(items: Sequence[MemoryItem], locale: Locale) -> str:
    """Return the memories that answer, quoted."""
    return _quoting(say.HERE_IT_IS[locale], items[:MAX_QUOTES], locale)


def nearest(items: Sequence[MemoryItem], locale: Locale) -> str:
    """Return the nearest memory, introduced as the nearest only."""
    return _quoting(say.NEAREST[locale], items[:1], locale)


def shared(phrase: str, items: Sequence[MemoryItem]) -> str:
    """Return the word of a question, as it was asked, that names what the nearest memories are about; "" if none."""
    held = stems(" ".join((items[0].content, *items[0].bindings))) if items else frozenset()
    said = (word for word in words(subject(phrase, asking=True)) if not silent(word) and not is_kind(stem(word)))
    return next((word for word in said if stem(word) in held), "")


def related(about: str, items: Sequence[MemoryItem], locale: Locale) -> str:
    """Return the memories about the subject of a question that they may not answer."""
    return _quoting(say.RELATED[locale].format(subject=about), items[:MAX_QUOTES], locale)


def unknown(locale: Locale) -> str:
    """Return the text for a question that only a language model could answer."""
    return f"{say.NOT_IN_MEMORY[locale]} {say.NO_MODEL[locale]}"


def said_before(scene: Scene) -> str:
    """Return what the person said earlier, with its day, if that holds most of the rare words searched for; else ""."""
    found = scene.said_before
    if found is None or found[1] < _SAID or found[0].at is None:
        return ""
    date = day(found[0].at.astimezone(scene.context.now.tzinfo), scene.locale)
    return say.YOU_SAID[scene.locale].format(date=date, quote=quoted(found[0].text, None))


def listed(found: Sequence[MemoryItem], locale: Locale) -> str:
    """Return all that was found, as a list."""
    if not found:
        return say.KNOW_NOTHING[locale]
    return f"{_quoting(say.ALL_I_KNOW[locale], found[:MAX_LISTED], locale)}\n\n{say.MORE_IN_LIST[locale]}"


def matching(about: str, found: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the memories that match the phrase well enough to be offered for deletion."""
    items, share = best(about, found, asking=False)
    return items if share >= GOOD else []


def target(cues: Cues, text: str) -> str:
    """Return the text without the words of deleting."""
    return cues.without("delete-word", cues.opened(text))


def _quoting(lead: str, items: Sequence[MemoryItem], locale: Locale) -> str:
    quotes = [line(item, locale, whole=True) for item in items]
    if len(quotes) == 1:
        return f"{lead} {quotes[0]}"
    return "\n".join((lead, *(f"- {quote}" for quote in quotes)))
