"""What deleting does not reach: copies that were made before. Knows how that is said. Deletes nothing."""

from __future__ import annotations

from typing import Any

from core.text.plural import Counted, counted
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_MAX_NAMED = 10


async def leftover(context: Any, locale: Locale, *, for_owner: bool) -> str:
    """Return a sentence on the copies that still hold what was deleted, "" if there are none.

    Owners are told which they are: they can delete them.
    """
    paths = await context.stores.copies.paths()
    if not paths:
        return ""
    names = ", ".join(f"`{path.parent.name}/{path.name}`" for path in paths[-_MAX_NAMED:])
    return counted(YOURS if for_owner else THEIRS, locale, len(paths), names=names)


YOURS: Counted = {
    PT: {
        "one": "Uma cópia de antes ainda pode ter isso; apague-a da pasta de dados: {names}",
        "other": "{count} cópias de antes ainda podem ter isso; apague-as da pasta de dados: {names}",
    },
    EN: {
        "one": "One copy of before may still hold it; delete it from the data folder: {names}",
        "other": "{count} copies of before may still hold it; delete them from the data folder: {names}",
    },
    ES: {
        "one": "Una copia de antes todavía puede tenerlo; bórrala de la carpeta de datos: {names}",
        "other": "{count} copias de antes todavía pueden tenerlo; bórralas de la carpeta de datos: {names}",
    },
}
THEIRS: Counted = {
    PT: {
        "one": "Uma cópia de segurança de antes ainda tem isso; só quem cuida do bot pode apagá-la.",
        "other": "{count} cópias de segurança de antes ainda têm isso; só quem cuida do bot pode apagá-las.",
    },
    EN: {
        "one": "One backup of before still holds it; only the bot's owner can delete it.",
        "other": "{count} backups of before still hold it; only the bot's owner can delete them.",
    },
    ES: {
        "one": "Una copia de seguridad de antes todavía lo tiene; solo el dueño del bot puede borrarla.",
        "other": "{count} copias de seguridad de antes todavía lo tienen; solo el dueño del bot puede borrarlas.",
    },
}
