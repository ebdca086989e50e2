"""Tell whether a message mentions what somebody wants to be reminded at: by its words, and by what these mean.

A name is mentioned by itself, with or without accents, and by a typo. Any other word is also mentioned by another form
of it, or by one of like meaning in any language: its vector is near that of the word, and that of the message not far.
The thresholds were chosen on tests/data/mention_tune.json; they hold for the embedded embedder. With another one words
alone count, so that no call is made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np

from core.memory.embedding import Embedding
from core.storage.lexicon import index_terms
from core.text.assertions import asks_to_delete
from core.text.unicode import fold
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Vector

_OWN_SPACE: Final = "usem3-"
_MAX_CHARS: Final = 1_000
_MAX_WORDS: Final = 60
"""Of a message that are compared, and of it whole as a vector."""

_NEAR: Final = ((0.755, 0.29), (0.7, 0.36))
"""Least cosines of two words, and of the message and what is mentioned, of which either pair tells a like meaning."""

_FORM: Final = (0.7, 0.25)
"""The same for words with a common stem."""

_TYPO: Final = 0.4
"""What both cosines of a typo come to at least: "monkey" is none of "money"."""

_WRONG_LETTER: Final = 0.7
"""The same for a wrong letter in a short word: "pitza" is one of "pizza", and "banco" none of "barco"."""

_BESIDE_NAME: Final = 0.45
"""The least cosine of a message that has the name alone of "the trip to Bahia"."""

_MAX_KEPT: Final = 8192
_NAMES: Final = "joao maria pedro lucas carlos ana james sarah john jose carmen fernanda".split()
_LIKE_NAMES: Final = 0.4
"""The mean cosine with these from which a word is a name, though it is written small: names mean each other."""

_LIGHT: Final = frozenset(
    "new old novo nova novos novas velho velha nuevo nueva nuevos nuevas viejo vieja mr mrs ms miss dr dra seu dona dom"
    " don sr sra senhor senhora senor senora doctor doutor doutora doctora tio tia uncle aunt auntie"
    " nurse enfermeira enfermeiro enfermera enfermero teacher professor professora profesor profesora coach".split()
)
"""Words that say little beside a name or a thing: "the new kitchen", "aunt Rosa"."""

_OF: Final = frozenset("de do da dos das del of to for pra pro para a ao with com con in em no na en".split())
"""Words between a thing and a name that only belongs to it."""

_TO_BOT: Final = re.compile(
    r"\W*(?:(?:do|can|could|are|is|will|would) (?:you|u|this|it)|does|did|"
    r"(?:voce|vc|ce|isso|isto|tu|vos|esto) (?=.*\?))\b"
)
_PLURALS: Final = (("oes", "ao"), ("aes", "ao"), ("ns", "m"), ("ies", "y"), ("ces", "z"), ("es", ""), ("s", ""))
_SMALL: Final = re.compile(r"(.{2,}?)(?:z|c)?(?:inh|it)[oa]s?")
_WORD: Final = re.compile(r"[^\W_]+")
_MIN_TYPO_CHARS: Final = 5
_MIN_GENDER_CHARS: Final = 3
_LONG_CHARS: Final = 7


@dataclass(frozen=True, slots=True)
class _SubjectWord:
    """A word of what is mentioned that tells something."""

    word: str
    is_name: bool
    belongs: bool
    """Whether it is a name that only belongs to another word."""


class Subjects:
    """Compares messages with what people are to mention. Keeps the stems of words, and the vectors of subjects."""

    def __init__(self) -> None:
        self._space = ""
        self._vectors: dict[bytes, Vector] = {}
        """Of subjects and their words, by digests: what people wrote is not kept."""

    async def mentioned(self, message: str, subjects: Sequence[str], embedding: Embedding) -> Sequence[bool]:
        """Return for each subject whether the message mentions it; new words cost one call of the embedder."""
        said = message[:_MAX_CHARS]
        wanted = [(subject, _subject_words(subject)) for subject in subjects]
        words = _Said(list(dict.fromkeys(_telling(said)))[:_MAX_WORDS])
        vectors = await self._known([*subjects, *_NAMES], embedding) | await _vectors([said], embedding)
        wholes = [_cosine(vectors, said, subject) for subject in subjects]
        # A message that is far from a subject has no word that means it, but perhaps its very word.
        near = [parts for (_, parts), whole in zip(wanted, wholes, strict=True) if whole >= _FORM[1]]
        slips = [(part, slip) for _, parts in wanted for part in parts for slip in words.slips(part)]
        if vectors and (near or slips):
            own = {part.word for parts in near for part in parts} | {part.word for part, _ in slips}
            vectors |= await self._known(list(own), embedding)
            vectors |= await _vectors(words.words if near else [slip for _, slip in slips], embedding)
        likeness = _Likeness(words, vectors, may_mean=not _is_for_bot(said))
        return [likeness.has(parts, whole) for (_, parts), whole in zip(wanted, wholes, strict=True)]

    async def _known(self, texts: Sequence[str], embedding: Embedding) -> dict[str, Vector]:
        """Return the vectors of subjects or their words, which come again with every message."""
        if self._space != embedding.space or len(self._vectors) > _MAX_KEPT:
            self._space = embedding.space
            self._vectors.clear()
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        if new := [text for text, key in keys.items() if key not in self._vectors]:
            self._vectors |= {keys[text]: vector for text, vector in (await _vectors(new, embedding)).items()}
        return {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}


class _Said:
    """The words of a message that tell something, as they are compared."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self._forms = frozenset(form for word in words for form in _forms(word))
        self._by_edge = defaultdict[str, list[str]](list)
        for word in words:
            for edge in {word[0], word[-1]}:
                self._by_edge[edge].append(word)

    def has(self, word: str, *, is_name: bool) -> bool:
        """Return whether the word is there, perhaps as its plural, or small: "cafés", "cafezinho"."""
        forms = {word, f"{word}~", f"{word[:-1]}~"} | (set() if is_name else _forms(word))
        return not self._forms.isdisjoint(forms)

    def slips(self, part: _SubjectWord) -> list[str]:
        """Return the words that may be typos of a word."""
        edges = (part.word[0], part.word[-1]) if len(part.word) >= _LONG_CHARS else (part.word[0],)
        found = dict.fromkeys(word for edge in edges for word in self._by_edge[edge])
        return [word for word in found if _one_slip(part.word, word, is_name=part.is_name)]


