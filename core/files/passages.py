"""Cut documents into passages, and find those that a question is about."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.text.senses import MemoryWords
from core.text.subject import asked_words, held_words
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Passage, Vector

PASSAGE_CHARS: Final = 500
"""What a passage holds at most but for a long sentence: what a person reads as an answer, and the embedder whole."""

MAX_PASSAGES: Final = 400
"""Of one document; what is kept of it can be found by no more."""

_HEADING_CHARS: Final = 60
"""A paragraph that is no longer goes with the next."""

_COMPARED: Final = 48
"""How many passages, the likeliest by their words, are compared by their meaning, too: 2 ms each."""

_COSINE_WEIGHT: Final = 0.75
_LEAST_SHARE: Final = 0.3
_LEAST_COSINE: Final = 0.25
"""Over which a passage may answer a question of which no word stands in it."""

_SURE_COSINE: Final = 0.3
"""Over which it may answer one that has a word which stands nowhere: "is smoking allowed?", of the pets."""

_ALIKE: Final = 0.75
"""The share of the best score that others told beside it have."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…;])\s+")

Embed = Callable[[Sequence[str]], Awaitable[Mapping[str, Vector]]]


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage of one of several documents, which goes by its place among them, and how well it fits."""

    file: int
    passage: Passage
    score: float
    is_answer: bool = False
    """Whether it may be told as the answer."""


def passages(pages: Sequence[str]) -> Iterator[Passage]:
    """Yield the passages of pages, in order; a document of one page has no page numbers."""
    for number, page in enumerate(pages, 1):
        for text in _pieces(page):
            yield Passage(text, number if len(pages) > 1 else 0)


def _pieces(page: str) -> Iterator[str]:
    """Yield the paragraphs of a page, each after its headings, long ones cut after sentences."""
    held = ""
    for paragraph in (piece for block in re.split(r"\n\s*\n", page) for piece in _cut(block)):
        if len(held) > _HEADING_CHARS or len(held) + len(paragraph) > PASSAGE_CHARS:
            if held:
                yield held
            held = ""
        held = f"{held}\n{paragraph}" if held else paragraph
    if held:
        yield held


def _cut(block: str) -> Iterator[str]:
    """Yield a paragraph in pieces that end with a line or a sentence, or where one is too long."""
    held = ""
    for line in block.splitlines():
        for sentence in _SENTENCE_END.split(line.strip()):
            for start in range(0, len(sentence), PASSAGE_CHARS):
                piece = sentence[start : start + PASSAGE_CHARS]
                if held and len(held) + len(piece) > PASSAGE_CHARS:
                    yield held
                    held = ""
                held = f"{held} {piece}" if held else piece
    if held:
        yield held


async def find(question: str, documents: Sequence[Sequence[Passage]], embed: Embed, limit: int) -> list[FoundPassage]:
    """Return the passages of documents that a question is about, the best first.

    They are ordered by the share of the question's telling words that they have, each weighed by how rare it is in the
    documents, and by the cosine of question and passage. `embed` returns vectors by texts, or none.
    """
    candidates = [(at, passage) for at, document in enumerate(documents) for passage in document[:MAX_PASSAGES]]
    shares, is_foreign = _shares(question, [passage.text for _, passage in candidates])
    likely = sorted(range(len(candidates)), key=lambda at: -shares[at])[:_COMPARED]
    vectors = await embed([question, *(candidates[at][1].text for at in likely)]) if likely else {}
    found = []
    for at in likely:
        file, passage = candidates[at]
        cosine = _cosine(vectors, question, passage.text)
        has_words = shares[at] >= _LEAST_SHARE
        fits = cosine >= (_SURE_COSINE if is_foreign else 0.0) if has_words else cosine >= _LEAST_COSINE
        found.append(FoundPassage(file, passage, shares[at] + _COSINE_WEIGHT * cosine, fits))
    found.sort(key=lambda each: -each.score)
    return found[:limit]


def answers(found: Sequence[FoundPassage], most: int) -> list[FoundPassage]:
    """Return the passages that may be told as the answer, the best and those that are nearly as good."""
    told = [each for each in found if each.is_answer]
    return [each for each in told if each.score >= _ALIKE * told[0].score][:most]


def _cosine(vectors: Mapping[str, Vector], one: str, other: str) -> float:
    return float(vectors[one] @ vectors[other]) if one in vectors and other in vectors else 0.0


def _shares(question: str, texts: Sequence[str]) -> tuple[list[float], bool]:
    """Return for each text the share of the question's telling words that it has, in another language, too.

    Words that stand in no text count for none; whether there are such words is returned besides.
    """
    asked = [word for word in asked_words(question) if word.names]
    if not asked:
        return [0.0] * len(texts), False
    held = [held_words(asked, MemoryWords(text, ())) for text in texts]
    counts = Counter(word.text for each in held for word in each)
    weights = {word.text: math.log(1 + len(texts) / (1 + counts[word.text])) for word in asked}
    known = sum(weight for word, weight in weights.items() if counts[word]) or 1.0
    shares = [sum(weights[word] for word in {word.text for word in each}) / known for each in held]
    return shares, not all(counts[word] for word in weights)


def title(pages: Sequence[str], max_chars: int) -> str:
    """Return the first line of a document that says something, cut; "" if there is none."""
    lines = (" ".join(line.split()).strip("#|*-= ") for page in pages for line in page.splitlines())
    line = next((line for line in lines if set(folded_words(line)) - FUNCTION_WORDS), "")
    return line if len(line) <= max_chars else f"{line[: max_chars - 1].rstrip()}…"
