"""What owners decided, in RAM: the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from core.features.access.people import DENIED, People, Person, Stranger
from core.features.admin.decisions import (
    ALL_MODES,
    DEEDS,
    OF_PEOPLE,
    Applied,
    Decision,
    DecisionKind,
    Decisions,
    by_mode,
    of_modes,
)
from core.types import Role, UserKey


class InMemoryDecisions(Decisions):
    """Roles are the `people`'s own; everything else is gone with the process."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._values: dict[tuple[DecisionKind, str], str] = {}
        self._decisions: list[Decision] = []

    async def refresh(self) -> tuple[int, int]:
        """Return how many decisions and how many values there are."""
        return len(self._decisions), len(self._values)

    async def value(self, matter: DecisionKind, name: str = "") -> str:
        """Return what is decided of that matter and name, "" if nothing."""
        values = await self.values(matter)
        return of_modes(values) if (matter, name) == (DecisionKind.MODEL, ALL_MODES) else values.get(name, "")

    async def values(self, matter: DecisionKind) -> Mapping[str, str]:
        """Return everything that is decided of that matter, by name."""
        if matter is DecisionKind.ROLE:
            denied = {str(stranger.user): DENIED for stranger in await self._people.strangers(denied=True)}
            return denied | {str(person.user): person.role.value for person in await self._people.all()}
        return {name: value for (decided, name), value in self._values.items() if decided is matter}

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before`, and no platform loses its last owner."""
        if await self.value(decision.matter, decision.name) != decision.before:
            return Applied.STALE
        if decision.matter is DecisionKind.ROLE:
            user = _user(decision.name)
            if decision.before == Role.OWNER != decision.after and not await self._owner_besides(user):
                return Applied.LAST_OWNER
            await self._set_role(user, decision)
        elif (decision.matter, decision.name) == (DecisionKind.MODEL, ALL_MODES):
            for mode in await self.values(decision.matter):
                del self._values[decision.matter, mode]
            for mode, model in by_mode(decision.after).items():
                self._values[decision.matter, mode] = model
        else:
            self._values.pop((decision.matter, decision.name), None)
            if decision.after:
                self._values[decision.matter, decision.name] = decision.after
        self._decisions.append(replace(decision, id=len(self._decisions) + 1))
        return Applied.DONE

    async def newest(self, limit: int, *, on: tuple[DecisionKind, str] | None = None) -> Sequence[Decision]:
        """Return the newest decisions, the newest first: all of them, or those on one matter and name."""
        return [each for each in self._decisions[::-1] if on in {None, (each.matter, each.name)}][:limit]

    async def undoable(self) -> Decision | None:
        """Return the newest decision that takes nothing back and was not taken back, of what can be."""
        undone = {decision.undoes for decision in self._decisions}
        left = (each for each in self._decisions[::-1] if not each.undoes and each.id not in undone)
        return next((each for each in left if each.matter not in DEEDS), None)

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off every record, and let go of what was decided for them; a role stays."""
        for matter in OF_PEOPLE:
            self._values.pop((matter, str(user)), None)
        for at, decision in enumerate(self._decisions):
            by = None if decision.by == user else decision.by
            about = decision.matter in OF_PEOPLE and decision.name == str(user)
            self._decisions[at] = replace(decision, by=by, name="" if about else decision.name)

    async def _owner_besides(self, user: UserKey) -> bool:
        owners = (person.user for person in await self._people.all() if person.role is Role.OWNER)
        return any(owner.platform == user.platform and owner != user for owner in owners)

    async def _set_role(self, user: UserKey, decision: Decision) -> None:
        if decision.after == DENIED:
            known = await self._people.find(user) or await self._people.stranger(user)
            language = known.language if isinstance(known, Stranger) else ""
            await self._people.remove(user)
            denied = Stranger(user, known.name if known else "", decision.at, language, denied=True)
            await self._people.note_stranger(denied, timedelta())
            return
        if not decision.after:
            await self._people.remove(user)
            return
        person = await self._people.find(user)
        if person is None:
            noted = await self._people.stranger(user)
            person = Person(user, Role(decision.after), noted.name if noted else "", decision.at)
        await self._people.put(replace(person, role=Role(decision.after)))


def _user(name: str) -> UserKey:
    platform, _, user = name.partition(":")
    return UserKey(platform, user)
