"""The reasoning model may answer in our schema, or word for word as document 1 (both of its versions) writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from core.actions.memory_drafts import DraftAnswer, MemoryIds
from core.actions.memory_save import Drafts
from core.actions.memory_search import Queries
from core.actions.memory_update import Changes, MemoryPatch
from core.dialogue import Prompt, PromptContext, PromptTurn, Task
from core.errors import BadReply
from core.models import complete_as
from core.types import Locale, MessageRole
from tests.fakes.model import ScriptedModel

OURS = DraftAnswer("text", "123456", ["informação usuário", "senha site aliexpress"])
WHOLE = MemoryPatch("abc", "text", "123456", ["senha site aliexpress"])


async def read(shape: type[Any], answer: str) -> Any:
    context = PromptContext(Task.SAVE_DRAFTS, Locale.PT, "oi", datetime(2026, 1, 1, tzinfo=UTC))
    prompt = Prompt("system", (PromptTurn(MessageRole.USER, "oi"),), context)
    return await complete_as(shape, ScriptedModel({Task.SAVE_DRAFTS: [answer]}), prompt)


@pytest.mark.spec("T9")
@pytest.mark.parametrize(
    "answer",
    [
        '[ "informação usuário", "senha site aliexpress" ]',
        '{"items": ["informação usuário", "senha site aliexpress"]}',
        '```json\n["informação usuário", "senha site aliexpress"]\n```',
    ],
)
async def test_what_to_look_for_is_a_list_of_contexts(answer: str) -> None:
    assert await read(Queries, answer) == Queries(["informação usuário", "senha site aliexpress"])


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("answer", "draft"),
    [
        (
            '{ "type": "text", "content": "123456", "bindings": [ "informação usuário", "senha site aliexpress" ] }',
            OURS,
        ),
        ('[{ "type": "text", "content": "123456", "bindings": ["informação usuário", "senha site aliexpress"]}]', OURS),
        ('{"items": [{"content": "123456", "bindings": ["informação usuário", "senha site aliexpress"]}]}', OURS),
        ('{"type": "text", "content": 123456, "bindings": ["informação usuário", "senha site aliexpress"]}', OURS),
        ('{"keyWords": "senha", "type": "text", "content": "1"}', DraftAnswer("text", "1", ["senha"])),
        (
            '{"type": "json", "content": {"user": "ana", "n": [1]}, "bindings": ["senha"]}',
            DraftAnswer("json", '{"user": "ana", "n": [1]}', ["senha"]),
        ),
        ('{"type": "text", "content": ["a"], "bindings": ["lista"]}', DraftAnswer("json", '["a"]', ["lista"])),
    ],
)
async def test_one_memory_to_save_is_a_single_object_and_several_are_a_list(answer: str, draft: DraftAnswer) -> None:
    assert await read(Drafts, answer) == Drafts([draft])


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("answer", "change"),
    [
        ('{ "_id": "abc", "content": "123456" }', MemoryPatch("abc", None, "123456", None)),
        ('[{ "_id": "abc", "content": {"n": 1} }]', MemoryPatch("abc", "json", '{"n": 1}', None)),
        ('{"_id": "abc", "keyWords": "senha site aliexpress", "type": "text", "content": "123456"}', WHOLE),
        (
            '{"items": [{"id": "abc", "type": null, "content": null, "bindings": ["x"]}]}',
            MemoryPatch("abc", None, None, ["x"]),
        ),
    ],
)
async def test_a_change_is_the_id_with_its_new_content_or_the_memory_ready_to_be_stored(
    answer: str, change: MemoryPatch
) -> None:
    assert await read(Changes, answer) == Changes([change])


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    "answer",
    ['[ "a1", "b2" ]', '{"ids": ["a1", "b2"]}', '[{"_id": "a1"}, {"id": "b2"}]', '{"ids": ["a1", {"_id": "b2"}]}'],
)
async def test_what_to_delete_is_a_list_of_ids(answer: str) -> None:
    assert await read(MemoryIds, answer) == MemoryIds(["a1", "b2"])


@pytest.mark.parametrize(
    ("shape", "answer"),
    [
        (Drafts, "{}"),
        (Drafts, '{"content": "1"}'),
        (Drafts, '{"items": "x"}'),
        (Drafts, '{"type": "number", "content": "1", "bindings": ["x"]}'),
        (Changes, '{"content": "x"}'),
        (MemoryIds, '[{"name": "a1"}]'),
        (Queries, '{"query": "x"}'),
        (Drafts, "[" * 9000 + "]" * 9000),
    ],
)
async def test_what_is_neither_form_is_refused_and_guessed_from_by_nobody(shape: type[Any], answer: str) -> None:
    with pytest.raises(BadReply):
        await read(shape, answer)
