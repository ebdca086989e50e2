"""The program of docs/memory.md runs as it stands."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.pages import lines_of, programs, run

ANOTHER = """
import asyncio
from core import open_memory


async def main():
    async with open_memory("memory.db") as memories:
        for user in ("ana", "edmar"):
            print([found.text for found in await memories.of(user).search("senha do aliexpress")])


asyncio.run(main())
"""


def test_the_memory_alone_finds_what_it_was_told_and_nothing_else_and_so_does_another_process(tmp_path: Path) -> None:
    [program] = programs("memory.md")
    assert lines_of(program) <= 15
    first, second = run(program, tmp_path)
    assert first.startswith("Qual é a senha do aliexpress? [('123456', ")
    assert second == "Who painted the Mona Lisa? []"
    assert run(ANOTHER, tmp_path) == ["['123456']", "[]"]
