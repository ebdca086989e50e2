"""Both bare libraries in one process, each saying every message back: what `bench.chat` compares CPU with."""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import Any

import yarl
from telegram import Update
from telegram.ext import ApplicationBuilder, ContextTypes, MessageHandler, filters

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its own import warns of `audioop`
    import discord
    from discord.gateway import DiscordWebSocket
    from discord.http import Route


class Echo(discord.AutoShardedClient):
    """Says every message back."""

    async def on_message(self, message: discord.Message) -> None:
        """Say it back."""
        if not message.author.bot:
            await message.channel.send(message.content)


async def _say_back(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
    if update.message is not None:
        await update.message.reply_text(update.message.text or "")


async def main() -> None:
    """Answer on both platforms until killed; tokens and addresses stand in the settings of the bot's."""
    Route.BASE = os.environ["DISCORD_API_BASE_URL"]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["DISCORD_GATEWAY_URL"])
    address = os.environ["TELEGRAM_API_BASE_URL"] + "/bot"
    app: Any = ApplicationBuilder().token(os.environ["TELEGRAM_TOKEN"]).base_url(address).build()
    app.add_handler(MessageHandler(filters.TEXT, _say_back))
    async with app:
        await app.updater.start_polling(timeout=50)
        await app.start()
        await Echo(intents=discord.Intents.all()).start(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    asyncio.run(main())
