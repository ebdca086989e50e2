"""Embed texts as memory uses them: normalized, and without an exception while the embedder is down.

Cosines of sentence embedders crowd together, as all texts share a direction. With that taken away, cosines of different
embedders are alike, and more questions find their memory first.
Source: Mu and Viswanath, "All-but-the-Top" (2018), the mean alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

_BACKGROUND = tuple(sentence for language in LANGUAGES for sentence in language if "?" not in sentence)
"""Without the questions: their mean would take from a question what makes it differ from another."""

_MIN_NORM = 1e-6
_CACHED_ROWS = 256
"""Rows that stay in the processor's cache between the steps: 2.5 times faster than all at once."""


@dataclass(frozen=True, slots=True)
class EmbeddingNormalizer:
    """The mean of a space, shape (dims,)."""

    space: str
    mean: Vector

    @property
    def dims(self) -> int:
        """The length of every vector of the space."""
        return int(self.mean.size)

    def project(self, vectors: Vectors) -> Vectors:
        """Return new rows of norm 1, without the mean; a row with nothing else becomes zeros."""
        seen: Vectors = np.empty(vectors.shape, np.float32)
        for start in range(0, len(vectors), _CACHED_ROWS):
            rows = np.subtract(vectors[start : start + _CACHED_ROWS], self.mean, out=seen[start : start + _CACHED_ROWS])
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            norms[norms < _MIN_NORM] = np.inf
            rows /= norms[:, None]
        return seen


_log = logging.getLogger(__name__)

MAX_CHARS = 1000
"""How much of a text is embedded: a vector of more says less."""


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
        try:
            await self.prepare()
        except ProviderError as error:
            _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
            return None
        return self._normalizer

    async def prepare(self) -> None:
        """Make the normalizer of the space as it is now, unless it is made.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        if self._normalizer is None or self._normalizer.space != self._embedder.space:
            await self._embed([])

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts, and in the same call the background sentences of a space that was not seen before."""
        space, asked = self._embedder.space, [text[:MAX_CHARS] for text in texts]
        if self._normalizer is not None and self._normalizer.space == space:
            return await self._embedder.embed(asked)
        vectors = await self._embedder.embed([*asked, *_BACKGROUND])
        self._normalizer = EmbeddingNormalizer(space, vectors[len(asked) :].mean(axis=0))
        return vectors[: len(asked)]
