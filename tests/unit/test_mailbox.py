"""One lane a chat: in order inside, side by side across, gone when empty."""

from __future__ import annotations

import asyncio

from core.mailbox import Mailbox
from core.types import ChatKey

HERE, THERE = ChatKey("test", "here"), ChatKey("test", "there")


async def test_a_lane_keeps_order_and_chats_run_side_by_side() -> None:
    mailbox, log, gate = Mailbox(), [], asyncio.Event()

    async def visit(chat: ChatKey, name: str, *, wait: bool = False) -> None:
        async with mailbox.lane(chat):
            log.append(f"+{name}")
            if wait:
                await gate.wait()
            log.append(f"-{name}")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(visit(HERE, "a", wait=True))
        tasks.create_task(visit(HERE, "b"))
        tasks.create_task(visit(HERE, "c"))
        tasks.create_task(visit(THERE, "x"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert log == ["+a", "+x", "-x"]
        assert len(mailbox) == 3
        gate.set()
    assert log == ["+a", "+x", "-x", "-a", "+b", "-b", "+c", "-c"]
    assert len(mailbox) == 0
