"""What the bot runs on, as its owner may ask in the chat: this process, its log, its folder."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from importlib import metadata

from bot.settings.settings import Settings
from bot.troubles import RecentTroubles
from core.features.admin.machine import Machine, ModelSwitch


def open_machine(settings: Settings, models: ModelSwitch, stack: AsyncExitStack) -> Machine:
    """Return it. Until `stack` is closed it listens to what is logged; what was logged before it has read."""
    troubles = RecentTroubles(settings.secrets())
    if settings.log_folder is not None:
        troubles.read(settings.log_folder)
    logging.getLogger().addHandler(troubles)
    stack.callback(logging.getLogger().removeHandler, troubles)

    def database_bytes() -> int:
        path = settings.database_path
        return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file())

    return Machine(models, troubles, metadata.version("elefante"), database_bytes)
