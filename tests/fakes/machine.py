"""What a bot in memory runs on: models that a test names, troubles that it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.features.admin.machine import Doubt, Machine, ModelSwitch, Proof, Survey, Trouble, TroubleLog
from core.models import MODES, HotModel, Models
from core.ports import ChatModel
from core.stores import Backlog
from core.workers.port import Colleague


class NamedModels(ModelSwitch):
    """Models by the names that a test gives them; any other name is refused as unknown."""

    def __init__(self, models: Models, known: Mapping[str, ChatModel] | None = None) -> None:
        self._models = models
        self.known = dict(known or {})
        self.without_price: list[str] = []
        self.proofs: dict[str, Proof] = {}
        self.proved: list[tuple[str, str]] = []
        self._usual = {mode: getattr(models, mode).model for mode in MODES}
        self._decided = dict.fromkeys(MODES, "")

    def usual(self, mode: str) -> str:
        return str(self._usual[mode].name)

    def held(self, mode: str) -> str:
        return self._decided[mode] or self.usual(mode)

    def is_limited(self, mode: str) -> bool:
        return self.held(mode).partition(":")[0] == "limited"

    def names(self) -> Sequence[str]:
        return list(self.known)

    def unpriced(self) -> Sequence[str]:
        return self.without_price

    async def prove(self, mode: str, name: str) -> Proof:
        self.proved.append((mode, name))
        is_known = name in self.known or name == self.usual(mode)
        return self.proofs.get(name) or (Proof() if is_known else Proof(Doubt.PROVIDER, name, "scripted"))

    def put(self, mode: str, name: str) -> None:
        place = getattr(self._models, mode)
        assert isinstance(place, HotModel)
        place.model = self.known.get(name, self._usual[mode])
        self._decided[mode] = name if name in self.known else ""


@dataclass
class ToldTroubles(TroubleLog):
    """Troubles as a test tells them, the newest first."""

    troubles: list[Trouble] = field(default_factory=list)

    def newest(self, limit: int) -> Sequence[Trouble]:
        return self.troubles[:limit]

    def errors_since(self, at: datetime) -> int:
        return sum(trouble.count for trouble in self.troubles if trouble.level == "ERROR" and trouble.at >= at)


async def _storage() -> tuple[str, int]:
    return "SQLite 3.50", 5 * 1024 * 1024


async def _owed() -> Mapping[str, Backlog]:
    return {}


async def _workers() -> Sequence[Colleague]:
    return ()


NOBODY = Survey(_storage, _owed, _workers)


def machine(models: Models, survey: Survey | None = None) -> Machine:
    return Machine(NamedModels(models), ToldTroubles(), "1.2.3", survey or NOBODY)
