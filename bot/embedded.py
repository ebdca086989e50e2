"""The whole bot inside a program of your own, without a platform: `open_chat` opens it, `EmbeddedChat.ask` asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot, warm_embedder
from core.ask import PLATFORM, Answer, ask
from core.ports import MessageHandler
from core.types import ChatKey, ConversationKey, Message, Role, UserKey


class EmbeddedChat:
    """The bot as a program asks it. Made by `open_chat`."""

    def __init__(self, handler: MessageHandler, app: App) -> None:
        self._handler = handler
        self._app = app

    async def ask(
        self,
        user_id: str = "",
        message: str = "",
        *,
        chat_id: str = "",
        thread_id: str = "",
        session_id: str = "",
        language: str = "",
        on_message: Callable[[Message], None] = lambda _: None,
    ) -> Answer:
        """Return the bot's answer to one message of that person, in their conversation `chat_id` (default: their own).

        Arguments are those of `core.ask.ask`.

        Raises:
            FieldError: a value is missing or wrong; it says which.
        """
        return await ask(
            self._handler,
            self._app.clock,
            message=message,
            chat_id=chat_id or user_id,
            user_id=user_id,
            session_id=session_id,
            thread_id=thread_id,
            language=language,
            on_message=on_message,
        )

    async def messages(self, user_id: str, *, chat_id: str = "") -> tuple[Message, ...]:
        """Return all that was said in that person's conversation, memories with their present content."""
        user = UserKey(PLATFORM, user_id)
        memories = self._app.parts.memories
        key = ConversationKey(ChatKey(PLATFORM, chat_id or user_id), user)
        conversation = await self._app.conversations.open(key)
        return await conversation.read(memories.of(await memories.owner(user)).get)


@asynccontextmanager
async def open_chat(
    folder: Path | str | None, *, owners: Collection[str] = (), **settings: Any
) -> AsyncIterator[EmbeddedChat]:
    """Open the bot over a data folder, made now if there is none; None keeps all in RAM.

    `settings` are those of `.env.example` in small letters (`model="anthropic:claude-haiku-5-5"`), before those of the
    environment and of `.env`; without a model the bot runs in limited mode. Everybody whom the program asks for has a
    member's rights; `owners` are user ids that have an owner's, as long as this is open. Opening loads the
    embedder's model, which takes a second.

    Raises:
        ConfigError: a setting is wrong, or the folder cannot be used.
        StorageError: the database cannot be used.
    """
    place = {"storage_url": "memory:"} if folder is None else {"data_dir": Path.cwd() / folder}
    grants = {UserKey(PLATFORM, user_id): Role.OWNER for user_id in owners}
    failure: Exception | None = None
    async with build(load(**{**settings, **place}), grants=grants) as app, open_chatbot(app) as chatbot:
        await warm_embedder(app)
        try:
            yield EmbeddedChat(chatbot, app)  # a question is on the account of who asked it
        except Exception as error:  # noqa: BLE001  (raised below, as itself: a task group would wrap it)
            failure = error
    if failure is not None:
        raise failure
