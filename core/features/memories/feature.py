"""What looking through memories adds to the bot."""

from __future__ import annotations

from core.features.feature import Contribution, Shared
from core.features.memories.commands import REMEMBER, MemoryCommands
from core.features.memories.confirm import ConfirmCommand
from core.features.memories.listed import ListedMemories


def build(shared: Shared) -> Contribution:
    """Contribute /remember, /recall, /memories, and the command of the buttons of proposals."""
    listed = ListedMemories(shared.stores.kept)
    browsing = MemoryCommands(listed, shared.memories, shared.stores.history, shared.replies)
    return Contribution(
        commands=(REMEMBER, *browsing.commands, ConfirmCommand(shared.confirmations).command),
        forgetters=(listed, shared.stores.pending_inputs, shared.stores.confirmations),
        offers=(listed, browsing),
    )
