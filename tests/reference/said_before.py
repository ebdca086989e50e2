"""The search for past messages, over lists: the reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from core.storage.lexicon import Lexicon, idf
from core.stores import BEFORE_WEIGHT, Quoted
from core.types import Message, MessageRole, Modal, Span, Thread, is_findable, room_name

_LEXICON = Lexicon()


def search(
    talks: Sequence[tuple[Thread, Sequence[Message]]],
    query: str,
    *,
    limit: int,
    room: str,
    said: Span | None,
    skip: Collection[int],
) -> Sequence[Quoted]:
    """Return what `HistoryStore.search` promises, of the threads of those people."""
    keywords = list(dict.fromkeys(_LEXICON.query_terms(query)))
    there = [(thread, messages) for thread, messages in talks if room in {"", room_name(thread.conversation.chat)}]
    total = sum(len(messages) for _, messages in there)
    heard = {
        message.id: set(_LEXICON.keyword_terms(message.text))
        for _, messages in talks
        for message in messages
        if is_findable(message) and room in {"", message.room}
    }
    weights = {each: _weight(total, each, heard) for each in keywords}
    found = []
    for thread, messages in talks:
        before: Message | None = None
        for message in messages:
            if message.id in heard and message.id not in skip and _is_then(message, said):
                own = {each for each in keywords if heard[message.id] & set(each)}
                others = heard.get(before.id, set()) if before is not None and _is_then(before, said) else set()
                more = {each for each in keywords if others & set(each)} - own
                score = sum(weights[each] for each in own) + BEFORE_WEIGHT * sum(weights[each] for each in more)
                if score:
                    found.append(Quoted(message, thread, before if more else None, score / sum(weights.values())))
            if (
                message.role in {MessageRole.USER, MessageRole.ASSISTANT}
                and message.modal is Modal.TEXT
                and not message.pair
            ):
                before = message
    return sorted(found, key=lambda each: (-each.score, -each.message.id))[: max(limit, 0)]


def _weight(total: int, keyword: Sequence[str], heard: Mapping[int, set[str]]) -> float:
    counts = [sum(term in terms for terms in heard.values()) for term in keyword]
    return idf(max(*counts, 1), total)


def _is_then(message: Message, said: Span | None) -> bool:
    return said is None or (message.at is not None and said.start <= message.at < said.end)
