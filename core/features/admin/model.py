"""/admin model: which model thinks what, changed while the bot runs. Knows modes and doubts. Knows no provider."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide
from core.features.admin.decisions import DecisionKind
from core.features.admin.machine import Doubt
from core.features.admin.verb import Verb
from core.models import MODES
from core.outgoing import Button
from core.text.catalogue import text
from core.text.unicode import one_line
from core.types import Localized

DEFAULT: Final = "default"
EMBEDDING: Final = "embedding"
_MAX_NAME_CHARS: Final = 200


async def model(request: Request, argument: str) -> None:
    """Show what is asked in which mode, or have another model asked: proved first, then put in place."""
    mode, _, rest = argument.casefold().partition(" ")
    name = "".join(argument[len(mode) :].split())
    if not mode:
        await _show(request)
    elif mode == EMBEDDING:
        await request.tell(NOT_HOT, space=request.context.models.embedder.space)
    elif mode not in MODES or not rest.strip() or len(name) > _MAX_NAME_CHARS:
        await request.tell(HOW, modes=", ".join(MODES))
    elif name.casefold() == DEFAULT:
        await decide(request, DecisionKind.MODEL, mode, "")
    else:
        await _put(request, mode, name)


async def _put(request: Request, mode: str, name: str) -> None:
    await request.turn.status(PROVING[request.locale].format(name=name))
    proof = await request.context.machine.models.prove(mode, name)
    if proof.doubt is not None:
        said = DOUBTS[proof.doubt][request.locale].format(about=one_line(proof.about, 80), detail=proof.detail)
        await request.turn.tell(f"{said} {UNCHANGED[request.locale]}")
        return
    await decide(request, DecisionKind.MODEL, mode, name)
    if not proof.priced:
        await request.tell(UNPRICED, name=name)


async def _show(request: Request) -> None:
    locale = request.locale
    decided = await request.context.stores.decisions.values(DecisionKind.MODEL)
    lines = [_line(request, mode, decided.get(mode, "")) for mode in MODES]
    lines.append(f"`{EMBEDDING}` — {request.context.models.embedder.space} · {COLD[locale]}")
    back = [
        Button(BACK[locale].format(mode=mode), f"/admin model {mode} {DEFAULT}") for mode in MODES if mode in decided
    ]
    await request.turn.tell(
        "\n".join([TITLE[locale], *lines, "", HOW[locale].format(modes=", ".join(MODES))]), choices=back
    )


def _line(request: Request, mode: str, decided: str) -> str:
    """Return what is asked in a mode, and where that comes from."""
    models, locale = request.context.machine.models, request.locale
    held, usual = models.held(mode), models.usual(mode)
    if not decided:
        origin = SET[locale]
    elif held == decided:
        origin = DECIDED[locale].format(usual=usual)
    else:
        origin = LOST[locale].format(decided=decided)
    return f"`{mode}` ({ABOUT[mode][locale]}) — {held} · {origin}"


TITLE = text("admin.model.title")
ABOUT: dict[str, Localized] = {
    "heavy": text("admin.model.about.heavy"),
    "reasoning": text("admin.model.about.reasoning"),
    "chat": text("admin.model.about.chat"),
    "summary": text("admin.model.about.summary"),
}
SET = text("admin.model.set")
DECIDED = text("admin.model.decided")
LOST = text("admin.model.lost")
COLD = text("admin.model.cold")
NOT_HOT = text("admin.model.not_hot")
HOW = text("admin.model.how")
BACK = text("admin.model.back")
PROVING = text("admin.model.proving")
DOUBTS: dict[Doubt, Localized] = {
    Doubt.FORM: text("admin.model.doubts.form"),
    Doubt.PROVIDER: text("admin.model.doubts.provider"),
    Doubt.KEY: text("admin.model.doubts.key"),
    Doubt.ANSWER: text("admin.model.doubts.answer"),
}
UNCHANGED = text("admin.model.unchanged")
UNPRICED = text("admin.model.unpriced")

MODEL = Verb(
    "model",
    text("admin.commands.model"),
    model,
    " [MODE [PROVIDER:MODEL | default]]",
    for_owners=True,
)
