from __future__ import annotations

import numpy as np
import pytest

from core.errors import ProviderDown
from core.limited.cues import Cues, Intent
from core.limited.likeness import DIMS, Examples, Likeness, Weights, shipped
from core.providers.usem3 import Usem3Embedder
from tests.fakes.model import HashEmbedder


async def test_the_shipped_weights_are_those_of_the_examples_and_of_the_embedded_embedder() -> None:
    """After a change of examples or embedder: `python -m bench.limited_examples`."""
    examples = Examples.load()
    embedder = Usem3Embedder()
    try:
        weights = shipped(examples, embedder.space)
        assert weights is not None
        for index in range(0, len(examples.texts), 40):
            vector = (await embedder.embed([examples.texts[index]]))[0]
            assert weights.judge(vector, examples.texts[index])[0] is examples.labels[index]
    finally:
        await embedder.close()


def test_weights_of_another_space_are_not_used() -> None:
    assert shipped(Examples.load(), "another@384") is None


def test_weights_of_other_examples_are_not_used() -> None:
    embedder = Usem3Embedder()
    assert shipped(Examples(("a", "b"), (Intent.SAVE, Intent.ASK)), embedder.space) is None


async def test_in_another_space_the_examples_are_embedded_once_and_learned_from() -> None:
    embedder = HashEmbedder()
    examples = Examples(
        ("keep the cat", "keep the dog", "where is it", "where was it"), (Intent.SAVE,) * 2 + (Intent.ASK,) * 2
    )
    likeness = Likeness(embedder, examples)
    assert (await likeness.judge("keep the bird"))[0] is Intent.SAVE
    assert (await likeness.judge("where is the bird"))[0] is Intent.ASK
    assert embedder.calls == [list(examples.texts), ["keep the bird"], ["where is the bird"]]


async def test_another_space_is_noticed() -> None:
    embedder = HashEmbedder()
    likeness = Likeness(embedder, Examples(("keep", "where"), (Intent.SAVE, Intent.ASK)))
    await likeness.judge("keep")
    embedder._space = "later"
    await likeness.judge("keep")
    assert embedder.calls.count(["keep", "where"]) == 2


async def test_an_embedder_that_is_down_is_told_and_asked_again_later() -> None:
    embedder = HashEmbedder()
    embedder.down = True
    likeness = Likeness(embedder, Examples(("keep", "where"), (Intent.SAVE, Intent.ASK)))
    with pytest.raises(ProviderDown):
        await likeness.judge("keep")
    embedder.down = False
    intent, lead = await likeness.judge("keep")
    assert intent is Intent.SAVE
    assert lead > 0


def test_there_are_enough_examples_of_everything_in_every_language() -> None:
    examples = Examples.load()
    assert set(examples.labels) == {
        Intent.SAVE,
        Intent.ASK,
        Intent.UPDATE,
        Intent.DELETE,
        Intent.CHAT,
        Intent.TASK,
        Intent.ABOUT,
    }
    assert all(examples.labels.count(label) >= 100 for label in examples.labels)
    assert len(set(examples.texts)) > 0.95 * len(examples.texts)


def test_a_tie_leads_by_nothing() -> None:
    examples = HashEmbedder()._vector("a")
    column = np.concatenate([HashEmbedder()._vector("b"), np.ones(DIMS, np.float32)])
    weights = Weights(
        (Intent.ASK, Intent.SAVE), examples, np.ones(DIMS, np.float32), np.stack([column, column], axis=1)
    )
    assert weights.judge(HashEmbedder()._vector("c"), "c")[1] == pytest.approx(0.0, abs=1e-6)


def test_no_example_is_a_labelled_message(cues: Cues) -> None:
    """What is learned from must not be what is measured on."""
    from bench.mind import labels
    from core.text.unicode import fold

    measured = {fold(label["text"]) for name in ("tune", "report", "report2") for label in labels(name)}
    small = {"hola", "oi", "tchau", "perfecto"}  # everybody says these
    assert {fold(text) for text in Examples.load().texts} & measured <= {
        text for text in measured if len(text.split()) <= 2 or text in small
    }
