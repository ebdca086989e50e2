"""Run the small model's server as a process of another interpreter."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = Path(__file__).with_name("llama_server.py")


@contextmanager
def serving(python: str, model: str = "smollm2", threads: int = 1) -> Iterator[str]:
    """Serve a model of `llama_server.MODELS`, and yield the server's address."""
    command = [python, str(SERVER), model, str(threads)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address, f"{model} could not be served: run {' '.join(command)}"
            yield address
        finally:
            server.stdin.close()
