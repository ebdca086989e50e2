"""Find what was said before about what is asked now: past messages as quotes, beside memories.

Full text alone finds them, so only strong evidence counts: words of greeting and of asking are none, and a question is
no answer. The constants were chosen on tests/data/quotes_tuning.json.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.history.withholding import Knowledge, Lookup, known, withheld_of
from core.stores import HistoryStore, Quoted
from core.text.showing import asks_to_show
from core.text.unicode import flat, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import MemoryItem, Message, MessageRole, Span, UserKey

MAX_QUOTES: Final = 3
STRONG: Final = 0.55
"""The score from which on a past message is shown to a model."""

_FOUND: Final = 16
_BOT_WEIGHT: Final = 0.6
"""What an answer of ours counts of what it would count if the person had said it."""

_REPLY_WEIGHT: Final = 0.9
"""What a reply that tells more than the message before it counts of what that message would."""

_MAX_CHARS: Final = 300
_MAX_BEFORE_CHARS: Final = 120
_LEAD_CHARS: Final = 80
"""Of a long message, how much is shown before the first word that was asked for."""

_ASKS: Final = frozenset(
    """
    qual quais quem quando onde aonde como quanto quanta quantos quantas cade lembra
    what which who whom whose when where why how remember
    cual cuales quien quienes donde adonde cuando cuanto cuanta cuantos cuantas recuerdas
    """.split()
)
_NO_SUBJECT: Final = frozenset(
    """
    oi ola ta estas bom boa bons boas dia tarde noite tudo bem obrigado obrigada valeu beijo abraco hoje agora haha
    kkk legal deixa faz fazer falar falei falou fala disse dizer dito contei contou contar mencionei nome chama
    chamava mesmo hi hello hey good morning afternoon evening night thanks thank ok okay lol today now fine please
    tell told said say says mention mentioned talk talked name called think help give write explain hola buenos
    buenas dias tardes noches gracias vale jaja ahora dime dije dijiste dijo decir conte contaste nombre llama
    llamaba mismo ayuda ayudame escribe cuentame
    """.split()
)
"""Words of a message that do not name what it is about."""

_QUESTION: Final = re.compile(r"[^.!\n…]*[?？؟]\W*")
"""A text that is one question and nothing else."""

_WISH_WORDS: Final = 6
"""A longer message that asks to be shown something tells something, too."""

_EMPTY: Final = FUNCTION_WORDS | _NO_SUBJECT


@dataclass(frozen=True, slots=True)
class PastWords:
    """What was said before: the quotes, the best first, cut to a length, and the memories that they tell of."""

    quotes: tuple[Quoted, ...] = ()
    items: tuple[MemoryItem, ...] = ()


NOTHING: Final = PastWords()


def asks(text: str) -> bool:
    """Return whether a message may ask for what was said: it has a question mark, or a word that asks."""
    return "?" in text or not _ASKS.isdisjoint(folded_words(text))


async def find_quotes(
    store: HistoryStore,
    users: Sequence[UserKey],
    queries: Iterable[str],
    *,
    lookup: Lookup,
    room: str = "",
    said: Span | None = None,
    skip: Collection[int] = (),
    beside: Collection[str] = (),
) -> PastWords:
    """Return up to MAX_QUOTES past messages of these accounts that say more about one of the queries.

    `room`, `said` and `skip` are those of `HistoryStore.search`. What is withheld from models is left out, and what
    tells of the memories `beside`, which are shown anyway.
    """
    best: dict[int, Quoted] = {}
    telling = ([word for word in folded_words(query) if word not in _EMPTY] for query in queries)
    asked = list({frozenset(each): each for each in telling if each}.values())
    if not asked:
        return NOTHING
    lists = await store.search(users, [*map(" ".join, asked)], limit=_FOUND, room=room, said=said, skip=skip)
    for words, found in zip(asked, lists, strict=True):
        for each in _judged(found, frozenset(words)):
            known_before = best.get(each.message.id)
            if known_before is None or known_before.score < each.score:
                best[each.message.id] = each
    if not best:
        return NOTHING
    messages = [message for each in best.values() for message in (each.message, each.before) if message is not None]
    knowledge = await known(store, messages, lookup)
    shown = [each for each in best.values() if _may_be_shown(each, knowledge, beside)]
    quotes = sorted(shown, key=lambda each: (-each.score, -each.message.id))[:MAX_QUOTES]
    told = {told.memory_id for each in quotes for i in _ids(each) for told in knowledge.told.get(i, ())}
    return PastWords(tuple(quotes), tuple(item for item in knowledge.items.values() if item.id in told))


def _judged(found: Sequence[Quoted], words: Collection[str]) -> Iterator[Quoted]:
    """Yield the messages that hold strong evidence and tell more than the words, cut to a length, with their scores.

    The reply to a question takes the question's place.
    """
    scores = {each.message.id: each.score for each in found}
    for each in found:
        score = each.score * (1 if each.message.role is MessageRole.USER else _BOT_WEIGHT)
        before = each.before
        if before is not None and _answers(each.message, before):
            score = max(score, _REPLY_WEIGHT * scores.get(before.id, 0))
        tells = set(folded_words(each.message.text)).difference(words, _EMPTY)
        if score >= STRONG and tells and not _is_question(each.message):
            cut = before and replace(before, content=one_line(before.text, _MAX_BEFORE_CHARS))
            yield replace(each, message=_excerpt(each.message, words), before=cut, score=score)


def _answers(message: Message, before: Message) -> bool:
    """Return whether a message replies to a question, or tells more than what it replies to, as our answers may."""
    if message.role is before.role:
        return False
    is_longer = message.role is MessageRole.ASSISTANT and len(before.text) < len(message.text)
    return is_longer or _is_question(before)


def _is_question(message: Message) -> bool:
    """Return whether a message only asks: a question, or to be shown something."""
    is_wish = len(message.text.split()) <= _WISH_WORDS and asks_to_show(message.text)
    return is_wish or _QUESTION.fullmatch(message.text) is not None


def _excerpt(message: Message, words: Collection[str]) -> Message:
    """Return the message with so much of its text as is shown: from just before the first of the words on."""
    text = " ".join(message.text.split())
    if len(text) > _MAX_CHARS:
        folded = flat(text)
        start = min((at for word in words if (at := folded.find(word)) > 0), default=0) - _LEAD_CHARS
        text = text if start <= 0 else "…" + text[start:].partition(" ")[2]
    return replace(message, content=one_line(text, _MAX_CHARS))


def _may_be_shown(quoted: Quoted, knowledge: Knowledge, beside: Collection[str]) -> bool:
    """Return whether models may read it, and it tells nothing that is shown anyway."""
    withheld = withheld_of(quoted.thread)
    messages = [message for message in (quoted.message, quoted.before) if message is not None]
    if any(withheld.hides(message) or knowledge.is_stale(message) for message in messages):
        return False
    return all(told.memory_id not in beside for told in knowledge.told.get(quoted.message.id, ()))


def _ids(quoted: Quoted) -> list[int]:
    return [message.id for message in (quoted.message, quoted.before) if message is not None]
