"""/link and /unlink: two accounts of one person, one memory. Knows codes, and what is to be said before it is done.

A code shows that whoever enters it has seen the other account. That is not enough: somebody could be talked into
entering a stranger's. So the one who enters it is told whose it is and what they would hand over, and says yes to that
in a message or press of its own, sent after they were told.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.commands.command import Command, Request
from core.features.links.codes import LinkCode
from core.history.withheld import withhold
from core.outgoing import Button, OutgoingMessage
from core.text.markdown import verbatim
from core.text.plural import Counted, counted
from core.text.unicode import one_line
from core.types import Locale, Localized, UserKey

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
VALID_FOR: Final = timedelta(minutes=10)
YES: Final = "yes"
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that is taken for a digit
_CODE_CHARS: Final = 8
_MAX_NAME_CHARS: Final = 64


async def link(request: Request, argument: str) -> None:
    """Give a code, or show what entering one would do, or do it."""
    code, _, said = argument.partition(" ")
    accounts = await request.context.stores.memories.accounts(request.incoming.user)
    if len(accounts) > 1:
        await request.turn.tell(
            LINKED[request.locale].format(accounts=_listed(accounts)),
            choices=[Button(PART[request.locale], "/unlink")],
        )
    elif not code:
        await _give_code(request)
    else:
        await _enter(request, code, sure=said.strip().casefold() == YES)


async def unlink(request: Request, argument: str) -> None:
    """Say who keeps what, or part the accounts."""
    context, user = request.context, request.incoming.user
    memories = context.stores.memories
    accounts = await memories.accounts(user)
    if len(accounts) == 1:
        await request.tell(NOT_LINKED)
        return
    counts = await memories.counts(accounts[0])
    keeps = "\n".join(
        counted(KEEPS, request.locale, counts.get(account, 0), account=verbatim(str(account))) for account in accounts
    )
    if argument.strip().casefold() != YES:
        await request.turn.tell(
            UNLINK[request.locale].format(keeps=keeps), choices=[Button(PART[request.locale], f"/unlink {YES}")]
        )
        return
    await _part(request, accounts)
    await request.turn.tell(PARTED[request.locale].format(keeps=keeps))
    for other in accounts:
        if other != user:
            await context.notifier.tell(other, OutgoingMessage(PARTED[request.locale].format(keeps=keeps)))


async def _part(request: Request, accounts: Sequence[UserKey]) -> None:
    """Part the accounts; what each heard of the others' memories stays out of its prompts from now on."""
    memories, history = request.context.stores.memories, request.context.stores.history
    for conversation, running in list(request.running.items()):
        if conversation.user in accounts and (
            conversation != request.incoming.conversation or request.incoming.pressed
        ):
            running.stop()  # it would go on with the joint memory

    async def withhold_others() -> None:
        for account in accounts:
            await withhold(history, account, await memories.from_account(account))

    await withhold_others()  # first: a crash must not leave parted accounts with each other's words
    for other in accounts[1:]:
        await memories.unlink(accounts[0], other)
    await withhold_others()  # and what was said in between


