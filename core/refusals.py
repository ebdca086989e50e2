"""What becomes of an answer that a platform refuses: the asker's private chat first, then a word to the owners."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from core.delivery.alerts import OwnerAlerts
from core.delivery.fallback import Aside
from core.delivery.notifier import Notifier
from core.delivery.view import Note, View
from core.errors import (
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    StorageError,
    Undelivered,
)
from core.language_choice import Locales
from core.ports import Channel, Clock
from core.types import Incoming, Locale, Localized, room_name

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_log = logging.getLogger(__name__)


class Refusals:
    """Knows the other ways to whoever asked, and tells owners once of each chat and kind of refusal."""

    def __init__(self, notifier: Notifier, alerts: OwnerAlerts, locales: Locales, clock: Clock) -> None:
        self._notices = notifier
        self._alerts = alerts
        self._locales = locales
        self._clock = clock

    def view(
        self, incoming: Incoming, channel: Channel, *, posted: Sequence[str] | None = None, note: Note | None = None
    ) -> View:
        """Return the view of an answer; what its chat refuses is said to the asker in private."""
        find_aside = None if incoming.private else partial(self._find_aside, incoming)
        return View(channel, self._clock, find_aside=find_aside, posted=posted, note=note)

    async def report(self, incoming: Incoming, error: ChannelError) -> None:
        """Tell the owners that an answer to this message did not arrive, or may not have."""
        refusal = error.refusal if isinstance(error, Undelivered) else error
        kind = next((kind for kind in _WHY if isinstance(refusal, kind)), ChannelError)
        facts = {"platform": incoming.chat.platform, "error": kind.__name__, "private": incoming.private}
        _log.warning("an answer was not delivered", extra=facts)
        text = _LEFT if incoming.private and kind is ChannelGone else _WHY[kind]
        places = _IN_PRIVATE if incoming.private else _IN_ROOM
        filled = {
            locale: sentence.format(
                place=places[locale].format(room=room_name(incoming.chat)), platform=incoming.chat.platform.title()
            )
            for locale, sentence in text.items()
        }
        try:
            await self._alerts.tell(_key(incoming, kind), filled)
        except StorageError as failure:
            _log.warning("owners not told", extra={"error": type(failure).__name__})

    async def settle(self, incoming: Incoming, view: View) -> None:
        """Tell the owners how the chat took an answer: unclearly, not at all (it went to private), or as it should."""
        if trouble := view.doubt or view.refusal:
            await self.report(incoming, trouble)
        elif not view.said_aside:
            for kind in _WHY:
                await self._alerts.over(_key(incoming, kind))

    async def _find_aside(self, incoming: Incoming, refusal: ChannelError) -> Aside | None:
        channels = self._notices.platforms.get(incoming.chat.platform)
        if channels is None:
            return None
        kind = next((kind for kind in _REASONS if isinstance(refusal, kind)), ChannelError)
        reason = _REASONS[kind][await self._locales.of(incoming)]
        return Aside(channels.private(incoming.user), reason)


def _key(incoming: Incoming, kind: type[ChannelError]) -> str:
    # That people block a bot is no trouble of one chat each: owners hear of it once.
    chat = "private" if incoming.private and kind is ChannelGone else incoming.chat.chat
    return f"undelivered:{incoming.chat.platform}:{chat}:{kind.__name__}"


_REASONS: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: {
        PT: "No grupo ou canal onde você perguntou, não tenho permissão para escrever. Respondo por aqui:",
        EN: "I am not allowed to write in the group or channel where you asked, so here is my answer:",
        ES: "No tengo permiso para escribir en el grupo o canal donde preguntaste, así que te respondo aquí:",
    },
    ChannelGone: {
        PT: "Não consigo mais escrever no grupo ou canal onde você perguntou. Respondo por aqui:",
        EN: "I can no longer write in the group or channel where you asked, so here is my answer:",
        ES: "Ya no puedo escribir en el grupo o canal donde preguntaste, así que te respondo aquí:",
    },
    ChannelError: {
        PT: "Minha resposta não foi aceita no grupo ou canal onde você perguntou. Respondo por aqui:",
        EN: "My answer was not accepted in the group or channel where you asked, so here it is:",
        ES: "Mi respuesta no fue aceptada en el grupo o canal donde preguntaste, así que te respondo aquí:",
    },
}

_IN_ROOM: Localized = {PT: "na sala {room}", EN: "in the room {room}", ES: "en la sala {room}"}
_IN_PRIVATE: Localized = {PT: "numa conversa privada", EN: "in a private chat", ES: "en un chat privado"}

_LEFT: Localized = {
    PT: "{platform}: não consegui entregar uma resposta {place}: a pessoa me bloqueou ou a conta não existe mais. Não "
    "há nada a fazer; de outros casos assim não aviso.",
    EN: "{platform}: I could not deliver an answer {place}: the person blocked me, or the account is gone. There is "
    "nothing to do; I will not tell you of others like it.",
    ES: "{platform}: no pude entregar una respuesta {place}: la persona me bloqueó o la cuenta ya no existe. No hay "
    "nada que hacer; de otros casos así no aviso.",
}

_WHY: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: {
        PT: "{platform}: não consegui entregar uma resposta {place}: lá não tenho permissão para escrever. Dê-me essa "
        "permissão, ou tire-me de lá.",
        EN: "{platform}: I could not deliver an answer {place}: I am not allowed to write there. Give me the "
        "permission to send messages, or take me out of it.",
        ES: "{platform}: no pude entregar una respuesta {place}: no tengo permiso para escribir allí. Dame el permiso "
        "de enviar mensajes, o sácame de allí.",
    },
    ChannelGone: {
        PT: "{platform}: não consegui entregar uma resposta {place}: fui removido, ou o lugar não existe mais. Se eu "
        "devo responder lá, adicione-me de novo.",
        EN: "{platform}: I could not deliver an answer {place}: I was removed, or it does not exist any more. If I am "
        "to answer there, add me again.",
        ES: "{platform}: no pude entregar una respuesta {place}: me sacaron, o el lugar ya no existe. Si debo "
        "responder allí, agrégame de nuevo.",
    },
    ChannelUnclear: {
        PT: "{platform}: uma resposta {place} não foi confirmada: pode faltar ou estar lá duas vezes. Se isso se "
        "repetir, veja /admin logs.",
        EN: "{platform}: an answer {place} was not confirmed: it may be missing, or be there twice. If that happens "
        "again, see /admin logs.",
        ES: "{platform}: una respuesta {place} no fue confirmada: puede faltar o estar allí dos veces. Si se repite, "
        "mira /admin logs.",
    },
    ChannelError: {
        PT: "{platform}: não consegui entregar uma resposta {place}: a plataforma a recusou em todas as formas, ou "
        "falhou por muito tempo. Veja /admin logs.",
        EN: "{platform}: I could not deliver an answer {place}: the platform refused it in every form, or failed for a "
        "long time. See /admin logs.",
        ES: "{platform}: no pude entregar una respuesta {place}: la plataforma la rechazó en todas las formas, o falló "
        "durante mucho tiempo. Mira /admin logs.",
    },
}
