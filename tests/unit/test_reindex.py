"""`elefante reindex`: a new embedder gets its vectors, and words answer until it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.cli import storage as verb
from bot.settings.settings import Settings, load
from bot.wiring import build
from core.errors import ProviderError
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.openai_server import embedding, fails

PEOPLE = [UserKey("test", name) for name in ("ana", "bia", "caio")]


def settings(folder: Path, server: LoopbackServer, model: str = "old") -> Settings:
    return load(
        None,
        data_dir=folder,
        ollama_base_url=server.url,
        model="ollama:m",
        model_embedding=f"ollama:{model}",
        model_embedding_dims=8,
    )


async def remembered(folder: Path, server: LoopbackServer) -> None:
    """Two memories a person, of two phrases each, with vectors of the old embedder."""
    async with build(settings(folder, server)) as app:
        for person in PEOPLE:
            memory = app.features.memories.of(person)
            for number in range(2):
                draft = MemoryDraft(MemoryKind.TEXT, f"a porta {number} de {person.user} é azul", (f"porta {number}",))
                await memory.add([draft])


async def missing(folder: Path, server: LoopbackServer, model: str) -> int:
    async with build(settings(folder, server, model)) as app:
        space = app.parts.services.models.embedder.space
        return sum([len(await app.store.unembedded(person, space, 100)) for person in PEOPLE])


async def test_everything_is_embedded_for_the_new_space_with_progress(tmp_path: Path) -> None:
    server = LoopbackServer([embedding(8)])
    async with server.running():
        await remembered(tmp_path, server)
        seen: list[tuple[int, int, int]] = []
        document = await verb.reindex(settings(tmp_path, server, "new"), lambda *progress: seen.append(progress))
        assert await missing(tmp_path, server, "new") == 0
        assert await missing(tmp_path, server, "old") == 12, "vectors of the old embedder are not kept"
        again = await verb.reindex(settings(tmp_path, server, "new"))
    assert (document["space"], document["people"], document["phrases"]) == ("new@8", 3, 12)
    assert again["phrases"] == 0
    assert seen[0] == (0, 3, 4)
    assert seen[-1] == (3, 3, 12)
    assert seen == sorted(seen)
    assert "12 phrases of 3 people" in verb.render_reindex(document)


async def test_interrupted_it_goes_on_where_it_stopped_and_words_answer_meanwhile(tmp_path: Path) -> None:
    texts: list[str] = []

    def failing(asked: Asked) -> Answer:
        new = asked.body["model"] == "new"
        if new and len(texts) > 5:
            return fails(500)
        texts.extend(asked.body["input"] if new else ())
        return embedding(8)(asked)

    server = LoopbackServer([failing])
    async with server.running():
        await remembered(tmp_path, server)
        with pytest.raises(ProviderError):
            await verb.reindex(settings(tmp_path, server, "new"))
        left = await missing(tmp_path, server, "new")
        assert 0 < left < 12
        async with build(settings(tmp_path, server, "new")) as app:
            memory = app.features.memories.of(PEOPLE[-1])
            query = "porta 1"
            hits: Any = await memory.search([query], await memory.embed([query]))
            assert "a porta 1 de caio é azul" in [hit.item.content for hit in hits]
        server.answers = [embedding(8)]
        document = await verb.reindex(settings(tmp_path, server, "new"))
    assert document["phrases"] == left


async def test_an_embedder_that_does_not_answer_is_told_before_anything_is_done(tmp_path: Path) -> None:
    server = LoopbackServer([embedding(8)])
    async with server.running():
        await remembered(tmp_path, server)
        server.answers = [fails(401)]
        with pytest.raises(ProviderError):
            await verb.reindex(settings(tmp_path, server, "new"))
