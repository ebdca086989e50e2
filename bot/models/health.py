"""Alarms about models: which of those in place refuses the key, has no credit, does not exist, or does not answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from bot.models.metering import EMBEDDING
from bot.models.presets import PROVIDERS
from bot.program import restart_command
from bot.settings.models import LIMITED, ModelSettings
from core.delivery.alerts import OwnerAlerts
from core.errors import BadReply, CreditGone, EmptyReply, KeyRejected, ModelUnknown, ProviderBusy, ProviderError
from core.ports import Clock
from core.providers.fallback import Circuit
from core.text.catalogue import filled, text
from core.types import Localized

_SUMMARY: Final = "summary"
_KEY, _CREDIT, _UNKNOWN, _RESTING = "key-refused", "credit-gone", "model-unknown", "models-resting"
_NAMING: Final = ("model", "model_reasoning_heavy", "model_reasoning", "model_chat", "model_summary", "model_embedding")

_STATUS: Final = re.compile(r"HTTP \d{3}")

SETTLE_S: Final = 180.0
"""How long a model that answers again must go on before its owners are told, in seconds."""


class ModelHealth:
    """What is known of the models in place. It makes their circuit breakers, and hears through them how each does.

    A key and a credit are a provider's: their alarm is one for all its models. Models that are only proved are not in
    place, and raise none.
    """

    def __init__(self, settings: ModelSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._circuits: dict[str, Circuit] = {}
        self._places: dict[str, tuple[str, ...]] = {}  # by mode: the chain of models
        self._failed: dict[str, str] = {}  # by model: the alarm that says why it does not answer
        self._alerts: OwnerAlerts | None = None

    def circuit(self, name: str) -> Circuit:
        """Return the circuit breaker of a model, the same for all its chains."""
        if name not in self._circuits:
            self._circuits[name] = Circuit(self._clock, partial(self._observed, name))
        return self._circuits[name]

    def report_to(self, alerts: OwnerAlerts) -> None:
        """Raise alarms there from now on."""
        self._alerts = alerts

    def put(self, mode: str, names: str) -> None:
        """Take these models, separated by commas, for those in place; close the alarms of others."""
        self._places[mode] = tuple(name.strip() for name in names.split(","))
        self.close_unused()

    def close_unused(self) -> None:
        """Close every alarm about models that are not in place."""
        used = {name for chain in self._places.values() for name in chain}
        for key in self._open_keys():
            kind, _, about = key.partition(":")
            names = about.split(",")
            failed = {name for name, alarm in self._failed.items() if alarm == key}
            if kind == _RESTING:
                is_used = any(set(names) <= set(chain) for chain in self._places.values())
            else:
                is_used = any(name in failed if failed else _is_about(key, name) for name in used)
            if not is_used:
                self._over(key, filled(UNUSED, model=", ".join(names)))

    def _observed(self, name: str, error: ProviderError | None) -> None:
        """Hear that a model failed, or answered (None)."""
        chains = [chain for chain in self._places.values() if name in chain]
        if self._alerts is None or not chains:
            return
        if error is None:
            own = self._failed.pop(name, "")
            for key in self._open_keys():  # one that nobody failed by was opened before this start
                if key == own or (_is_about(key, name) and key not in self._failed.values()):
                    self._over(key, filled(ANSWERS, model=name))
            return
        provider = name.partition(":")[0]
        match error:
            case CreditGone():
                self._raise(f"{_CREDIT}:{provider}", CREDIT_GONE, [name])
            case KeyRejected():
                self._raise(f"{_KEY}:{provider}", KEY_REFUSED, [name])
            case ModelUnknown():
                self._raise(f"{_UNKNOWN}:{name}", UNKNOWN, [name])
        for chain in dict.fromkeys(chains):
            asked = [each for each in chain if each != LIMITED]
            if all(map(self._is_out, asked)) and not all(map(self._is_known, asked)):
                self._raise(f"{_RESTING}:{','.join(asked)}", RESTING, asked, error)

    def _raise(self, key: str, sentence: Localized, names: Sequence[str], error: ProviderError | None = None) -> None:
        """Open the alarm about models, or bring its sentence up to date."""
        if sentence is not RESTING:
            self._failed |= dict.fromkeys(names, key)
        provider, _, model = names[0].partition(":")
        address = page = setting = ""
        if (preset := PROVIDERS.get(provider)) is not None:
            address = self._settings.address(provider)
            page = (preset.credit_page if sentence is CREDIT_GONE else "") or preset.key_page
            page = page if page and address == preset.url else address  # another server has other pages
            setting = preset.key_setting or preset.url_setting
        meanwhile, naming = self._meanwhile(names), self._named(names[0])
        if sentence is UNKNOWN:
            sentence, setting = (UNKNOWN, naming) if naming else (UNKNOWN_DECIDED, "")
        words = filled(
            sentence,
            provider=provider,
            model=", ".join(names),
            name=model,
            address=address,
            page=page,
            setting=setting,
            error=why_not(error),
            restart=restart_command(),
            meanwhile=meanwhile,
        )
        if self._alerts is not None:
            self._alerts.tell(key, words, stops_answers=meanwhile is NOBODY)

    def _over(self, key: str, sentence: Localized) -> None:
        self._failed = {name: alarm for name, alarm in self._failed.items() if alarm != key}
        if self._alerts is not None:
            self._alerts.over(key, sentence, settle_s=SETTLE_S)

    def _open_keys(self) -> Sequence[str]:
        found = self._alerts.open_now() if self._alerts is not None else ()
        return [key for key in found if key.partition(":")[0] in {_KEY, _CREDIT, _UNKNOWN, _RESTING}]

    def _is_known(self, name: str) -> bool:
        """Return whether an alarm says why the model does not answer: one of its own, or one of its provider's."""
        provider = name.partition(":")[0]
        accounts = {f"{_KEY}:{provider}", f"{_CREDIT}:{provider}"}
        return name in self._failed or not accounts.isdisjoint(self._failed.values())

    def _is_out(self, name: str) -> bool:
        return self._is_known(name) or self.circuit(name).is_down

    def _named(self, name: str) -> str:
        """Return the settings that name a model; "" if none does: it was decided by /admin."""
        chains = {field: str(getattr(self._settings, field)).replace(" ", "").split(",") for field in _NAMING}
        return ", ".join(field.upper() for field, chain in chains.items() if name in chain)

    def _meanwhile(self, names: Sequence[str]) -> Localized:
        """Return what people notice while these models do not answer, for the mode that is worst off."""
        concerned = {mode: chain for mode, chain in self._places.items() if not set(names).isdisjoint(chain)}
        answering = {mode: next((e for e in chain if not self._is_out(e)), "") for mode, chain in concerned.items()}
        talking = [name for mode, name in answering.items() if mode not in {EMBEDDING, _SUMMARY}]
        if "" in talking:
            return NOBODY
        if LIMITED in talking:
            return WITH_LIMITED
        if talking or answering.get(_SUMMARY):
            return filled(OTHER, other=talking[0] if talking else answering[_SUMMARY])
        return NO_SUMMARY if _SUMMARY in answering else WITH_WORDS


