"""The tree: lines, modules, importers, circles, the largest classes, and what one plain message enters and calls."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.table import show

ROOT = Path(__file__).parents[1]
PACKAGES = ("bot", "adapters", "core")
BESIDE = ("bench", "tests")
NOT_ENGINE = (
    "core.features", "core.providers", "core.storage", "core.limited", "core.times", "core.library", "core.ask",
)  # fmt: skip
STORES = ("stores", "threads", "people", "decisions", "broadcasts", "calls", "codes", "store")
"""What modules are called that hold the port of a store."""

COMPOSED = {
    "bot.wiring", "bot.platforms", "bot.cli.main", "bot.models.chains", "core.features.assembly", "core.library",
}  # fmt: skip
"""Modules whose work is to name others."""

MOST_CLASSES = 10

ENTERED = """
import asyncio, sys, threading
from collections import Counter
import bot.run, core.answering.chatbot
from bot.cli.main import main
entered, messages, prepared = Counter(), [], asyncio.Event()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith({roots!r}):
        entered[frame.f_code] += 1

receive, warm_up = core.answering.chatbot.ChatBot.receive, bot.run.warm_up

async def warm_up_and_tell(app):
    await warm_up(app)
    prepared.set()

async def receive_and_note(self, *rest):
    await prepared.wait()
    sys.setprofile(note)
    threading.setprofile(note)
    answered = await receive(self, *rest)

    async def to_the_end():
        await answered
        sys.setprofile(None)
        threading.setprofile(None)
        messages.append((len({{code.co_filename for code in entered}}), len(entered), entered.total()))
        entered.clear()
    return to_the_end()

core.answering.chatbot.ChatBot.receive, bot.run.warm_up = receive_and_note, warm_up_and_tell
sys.argv = ["elefante", "chat"]
try:
    main()
except SystemExit:
    pass
finally:
    print(*(number for message in messages for number in message), file=sys.stderr)
"""


def modules(root: Path = ROOT, packages: tuple[str, ...] = PACKAGES) -> Iterator[tuple[str, ast.Module, int]]:
    """Yield every module of some packages: its dotted name, its tree, its lines."""
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_text("utf-8")
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            yield name, ast.parse(text), len(text.splitlines())


def imported(tree: ast.Module, known: set[str], *, at_start: bool = False) -> set[str]:
    """Return the modules of the program that a module imports from; `at_start`, only what its own import loads."""
    nodes = list(ast.walk(tree)) if not at_start else tree.body
    names = [(node.module, alias.name) for node in nodes if isinstance(node, ast.ImportFrom) and node.module
             for alias in node.names]  # fmt: skip
    return {f"{module}.{name}" if f"{module}.{name}" in known else module for module, name in names} & known


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, the largest first (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in imports[name]:
            if other not in index:
                visit(other)
            low[name] = min(low[name], low[other] if other in stack else low[name])
        if low[name] == index[name]:
            at = stack.index(name)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for name in imports:
        if name not in index:
            visit(name)
    return sorted(found, key=len, reverse=True)


def classes(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Yield each class that is no protocol: its name, its fields, its methods."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or _is_protocol(node):
            continue
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        fields = {each.target.id for each in node.body
                  if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}  # fmt: skip
        fields |= {each.attr for method in methods for each in ast.walk(method)
                   if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
                   and isinstance(each.value, ast.Name) and each.value.id == "self"}  # fmt: skip
        yield node.name, len(fields), len(methods)


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def promised(tree: ast.Module) -> int:
    """Return how many methods the protocols of a module have."""
    protocols = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _is_protocol(node)]
    return sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for one in protocols for each in one.body)


def entered() -> list[tuple[str, ...]]:
    """Return the files, functions and calls of a question, the first and the second, in limited mode over a pipe.

    The first comes when all is there that a start prepares in the background.
    """
    script = ENTERED.format(roots=tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "DATA_DIR": folder},
            input="what is the wifi password?\ngood morning\n", capture_output=True, text=True, check=True,
        )  # fmt: skip
    numbers = done.stderr.split()[-6:]
    return [tuple(numbers[:3]), tuple(numbers[3:])]


def main() -> None:
    """Measure and print."""
    found = list(modules())
    known = {name for name, _, _ in found}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, tree, _ in found:
        for other in imported(tree, known) - {name}:
            importers[other].add(name)
    once = [name for name, by in importers.items() if len(by) == 1]
    lines = {name: sum(count for _, _, count in modules(packages=(name,))) for name in (*PACKAGES, *BESIDE)}
    ours = circles({name: imported(tree, known, at_start=True) - {name} for name, tree, _ in found})
    engine = [count for name, _, count in found if name.startswith("core") and not name.startswith(NOT_ENGINE)]
    first, later = entered()
    rows = [
        ("lines of the engine", sum(engine)),
        *((f"lines of {name}", count) for name, count in lines.items()),
        ("lines of source", sum(lines[name] for name in PACKAGES)),
        ("modules", len(found)),
        ("modules with one importer", len(once)),
        ("of these, not named by a table or the wiring", sum(not importers[one] <= COMPOSED for one in once)),
        ("circles of imports", ", ".join(str(len(circle)) for circle in ours) or 0),
        ("methods of the stores' ports",
         sum(promised(tree) for name, tree, _ in found if name.startswith("core") and _holds_a_port(name))),
        ("files, functions, calls of a first message", ", ".join(first)),
        ("the same of the next", ", ".join(later)),
    ]  # fmt: skip
    show("The tree", ("figure", "now"), [(figure, str(value)) for figure, value in rows])
    sized = [(f"{name}.{each}", fields, methods) for name, tree, _ in found for each, fields, methods in classes(tree)]
    for title, key in (("fields", 1), ("methods", 2)):
        largest = sorted(sized, key=lambda each: -int(each[key]))[:MOST_CLASSES]
        show(f"The largest classes by {title}", ("class", "fields", "methods"),
             [(name, str(fields), str(methods)) for name, fields, methods in largest])  # fmt: skip


def _holds_a_port(name: str) -> bool:
    return name.rpartition(".")[2] in STORES


if __name__ == "__main__":
    main()
