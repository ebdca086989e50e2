"""`elefante chat`: the bot and the terminal, put together. Does not know how a terminal is drawn."""

from __future__ import annotations

from adapters import console
from bot.models.metering import AttributedHandler
from bot.serving import serving
from bot.settings.settings import Settings
from bot.wiring import App, build, embedder_trouble, open_chatbot, say
from core.errors import ConfigError, InputError


async def chat(settings: Settings, thread_id: str = "") -> None:
    """Talk until the person leaves; what they asked is answered before this returns.

    Raises:
        ConfigError: the conversation that `thread_id` or DEFAULT_THREAD names is none of this terminal's.
        BotError: another process answers in the terminal from this data folder.
    """
    with serving(settings, "elefante chat", ["console"]):
        await _talk(settings, thread_id)


async def _talk(settings: Settings, thread_id: str) -> None:
    async with build(settings) as app:
        await _go_on(app, thread_id)
        async with open_chatbot(app) as chatbot:
            if (trouble := await embedder_trouble(app)) is not None:
                say(trouble)
            await console.run(
                AttributedHandler(chatbot),
                app.clock,
                user=settings.console_owner,
                data_dir=settings.data_dir,
                language=settings.locale,
                keeps_lines=not settings.in_memory,
            )


async def _go_on(app: App, thread_id: str) -> None:
    """Make the conversation active that was named; the one that was talked in last is it already."""
    if not (name := thread_id or app.settings.default_thread):
        return
    try:
        await app.conversations.open(console.conversation(app.settings.console_owner), name)
    except InputError as error:
        raise ConfigError("--thread" if thread_id else "DEFAULT_THREAD", str(error)) from None