async def _give_code(request: Request) -> None:
    context, incoming = request.context, request.incoming
    now = context.clock.now()
    await context.stores.links.drop(now - VALID_FOR)
    code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
    name = one_line(incoming.user_name, _MAX_NAME_CHARS)
    await context.stores.links.put(LinkCode(_digest(code), incoming.user, name, now))
    minutes = int(VALID_FOR.total_seconds() // 60)
    await request.tell(CODE, code=f"{code[:4]}-{code[4:]}", minutes=minutes)


async def _enter(request: Request, code: str, *, sure: bool) -> None:
    context, user = request.context, request.incoming.user
    memories = context.stores.memories
    found = await context.stores.links.find(_digest(code))
    if found is None or context.clock.now() - found.at > VALID_FOR:
        await request.tell(NO_CODE)
    elif found.user == user:
        await request.tell(SAME_ACCOUNT)
    elif len(await memories.accounts(found.user)) > 1:
        await request.tell(OTHER_LINKED)
    elif not sure or not _was_told(request, found):
        await _ask(request, found, code)
    else:
        await _join(request, found)


def _was_told(request: Request, found: LinkCode) -> bool:
    """Whether the person was told what the code gives away before they sent this. Platforms count whole seconds."""
    incoming = request.incoming
    if found.asked != incoming.user or found.asked_at is None:
        return False
    return incoming.at >= found.asked_at.replace(microsecond=0)


async def _join(request: Request, found: LinkCode) -> None:
    """Link the accounts, unless the code was used or an account was linked in the meantime."""
    context, user = request.context, request.incoming.user
    if not await context.stores.links.take(found.digest):
        await request.tell(NO_CODE)
        return
    try:
        await context.stores.memories.link(found.user, user)
    except ValueError:
        accounts = await context.stores.memories.accounts(user)
        await request.tell(LINKED if len(accounts) > 1 else OTHER_LINKED, accounts=_listed(accounts))
        return
    told = DONE[request.locale].format(accounts=_listed([found.user, user]))
    await request.turn.tell(told)
    await context.notifier.tell(found.user, OutgoingMessage(told, choices=(Button(PART[request.locale], "/unlink"),)))


async def _ask(request: Request, found: LinkCode, code: str) -> None:
    """Say whose code it is and what entering it gives away, and note that this was said."""
    memories, links, user = request.context.stores.memories, request.context.stores.links, request.incoming.user
    mine = await memories.of(user).count()
    theirs = await memories.of(found.user).count()
    name = f" ({verbatim(found.name)})" if found.name else ""
    yours = counted(YOURS, request.locale, mine)
    other = counted(OTHERS, request.locale, theirs, account=verbatim(str(found.user)) + name)
    await request.turn.tell(
        ASK[request.locale].format(yours=yours, other=other, account=verbatim(str(found.user)) + name),
        choices=[Button(JOIN[request.locale], f"/link {_plain(code)} {YES}")],
    )
    await request.turn.view.flush()
    if found.asked != user:  # else a yes that is pressed at once would never come late enough
        await links.put(replace(found, asked=user, asked_at=request.context.clock.now()))


def _listed(accounts: Sequence[UserKey]) -> str:
    return ", ".join(verbatim(str(account)) for account in accounts)


def _plain(code: str) -> str:
    return code.replace("-", "").strip().upper()[:_CODE_CHARS]


def _digest(code: str) -> str:
    """Return what is kept of a code: who reads the database cannot enter it."""
    return hashlib.sha256(_plain(code).encode()).hexdigest()


CODE: Localized = {
    PT: "Para que a sua outra conta e esta tenham uma só memória, escreva para mim na outra conta, em particular, nos "
    "próximos {minutes} minutos:\n\n`/link {code}`\n\nNão dê este código a ninguém: quem o usa passa a ler o que eu "
    "guardo de você.",
    EN: "For your other account and this one to have one memory, write to me from the other account, in private, "
    "within {minutes} minutes:\n\n`/link {code}`\n\nGive this code to nobody: whoever uses it reads what I keep of "
    "you.",
    ES: "Para que tu otra cuenta y esta tengan una sola memoria, escríbeme desde la otra cuenta, en privado, en los "
    "próximos {minutes} minutos:\n\n`/link {code}`\n\nNo des este código a nadie: quien lo usa podrá leer lo que "
    "guardo de ti.",
}
ASK: Localized = {
    PT: "Este código é da conta {account}. Unindo as duas, cada uma vê e muda tudo: {yours} e {other}. "
    "**Só diga sim se as duas contas são suas.** Se alguém lhe pediu para escrever isto, não continue.",
    EN: "This code is from the account {account}. Once linked, each sees and changes everything: {yours} and {other}. "
    "**Only say yes if both accounts are yours.** If somebody asked you to write this, stop here.",
    ES: "Este código es de la cuenta {account}. Al unirlas, cada una ve y cambia todo: {yours} y {other}. "
    "**Di que sí solo si las dos cuentas son tuyas.** Si alguien te pidió que escribieras esto, no sigas.",
}
YOURS: Counted = {
    PT: {"one": "{count} memória desta conta", "other": "{count} memórias desta conta"},
    EN: {"one": "{count} memory of this account", "other": "{count} memories of this account"},
    ES: {"one": "{count} memoria de esta cuenta", "other": "{count} memorias de esta cuenta"},
}
OTHERS: Counted = {
    PT: {"one": "{count} de {account}", "other": "{count} de {account}"},
    EN: {"one": "{count} of {account}", "other": "{count} of {account}"},
    ES: {"one": "{count} de {account}", "other": "{count} de {account}"},
}
JOIN: Localized = {PT: "São minhas: unir", EN: "Both are mine: link", ES: "Son mías: unir"}
PART: Localized = {PT: "Separar as contas", EN: "Unlink", ES: "Separar las cuentas"}
DONE: Localized = {
    PT: "Pronto: {accounts} têm agora uma só memória. Para separá-las de novo: /unlink",
    EN: "Done: {accounts} have one memory now. To part them again: /unlink",
    ES: "Listo: {accounts} tienen ahora una sola memoria. Para separarlas de nuevo: /unlink",
}
LINKED: Localized = {
    PT: "Estas contas têm uma só memória: {accounts}. Para separá-las: /unlink",
    EN: "These accounts have one memory: {accounts}. To part them: /unlink",
    ES: "Estas cuentas tienen una sola memoria: {accounts}. Para separarlas: /unlink",
}
UNLINK: Localized = {
    PT: "Separando as contas, cada uma fica com o que me disse:\n{keeps}\nPara separar: /unlink yes",
    EN: "Parted, each account keeps what it told me:\n{keeps}\nTo part them: /unlink yes",
    ES: "Al separarlas, cada cuenta se queda con lo que me dijo:\n{keeps}\nPara separarlas: /unlink yes",
}
KEEPS: Counted = {
    PT: {"one": "• {account}: {count} memória", "other": "• {account}: {count} memórias"},
    EN: {"one": "• {account}: {count} memory", "other": "• {account}: {count} memories"},
    ES: {"one": "• {account}: {count} memoria", "other": "• {account}: {count} memorias"},
}
PARTED: Localized = {
    PT: "As contas estão separadas:\n{keeps}",
    EN: "The accounts are parted:\n{keeps}",
    ES: "Las cuentas están separadas:\n{keeps}",
}
NOT_LINKED: Localized = {
    PT: "Esta conta não está unida a nenhuma outra. Para unir: /link",
    EN: "This account is not linked to another. To link one: /link",
    ES: "Esta cuenta no está unida a ninguna otra. Para unirla: /link",
}
NO_CODE: Localized = {
    PT: "Esse código não existe, já foi usado ou tem mais de dez minutos. Peça outro com /link na outra conta.",
    EN: "There is no such code, or it was used, or it is older than ten minutes. Get another with /link there.",
    ES: "Ese código no existe, ya se usó o tiene más de diez minutos. Pide otro con /link en la otra cuenta.",
}
SAME_ACCOUNT: Localized = {
    PT: "Esse código é desta mesma conta. Escreva-o na outra.",
    EN: "That code is from this very account. Enter it in the other one.",
    ES: "Ese código es de esta misma cuenta. Escríbelo en la otra.",
}
OTHER_LINKED: Localized = {
    PT: "A conta desse código já está unida a outra. Nada foi mudado.",
    EN: "The account of that code is linked to another already. Nothing was changed.",
    ES: "La cuenta de ese código ya está unida a otra. No se cambió nada.",
}

LINK = Command(
    "link",
    {PT: "une a sua conta de outra plataforma", EN: "link your other account", ES: "une tu otra cuenta"},
    link,
    usage=" [CODE]",
    in_private=True,
)
UNLINK_COMMAND = Command(
    "unlink",
    {PT: "separa as contas unidas", EN: "part linked accounts", ES: "separa las cuentas unidas"},
    unlink,
    in_private=True,
)
