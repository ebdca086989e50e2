"""`elefante`, which is `python -m bot`: the version at once, everything else by the table of verbs."""

from __future__ import annotations

import sys

from bot.version import version_line


def main() -> None:
    """Run the command line. Who only asks for the version waits for none of the verbs to be loaded."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{version_line()}\n")
        return
    from bot.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
