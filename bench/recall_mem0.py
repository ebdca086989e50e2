"""mem0 as one of the ways of finding: nothing is extracted, and its vectors are the bench's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from bench.recall_data import Held
from core.types import Vector

_OWNER = "bench"


class _Embedding:
    """What mem0 needs of an embedder."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = {text.strip(): vector for text, vector in vectors.items()}  # mem0 strips what it is asked

    def embed(self, text: str, _: Literal["add", "search", "update"] | None = None) -> list[float]:
        """Return the vector of one text."""
        vector: list[float] = self._vectors[text.strip()].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str], _: str = "add") -> list[list[float]]:
        """Return the vectors of texts."""
        return [self.embed(text) for text in texts]


class Mem0:
    """One person's memories in mem0, over a local Qdrant and a SQLite file. `close` it."""

    def __init__(self, folder: Path, memories: Sequence[Held], vectors: Mapping[str, Vector]) -> None:
        """Save the memories; `vectors` holds those of `texts(memories)` and of the questions to come."""
        os.environ["MEM0_TELEMETRY"] = "false"
        folder.mkdir(parents=True)
        dims = len(next(iter(vectors.values())))
        store = {"path": str(folder), "on_disk": True, "embedding_model_dims": dims, "collection_name": _OWNER}
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._mem0: Any = import_module("mem0").Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": unused,
                "llm": unused,
            }
        )
        self._mem0.embedding_model = _Embedding(vectors)
        self._held: dict[str, Held] = {}
        for held, text in zip(memories, texts(memories), strict=True):
            added = self._mem0.add(text, user_id=_OWNER, infer=False)["results"]
            self._held |= {each["id"]: held for each in added}

    def search(self, question: str, limit: int) -> tuple[Sequence[Held], float]:
        """Return what is found, the best first, and the score of the best."""
        found = self._mem0.search(question, filters={"user_id": _OWNER}, top_k=limit, threshold=0.0)["results"]
        return [self._held[each["id"]] for each in found], found[0]["score"] if found else 0.0

    def close(self) -> None:
        """Let the files go: Qdrant opens a folder once."""
        self._mem0.close()
        self._mem0.vector_store.client.close()


def texts(memories: Sequence[Held]) -> Sequence[str]:
    """Return what mem0 is told of each memory."""
    return ["\n".join((held.text, *held.bindings)) for held in memories]
