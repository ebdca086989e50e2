"""The lines that were typed in the terminal, which its prompt keeps in a file. Knows the file, and forgets it."""

from __future__ import annotations

from bot.settings.settings import Settings
from core.errors import StorageError
from core.types import UserKey


class ConsoleHistory:
    """What the arrow up brings back in the terminal: the console owner's words."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.data_dir / "console-history"
        self._owner = settings.console_owner

    async def forget(self, user: UserKey) -> None:
        """Remove the file, if the lines in it are that person's.

        Raises:
            StorageError: it is there, and cannot be removed.
        """
        if user != self._owner:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"the terminal's history cannot be removed: {error.strerror}") from error