class _Likeness:
    """How like a message is to subjects; by words alone without vectors, and where none `may_mean` another.

    "Do you work offline?" asks, and tells nothing of a job.
    """

    def __init__(self, said: _Said, vectors: Mapping[str, Vector], *, may_mean: bool) -> None:
        self._said = said
        self._may_mean = may_mean
        self._vectors = vectors
        self._names = np.mean([vectors[name] for name in _NAMES], axis=0) if vectors else None

    def has(self, parts: Sequence[_SubjectWord], whole: float) -> bool:
        """Return whether the message has the subject: its name, or all its words that tell something.

        `whole` is the cosine of both.
        """
        held = [self._holds(each, whole) for each in parts]
        names = [(each, is_held) for each, is_held in zip(parts, held, strict=True) if each.is_name]
        if any(is_held and (not each.belongs or whole >= _BESIDE_NAME) for each, is_held in names):
            return True
        return all(held) and (not names or any(each.belongs for each, _ in names))

    def _holds(self, part: _SubjectWord, whole: float) -> bool:
        """Return whether the message has one word of the subject."""
        word, vectors = part.word, self._vectors
        if self._said.has(word, is_name=part.is_name):
            return True
        for slip in self._said.slips(part):
            is_wrong = len(slip) == len(word) < _LONG_CHARS and sorted(slip) != sorted(word)
            least = _WRONG_LETTER if is_wrong and not part.is_name else _TYPO
            if part.is_name or (not vectors and not is_wrong) or _cosine(vectors, word, slip) + whole >= least:
                return True
        if (
            not self._may_mean
            or part.is_name
            or whole < _FORM[1]
            or self._names is None
            or vectors[word] @ self._names >= _LIKE_NAMES
        ):
            return False
        return any(self._means(word, said, whole) for said in self._said.words)

    def _means(self, word: str, said: str, whole: float) -> bool:
        cosine = _cosine(self._vectors, word, said)
        if any(cosine >= of_word and whole >= of_whole for of_word, of_whole in _NEAR):
            return True
        if cosine < _FORM[0] or whole < _FORM[1]:
            return False
        return not frozenset(index_terms([word])).isdisjoint(index_terms([said]))


