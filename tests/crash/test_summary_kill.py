"""A process killed while summaries are made shows the old window or the new summary, never a hole between them."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core.history.conversation import Conversations
from core.history.policy import SUMMARY, HistoryLimits
from core.storage.history import SqlHistory
from core.storage.sqlite import open_database
from core.types import ChatKey, ConversationKey, UserKey
from tests.fakes.clock import FakeClock
from tests.profile import long

ROOM = ConversationKey(ChatKey("console", "c"), UserKey("console", "ana"))

CHILD = textwrap.dedent(
    """
    import asyncio, itertools, os, sys
    from pathlib import Path
    from core.clock import SystemClock
    from core.dialogue import Task
    from core.history.conversation import Conversations
    from core.history.policy import HistoryLimits
    from core.history.summary import Summaries, Summarizer
    from core.history.tokens import ByCharacters
    from core.storage.history import SqlHistory
    from core.storage.sqlite import open_database
    from core.types import ChatKey, ConversationKey, Message, MessageRole, UserKey
    from tests.fakes.model import ScriptedModel

    ROOM = ConversationKey(ChatKey("console", "c"), UserKey("console", "ana"))

    def told(prompt):  # a summary that names every message it covers
        return " ".join([prompt.context.message, *(message.text for message in prompt.context.history)]).strip()

    async def main(path):
        clock, store = SystemClock(), SqlHistory(await open_database(Path(path)))
        limits = HistoryLimits(threshold_tokens=40, max_summary_tokens=1 << 30)
        model = ScriptedModel({Task.SUMMARY: told})
        summarizer = Summarizer(store, model, ByCharacters(), clock, limits)
        async with Summaries(summarizer, clock) as summaries:
            conversation = await Conversations(store, clock, limits, summaries=summaries).open(ROOM)
            for number in itertools.count((await store.totals(conversation.thread.id))[0] + 1):
                role = MessageRole.USER if number % 2 else MessageRole.ASSISTANT
                await conversation.add(Message(role, f"m{number}"))
                os.write(1, f"{number}\\n".encode())

    asyncio.run(main(sys.argv[1]))
    """
)


@pytest.mark.spec("J5", "J8")
@pytest.mark.parametrize("wanted", [3, long(20)])
async def test_no_message_falls_between_the_summary_and_the_window(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "elefante.db"
    dice = random.Random(5)  # noqa: S311 - data
    acknowledged = kills = 0
    torn = False  # a process that is slow may be killed before its first summary
    while kills < wanted or not torn:
        kills += 1
        assert kills <= 20 * wanted, "there was no summary to be torn"
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHILD, str(path), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert child.stdout is not None
        for _ in range(dice.randint(8, 40)):
            acknowledged = int(await child.stdout.readline())
        child.kill()
        rest = (await child.stdout.read()).split(b"\n")[:-1]
        acknowledged = int(rest[-1]) if rest else acknowledged
        await child.wait()
        database = await open_database(path)
        conversation = await Conversations(SqlHistory(database), FakeClock(), HistoryLimits(SUMMARY)).open(ROOM)
        context = await conversation.context("")
        shown = [*context.summary.split(), *(message.text for message in context.messages)]
        assert len(shown) >= acknowledged
        assert shown == [f"m{number}" for number in range(1, len(shown) + 1)]
        torn = torn or bool(context.summary)
        await database.close()
    assert acknowledged >= 8 * kills
