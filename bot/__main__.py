"""`elefante`, which is `python -m bot`: the version at once, everything else by the table of verbs."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Final

from bot.program import version_line

_OWNER_ONLY: Final = 0o077
"""The umask: files that we, a library or a child make are 0600 and folders 0700, whatever the shell's umask is."""


def main() -> None:
    """Run the command line. Who only asks for the version waits for none of the verbs to be loaded."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{version_line()}\n")
        return
    from bot.cli.main import main as run
    from bot.logs import to_stderr
    from core.files.child import leave_no_dump

    leave_no_dump()
    os.umask(_OWNER_ONLY)
    threading.excepthook = sys.unraisablehook = _unseen
    to_stderr()  # until the log is opened: without a handler, logging prints what an exception says
    run()


def _unseen(failed: threading.ExceptHookArgs | sys.UnraisableHookArgs) -> None:
    """Log where an exception ended a thread, or was raised where nobody can catch it; Python prints what it says."""
    exc_info = (failed.exc_type, failed.exc_value, failed.exc_traceback)
    logging.getLogger(__name__).critical("bug", exc_info=exc_info)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
