"""/admin model: show which model answers in which mode, and change it while the bot runs, once it was tried."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.admin import Verb
from core.features.admin.decide import Decider
from core.features.admin.decisions import DecisionKind, Decisions
from core.features.admin.machine import Doubt, ModelSwitch
from core.models import MODES
from core.outgoing import Button
from core.ports import Embedder
from core.text.catalogue import text
from core.text.unicode import one_line
from core.types import Locale, Localized

DEFAULT: Final = "default"
EMBEDDING: Final = "embedding"
_MAX_NAME_CHARS: Final = 200


class ModelVerb:
    """Offer /admin model."""

    def __init__(self, decider: Decider, decisions: Decisions, models: ModelSwitch, embedder: Embedder) -> None:
        self._decider = decider
        self._decisions = decisions
        self._models = models
        self._embedder = embedder

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        usage = " [MODE [PROVIDER:MODEL | default]]"
        return Verb("model", text("admin.commands.model"), self._model, usage, for_owners=True)

    async def _model(self, request: Request, argument: str) -> None:
        """Show what answers in each mode, or try another model and put it in place."""
        mode, _, rest = argument.casefold().partition(" ")
        name = "".join(argument[len(mode) :].split())
        if not mode:
            await self._show(request)
        elif mode == EMBEDDING:
            await request.tell(NOT_HOT, space=self._embedder.space)
        elif mode not in MODES or not rest.strip() or len(name) > _MAX_NAME_CHARS:
            await request.tell(HOW, modes=", ".join(MODES))
        elif name.casefold() == DEFAULT:
            await self._decider.decide(request, DecisionKind.MODEL, mode, "")
        else:
            await self._put(request, mode, name)

    async def _put(self, request: Request, mode: str, name: str) -> None:
        await request.turn.status(PROVING[request.locale].format(name=name))
        proof = await self._models.prove(mode, name)
        if proof.doubt is not None:
            said = DOUBTS[proof.doubt][request.locale].format(about=one_line(proof.about, 80), detail=proof.detail)
            await request.turn.tell(f"{said} {UNCHANGED[request.locale]}")
            return
        await self._decider.decide(request, DecisionKind.MODEL, mode, name)
        if not proof.priced:
            await request.tell(UNPRICED, name=name)

    async def _show(self, request: Request) -> None:
        locale = request.locale
        decided = await self._decisions.values(DecisionKind.MODEL)
        lines = [self._line(mode, decided.get(mode, ""), locale) for mode in MODES]
        lines.append(f"`{EMBEDDING}` — {self._embedder.space} · {COLD[locale]}")
        back = [
            Button(BACK[locale].format(mode=mode), f"/admin model {mode} {DEFAULT}")
            for mode in MODES
            if mode in decided
        ]
        how = HOW[locale].format(modes=", ".join(MODES))
        await request.turn.tell("\n".join([TITLE[locale], *lines, "", how]), choices=back)

    def _line(self, mode: str, decided: str, locale: Locale) -> str:
        """Return what answers in a mode, and where that comes from."""
        held, usual = self._models.held(mode), self._models.usual(mode)
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
