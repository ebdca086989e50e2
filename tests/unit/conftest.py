"""What the unit tests share."""

import tests.fakes.discord_library  # noqa: F401 (before any test module imports discord.py)
