"""Alarms about models: which of those in place refuses the key, has no credit, does not exist, or does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from bot.models.metering import EMBEDDING
from bot.models.presets import PROVIDERS
from bot.settings.models import LIMITED, ModelSettings
from core.delivery.alerts import OwnerAlerts
from core.errors import CreditGone, KeyRejected, ModelUnknown, ProviderError
from core.ports import Clock
from core.providers.fallback import Circuit
from core.text.catalogue import filled, text
from core.text.unicode import one_line
from core.types import Localized

_SUMMARY: Final = "summary"
_KEY, _CREDIT, _UNKNOWN, _RESTING = "key-refused", "credit-gone", "model-unknown", "models-resting"
_MAX_ERROR_CHARS: Final = 200

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
        self._places: dict[str, tuple[str, ...]] = {}
        self._failed_by: dict[str, set[str]] = {}
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
            known = self._failed_by.get(key, set())
            is_used = (
                any(known & set(chain) == known for chain in self._chains(about.split(",")))
                if kind == _RESTING
                else bool(known & used if known else {name for name in used if _is_about(key, name)})
            )
            if not is_used:
                self._over(key, filled(UNUSED, model=about.replace(",", ", ")))

    def _observed(self, name: str, error: ProviderError | None) -> None:
        if self._alerts is None or not any(name in chain for chain in self._places.values()):
            return
        if error is None:
            for key in self._open_keys():
                failed_by = self._failed_by.get(key)  # None: the alarm was opened before this start
                if name in failed_by if failed_by is not None else _is_about(key, name):
                    self._over(key, filled(ANSWERS, model=name))
            return
        provider = name.partition(":")[0]
        match error:
            case CreditGone():
                self._raise(f"{_CREDIT}:{provider}", CREDIT_GONE, name)
            case KeyRejected():
                self._raise(f"{_KEY}:{provider}", KEY_REFUSED, name)
            case ModelUnknown():
                self._raise(f"{_UNKNOWN}:{name}", UNKNOWN, name)
        for chain in self._chains([name]):
            asked = [each for each in chain if each != LIMITED]
            if all(map(self._is_out, asked)) and not all(map(self._is_known, asked)):
                self._raise(f"{_RESTING}:{','.join(asked)}", RESTING, *asked, error=error)

    def _raise(self, key: str, sentence: Localized, *names: str, error: ProviderError | None = None) -> None:
        """Open the alarm about models, or bring its sentence up to date."""
        self._failed_by.setdefault(key, set()).update(names)
        provider, _, model = names[0].partition(":")
        is_account = key.startswith((_KEY, _CREDIT))
        facts = dict.fromkeys(("address", "page", "setting"), "")
        if (preset := PROVIDERS.get(provider)) is not None:
            address = self._settings.address(provider)
            page = (preset.credit_page if sentence is CREDIT_GONE else "") or preset.key_page
            facts["address"] = address
            facts["page"] = page if page and address == preset.url else address  # another server has other pages
            facts["setting"] = preset.key_setting or preset.url_setting
        meanwhile = self._meanwhile(names, is_account=is_account)
        words = filled(
            sentence,
            **facts if is_account else facts | {"setting": self._named(names[0])},
            provider=provider,
            model=", ".join(names),
            name=model,
            error=f"`{one_line(str(error), _MAX_ERROR_CHARS).replace('`', chr(39))}`",
            meanwhile=meanwhile,
        )
        if self._alerts is not None:
            about_what = ", ".join(names) if is_account else ""
            self._alerts.tell_soon(key, words, about=about_what, stops_answers=meanwhile is NOBODY)

    def _over(self, key: str, sentence: Localized) -> None:
        self._failed_by.pop(key, None)
        if self._alerts is not None:
            self._alerts.over_soon(key, sentence, settle_s=SETTLE_S)

    def _open_keys(self) -> Iterator[str]:
        kinds = (_KEY, _CREDIT, _UNKNOWN, _RESTING)
        found = self._alerts.open_now() if self._alerts is not None else ()
        return (alarm.key for alarm in found if alarm.key.partition(":")[0] in kinds)

    def _chains(self, names: list[str]) -> set[tuple[str, ...]]:
        """Return the chains in place that hold all these models."""
        return {chain for chain in self._places.values() if set(names) <= set(chain)}

    def _is_known(self, name: str) -> bool:
        """Return whether an alarm says why the model does not answer."""
        return any(name in self._failed_by.get(key, ()) for key in self._failed_by if not key.startswith(_RESTING))

    def _is_out(self, name: str) -> bool:
        return self._is_known(name) or self.circuit(name).is_down

    def _named(self, name: str) -> str:
        """Return the settings that name a model; MODEL if none does: it was decided by /admin."""
        settings = self._settings
        fields = [field for field in type(settings).model_fields if field in _NAMING]
        found = [field.upper() for field in fields if name in str(getattr(settings, field)).replace(" ", "").split(",")]
        return ", ".join(found) or "MODEL"

    def _meanwhile(self, names: tuple[str, ...], *, is_account: bool) -> Localized:
        """Return what people notice while these models do not answer, for the mode that is worst off."""
        providers = {name.partition(":")[0] for name in names}

        def is_out(each: str) -> bool:
            return each in names or self._is_out(each) or (is_account and each.partition(":")[0] in providers)

        concerned = {mode: chain for mode, chain in self._places.items() if any(name in chain for name in names)}
        answering = {mode: next((each for each in chain if not is_out(each)), "") for mode, chain in concerned.items()}
        talking = [other for mode, other in answering.items() if mode not in {EMBEDDING, _SUMMARY}]
        if "" in talking:
            return NOBODY
        if LIMITED in talking:
            return WITH_LIMITED
        if talking or answering.get(_SUMMARY):
            return filled(OTHER, other=talking[0] if talking else answering[_SUMMARY])
        return NO_SUMMARY if _SUMMARY in answering else WITH_WORDS


_NAMING: Final = {
    "model", "model_reasoning_heavy", "model_reasoning", "model_chat", "model_summary", "model_embedding"
}  # fmt: skip


def _is_about(key: str, name: str) -> bool:
    """Return whether an alarm of that key may be about a model."""
    kind, _, about = key.partition(":")
    match kind:
        case "models-resting":
            return name in about.split(",")
        case "model-unknown":
            return name == about
    return name.partition(":")[0] == about


KEY_REFUSED = text("alerts.models.key_refused")
CREDIT_GONE = text("alerts.models.credit_gone")
UNKNOWN = text("alerts.models.unknown")
RESTING = text("alerts.models.resting")
ANSWERS = text("alerts.models.answers")
UNUSED = text("alerts.models.unused")
NOBODY = text("alerts.models.meanwhile.nobody")
OTHER = text("alerts.models.meanwhile.replaced")
WITH_LIMITED = text("alerts.models.meanwhile.limited")
NO_SUMMARY = text("alerts.models.meanwhile.summary")
WITH_WORDS = text("alerts.models.meanwhile.words")
