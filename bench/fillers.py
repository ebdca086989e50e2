"""Memories that pad a person's: everyday notes about other people, which answer none of the person's questions."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.recall_data import Held, Life
from core.text.senses import concepts
from core.text.words import FUNCTION_WORDS, folded_words

_PARTS = Path(__file__).with_name("fillers.toml")
_SEED = 19
_STEM_CHARS = 5
_MIN_CHARS = 4


def padding(life: Life) -> Iterator[Held]:
    """Yield notes without end that share no subject with a life.

    A subject is a word of a binding, of a question or of a name, or what the bot knows it to be in other languages.
    """
    told = [" ".join((*held.bindings, *_names(held.text))) for held in life.memories]
    asked = [question.text for question in (*life.questions, *life.unrelated)]
    taken = subjects((*told, *asked))
    for held in notes():
        if taken.isdisjoint(subjects((held.text, *held.bindings))):
            yield held


def notes() -> Iterator[Held]:
    """Yield notes about other people without end, no two equal, the same in every run, in three languages by turns."""
    parts = tomllib.loads(_PARTS.read_text("utf-8"))
    rng = random.Random(_SEED)
    told = set()
    while True:
        for language in parts.values():
            values = {name: rng.choice(each) for name, each in language.items() if name != "templates"}
            values |= {
                "name2": rng.choice(language["name"]),
                "n": rng.randint(2, 999),
                "price": 5 * rng.randint(2, 400),
            }
            note, *bindings = (part.format_map(values) for part in rng.choice(language["templates"]))
            if note not in told and values["name"] != values["name2"]:
                told.add(note)
                yield Held(note, tuple(bindings))


def subjects(texts: Iterable[str]) -> frozenset[str]:
    """Return the beginnings of the words of texts that say something, and the names of the concepts among them."""
    text = " ".join(texts)
    words = {word for word in folded_words(text) if len(word) >= _MIN_CHARS and word not in FUNCTION_WORDS}
    return frozenset({word[:_STEM_CHARS] for word in words} | {repr(each.names) for each in concepts(text)})


def _names(text: str) -> Sequence[str]:
    return [word for word in text.split() if word[:1].isupper()]
