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
from core.text.catalogue import text

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


HOLDS = text("admin.prompt.holds")
INHERITED = text("admin.prompt.inherited")
NONE = text("admin.prompt.none")
HOW = text("admin.prompt.how")
TOO_LONG = text("admin.prompt.too_long")
NO_MODEL = text("admin.prompt.no_model")

PROMPT = Verb(
    "prompt",
    text("admin.commands.prompt"),
    prompt,
    " [here] [TEXT | off | default]",
    for_owners=True,
    in_rooms=True,
)
