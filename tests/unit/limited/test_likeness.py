from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bench.limited import REPORT
from bench.limited_examples import Examples, fit
from core.errors import ProviderDown
from core.limited.likeness import FILE, Intent, Likeness, shipped
from core.providers.usem3 import Usem3Embedder
from core.text.unicode import fold
from core.types import Vectors
from tests.fakes.model import HashEmbedder
from tests.fakes.secretary import conversations


async def test_the_shipped_weights_are_those_of_the_examples_and_of_the_embedded_embedder() -> None:
    """After a change of examples or embedder: `python -m bench.limited_examples fit`."""
    examples, weights, embedder = Examples.load(), shipped(), Usem3Embedder()
    try:
        assert (weights.space, weights.digest) == (embedder.space, examples.digest()), f"{FILE} is of other examples"
        some = range(0, len(examples.texts), 40)
        vectors = await embedder.embed([examples.texts[at] for at in some])
        judged = [weights.judge(examples.texts[at], vector)[0].intent for at, vector in zip(some, vectors, strict=True)]
    finally:
        await embedder.close()
    right = sum(intent is examples.labels[at] for intent, at in zip(judged, some, strict=True))
    assert right >= 0.95 * len(judged)


async def test_in_another_space_the_wording_alone_tells() -> None:
    embedder = HashEmbedder()
    guesses = await Likeness(embedder).judge("where did I put my passport?")
    assert guesses[0].intent is Intent.FIND
    assert embedder.calls == []


def test_chances_are_of_every_intent_and_sum_to_one() -> None:
    guesses = shipped().judge("my dentist is on friday")
    assert {guess.intent for guess in guesses} == set(Intent) - {Intent.ACTION}
    assert sum(guess.chance for guess in guesses) == pytest.approx(1, abs=1e-3)
    assert [guess.chance for guess in guesses] == sorted((guess.chance for guess in guesses), reverse=True)


class Down(HashEmbedder):
    """One in the space of the weights, that is down."""

    @property
    def space(self) -> str:
        return shipped().space

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ProviderDown(f"{len(texts)} texts not read")


async def test_an_embedder_that_is_down_is_told() -> None:
    with pytest.raises(ProviderDown):
        await Likeness(Down()).judge("keep")


def test_weights_are_learned_from_examples() -> None:
    texts = ("keep the cat", "keep the dog", "where is it", "where was it")
    examples = Examples(texts, (Intent.KEEP,) * 2 + (Intent.FIND,) * 2)
    embedder = HashEmbedder()
    weights = fit("here", "", np.stack([embedder._vector(text) for text in texts]), examples)
    assert weights.judge("keep the bird")[0].intent is Intent.KEEP
    assert weights.judge("where is the bird", embedder._vector("where is the bird"))[0].intent is Intent.FIND


def test_there_are_enough_examples_of_everything() -> None:
    examples = Examples.load()
    assert set(examples.labels) == set(Intent) - {Intent.ACTION}
    assert all(examples.labels.count(label) >= 100 for label in set(examples.labels))
    assert len(set(examples.texts)) > 0.95 * len(examples.texts)


def test_no_example_is_a_message_that_is_measured_on() -> None:
    measured = {fold(step.text) for conversation in conversations(REPORT) for step in conversation.steps}
    shared = {fold(text) for text in Examples.load().texts} & measured
    assert {text for text in shared if len(text.split()) > 3} == set()
