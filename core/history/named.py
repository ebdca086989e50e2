"""Threads whose id was chosen by the caller (D1)."""

from __future__ import annotations

from dataclasses import replace

from core.errors import InputError, ThreadTaken
from core.stores import HistoryStore
from core.threads import THREAD_ID_RULE, ThreadRecord, is_thread_id
from core.types import Thread, ThreadStatus

_MAX_STEM_CHARS = 60  # of an id that gets a number


async def named_thread(store: HistoryStore, wanted: Thread) -> Thread:
    """Return the thread of that id, active; stored now, with the policy of the last one there, if there is none.

    An id whose thread was reset goes on as ID-2, then ID-3: what was reset is not opened again.

    Raises:
        InputError: no thread may have that id.
        ThreadTaken: another conversation has it.
    """
    if not is_thread_id(wanted.id):
        raise InputError(f"no thread can have that id: {THREAD_ID_RULE}")
    name, number = wanted.id, 1
    while (thread := await store.thread(name)) is not None and thread.status is ThreadStatus.RESET:
        number += 1
        name = f"{wanted.id[:_MAX_STEM_CHARS]}-{number}"
    if thread is None:
        policies = [t.policy for t in await store.threads(wanted.conversation.user) if _is_beside(t, wanted)]
        new = replace(wanted, id=name, policy=policies[0] if policies else "")
        thread = await store.restore(ThreadRecord(new, ()))
    if not _is_beside(thread, wanted):
        raise ThreadTaken("that thread id belongs to another conversation: choose another")
    if thread.status is ThreadStatus.ACTIVE:
        return thread
    return await store.switch(thread.id, wanted.created_at) or thread


def _is_beside(thread: Thread, other: Thread) -> bool:
    return thread.conversation == other.conversation
