"""What the end-to-end tests share."""

import tests.fakes.discord_library  # noqa: F401 (before any test module imports discord.py)
