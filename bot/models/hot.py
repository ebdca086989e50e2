"""Change the models of a running bot: test the new one with one tiny question, then put it in place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bot.models.chains import Chains
from bot.models.health import why_not
from bot.models.metering import EMBEDDING
from bot.models.presets import PROVIDERS, Mode
from bot.settings.models import LIMITED, ModelName, ModelSettings, model_name
from core.dialogue import Delta, Finish, Prompt, PromptContext, PromptTurn, Stop, Task, Tool, ToolCall
from core.errors import ConfigError, ProviderError, ProviderRefused
from core.features.admin.machine import Doubt, ModelSwitch, Proof
from core.models import HotModel, Models, choose, complete
from core.ports import ChatModel, Clock
from core.text.unicode import one_line
from core.text.words import nearest
from core.types import Locale, MessageRole

MODE_OF: Final[Mapping[str, Mode]] = {
    "heavy": Mode.HEAVY,
    "reasoning": Mode.REASONING,
    "chat": Mode.CHAT,
    "summary": Mode.SUMMARY,
}
PATIENCE_S: Final = 20.0
_SETTING: Final = "MODEL"
_MAX_DETAIL_CHARS: Final = 160

_SYSTEM: Final = "You are being checked. Answer as briefly as you can."
_PLAIN: Final = "Say hello in one word."
_CHOICES: Final = ("Finish", "Question")
_CHOICE: Final = 'Answer with the JSON {"action": "Finish"}.'
_MAX_SAID_CHARS: Final = 60
_TOOL: Final = Tool(
    "MemorySearch",
    "to look something up that the person asks about",
    {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "string"}},
            "then": {"type": "string", "enum": ["stop", "continue"]},
        },
        "required": ["items", "then"],
        "additionalProperties": False,
    },
)

_log = logging.getLogger(__name__)


class HotModels(ModelSwitch):
    """The models of one bot, replaceable by mode. A call under way ends with the model that it began with."""

    def __init__(
        self, settings: ModelSettings, chains: Chains, clock: Clock, *, patience_s: float = PATIENCE_S
    ) -> None:
        self._settings = settings
        self._chains = chains
        self._clock = clock
        self._patience_s = patience_s
        self._prices = chains.prices
        self._decided = dict.fromkeys(MODE_OF, "")
        usual = chains.models()
        self._places = {mode: HotModel(getattr(usual, mode)) for mode in MODE_OF}
        self.models = Models(
            heavy=self._places["heavy"],
            reasoning=self._places["reasoning"],
            chat=self._places["chat"],
            summary=self._places["summary"],
            embedder=usual.embedder,
        )
        for mode in MODE_OF:
            chains.health.put(mode, self.usual(mode))
        chains.health.put(EMBEDDING, str(settings.embedding()[0]))

    def usual(self, mode: str) -> str:
        """Return the models that the settings name for the mode."""
        return ",".join(map(str, self._settings.chain(MODE_OF[mode])))

    def held(self, mode: str) -> str:
        """Return the models in place now."""
        return self._decided[mode] or self.usual(mode)

    def is_limited(self, mode: str) -> bool:
        """Tell whether the mode's first model is limited mode."""
        return self._places[mode].name.partition(":")[0] == LIMITED

    def names(self) -> Sequence[str]:
        """Return the models with a price whose provider has what it needs, such as a key."""
        return [name for name in self._priced() if self._can_ask(name)]

    def unpriced(self) -> Sequence[str]:
        """Return the models in place whose price is not known."""
        held = {name.strip() for mode in MODE_OF for name in self.held(mode).split(",")} - {LIMITED}
        return sorted(name for name in held if self._prices.of(name) is None)

    async def read_lists(self) -> None:
        """Learn from providers' lists what is not known of the models in place: their windows and prices."""
        held = dict.fromkeys(name.strip() for mode in MODE_OF for name in self.held(mode).split(","))
        await self._chains.read_lists([model_name(name, _SETTING) for name in held if name])

    def _priced(self) -> Sequence[str]:
        return [name for name in self._prices.models if not name.endswith("*")]

    def _can_ask(self, name: str) -> bool:
        try:
            self._settings.check_provider(model_name(name, _SETTING), _SETTING)
        except ConfigError:
            return False
        return True

    async def prove(self, mode: str, name: str) -> Proof:
        """Ask each named model one tiny question of the mode's kind, waiting `patience_s` for each at most."""
        priced = True
        for written in name.split(","):
            proof = await self._prove(MODE_OF[mode], written.strip())
            if proof.doubt is not None:
                return replace(proof, nearest=self._nearest(written.strip()))
            priced = priced and proof.priced
        return Proof(priced=priced)

    def put(self, mode: str, name: str) -> None:
        """Put models in place; those of the settings for "", or if one has lost its key since it was decided."""
        names: list[ModelName] = []
        try:
            names = [model_name(written, _SETTING) for written in name.split(",") if written.strip()]
            for each in names:
                self._settings.check_provider(each, _SETTING)
        except ConfigError as error:
            _log.warning("a model that was decided cannot be asked", extra={"mode": mode, "setting": error.setting})
            name, names = "", []
        self._places[mode].model = self._chains.model(MODE_OF[mode], names)
        self._decided[mode] = name
        self._chains.health.put(mode, self.held(mode))

    def _nearest(self, written: str) -> str:
        """Return the model with a price that is most like what was written, "" if it is one of them or like none.

        A name without a provider is compared with names without one, and of one whose provider alone is unknown, that
        is mended.
        """
        known = self._priced()
        if written in known:
            return ""
        provider, colon, model = written.partition(":")
        if not colon:
            bare = {name.partition(":")[2]: name for name in known}
            return bare.get(nearest(written, bare), "")
        if found := nearest(written, known):
            return found
        meant = "" if provider in PROVIDERS else nearest(provider, PROVIDERS)
        return f"{meant}:{model}" if meant and model else ""

    async def _prove(self, mode: Mode, written: str) -> Proof:
        provider, _, _ = written.partition(":")
        if provider != LIMITED and provider not in PROVIDERS:
            return Proof(Doubt.PROVIDER, provider, ", ".join((*PROVIDERS, LIMITED)))
        try:
            name = model_name(written, _SETTING)
        except ConfigError:
            return Proof(Doubt.FORM, written)
        if name.provider == LIMITED:
            return Proof()
        try:
            self._settings.check_provider(name, _SETTING)
        except ConfigError as error:
            return Proof(Doubt.KEY, str(name), error.setting)
        return await self._asked(mode, name)

    async def _asked(self, mode: Mode, name: ModelName) -> Proof:
        [link] = self._chains.links(mode, [name])
        try:
            async with asyncio.timeout(self._patience_s):
                await prove(mode, link.model, self._clock)
        except TimeoutError:
            return Proof(Doubt.ANSWER, str(name), why=why_not(None))
        except ProviderError as error:
            _log.warning("a model that was tried does not answer: %s", one_line(str(error), _MAX_DETAIL_CHARS))
            return Proof(Doubt.ANSWER, str(name), why=why_not(error))
        await self._chains.read_lists([name])
        link.circuit.succeeded()  # it need not rest, and what was wrong with it is over
        return Proof(priced=self._prices.of(str(name)) is not None)


