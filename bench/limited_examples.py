"""Fit the limited mind's classifier to its examples and store it beside them: `python -m bench.limited_examples`.

To be run after the examples or the embedded embedder change; a test fails until it was.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from core.limited import likeness
from core.limited.likeness import FILE, Examples, Weights
from core.providers.usem3 import Usem3Embedder


async def _build() -> Path:
    examples = Examples.load()
    embedder = Usem3Embedder()
    try:
        weights = Weights.fit(await embedder.embed(examples.texts), examples.texts, examples.labels)
    finally:
        await embedder.close()
    path = Path(likeness.__file__).with_name("examples") / FILE
    np.savez_compressed(
        path,
        digest=np.array(examples.digest(embedder.space)),
        intents=np.array([intent.value for intent in weights.intents]),
        mean=weights.mean,
        rarity=weights.rarity.astype(np.float16),
        matrix=weights.matrix.astype(np.float16),
    )
    return path


def main() -> None:
    """Write the file and say where."""
    path = asyncio.run(_build())
    print(f"{path}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
