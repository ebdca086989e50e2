"""The tree: lines, modules, importers, methods of ports, and the files that one plain message enters."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.table import show

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "adapters", "core")
NOT_ENGINE = (
    "core.features", "core.providers", "core.storage", "core.limited", "core.times", "core.library", "core.ask",
)  # fmt: skip
STORES = ("stores", "threads", "people", "decisions", "broadcasts", "calls", "codes", "store")
"""What modules are called that hold the port of a store."""

COMPOSED = {
    "bot.wiring", "bot.platforms", "bot.cli.main", "bot.models.chains", "core.features.assembly", "core.library",
}  # fmt: skip
"""Modules whose work is to name others."""

ENTERED = """
import sys, threading
import core.chatbot
from bot.cli.main import main
entered = set()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith({roots!r}):
        entered.add(frame.f_code.co_filename)

receive = core.chatbot.ChatBot.receive

async def receive_and_note(self, *rest):
    sys.setprofile(note)
    threading.setprofile(note)
    return await receive(self, *rest)

core.chatbot.ChatBot.receive = receive_and_note
sys.argv = ["elefante", "chat"]
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    print(len(entered), file=sys.stderr)
"""


def modules() -> Iterator[tuple[str, ast.Module, int]]:
    """Yield every module of the program: its dotted name, its tree, its lines."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text("utf-8")
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield name, ast.parse(text), len(text.splitlines())


def imported(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the program that a module imports from."""
    names = [(node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
             for alias in node.names]  # fmt: skip
    return {f"{module}.{name}" if f"{module}.{name}" in known else module for module, name in names} & known


def promised(tree: ast.Module) -> int:
    """Return how many methods the protocols of a module have."""
    protocols = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
                 and any("Protocol" in ast.unparse(base) for base in node.bases)]  # fmt: skip
    return sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for one in protocols for each in one.body)


def entered() -> str:
    """Return how many files of the program run code for one question, in limited mode, by the terminal's pipe."""
    script = ENTERED.format(roots=tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "DATA_DIR": folder},
            input="what is the wifi password?\n", capture_output=True, text=True, check=True,
        )  # fmt: skip
    return done.stderr.split()[-1]


def _holds_a_port(name: str) -> bool:
    return name.rpartition(".")[2] in STORES


def main() -> None:
    """Measure and print."""
    found = list(modules())
    known = {name for name, _, _ in found}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, tree, _ in found:
        for other in imported(tree, known) - {name}:
            importers[other].add(name)
    core = [each for each in found if each[0].startswith("core")]
    once = [name for name, by in importers.items() if len(by) == 1]
    rows = [
        ("lines of the engine", str(sum(lines for name, _, lines in core if not name.startswith(NOT_ENGINE)))),
        ("lines of core", str(sum(lines for _, _, lines in core))),
        ("lines in all", str(sum(lines for _, _, lines in found))),
        ("modules", str(len(found))),
        ("modules with one importer", str(len(once))),
        ("of these, not named by a table or the wiring", str(sum(not importers[one] <= COMPOSED for one in once))),
        (
            "methods of the stores' ports",
            str(sum(promised(tree) for name, tree, _ in core if name.rpartition(".")[2] in STORES)),
        ),
        ("files entered by one plain message", entered()),
    ]
    show("The tree", ("figure", "now"), rows)
