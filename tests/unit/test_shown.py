"""Whose words something holds, and which memories a model may name: rules on what was shown, without a store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.answering.shown import RoomTalk, Shown
from core.enclosures import Quote, QuoteKind, Speaker
from core.history.conversation import Context
from core.types import MemoryItem, MemoryKind, Message, MessageRole

NOW = datetime(2026, 3, 14, tzinfo=UTC)
RECIPE = "flour eggs sugar butter vanilla"


def item(id_: str, content: str) -> MemoryItem:
    return MemoryItem(id_, MemoryKind.TEXT, content, (), NOW, NOW)


def shown(text: str, *, memory: str = "", quote: str = "", room: str = "", earlier: str = "") -> Shown:
    """Return what was shown with that message: a memory, words of Bob, and the person's own in the room and before."""
    quotes = (Quote(QuoteKind.REPLY, quote, name="Bob"),) if quote else ()
    seen = Shown(Message(MessageRole.USER, text, quotes=quotes))
    said = (Message(MessageRole.USER, earlier, id=7),) if earlier else ()
    seen.show_window(Context("", said, memories=(item("a", memory),) if memory else ()))
    seen.room = RoomTalk((Quote(QuoteKind.ROOM, room, Speaker.SELF),) if room else ())
    return seen


@pytest.mark.parametrize(
    ("seen", "content", "is_theirs"),
    [
        (shown("remember the wifi is blue42"), "the wifi is blue42", False),
        (shown("save it", memory="the code is 4711"), "the code is 4711", True),  # one number is enough
        (shown("save it", quote=RECIPE), RECIPE, True),
        (shown("the recipe: flour, eggs, sugar and salt", quote=RECIPE), "flour eggs sugar butter", False),
        (shown("keep that", room="lunch at Zé"), "lunch at Zé", True),  # it was said to others
        (shown("keep that", earlier="lunch at Zé"), "lunch at Zé", False),
        (shown("note 14 March", memory="14 March"), "14", False),  # models write dates in their own way
        (shown("hello"), "made up by nobody", False),
    ],
)
def test_content_that_stands_only_in_what_others_said_is_theirs(seen: Shown, content: str, is_theirs: bool) -> None:
    assert seen.is_from_others(content) is is_theirs


def test_words_are_said_as_they_are_only_in_their_order() -> None:
    seen = shown("call me", earlier="an hour before my flight")
    assert seen.is_said_as("hour before my flight")
    assert not seen.is_said_as("flight before my hour")
    assert not seen.is_said_as("")


def test_what_a_quote_says_is_credited_to_who_said_it() -> None:
    assert shown("save that", quote="lunch at one").credited("lunch at one") == "Bob: lunch at one"
    assert shown("lunch at one", quote="lunch at one").credited("lunch at one") == "lunch at one"


def test_only_memories_that_may_be_spoken_of_are_resolved_by_label_or_id() -> None:
    seen = shown("hi")
    seen.label([item("a", "one"), item("b", "two")])
    found, refused = seen.resolve(["m1", "[m2]", "b", "m9", "c"], [item("b", "two"), item("c", "three")])
    assert {name: each.id for name, each in found.items()} == {"[m2]": "b", "b": "b", "c": "c"}
    assert refused == ("m1", "m9")
    assert [each.id for each in seen.memories] == ["a", "b", "b", "b", "c"]
