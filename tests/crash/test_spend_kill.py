"""A process killed between spending and checking has forgotten nothing of what was spent."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core.features.ledger.calls import BOT, JUDGED_FOR, SpendingScope
from core.features.ledger.storage import Ledger
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.fakes.clock import START

ANA = UserKey("telegram", "ana")
LIMIT, ANSWER = 500, 10

CHILD = textwrap.dedent(
    f"""
    import asyncio, os, sys
    from datetime import datetime
    from pathlib import Path
    from zoneinfo import ZoneInfo
    from core.dialogue import Usage
    from core.features.ledger.calls import Asker, ModelCall
    from core.features.quotas.limits import Defaults, read
    from core.features.quotas.quotas import Quotas
    from core.features.admin.storage import Decisions
    from core.features.ledger.storage import Ledger
    from core.storage.sqlite import open_database
    from core.types import Role, UserKey
    from tests.fakes.clock import FakeClock

    async def main(path, start):
        database, ana = await open_database(Path(path)), UserKey("telegram", "ana")
        clock = FakeClock(start=datetime.fromisoformat(start))
        limits = Defaults(person=read("tokens_day={LIMIT}"))
        quotas = Quotas(Ledger(database), Decisions(database), clock, limits, ZoneInfo("UTC"))
        while True:
            async with quotas.admitted(Asker(ana), Role.MEMBER, thinks=True) as full:
                if full is not None:
                    os.write(1, b"full\\n")
                    break
                usage = Usage({ANSWER} - 4, 4)
                await quotas.record(ModelCall(clock.now(), ana, "chat", "finish", "a:1", "end", 1.0, None, usage, 0.1))
            os.write(1, b"answered\\n")
        await database.close()

    asyncio.run(main(*sys.argv[1:]))
    """
)


@pytest.mark.long
async def test_what_was_spent_before_a_kill_counts_after_it_and_the_limit_holds(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    dice = random.Random(8)  # noqa: S311 - data
    lines: list[bytes] = []
    kills = 0
    while lines[-1:] != [b"full"]:
        start = START + kills * JUDGED_FOR  # what was under way at a kill is expected to use more until then
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CHILD, str(path), start.isoformat()),
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert child.stdout is not None
        for _ in range(dice.randint(10, 20)):
            lines.append((await child.stdout.readline()).strip())
            if lines[-1] == b"full":
                break
        else:
            child.kill()
            kills += 1
        lines += (await child.stdout.read()).split()
        await child.wait()
    database = await open_database(path)
    try:
        ledger = Ledger(database)
        spent = await ledger.spent(SpendingScope(ANA), START)
        assert await ledger.spent(BOT, START) == spent
    finally:
        await database.close()
    assert kills >= 2
    assert LIMIT <= spent.tokens < LIMIT + ANSWER
    assert lines.count(b"answered") * ANSWER <= spent.tokens, "whatever was answered counts"
