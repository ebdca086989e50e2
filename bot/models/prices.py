"""Price a call by the table in this package, with the owner's own table (MODEL_PRICES) over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from bot.models.presets import PROVIDERS
from bot.settings.models import ModelSettings
from core.dialogue import Usage
from core.errors import ConfigError

SETTING: Final = "MODEL_PRICES"

_Price = Annotated[float, Field(ge=0)]
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars per million tokens.

    `cached` is for input read from a cache, `cache_write` for input written into one; both default to `input`.
    """

    input: _Price
    output: _Price
    cached: _Price | None = None
    cache_write: _Price | None = None

    def cost_usd(self, usage: Usage) -> float:
        """Return the price of a call at this rate."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh_tokens = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        asked = fresh_tokens * self.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
        return (asked + usage.output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class HigherRate(Rate):
    """The rate of a whole call whose input has more than `input_tokens`."""

    input_tokens: Annotated[int, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class Price(Rate):
    """The rates of one model: `above` for calls with long input."""

    above: HigherRate | None = None

    @property
    def is_free(self) -> bool:
        """Tell whether every call is free."""
        return self.input == self.output == 0

    def cost_usd(self, usage: Usage) -> float:
        """Return the price of a call; a long one has its own rate."""
        if self.above is not None and usage.input_tokens > self.above.input_tokens:
            return self.above.cost_usd(usage)
        return Rate.cost_usd(self, usage)


@dataclass(frozen=True, slots=True)
class Prices:
    """A price table as of `date`, by its `source`. Models are `provider:model`, or `provider:*` (all others).

    At `own_servers`, providers whose address is the owner's, a model without a price may be free: none is assumed.
    """

    date: str
    models: Mapping[str, Price]
    source: str = ""
    note: str = ""
    own_servers: frozenset[str] = frozenset()
    listed: dict[str, Price] = field(default_factory=dict, init=False)
    """Those that providers' own lists told while this runs, of models that the table lacks."""

    def of(self, model: str) -> Price | None:
        """Return the price of a model; None if it is not known."""
        table = self.models
        return table.get(model) or table.get(f"{model.partition(':')[0]}:*") or self.listed.get(model)

    def cost_usd(self, model: str, usage: Usage | None) -> float | None:
        """Return the cost of a call, by the dearest price that it may have if its own is not known.

        None: no tokens were counted, or it went to a server of the owner's that has no price.
        """
        price = self.of(model) or self._dearest(model.partition(":")[0])
        if price is None:
            return None
        if usage is None:
            return 0.0 if price.is_free else None
        return price.cost_usd(usage)

    def _dearest(self, provider: str) -> Price | None:
        """Return the dearest price of a provider, or of all where it has none."""
        if provider in self.own_servers:
            return None
        own = [price for name, price in self.models.items() if name.startswith(f"{provider}:")]
        return max(own or self.models.values(), key=lambda price: (price.output, price.input), default=None)


def prices_of(settings: ModelSettings) -> Prices:
    """Return the price table for the models of those settings.

    Raises:
        ConfigError: as `load_prices`.
    """
    own_servers = frozenset(provider for provider in PROVIDERS if settings.is_own_address(provider))
    return replace(load_prices(settings.model_prices), own_servers=own_servers)


def load_prices(own: Path | None = None) -> Prices:
    """Return the price table of this package with the owner's entries over it.

    Raises:
        ConfigError: the owner's file cannot be read, or is no price table.
    """
    shipped = _parse(resources.files(__package__).joinpath("prices.json").read_bytes())
    if own is None:
        return shipped
    try:
        table = _parse(own.read_bytes())
    except OSError as error:
        raise ConfigError(SETTING, f"cannot read {own} ({error.strerror}); name a JSON file") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(SETTING, f"{own}: {where}: {first['msg']}; see docs/models.md") from None
    return replace(table, models={**shipped.models, **table.models})


def _parse(text: bytes) -> Prices:
    return TypeAdapter(Prices).validate_json(text, strict=False)
