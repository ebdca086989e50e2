"""Markdown becomes text and entities; nothing that was meant gets lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from telegram import MessageEntity
from telegramify_markdown.config import get_runtime_config

from adapters.telegram.markup import MAX_UNITS, Rendered, draw, render
from core.outgoing import OutgoingMessage
from core.types import MemoryNote, Modal


def spans(rendered: Rendered) -> list[tuple[str, int, int]]:
    return [(entity.type.value, entity.offset, entity.length) for entity in rendered.entities]  # type: ignore[attr-defined]


def cut_out(rendered: Rendered, entity: MessageEntity) -> str:
    """The text that an entity covers."""
    start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
    return rendered.text.encode("utf-16-le")[start:end].decode("utf-16-le")


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("hi **bold** and `code` _it_ ", "hi bold and code it", [("bold", 3, 4), ("code", 12, 4), ("italic", 17, 2)]),
        ("😀 **😀**", "😀 😀", [("bold", 3, 2)]),
        ("# Title\n\n- a\n- b", "Title\n\n• a\n• b", [("underline", 0, 5), ("bold", 0, 5)]),
        ("```py\nx < 1\n```", "x < 1", [("pre", 0, 5)]),
        ("- [ ] a\n- [x] b\n- [X] c", "☐ a\n☑ b\n☑ c", []),
        ("> quoted", "quoted", [("blockquote", 0, 6)]),
    ],
)
def test_markdown_is_drawn_with_entities_counted_in_utf16_units(
    markdown: str, text: str, entities: list[tuple[str, int, int]]
) -> None:
    rendered = render(markdown)
    assert rendered.text == text
    assert spans(rendered) == entities


@pytest.mark.parametrize("unfinished", ["**abc", "`abc", "[abc](http://", "~~abc", "_abc", "<abc", "||abc"])
def test_half_finished_markdown_stays_as_it_is(unfinished: str) -> None:
    assert render(unfinished) == Rendered(unfinished)


@pytest.mark.parametrize(
    "meant",
    [
        "use <nome> e List<String>, <script>",
        "pa$$w0rd$x$",
        "a||b||c",
        "[nota]: leite",
        "2024. foi bom\n2031. será melhor",
        "R$ 5 e US$ 6",
        "<!-- comentário --> depois",
        "2 * 3 * 4 = snake_case_name",
    ],
)
def test_what_only_looks_like_markup_is_shown_as_written(meant: str) -> None:
    assert render(meant).text == meant


def test_what_was_escaped_is_shown_without_its_backslash() -> None:
    assert render(r"\$5 \<b> \*x\*").text == "$5 <b> *x*"


@pytest.mark.parametrize("nothing", ["", "\n", "```\n```", "\ufdd0"])
def test_a_message_is_never_empty(nothing: str) -> None:
    assert draw(OutgoingMessage(nothing), render(nothing)).text.strip()


def test_what_cannot_be_sent_is_left_out() -> None:
    assert render("a\x00b\x1b[2J\ud800 **c**").text == "ab[2J c"


def test_more_entities_than_telegram_shows_measure_as_more_than_a_message_holds() -> None:
    assert render("**a** " * 98).size == 98 * 2 - 1
    assert render("**a** " * 100).size > MAX_UNITS
    assert render("**a** " * 400).size > render("**a** " * 200).size


def test_size_is_counted_after_formatting_in_utf16_units() -> None:
    assert render("**😀**").size == 2
    assert render("[x](http://example.com/long)").size == 1


def memory(content: str, binding: str = "senha") -> MemoryNote:
    return MemoryNote(binding, content, "14 Mar 2026")


def test_memories_stand_in_one_quote_that_opens() -> None:
    shown = OutgoingMessage("🧠 **senha**: abc\n> x", Modal.MEMORY)
    rendered = draw(shown, render(shown.text))
    assert spans(rendered)[0] == ("expandable_blockquote", 0, len(rendered.text) + 1)
    assert [kind for kind, _, _ in spans(rendered)] == ["expandable_blockquote", "bold"]


@pytest.mark.parametrize(
    "password", ["a*b*c", "_x_y_", "`q`", "# 1", "pa$$w0rd<b>", "~~old~~ [x](y)", r"C:\*new*", "😀 \\_"]
)
def test_a_memory_is_shown_letter_by_letter(password: str) -> None:
    shown = OutgoingMessage(f"🧠 **senha**: {password}", Modal.MEMORY, (memory(password), memory(password, "outra")))
    rendered = draw(shown, render(shown.text))
    day = "14 Mar 2026"
    assert rendered.text == f"🧠 senha: {password} · {day}\n🧠 outra: {password} · {day}"
    assert [kind for kind, _, _ in spans(rendered)] == ["expandable_blockquote", "bold", "bold"]
    assert cut_out(rendered, rendered.entities[2]) == "outra"


def test_memories_that_would_not_fit_are_shown_as_the_core_shortened_them() -> None:
    shown = OutgoingMessage("🧠 **senha**: curta", Modal.MEMORY, tuple(memory("x" * 600) for _ in range(9)))
    assert draw(shown, render(shown.text)).text == "🧠 senha: curta"


def below(text: str, *items: MemoryNote) -> Rendered:
    return draw(OutgoingMessage(text, memories=items), render(text))


def test_memories_stand_below_the_text_that_rests_on_them_in_a_quote_that_opens() -> None:
    rendered = below("É **a*b 😀**.", memory("a*b 😀"), memory("x", "outra"))
    assert rendered.text == "É a*b 😀.\n🧠 senha: a*b 😀 · 14 Mar 2026\n🧠 outra: x · 14 Mar 2026"
    kinds = [kind for kind, _, _ in spans(rendered)]
    assert kinds == ["bold", "expandable_blockquote", "bold", "bold"]
    assert [cut_out(rendered, entity) for entity in rendered.entities] == [
        "a*b 😀", rendered.text.partition("\n")[2], "senha", "outra",
    ]  # fmt: skip


@given(
    st.integers(1, MAX_UNITS - 2),
    st.lists(st.sampled_from(["x", "y" * 50, "z" * 200, "😀" * 700]), min_size=1, max_size=12),
)
@example(MAX_UNITS - 2, ["x"])
@example(3000, ["z" * 600] * 10)
def test_memories_are_shortened_to_the_room_below_a_text_which_stays_whole(chars: int, contents: list[str]) -> None:
    text = "a" * chars
    rendered = below(text, *map(memory, contents))
    assert rendered.size <= MAX_UNITS
    told, _, quote = rendered.text.partition("\n")
    assert told == text
    lines = quote.split("\n") if quote else []
    left_out = int(lines.pop()[2:]) if lines and lines[-1].startswith("+ ") else 0
    assert all(line.startswith("🧠 senha: ") and line.endswith(" · 14 Mar 2026") for line in lines)
    assert len(lines) + left_out == len(contents) if lines else chars > MAX_UNITS - 100


def test_folded_lines_stand_in_a_quote_of_their_own_letter_by_letter_as_many_as_fit() -> None:
    shown = OutgoingMessage("É **a**.", memories=(memory("x"),), folded="How: 2 steps\n• *one*\n• two")
    rendered = draw(shown, render(shown.text))
    assert rendered.text.split("\n")[2:] == ["How: 2 steps", "• *one*", "• two"]
    quotes = [cut_out(rendered, each) for each in rendered.entities if each.type == "expandable_blockquote"]
    assert quotes == [rendered.text.split("\n")[1], "How: 2 steps\n• *one*\n• two"]
    long = "a" * (MAX_UNITS - 28)
    assert draw(replace(shown, text=long, memories=()), render(long)).text == f"{long}\nHow: 2 steps\n• *one*"
    assert draw(replace(shown, text=long + "a" * 25, memories=()), Rendered(long + "a" * 25)).text == long + "a" * 25


def test_a_text_of_many_entities_keeps_them_all_and_the_quote_and_names_go_plain() -> None:
    rendered = below("**a** " * 98, memory("x"), memory("y"))
    assert [kind for kind, _, _ in spans(rendered)] == ["bold"] * 98 + ["expandable_blockquote"]


def test_a_custom_emoji_which_bots_may_not_send_is_its_plain_self() -> None:
    assert render("![👍](tg://emoji?id=5368324170671202286)") == Rendered("👍")


def test_our_taste_is_our_own_and_changes_nobody_elses() -> None:
    assert render("# Título").text == "Título"
    assert get_runtime_config().markdown_symbol.heading_level_1 != ""
