"""Import what the command imports, and load what it loads once, for all processes forked from this one.

Only what starts no thread: a lock that a thread holds in this process nobody opens in one that is forked from it.
"""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from importlib import import_module

from core.providers.usem3 import _encoder
from core.text.replies import means_undo
from core.times.grammar import find_time
from core.types import Locale

for name in (
    "adapters.discord",
    "adapters.telegram",
    "bot.cli.main",
    "bot.run",
    "core.limited",
    "core.providers.anthropic",
    "core.providers.openai",
    "core.storage.faiss_index",
    "core.storage.postgres",
    "tests.e2e.command",
    "tests.fakes.commands",
    "tests.fakes.handler",
):
    import_module(name)
_encoder()(["elefante"])
find_time("", datetime.now(UTC), Locale.EN)
means_undo("")
gc.freeze()  # what all share is written by no collection
