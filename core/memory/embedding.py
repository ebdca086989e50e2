"""Embed texts as memory uses them: normalized, and without an exception while the embedder is down.

Cosines of sentence embedders crowd together: all texts share a direction, and all texts of one language share another.
With both taken away, a cosine tells whether two phrases speak of the same thing, in whatever languages, and one floor
serves every embedder.
Source: Mu and Viswanath, "All-but-the-Top" (2018), with the directions named by language instead of found by variance.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from core.errors import ProviderError
from core.ports import Embedder
from core.types import Vector, Vectors

PORTUGUESE: Final = (
    "Onde fica a farmácia mais próxima?",
    "telefone do escritório",
    "A reunião foi adiada para quinta-feira.",
    "Quanto custa a passagem de ônibus?",
    "cor favorita",
    "O vizinho comprou uma bicicleta nova.",
    "Quem vai buscar as crianças na escola?",
    "lista de compras do mercado",
    "Gosto de caminhar na praia de manhã.",
    "Qual é o nome do professor de história?",
    "endereço da tia",
    "A geladeira quebrou no domingo.",
    "Que horas começa o jogo?",
    "presente de Natal para o avô",
    "O relatório precisa ser entregue em julho.",
    "Como se faz arroz?",
    "exame de sangue",
    "Guardei os documentos na gaveta azul.",
    "Você pode me contar uma história?",
    "número da conta do banco",
)
ENGLISH: Final = (
    "Where is the nearest pharmacy?",
    "office phone",
    "The meeting was moved to Thursday.",
    "How much is a bus ticket?",
    "favourite colour",
    "The neighbour bought a new bicycle.",
    "Who picks the children up from school?",
    "grocery shopping list",
    "I like to walk on the beach in the morning.",
    "What is the name of the history teacher?",
    "aunt's address",
    "The fridge broke down on Sunday.",
    "What time does the game start?",
    "Christmas present for grandpa",
    "The report has to be handed in by July.",
    "How do you cook rice?",
    "blood test",
    "I put the papers in the blue drawer.",
    "Can you tell me a story?",
    "bank account number",
)
SPANISH: Final = (
    "¿Dónde está la farmacia más cercana?",
    "teléfono de la oficina",
    "La reunión se aplazó al jueves.",
    "¿Cuánto cuesta el billete de autobús?",
    "color favorito",
    "El vecino compró una bicicleta nueva.",
    "¿Quién recoge a los niños del colegio?",
    "lista de la compra",
    "Me gusta caminar por la playa por la mañana.",
    "¿Cómo se llama el profesor de historia?",
    "dirección de la tía",
    "La nevera se estropeó el domingo.",
    "¿A qué hora empieza el partido?",
    "regalo de Navidad para el abuelo",
    "El informe se entrega en julio.",
    "¿Cómo se hace el arroz?",
    "análisis de sangre",
    "Guardé los papeles en el cajón azul.",
    "¿Puedes contarme una historia?",
    "número de cuenta del banco",
)
LANGUAGES: Final = (PORTUGUESE, ENGLISH, SPANISH)
"""One tuple a language, the same subject in the same place of each."""


_MIN_NORM = 1e-6
_SHIPPED = Path(__file__).parent / "normalizers"
"""One file a space: the means that `core.memory.embedding` has there, by language. A test keeps them true."""

_UNSAFE = re.compile(r"[^\w@.-]")
_CACHED_ROWS = 256
"""Rows that stay in the processor's cache between the steps: 2.5 times faster than all at once."""

_SPARE_DIMS = 8
"""Spaces this much larger than the number of languages can spare the directions that are taken away."""


@dataclass(frozen=True, slots=True)
class EmbeddingNormalizer:
    """The mean of a space, shape (dims,), and the directions in which its languages differ, shape (n, dims)."""

    space: str
    mean: Vector
    directions: Vectors

    @classmethod
    def of(cls, space: str, samples: Sequence[Vectors]) -> EmbeddingNormalizer:
        """Return the normalizer of a space from samples of several languages, the same sentences in each."""
        return cls.ground(space, np.stack([sample.mean(axis=0) for sample in samples]))

    @classmethod
    def shipped(cls, space: str) -> EmbeddingNormalizer | None:
        """Return the normalizer shipped for a space: its first question does not wait for the samples."""
        file = _SHIPPED / f"{_UNSAFE.sub('_', space)}.npy"
        return cls.ground(space, np.load(file)) if file.is_file() else None

    @classmethod
    def ground(cls, space: str, means: Vectors) -> EmbeddingNormalizer:
        """Return the normalizer from one mean a language, shape (languages, dims)."""
        mean = means.mean(axis=0)
        _, sizes, directions = np.linalg.svd(means - mean, full_matrices=False)
        if mean.size < _SPARE_DIMS + len(means):
            directions = directions[:0]
        else:
            directions = directions[: len(means) - 1][sizes[: len(means) - 1] > _MIN_NORM]
        return cls(space, mean.astype(np.float32), directions.astype(np.float32))

    @property
    def dims(self) -> int:
        """The length of every vector of the space."""
        return int(self.mean.size)

    def project(self, vectors: Vectors) -> Vectors:
        """Return new rows of norm 1, without the mean and the directions; a row with nothing else becomes zeros."""
        seen: Vectors = np.empty(vectors.shape, np.float32)
        for start in range(0, len(vectors), _CACHED_ROWS):
            rows = np.subtract(vectors[start : start + _CACHED_ROWS], self.mean, out=seen[start : start + _CACHED_ROWS])
            rows -= (rows @ self.directions.T) @ self.directions
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            norms[norms < _MIN_NORM] = np.inf
            rows /= norms[:, None]
        return seen


_log = logging.getLogger(__name__)

MAX_CHARS = 1000
"""How much of a text is embedded: a vector of more says less, and costs more than a second of CPU."""

_BACKGROUND = tuple(sentence for language in LANGUAGES for sentence in language)


class Embedding:
    """Vectors for texts, and the normalizer of the embedder's space, which is made once from the first answer."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._normalizer: EmbeddingNormalizer | None = None

    @property
    def space(self) -> str:
        """The space of the vectors to come."""
        return self._embedder.space

    async def vectors(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Map the texts to their vectors by one call of the embedder; an empty mapping while it is down."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        try:
            return dict(zip(distinct, await self._embed(distinct), strict=True))
        except ProviderError as error:
            _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
            return {}

    async def normalizer(self) -> EmbeddingNormalizer | None:
        """Return the normalizer of the space as it is now; None while the embedder is down and it was never up."""
        if self._normalizer is None or self._normalizer.space != self._embedder.space:
            try:
                await self._embed([])
            except ProviderError as error:
                _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
                return None
        return self._normalizer

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts, and in the same call the background sentences of a space that was not seen before."""
        space = self._embedder.space
        if self._normalizer is None or self._normalizer.space != space:
            self._normalizer = EmbeddingNormalizer.shipped(space)
        known = self._normalizer is not None
        asked = [text[:MAX_CHARS] for text in texts]
        if known and not asked:
            return np.empty((0, self._embedder.dims), np.float32)
        vectors = await self._embedder.embed(asked if known else [*asked, *_BACKGROUND])
        if not known:
            samples, start = [], len(asked)
            for language in LANGUAGES:
                samples.append(vectors[start : start + len(language)])
                start += len(language)
            self._normalizer = EmbeddingNormalizer.of(space, samples)
        return vectors[: len(asked)]