async def prove(mode: Mode, model: ChatModel, clock: Clock) -> str:
    """Ask a model one tiny question of the kind that its mode asks, and return the answer.

    Raises:
        ProviderError: it did not answer, or in another form.
    """
    if mode in {Mode.HEAVY, Mode.REASONING}:
        return await choose(model, _prompt(_CHOICE, clock), _CHOICES)
    asked = _prompt(_PLAIN, clock)
    if mode is Mode.CHAT:  # as a turn asks it: streamed, with tools
        return one_line(await _streamed(model, replace(asked, tools=(_TOOL,), cache_key="doctor")), _MAX_SAID_CHARS)
    return one_line((await complete(model, asked)).text, _MAX_SAID_CHARS)


async def _streamed(model: ChatModel, prompt: Prompt) -> str:
    said: list[str] = []
    async with model.stream(prompt) as events:
        async for event in events:
            match event:
                case Delta(text):
                    said.append(text)
                case ToolCall(name=name):
                    said.append(f"(calls {name})")
                case Finish(Stop.REFUSED):
                    raise ProviderRefused(f"{model.name} declined")
    return "".join(said)


def _prompt(text: str, clock: Clock) -> Prompt:
    context = PromptContext(Task.DECIDE, Locale.EN, text, clock.now(), choices=_CHOICES)
    return Prompt(_SYSTEM, (PromptTurn(MessageRole.USER, text),), context)
