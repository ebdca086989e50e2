"""Calls and answers written as JSON into a text: what comes out, however the text is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialogue import Delta, ToolCall
from core.providers.written_calls import WrittenCalls

NAMES = ("Save", "Search")
CALL = '{"name": "Save", "arguments": {"items": ["a } b"]}}'
SAVE = ("Save", '{"items": ["a } b"]}')


def read(
    pieces: Sequence[str], *, is_form: bool = False, is_cut: bool = False
) -> tuple[str, list[tuple[str, str]], list[str]]:
    """The text, the calls, and the order of both."""
    reader = WrittenCalls(NAMES, is_form=is_form)
    parts = [*(part for piece in pieces for part in reader.feed(piece)), *reader.finish(is_cut=is_cut)]
    text = "".join(part.text for part in parts if isinstance(part, Delta))
    calls = [(part.name, part.arguments) for part in parts if isinstance(part, ToolCall)]
    assert reader.found == bool(calls)
    order = [type(part).__name__ for part in parts]
    return text, calls, [kind for at, kind in enumerate(order) if kind == "ToolCall" or order[at - 1 : at] != [kind]]


@pytest.mark.parametrize(
    "written",
    [
        CALL,
        f" \n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"{{{CALL}}}",
        f"<tool_call>{{{CALL}}}</tool_call>",
        f"```\n{CALL}\n```\n",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        '{"tool_calls": [%s]}' % CALL,  # noqa: UP031 -- braces
        '{"type": "function", "function": %s}' % CALL,  # noqa: UP031
        '{"id": "1", "tool": "Save", "input": {"items": ["a } b"]}}',
        '{"arguments": {"items": ["a } b"]}, "name": "Save"}',
        '{"name": "Save", "arguments": "{\\"items\\": [\\"a } b\\"]}"}',
        '{"name": "Save", "items": ["a } b"]}',
        '{"function": "Save", "parameters": {"items": ["a } b"]},}',
    ],
)
def test_every_manner_of_writing_a_call_is_one(written: str) -> None:
    assert read([written]) == ("", [SAVE], ["ToolCall"])
    assert read(list(written)) == ("", [SAVE], ["ToolCall"])


def test_calls_begin_the_answer_and_text_after_them_stays() -> None:
    text = f'{CALL}\n{{"name": "Search", "arguments": {{}}}}\nPronto:\n{CALL}\n'
    assert read(list(text)) == (
        f"Pronto:\n{CALL}\n",
        [SAVE, ("Search", "{}")],
        ["ToolCall", "ToolCall", "Delta"],
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ana", "arguments": {}}',
        '{"name": "Save"}',
        "```python\nprint({})\n```",
        '```json\n{"a": {"name": "Save", "arguments": {}}}\n```',
        "[m1] é a senha.",
        "[TOOL_CALLS] are marks",
        "{",
        '{"tool_calls": [1]}',
        '{"tool_calls": []}',
        '["Save"]',
        "<tool_call> is a mark",
        f"como {CALL}",
        f"Um momento.\n{CALL}",
        f"Aqui está:\n\n```json\n{CALL}\n```",
        f"```json\n{CALL}\n```\nÉ isto?",
        f"```json\n{CALL}\n{CALL}\n```",
        f"```json\n[{CALL}, {CALL}]\n```",
        f"\n```json\n{CALL}\n```\n```json\n{CALL}\n```",
        '{"function": {"function": ' * 20,
        "\n\n  \n",
    ],
)
def test_all_else_is_text_as_it_was(text: str) -> None:
    assert read([text])[:2] == (text, [])
    assert read(list(text))[:2] == (text, [])


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"name": "Save", "arguments": {"items": ["a", }', '{"items": ["a", }'),
        ('{"name": "Save", "arguments": {"items": ["a"]}', '{"items": ["a"]}'),
        ('{"name": "Save", "arguments": "a', '"a'),
        ('{"name": "Save", oops}', "oops}"),
    ],
)
def test_a_call_that_is_malformed_is_one_unless_the_answer_was_cut(written: str, arguments: str) -> None:
    assert read(list(written)) == ("", [("Save", arguments)], ["ToolCall"])
    assert read(list(written), is_cut=True) == ("", [], [])


@pytest.mark.parametrize(
    ("written", "said", "calls"),
    [
        ('{"reply": [{"answer": "Oi \\"Ana\\"\\n\\ud83d\\udc18"}]}', 'Oi "Ana"\n🐘', []),
        ('{"answer": "Oi"}', "Oi", []),
        ('{"reply": [{"tool": "Answer", "answer": "Oi"}, {"tool": "Save", "arguments": {}}]}', "Oi", [("Save", "{}")]),
        ('{"reply": [{"answer": "Oi", "tool": "Answer"}]}', "Oi", []),
        ('{"reply": [{"tool": "Answer", "arguments": {"text": "diz \\"oi\\""}}]}', 'diz "oi"', []),
        ('{"reply": [{"tool": "Answer", "arguments": {}}]}', "", []),
        ("Oi, Ana.", "Oi, Ana.", []),
        ('Claro: {"reply": [{"answer": "Oi"}]}', "Claro: Oi", []),
        ('```json\n{"reply": [{"answer": "Oi"}]}\n```', "Oi", []),
        ('{"reply": [{"answer": "um"}, {"answer": "dois"}]}', "um\n\ndois", []),
        ('{"reply": [{"answer": "é"}, {"tool": "Save", "arguments": {"a": 1}}]}', "é", [("Save", '{"a": 1}')]),
        ('{"reply": [{"arguments": {"answer": "x"}, "tool": "Save"}]}', "", [("Save", '{"answer": "x"}')]),
        ('{"reply": [{"tool": "Dance", "arguments": {}}]}', "", [("Dance", "{}")]),
        ('{"calls": [], "answer": "Oi"}', "Oi", []),
        ('{"reply": []}', "", []),
        ('{"reply": [{"answer": "Oi", "mood": ["glad"]}]}', "Oi", []),
        ('{"reply": [{"answer": "diz "oi" a ela"}]}', 'diz "oi" a ela', []),
        ('{"reply": [{"answer": "Oi"}', "Oi", []),
        ('{"reply": [{"answer": "Oi', "Oi", []),
        ('{"reply": [{"answer": "\\ud83d alone \\x \\/"}]}', "\ufffd alone x /", []),
        ('{"answer": 3}', '{"answer": 3}', []),
        ('{"text": "Oi"}', '{"text": "Oi"}', []),
    ],
)
def test_the_form_gives_its_answer_and_its_calls(written: str, said: str, calls: list[tuple[str, str]]) -> None:
    assert read([written], is_form=True)[:2] == (said, calls)
    assert read(list(written), is_form=True)[:2] == (said, calls)


def test_an_answer_comes_as_it_is_written() -> None:
    reader = WrittenCalls(NAMES, is_form=True)
    assert reader.feed('{"reply": [{"answer": "') == []
    assert reader.feed("Oi, ") == [Delta("Oi, ")]
    assert reader.feed("Ana\\") == [Delta("Ana")]
    assert reader.feed("ud83d") == []
    assert reader.feed("\\udc18!") == [Delta("🐘!")]


def test_an_answer_that_was_cut_in_the_form_shows_none_of_the_form() -> None:
    for written in (
        '{"reply": [{"tool": "Sa',
        '{"re',
        '{"reply": [{"answer": "Oi"}, {"to',
        '{"reply": [{"answer": "Oi\\ud8',
    ):
        text, calls, _ = read(list(written), is_form=True, is_cut=True)
        assert text in {"", "Oi"}
        assert calls == []


def cut(text: str, data: st.DataObject) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


NASTY = st.lists(
    st.sampled_from(
        [
            *'{}[]",:\\ \n`u',
            *("```json\n", "<tool_call>", "[TOOL_CALLS]", CALL, '{"answer": "', '{"reply": [', "\\ud83d", "\\udc18"),
            *('"name": "Save"', '"arguments": ', '"tool": ', '"Save"', "{}", "null", "12", "olá 🐘"),
            *('"tool": "Answer", ', '"answer": "', "}]}"),
        ]
    ),
    max_size=12,
).map("".join)


@given(text=st.one_of(NASTY, st.text()), is_form=st.booleans(), is_cut=st.booleans(), data=st.data())
def test_how_a_text_is_cut_changes_nothing(text: str, is_form: bool, is_cut: bool, data: st.DataObject) -> None:
    whole = read([text], is_form=is_form, is_cut=is_cut)
    assert read(cut(text, data), is_form=is_form, is_cut=is_cut) == whole
    assert read(list(text), is_form=is_form, is_cut=is_cut) == whole


@given(text=st.one_of(NASTY, st.text()))
def test_a_text_without_a_call_is_not_changed(text: str) -> None:
    said, calls, _ = read([text])
    if not calls:
        assert said == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"tool": st.just("Answer"), "answer": st.text(min_size=1)}),
        st.fixed_dictionaries(
            {"tool": st.sampled_from(NAMES), "arguments": st.dictionaries(st.text(), VALUES, max_size=3)}
        ),
    ),
    min_size=1,
    max_size=4,
)


@given(
    entries=ENTRIES, is_ascii=st.booleans(), indent=st.sampled_from([None, 2]), is_fenced=st.booleans(), data=st.data()
)
def test_every_valid_answer_is_read_whole(
    entries: list[dict[str, object]], is_ascii: bool, indent: int | None, is_fenced: bool, data: st.DataObject
) -> None:
    written = json.dumps({"reply": entries}, ensure_ascii=is_ascii, indent=indent)
    text, calls, _ = read(cut(f"```json\n{written}\n```" if is_fenced else written, data), is_form=True)
    assert text == "\n\n".join(str(entry["answer"]) for entry in entries if "answer" in entry)
    assert [(name, json.loads(arguments)) for name, arguments in calls] == [
        (entry["tool"], entry["arguments"]) for entry in entries if "arguments" in entry
    ]
