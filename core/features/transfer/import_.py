"""/import: memories out of a file. Knows what is asked before and said after. Does not know the forms of files.

OutgoingMessage first, and saved as one act once the person says yes: one /undo takes it all back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from core.actions.undo import undo_button
from core.commands.command import Command, Request
from core.errors import ChannelError, ChannelGone, FileTooLarge
from core.features.preferences.choices import NOT_REMEMBERING
from core.features.transfer import parsing as intake
from core.features.transfer.parsing import Intake, Taken
from core.outgoing import Button
from core.text.plural import Counted, counted
from core.types import Locale, Localized, Vector

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_MEGABYTE: Final = 1_000_000
_EMBEDDED_AT_ONCE: Final = 50
"""Memories that get vectors before they are saved; those of a larger file are found by their words until they have."""


async def import_(request: Request, argument: str) -> None:
    """Show what is in the file that came with the command, or save what was shown."""
    if not request.turn.remembers:
        await request.tell(NOT_REMEMBERING)
    elif request.incoming.file:
        await _preview(request)
    elif argument:
        await _confirmed(request, argument)
    else:
        await request.tell(HOW_TO_IMPORT, megabytes=intake.MAX_BYTES // _MEGABYTE)


async def _preview(request: Request) -> None:
    await request.turn.status(READING[request.locale])
    held = await _held(request)
    if held is None:
        return
    if not held.taken:
        await request.tell(NOTHING_IN_IT)
        return
    locale, known = request.locale, len(await _known(request, held.taken))
    heard = sum(bool(each.shared or each.rooms) for each in held.taken)
    code = await request.context.confirmations.ask(request.incoming.conversation, held)
    lines = [counted(IN_IT, locale, len(held.taken))]
    lines += [counted(KNOWN, locale, known)] if known else []
    lines += [counted(REFUSED, locale, held.refused)] if held.refused else []
    lines += [counted(HEARD, locale, heard)] if heard else []
    lines.append(TO_CONFIRM[locale].format(code=code))
    confirm = Button(counted(SAVE, locale, len(held.taken)), f"/import {code}", in_place=True)
    await request.turn.tell("\n".join(lines), choices=[confirm])


async def _held(request: Request) -> Intake | None:
    """Return what is in the file, or None after telling why it cannot be imported."""
    accounts = await request.context.stores.memories.accounts(request.incoming.user)
    try:
        raw = await request.fetch(intake.MAX_BYTES)
        return await asyncio.to_thread(intake.read, raw, accounts)
    except ChannelGone:
        raise
    except FileTooLarge:
        await request.tell(TOO_LARGE, megabytes=intake.MAX_BYTES // _MEGABYTE)
    except ChannelError:
        await request.tell(NOT_HAD)
    except intake.NotText:
        await request.tell(NOT_TEXT)
    except intake.TooDeep:
        await request.tell(TOO_DEEP)
    except intake.TooNew:
        await request.tell(TOO_NEW)
    except intake.TooMany:
        await request.tell(TOO_MANY, count=intake.MAX_MEMORIES)
    except intake.NotReadable as error:
        await request.tell(BAD_LINE if error.line else BAD_FILE, line=error.line)
    return None


async def _known(request: Request, taken: Sequence[Taken]) -> set[str]:
    """Return the ids of the memories that the file has and the person, too."""
    memory = request.turn.memory
    found = [await memory.store.find(memory.owner, each.draft.kind, each.draft.content) for each in taken]
    return {item.id for item in found if item is not None}


async def _confirmed(request: Request, code: str) -> None:
    held = await request.context.confirmations.take(request.incoming.conversation, code, Intake)
    if held is None:
        await request.tell(NOT_CONFIRMED)
        return
    await request.turn.status(SAVING[request.locale])
    known = await _known(request, held.taken)
    await _save(request, held.taken, known)
    lines = [counted(SAVED, request.locale, len(held.taken) - len(known))]
    lines += [counted(KNOWN, request.locale, len(known))] if known else []
    await request.turn.tell("\n".join(lines), choices=await undo_button(request.turn))


async def _save(request: Request, taken: Sequence[Taken], known: Collection[str]) -> None:
    """Keep what the file has; what is known already goes on to be heard where it is heard now, and nowhere else."""
    memory = request.turn.memory
    drafts = [each.draft for each in taken]
    vectors: Mapping[str, Vector] = {}
    if len(drafts) <= _EMBEDDED_AT_ONCE:
        vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    items = await memory.save(drafts, vectors)
    said_in: defaultdict[str, list[str]] = defaultdict(list)
    for each, item in zip(taken, items, strict=True):
        shared = item.shared if item.id in known else each.shared
        if (each.pinned or item.pinned, shared) != (item.pinned, item.shared):
            await memory.flag(item.id, pinned=each.pinned or item.pinned, shared=shared)
        for room in each.rooms if item.id not in known else ():
            said_in[room].append(item.id)
    for room, memory_ids in said_in.items():
        await memory.store.put_room(memory.owner, memory_ids, room)


READING: Localized = {PT: "Lendo o arquivo…", EN: "Reading the file…", ES: "Leyendo el archivo…"}
SAVING: Localized = {PT: "Guardando…", EN: "Saving…", ES: "Guardando…"}
HOW_TO_IMPORT: Localized = {
    PT: "Envie um arquivo de até {megabytes} MB com a legenda /import: o que /export dá, uma lista JSON de memórias, "
    "ou uma memória JSON por linha. Mostro o que há nele antes de guardar. No terminal: /import ARQUIVO",
    EN: "Send a file of at most {megabytes} MB with the caption /import: what /export gives, a JSON list of memories, "
    "or one JSON memory a line. I show what is in it before anything is saved. In the terminal: /import FILE",
    ES: "Envía un archivo de hasta {megabytes} MB con el texto /import: lo que da /export, una lista JSON de memorias, "
    "o una memoria JSON por línea. Muestro qué contiene antes de guardar. En la terminal: /import ARCHIVO",
}
IN_IT: Counted = {
    PT: {"one": "O arquivo tem {count} memória.", "other": "O arquivo tem {count} memórias."},
    EN: {"one": "The file holds {count} memory.", "other": "The file holds {count} memories."},
    ES: {"one": "El archivo tiene {count} memoria.", "other": "El archivo tiene {count} memorias."},
}
KNOWN: Counted = {
    PT: {"one": "{count} eu já conheço.", "other": "{count} eu já conheço."},
    EN: {"one": "{count} I know already.", "other": "{count} I know already."},
    ES: {"one": "{count} ya la conozco.", "other": "{count} ya las conozco."},
}
REFUSED: Counted = {
    PT: {
        "one": "{count} fica de fora: não tem texto, ou é longa demais.",
        "other": "{count} ficam de fora: não têm texto, ou são longas demais.",
    },
    EN: {
        "one": "{count} is left out: it has no text, or is too long.",
        "other": "{count} are left out: they have no text, or are too long.",
    },
    ES: {
        "one": "{count} queda fuera: no tiene texto, o es demasiado larga.",
        "other": "{count} quedan fuera: no tienen texto, o son demasiado largas.",
    },
}
HEARD: Counted = {
    PT: {
        "one": "De {count} posso falar em salas, como diz o arquivo, se eu ainda não a conheço.",
        "other": "De {count} posso falar em salas, como diz o arquivo, se eu ainda não as conheço.",
    },
    EN: {
        "one": "I may speak of {count} in rooms, as the file says, unless I know it already.",
        "other": "I may speak of {count} in rooms, as the file says, unless I know them already.",
    },
    ES: {
        "one": "De {count} puedo hablar en salas, como dice el archivo, si todavía no la conozco.",
        "other": "De {count} puedo hablar en salas, como dice el archivo, si todavía no las conozco.",
    },
}
SAVE: Counted = {
    PT: {"one": "📥 Guardar esta", "other": "📥 Guardar estas {count}"},
    EN: {"one": "📥 Save this one", "other": "📥 Save these {count}"},
    ES: {"one": "📥 Guardar esta", "other": "📥 Guardar estas {count}"},
}
TO_CONFIRM: Localized = {
    PT: "Ainda não guardei nada. Para guardar, em até 10 minutos: /import {code}",
    EN: "Nothing is saved yet. To save it, within 10 minutes: /import {code}",
    ES: "Todavía no guardé nada. Para guardar, en 10 minutos como máximo: /import {code}",
}
SAVED: Counted = {
    PT: {"one": "Guardei {count} memória nova.", "other": "Guardei {count} memórias novas."},
    EN: {"one": "Saved {count} new memory.", "other": "Saved {count} new memories."},
    ES: {"one": "Guardé {count} memoria nueva.", "other": "Guardé {count} memorias nuevas."},
}
NOT_CONFIRMED: Localized = {
    PT: "Nada foi guardado: esse código não vale, ou não vale mais. Envie o arquivo de novo com /import.",
    EN: "Nothing was saved: that code does not hold, or no longer does. Send the file again with /import.",
    ES: "No guardé nada: ese código no vale, o ya no vale. Envía el archivo de nuevo con /import.",
}
NOTHING_IN_IT: Localized = {
    PT: "Não há nenhuma memória nesse arquivo. Nada foi guardado.",
    EN: "There is no memory in that file. Nothing was saved.",
    ES: "No hay ninguna memoria en ese archivo. No guardé nada.",
}
TOO_LARGE: Localized = {
    PT: "Esse arquivo é grande demais: leio até {megabytes} MB. Nada foi guardado; envie-o em partes.",
    EN: "That file is too large: I read at most {megabytes} MB. Nothing was saved; send it in parts.",
    ES: "Ese archivo es demasiado grande: leo hasta {megabytes} MB. No guardé nada; envíalo por partes.",
}
TOO_MANY: Localized = {
    PT: "Esse arquivo tem mais de {count} memórias. Nada foi guardado; envie-o em partes.",
    EN: "That file holds more than {count} memories. Nothing was saved; send it in parts.",
    ES: "Ese archivo tiene más de {count} memorias. No guardé nada; envíalo por partes.",
}
TOO_NEW: Localized = {
    PT: "Esse arquivo vem de uma versão mais nova do Elefante. Nada foi guardado; o bot precisa ser atualizado.",
    EN: "That file comes from a newer version of Elefante. Nothing was saved; the bot has to be updated.",
    ES: "Ese archivo viene de una versión más nueva de Elefante. No guardé nada; hay que actualizar el bot.",
}
NOT_HAD: Localized = {
    PT: "Não consegui ler esse arquivo. Nada foi guardado; envie-o de novo.",
    EN: "I could not read that file. Nothing was saved; please send it again.",
    ES: "No pude leer ese archivo. No guardé nada; envíalo de nuevo.",
}
NOT_TEXT: Localized = {
    PT: "Não entendo esse arquivo: não é texto em UTF-8. Nada foi guardado; salve-o em UTF-8 e envie de novo.",
    EN: "I do not understand that file: it is not text in UTF-8. Nothing was saved; store it as UTF-8 and try again.",
    ES: "No entiendo ese archivo: no es texto en UTF-8. No guardé nada; guárdalo en UTF-8 y envíalo de nuevo.",
}
TOO_DEEP: Localized = {
    PT: "Não entendo esse arquivo: o JSON dele tem níveis demais, um dentro do outro. Nada foi guardado.",
    EN: "I do not understand that file: its JSON is nested too deeply. Nothing was saved.",
    ES: "No entiendo ese archivo: su JSON tiene demasiados niveles, uno dentro de otro. No guardé nada.",
}
BAD_FILE: Localized = {
    PT: "Não entendo esse arquivo: não é o que /export dá, nem JSON com memórias. Nada foi guardado.",
    EN: "I do not understand that file: it is not what /export gives, nor JSON with memories. Nothing was saved.",
    ES: "No entiendo ese archivo: no es lo que da /export, ni JSON con memorias. No guardé nada.",
}
BAD_LINE: Localized = {
    PT: "A linha {line} desse arquivo não é JSON. Nada foi guardado.",
    EN: "Line {line} of that file is no JSON. Nothing was saved.",
    ES: "La línea {line} de ese archivo no es JSON. No guardé nada.",
}

IMPORT = Command(
    "import",
    {
        PT: "guarda as memórias de um arquivo",
        EN: "save the memories of a file",
        ES: "guarda las memorias de un archivo",
    },
    import_,
    in_private=True,
)
