"""/admin model: show which model answers in which mode, and change it while the bot runs, once it was tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.commands.command import CompletionRequest, Request
from core.commands.completion import offered
from core.commands.menu import choice_field, completed_field
from core.commands.table import offer_of
from core.features.admin.admin import Verb, WrongUse
from core.features.admin.decide import Decider
from core.features.admin.decisions import ALL_MODES, DecisionKind, Decisions, of_modes
from core.features.admin.machine import Doubt, ModelSwitch, Proof
from core.models import MODES
from core.outgoing import Button, Choice
from core.ports import Embedder
from core.text.catalogue import text
from core.text.nearest import nearest
from core.text.unicode import one_line
from core.types import Locale, Localized

DEFAULT: Final = "default"
EMBEDDING: Final = "embedding"
KINDS: Final = ("heavy", "chat")
"""A mode of each kind of question: a choice out of several names, and plain text."""

_FIRST_WORDS: Final = (*MODES, ALL_MODES, EMBEDDING)
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
        usage, example = " [PROVIDER:MODEL | MODE PROVIDER:MODEL | [MODE] default]", "chat openai:gpt-6-luna"
        modes = {**ABOUT, ALL_MODES: text("menus.modes.all")}
        fields = (
            choice_field("mode", text("menus.fields.mode"), modes),
            completed_field("model", text("menus.fields.model")),
        )
        return Verb(
            "model",
            text("admin.commands.model"),
            self._model,
            usage,
            example,
            for_owners=True,
            fields=fields,
            complete=self._offer,
        )

    async def _offer(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return the models that can be asked and have a price, after that of the settings."""
        usual = Choice(SETTINGS[request.locale], DEFAULT)
        return offered(request.typed, (usual, *(Choice(name, name) for name in self._models.names())))

    async def _model(self, request: Request, argument: str) -> None:
        """Show what answers in each mode, or try another model and put it in place, in one mode or in all."""
        first, _, rest = argument.partition(" ")
        mode, name = first.casefold(), "".join(rest.split())
        if mode and mode not in _FIRST_WORDS:
            meant = nearest(first, _FIRST_WORDS)
            if ":" not in first and (meant or rest):
                raise WrongUse(self._no_mode(first, meant, request.locale))
            mode, name = ALL_MODES, "".join(argument.split())
        if not mode:
            await self._show(request)
        elif mode == EMBEDDING:
            await request.tell(NOT_HOT, space=self._embedder.space)
        elif not name or len(name) > _MAX_NAME_CHARS:
            raise WrongUse(WHICH[request.locale])
        elif name.casefold() == DEFAULT:
            await self._decider.decide(request, DecisionKind.MODEL, mode, "")
        else:
            await self._put(request, mode, name)

    @staticmethod
    def _no_mode(name: str, meant: str, locale: Locale) -> str:
        said = NO_MODE[locale].format(name=one_line(name, 80), modes=", ".join((*MODES, ALL_MODES)))
        return f"{said} {MEANT[locale].format(command=meant)}" if meant else said

    async def _put(self, request: Request, mode: str, name: str) -> None:
        """Prove the model by one question of each kind that it is to answer, and put it in place."""
        await request.answer.status(PROVING[request.locale].format(name=name))
        priced = True
        for kind in KINDS if mode == ALL_MODES else (mode,):
            proof = await self._models.prove(kind, name)
            if proof.doubt is not None:
                await self._doubt(request, mode, proof, proof.doubt)
                return
            priced = priced and proof.priced
        value = of_modes(dict.fromkeys(MODES, name)) if mode == ALL_MODES else name
        await self._decider.decide(request, DecisionKind.MODEL, mode, value)
        if not priced:
            await request.tell(UNPRICED, name=name)

    async def _doubt(self, request: Request, mode: str, proof: Proof, doubt: Doubt) -> None:
        """Say why nothing was changed, and offer the model that was meant perhaps."""
        locale = request.locale
        said = DOUBTS[doubt][locale].format(about=one_line(proof.about, 80), detail=proof.detail)
        lines, command = [f"{said} {UNCHANGED[locale]}"], f"/admin model {mode} {proof.nearest}"
        if proof.nearest:
            lines.append(MEANT[locale].format(command=f"`{command}`"))
        await request.answer.tell("\n".join(lines), choices=offer_of(command) if proof.nearest else ())

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
        if len(back) > 1:
            back = [Button(ALL_BACK[locale], f"/admin model {ALL_MODES} {DEFAULT}"), *back]
        how = HOW[locale].format(modes=", ".join(MODES))
        await request.answer.tell("\n".join([TITLE[locale], *lines, "", how]), choices=back)

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


SETTINGS = text("menus.settings")
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
ALL_BACK = text("admin.model.all_back")
WHICH = text("admin.model.which")
NO_MODE = text("admin.model.no_mode")
MEANT = text("admin.model.meant")
PROVING = text("admin.model.proving")
DOUBTS: dict[Doubt, Localized] = {
    Doubt.FORM: text("admin.model.doubts.form"),
    Doubt.PROVIDER: text("admin.model.doubts.provider"),
    Doubt.KEY: text("admin.model.doubts.key"),
    Doubt.ANSWER: text("admin.model.doubts.answer"),
}
UNCHANGED = text("admin.model.unchanged")
UNPRICED = text("admin.model.unpriced")
