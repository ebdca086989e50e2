"""/admin prompt: who the bot is to be, in the owner's words: for all, or for one place. Knows lengths and places.

Does not know how a model is told: that, and that the rules of the house come first, is `core.prompts`.
"""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide
from core.features.admin.decisions import OFF, DecisionKind
from core.features.admin.scope import Scope, scoped
from core.features.admin.verb import Verb
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
DEFAULT: Final = "default"
MAX_PERSONA_CHARS: Final = 2_000


async def prompt(request: Request, argument: str) -> None:
    """Show the persona, give one, or take it away. In a place, off means none there, default that of the bot."""
    scope, text = scoped(request, argument)
    word = text.casefold()
    if not text:
        await _show(request, scope)
        return
    if len(text) > MAX_PERSONA_CHARS:
        await request.tell(TOO_LONG, chars=len(text), max_chars=MAX_PERSONA_CHARS)
        return
    if word == DEFAULT or (word == OFF and not scope.name):
        text = ""
    await decide(request, DecisionKind.PROMPT, scope.name, OFF if word == OFF and scope.name else text)
    if text and word != OFF and request.context.machine.models.is_limited("chat"):
        await request.tell(NO_MODEL)


async def _show(request: Request, scope: Scope) -> None:
    decisions, locale = request.context.stores.decisions, request.locale
    own = await decisions.value(DecisionKind.PROMPT, scope.name)
    persona = own or await decisions.value(DecisionKind.PROMPT)
    how = HOW[locale].format(here=scope.word, max_chars=MAX_PERSONA_CHARS)
    if not persona or persona == OFF:
        lines = [NONE[locale].format(where=scope.told(locale))]
    else:
        lines = [HOLDS[locale].format(where=scope.told(locale)), _quoted(persona)]
        if not own:
            lines.append(INHERITED[locale])
        if request.context.machine.models.is_limited("chat"):
            lines.append(NO_MODEL[locale])
    await request.turn.tell("\n".join([*lines, "", how]))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


HOLDS: Localized = {
    PT: "A persona que vale {where}:",
    EN: "The persona that holds {where}:",
    ES: "La persona que vale {where}:",
}
INHERITED: Localized = {
    PT: "(é a do bot todo; este lugar não tem uma sua)",
    EN: "(that of the whole bot; this place has none of its own)",
    ES: "(es la de todo el bot; este lugar no tiene una propia)",
}
NONE: Localized = {
    PT: "Não há persona {where}: sou o Elefante.",
    EN: "There is no persona {where}: I am Elefante.",
    ES: "No hay persona {where}: soy Elefante.",
}
HOW: Localized = {
    PT: "Para mudar: /admin prompt{here} TEXTO (até {max_chars} caracteres). Sem persona: /admin prompt{here} off. "
    "As regras da casa (só a memória de cada um, nada inventado) valem sempre.",
    EN: "To change it: /admin prompt{here} TEXT (up to {max_chars} characters). No persona: /admin prompt{here} off. "
    "The rules of the house (each one's own memory, nothing made up) always hold.",
    ES: "Para cambiarla: /admin prompt{here} TEXTO (hasta {max_chars} caracteres). Sin: /admin prompt{here} off. "
    "Las reglas de la casa (solo la memoria de cada uno, nada inventado) valen siempre.",
}
TOO_LONG: Localized = {
    PT: "Isso tem {chars} caracteres; uma persona tem até {max_chars}. Nada foi alterado.",
    EN: "That has {chars} characters; a persona has up to {max_chars}. Nothing was changed.",
    ES: "Eso tiene {chars} caracteres; una persona tiene hasta {max_chars}. No se cambió nada.",
}
NO_MODEL: Localized = {
    PT: "Agora respondo sem modelo de linguagem, e assim não sei seguir uma persona; ela vale quando houver um "
    "(/admin model).",
    EN: "I now answer without a language model, and so cannot follow a persona; it holds once there is one "
    "(/admin model).",
    ES: "Ahora respondo sin modelo de lenguaje, y así no sé seguir una persona; valdrá cuando haya uno (/admin model).",
}

PROMPT = Verb(
    "prompt",
    {PT: "quem o bot é", EN: "who the bot is", ES: "quién es el bot"},
    prompt,
    " [here] [TEXT | off | default]",
    for_owners=True,
    in_rooms=True,
)
