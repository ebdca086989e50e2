"""Every recipe of docs/extending.md, followed in a copy of the tree as the page says."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.architecture.recipes import Copy


@pytest.mark.long
@pytest.mark.spec("T6")
@pytest.mark.parametrize("title", ["An action", "A command", "A model provider", "A storage engine"])
def test_the_recipe_works_as_it_stands(title: str, tmp_path: Path) -> None:
    Copy(tmp_path).follow(title)


OTHERS = {
    "An action": {"memory_count": "memory_tally", "MEMORY_COUNT": "MEMORY_TALLY", "MemoryCount": "MemoryTally"},
    "An action that reads its arguments": {},
    "A command": {"oldest": "earliest", "OLDEST": "EARLIEST"},
    "A model provider": {"echo": "parrot", "Echo": "Parrot", "ECHO": "PARROT"},
}


@pytest.mark.long
@pytest.mark.spec("T6")
def test_recipes_that_were_followed_with_other_names_leave_the_suite_green(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    for title, names in OTHERS.items():
        copy.follow(title, names)
    but = ("test_doc_extending", "test_doc_history", "test_doc_memory", "test_long_texts")
    copy.test(
        "-m", "not (long or model or peers)", *(f"--ignore-glob=*/{name}.py" for name in but), "--maxfail=10",
        "tests/unit", "tests/architecture", "tests/contracts", "tests/e2e/test_discord_slash.py",
        "tests/e2e/test_discord_menus.py", "tests/e2e/test_telegram_menus.py", "tests/e2e/test_table_platforms.py",
    )  # fmt: skip


@pytest.mark.long
async def test_the_new_platform_runs_and_remembers(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    copy.follow("A platform")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bot = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "run", cwd=copy.root, env=copy.env({"LINES_PORT": str(port)}),
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert bot.stderr is not None
        code = ""
        while not code:
            line = (await bot.stderr.readline()).decode()
            assert line, "the bot ended"
            code = "".join(re.findall(r"/start \S+", line))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for said, heard in (
            ("ana", ""),
            (code, "/help"),
            ("remember that my locker code is 4417", "4417"),
            ("what is my locker code?", "4417"),
        ):
            writer.write(f"{said}\n".encode())
            while heard and heard not in (told := (await reader.readline()).decode()):
                assert told, f"{said}: the connection ended"
        writer.close()
    finally:
        bot.send_signal(signal.SIGTERM)
        await bot.communicate()