def _is_about(key: str, name: str) -> bool:
    """Return whether an alarm of that key may be about a model."""
    about = key.partition(":")[2].split(",")
    return name in about or name.partition(":")[0] in about


def why_not(error: ProviderError | None) -> Localized:
    """Return why a model did not answer, in words that need no English, with the HTTP status; None: it took too long.

    The log has the error itself.
    """
    words = next((words for kind, words in _WHY.items() if isinstance(error, kind)), DOWN)
    status = _STATUS.search(str(error))
    return {locale: f"{words[locale]} ({status[0]})" for locale in words} if status else words


KEY_REFUSED = text("alerts.models.key_refused")
CREDIT_GONE = text("alerts.models.credit_gone")
UNKNOWN = text("alerts.models.unknown")
UNKNOWN_DECIDED = text("alerts.models.unknown_decided")
DOWN = text("alerts.models.why.down")
_WHY: Final[Mapping[type[ProviderError], Localized]] = {  # the first that fits
    CreditGone: text("alerts.models.why.credit"),
    KeyRejected: text("alerts.models.why.key"),
    ModelUnknown: text("alerts.models.why.unknown"),
    ProviderBusy: text("alerts.models.why.busy"),
    EmptyReply: text("alerts.models.why.form"),
    BadReply: text("alerts.models.why.form"),
}
RESTING = text("alerts.models.resting")
ANSWERS = text("alerts.models.answers")
UNUSED = text("alerts.models.unused")
NOBODY = text("alerts.models.meanwhile.nobody")
OTHER = text("alerts.models.meanwhile.replaced")
WITH_LIMITED = text("alerts.models.meanwhile.limited")
NO_SUMMARY = text("alerts.models.meanwhile.summary")
WITH_WORDS = text("alerts.models.meanwhile.words")