def _cosine(vectors: Mapping[str, Vector], one: str, other: str) -> float:
    """Return the cosine of two texts; 0 where one has no vector."""
    return float(vectors[one] @ vectors[other]) if one in vectors and other in vectors else 0.0


async def _vectors(texts: Sequence[str], embedding: Embedding) -> dict[str, Vector]:
    """Return the normalized vectors of the texts; nothing with another embedder, or while it is down."""
    if not embedding.space.startswith(_OWN_SPACE):
        return {}
    found, normalizer = await embedding.vectors(texts), await embedding.normalizer()
    if not found or normalizer is None:
        return {}
    return dict(zip(found, normalizer.project(np.stack(list(found.values()))), strict=True))


def _is_for_bot(text: str) -> bool:
    """Return whether a message asks what others do, or the bot, or asks it to delete something: it tells nothing."""
    return _TO_BOT.match(fold(text)) is not None or asks_to_delete(text)


_IDIOMS: Final = re.compile(
    r"\b(?:raining cats and dogs|(?:gotta|got to|have to|must|better) run(?=\W*$|,| now| bye)|running? (?:out of|late)"
    r"|in the long run|piece of cake|hold your horses|once in a blue moon|let the cat out"
    r"|chovendo canivetes?|quebra(?:r)? (?:o|um) galho|chut(?:ar|ei|ou) o balde|viaj(?:ei|ou) na maionese|mao na roda"
    r"|pan comido|media naranja|tomar(?:me|te)? el pelo|echar(?:me|te)? una mano|meter(?:me)? la pata|costar? un ojo)\b"
)
"""Set phrases, whose words name nothing that they say."""


def _telling(text: str) -> list[str]:
    words = folded_words(_IDIOMS.sub(" ", fold(text)))
    return [word for word in words if word not in FUNCTION_WORDS] or words


@lru_cache(maxsize=1024)
def _subject_words(subject: str) -> tuple[_SubjectWord, ...]:
    """Return the words of a subject that tell something, each once."""
    is_loud = subject.isupper()
    found, before = dict[str, _SubjectWord](), list[str]()
    for match in _WORD.finditer(subject):
        word, is_name = fold(match[0]), match[0][:1].isupper() and not is_loud
        belongs = bool(before) and before[-1] in _OF and not _LIGHT.issuperset(set(before) - FUNCTION_WORDS)
        if word not in FUNCTION_WORDS:
            found.setdefault(word, _SubjectWord(word, is_name, is_name and belongs))
        before.append(word)
    heavy = tuple(each for word, each in found.items() if word not in _LIGHT)
    return heavy or tuple(found.values())


@lru_cache(maxsize=4096)
def _forms(word: str) -> frozenset[str]:
    """Return a word, what it may be the plural of, and with a "~" what it may be a small or dear form of."""
    forms = {word}
    for ending, other in _PLURALS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            forms.add(word.removesuffix(ending) + other)
    if word.endswith("a") and len(word) > _MIN_GENDER_CHARS:  # "la jefa"
        forms.add(f"{word[:-1]}e")
    small = _SMALL.fullmatch(word)
    return frozenset(forms | ({f"{small[1]}~"} if small else set()))


def _one_slip(word: str, said: str, *, is_name: bool) -> bool:
    """Return whether one letter is missing, doubled, swapped or wrong; a name's ending is its own.

    Of a short name, none is wrong.
    """
    short = min(len(word), len(said))
    if (
        short < _MIN_TYPO_CHARS - is_name
        or len(word) < _MIN_TYPO_CHARS
        or abs(len(word) - len(said)) > 1
        or word == said
    ):
        return False
    begin = next((at for at in range(short) if word[at] != said[at]), short)
    rest = short - begin
    end = next((at for at in range(rest) if word[-1 - at] != said[-1 - at]), rest)
    old, new = word[begin : len(word) - end], said[begin : len(said) - end]
    if (end == 0 and (is_name or len(word) < _LONG_CHARS)) or (begin == 0 and len(word) < _LONG_CHARS):
        return False
    is_swapped = len(old) == 2 and new == old[::-1]  # noqa: PLR2004 - two letters change places
    is_left_out = len(old) + len(new) == 1
    is_wrong = len(old) == len(new) == 1 and (len(word) >= _LONG_CHARS or not is_name)
    return is_swapped or is_left_out or is_wrong
