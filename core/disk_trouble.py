"""Tell the owners of a database that is damaged, or a disk that is full: what happened, and what to do."""

from __future__ import annotations

import logging
from typing import Final

from core.delivery.alerts import OwnerAlerts
from core.errors import Damaged, DiskFull, StorageError
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_log = logging.getLogger(__name__)

DAMAGED, FULL = "database-damaged", "disk-full"


async def report(alerts: OwnerAlerts, error: StorageError) -> None:
    """Log the error, and tell the owners once if they can end it."""
    _log.log(logging.ERROR if isinstance(error, Damaged | DiskFull) else logging.WARNING, "storage: %s", error)
    try:
        if isinstance(error, Damaged):
            await alerts.tell(DAMAGED, IS_DAMAGED)
        elif isinstance(error, DiskFull):
            await alerts.tell(FULL, IS_FULL)
    except StorageError as failure:
        _log.error("the owners cannot be told: %s", failure)


async def written(alerts: OwnerAlerts) -> None:
    """End the trouble with a full disk: something could be written."""
    if alerts.is_open(FULL):
        await alerts.over(FULL, HAS_ROOM)


IS_DAMAGED: Final[Localized] = {
    PT: "⚠️ O banco de dados está danificado: não consigo mais ler nem guardar tudo. Pare o bot, veja as cópias com "
    "`elefante backup --list` e volte a última boa com `elefante restore ARQUIVO`.",
    EN: "⚠️ The database is damaged: I can no longer read or keep everything. Stop the bot, see the backups with "
    "`elefante backup --list`, and put the last good one back with `elefante restore FILE`.",
    ES: "⚠️ La base de datos está dañada: ya no puedo leer ni guardar todo. Detén el bot, mira las copias con "
    "`elefante backup --list` y restaura la última buena con `elefante restore ARCHIVO`.",
}
IS_FULL: Final[Localized] = {
    PT: "⚠️ O disco está cheio: não consigo guardar mais nada. Libere espaço no disco da pasta de dados; depois sigo "
    "sozinho.",
    EN: "⚠️ The disk is full: I cannot keep anything new. Make room on the disk of the data folder; I go on by myself "
    "then.",
    ES: "⚠️ El disco está lleno: no puedo guardar nada nuevo. Libera espacio en el disco de la carpeta de datos; "
    "después sigo solo.",
}
HAS_ROOM: Final[Localized] = {
    PT: "O disco tem espaço de novo: voltei a guardar.",
    EN: "The disk has room again: I keep things as before.",
    ES: "El disco tiene espacio otra vez: vuelvo a guardar.",
}
