"""What no person should read is taken out of a model's text, however the text is cut; all else stays."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.marks import MachineText

NAMES = ("MemorySave", "MemorySearch")
CALL = '{"name": "MemorySave", "arguments": {"items": ["a } b"]}}'


def shown(pieces: Sequence[str]) -> str:
    text = MachineText(NAMES)
    return "".join(map(text.feed, pieces)) + text.finish()


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (f"Claro!\n{CALL}", "Claro!\n"),
        (f"Claro! <tool_call>\n{CALL}\n</tool_call>", "Claro! "),
        (f"Claro! <tool_call>{CALL}", "Claro! "),
        (f"Claro!\n```json\n{CALL}\n```\nPronto.", "Claro!\nPronto."),
        (f"Claro! {{{CALL}}} Pronto.", "Claro! Pronto."),
        (f"Claro! [{CALL}, {CALL}]", "Claro! "),
        (f"[TOOL_CALLS] {CALL}", ""),
        (f"Um momento. <|tool_call|>{CALL}<|im_end|>", "Um momento. "),
        ('Ok {"tool_calls": [{"type": "function", "function": {"name": "MemorySearch"}}]}', "Ok "),
        ('Ok {"reply": [{"tool": "MemorySave", "items": []}', "Ok "),
        ('{"reply": [{"tool": "Answer", "answer": "Oi!"}]}', ""),
        ("<function=MemorySave>\n<parameter=items>[]</parameter>\n</function>\nOi!", "Oi!"),
        ("Oi! <tool_call>\n<function=MemorySave>\n</function>\n</tool_call>", "Oi! "),
        ("<task>\nNow: Sunday.\n<message>oi</message>\n</task>\nOi!", "Oi!"),
        ("<task>\nNow: Sunday.", ""),
        ("[JANELA_ATUAL]\n\nOi!", "Oi!"),
        ("[HISTÓRICO_RESUMIDO] Oi!", "Oi!"),
        ("Oi! <said-at>Sunday 09:14</said-at>", "Oi! "),
        ("<said-at>Sunday 09:14\nOi!", "Oi!"),
        ("Put it into a <task> or a <message>, then go on.", "Put it into a or a , then go on."),
        ("<memory m1>The recital is on Friday</memory>", "The recital is on Friday"),
    ],
)
def test_machine_text_is_taken_out(written: str, left: str) -> None:
    assert shown([written]) == left
    assert shown(list(written)) == left


@pytest.mark.parametrize(
    "text",
    [
        "2 < 3, [m1] and {x} stay.",
        'The object is {"name": "Ana", "age": 3}.',
        '```json\n{"name": "Ana"}\n```\nIs that it?',
        "```html\n<task>do it</task>\n```",
        "Write `<task>` and `[JANELA_ATUAL]`.",
        "<b>bold</b> <tasks> <m",
        'A dict: {"items": [{"id": 1}]}, a list: [1, 2], a set: {1, 2}',
        "`a\n<b> ``` x",
        '{"name": "Mem',
        "{",
        "```",
        "``",
    ],
)
def test_all_else_stays_as_it_was(text: str) -> None:
    assert shown([text]) == text
    assert shown(list(text)) == text


def test_text_is_shown_as_it_comes() -> None:
    text = MachineText(NAMES)
    assert [text.feed(piece) for piece in ("Oi, ", "Ana <", "b> ", "{", '"a', '": 1')] == [
        "Oi, ",
        "Ana ",
        "<b> ",
        "",
        "",
        '{"a": 1',
    ]


NASTY = st.lists(
    st.sampled_from(
        [
            *'{}[]",:\\ \n`<>/a',
            *(
                "```json\n",
                "<tool_call>",
                "</tool_call>",
                "<task>",
                "</task>",
                "<said-at>",
                "<memory m1>",
                "[JANELA_ATUAL]",
            ),
            *('"name": "MemorySave"', '{"name"', '"arguments": ', "olá 🐘", CALL),
        ]
    ),
    max_size=14,
).map("".join)


@given(text=st.one_of(NASTY, st.text()), data=st.data())
def test_how_a_text_is_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert shown(pieces) == shown([text]) == shown(list(text))


@given(st.text(alphabet=st.characters(exclude_characters="<[{`")))
def test_a_text_without_brackets_is_not_changed(text: str) -> None:
    assert shown([text]) == text
