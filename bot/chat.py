"""`elefante chat`: the bot and the terminal, put together. Does not know how a terminal is drawn."""

from __future__ import annotations

from adapters import console
from bot.metering import AttributedDoor
from bot.settings import Settings
from bot.wiring import build, embedder_trouble, open_chatbot, say


async def chat(settings: Settings) -> None:
    """Talk until the person leaves; what they asked is answered before this returns."""
    async with build(settings) as app, open_chatbot(app) as chatbot:
        if (trouble := await embedder_trouble(app)) is not None:
            say(trouble)
        await console.run(
            AttributedDoor(chatbot),
            app.clock,
            user=settings.console_owner,
            data_dir=settings.data_dir,
            language=settings.locale,
        )
