"""What a text looks like in Discord, and how long it is there."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.markup import MAX_CHARS, draw, measure
from core.delivery.split import split
from core.outgoing import OutgoingMessage
from core.types import MemoryNote, Modal


def test_two_bars_are_shown_as_they_are_written_and_code_is_left_alone() -> None:
    assert draw(OutgoingMessage("a||b||c")).content == r"a\|\|b\|\|c"
    assert (
        draw(OutgoingMessage("`a||b` e\n```sh\nx || y\n```\n| a | b |")).content
        == "`a||b` e\n```sh\nx || y\n```\n| a | b |"
    )
    assert draw(OutgoingMessage("```sh\nx || y")).content == "```sh\nx || y"


def test_a_text_without_anything_to_see_is_still_a_message() -> None:
    assert draw(OutgoingMessage(" \x00\n")).content == "…"


def test_only_what_may_still_change_has_a_stop_button_and_only_for_who_asked() -> None:
    assert draw(OutgoingMessage("a", final=False, stoppable=True), stop="7").stop == "7"
    assert draw(OutgoingMessage("a", Modal.TEXT_FOR_REPLACE, stoppable=True), stop="7").stop == "7"
    assert draw(OutgoingMessage("a", final=False), stop="7").stop == ""
    assert draw(OutgoingMessage("a"), stop="7").stop == ""
    assert draw(OutgoingMessage("a", Modal.MEMORY), stop="7").stop == ""


@given(st.text(alphabet=st.sampled_from("ab|`\n 😀\ud800\x00é"), max_size=4000))
def test_no_part_of_a_text_is_longer_when_sent_than_discord_takes(text: str) -> None:
    for part in split(text, MAX_CHARS, measure):
        sent = draw(OutgoingMessage(part.text)).content
        assert len(sent) <= measure(part.text) <= MAX_CHARS or part.text == ""
        sent.encode()  # no lone surrogate is left


ITEM = MemoryNote("senha", "abc||123", "14 Mar 2026")
LINE = r"🧠 **senha** ||abc\|\|123|| · 14 Mar 2026"


def test_memories_stand_in_an_embed_below_the_text_that_rests_on_them() -> None:
    drawn = draw(OutgoingMessage("A senha é **abc**.", memories=(ITEM,)))
    assert (drawn.content, drawn.embed) == ("A senha é **abc**.", LINE)


def test_beside_a_link_memories_are_lines_as_an_embed_would_make_discord_fetch_what_is_linked_to() -> None:
    drawn = draw(OutgoingMessage("Veja https://example.com/abc", memories=(ITEM,)))
    assert (drawn.content, drawn.embed) == (f"Veja https://example.com/abc\n{LINE}", "")


FOLDED = "How: 2 steps\n• a||b\n• two"


def test_folded_lines_stand_under_one_spoiler_below_memories_as_many_as_fit() -> None:
    spoiler = "How: 2 steps\n||• a\\|\\|b\n• two||"
    drawn = draw(OutgoingMessage("É **abc**.", memories=(ITEM,), folded=FOLDED))
    assert (drawn.content, drawn.embed) == ("É **abc**.", f"{LINE}\n{spoiler}")
    assert draw(OutgoingMessage("oi", folded=FOLDED)).embed == spoiler
    link = "Veja https://example.com/abc"
    assert draw(OutgoingMessage(link, folded=FOLDED)).content == f"{link}\n{spoiler}"
    for room, kept in ((len(spoiler) - 1, "\nHow: 2 steps\n||• a\\|\\|b||"), (20, "")):
        text = "https://e.org/".ljust(MAX_CHARS - room - 1, "a")
        assert draw(OutgoingMessage(text, folded=FOLDED)).content == f"{text}{kept}"


def test_as_plain_text_the_answer_comes_first_and_memories_where_there_is_room() -> None:
    items = (ITEM, ITEM)
    assert draw(OutgoingMessage("oi", memories=items, plain=True)).content == f"oi\n{LINE}\n{LINE}"
    long = "a" * (MAX_CHARS - len(LINE) - 20)
    assert draw(OutgoingMessage(long, memories=items, plain=True)).content == f"{long}\n{LINE}\n+ 1"
    assert draw(OutgoingMessage("a" * MAX_CHARS, memories=items, plain=True)).content == "a" * MAX_CHARS


@given(st.lists(st.text(min_size=1, max_size=600), min_size=1, max_size=40))
def test_memories_fit_an_embed_whatever_they_hold_and_no_spoiler_is_broken(contents: list[str]) -> None:
    items = tuple(MemoryNote(text[:90], text, "14 Mar 2026") for text in contents)
    lines = draw(OutgoingMessage("", Modal.MEMORY, items)).embed.split("\n")
    assert len("\n".join(lines)) <= 4096
    shown = [line for line in lines if line.startswith("🧠")]
    assert len(shown) == len(items) or lines[-1] == f"+ {len(items) - len(shown)}"
    assert all(re.sub(r"\\.", "", line).count("||") == 2 for line in shown)
