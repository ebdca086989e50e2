"""/admin actions, pause, resume, changes, undo: turn things on and off, show what was decided, take it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.actions.registry import Registry
from core.commands.command import CompletionRequest, Request
from core.commands.completion import offered
from core.commands.menu import choice_field, completed_field
from core.features.access.gate import minute
from core.features.admin.admin import MAX_ID_CHARS, Verb, WrongUse
from core.features.admin.decide import FORGOTTEN, Decider, describe
from core.features.admin.decisions import OFF, ON, DecisionKind, Decisions
from core.outgoing import Choice
from core.text.catalogue import text
from core.types import Localized

MAX_CHANGES: Final = 20
_SWITCHES: Final = {"enable": ON, "disable": OFF}


class ActionVerb:
    """Offer /admin actions: list the actions, or turn one on or off, at once and for good (T6)."""

    def __init__(self, decider: Decider, registry: Registry) -> None:
        self._decider = decider
        self._registry = registry

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        usage = " list | enable NAME | disable NAME"
        return Verb(
            "actions",
            text("admin.commands.actions"),
            self._actions,
            usage,
            "disable MemorySave",
            fields=(
                choice_field("what", text("menus.fields.actions"), ACTION_WORDS),
                completed_field("action", text("menus.fields.action")),
            ),
            complete=self._offer,
        )

    async def _offer(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return the actions, those that are on first."""
        marked = [(ACTION_ON, self._registry.enabled), (ACTION_OFF, self._registry.disabled)]
        told = (Choice(f"{mark[request.locale]} {each.name}", each.name) for mark, found in marked for each in found)
        return offered(request.typed, told)

    async def _actions(self, request: Request, argument: str) -> None:
        match argument.split():
            case [verb, name] if verb.casefold() in _SWITCHES:
                await self._switch(request, name, _SWITCHES[verb.casefold()])
            case [] | ["list"]:
                lines = [f"{ACTION_ON[request.locale]} {action.name}" for action in self._registry.enabled]
                lines += [f"{ACTION_OFF[request.locale]} {action.name}" for action in self._registry.disabled]
                await request.answer.tell("\n".join([ACTIONS[request.locale], *lines]))
            case _:
                raise WrongUse(NOT_SO[request.locale])

    async def _switch(self, request: Request, name: str, value: str) -> None:
        registry = self._registry
        known = {action.name.casefold(): action.name for action in (*registry.enabled, *registry.disabled)}
        found = known.get(name.casefold())
        if found is None:
            await request.tell(NO_ACTION, name=name[:MAX_ID_CHARS], actions=", ".join(known.values()))
        elif found == registry.fallback.name:
            await request.tell(ALWAYS_ON, name=found)
        else:
            await self._decider.decide(request, DecisionKind.ACTION, found, value)


class DecisionVerbs:
    """Pause the bot, show the newest decisions, and take one back."""

    def __init__(self, decider: Decider, decisions: Decisions) -> None:
        self._decider = decider
        self._decisions = decisions

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs, in the order of /admin."""
        return (
            Verb("pause", text("admin.commands.pause"), self._pause, for_owners=True, decisive=True),
            Verb("resume", text("admin.commands.resume"), self._resume, for_owners=True, decisive=True),
            Verb("changes", text("admin.commands.changes"), self._changes),
            Verb("undo", text("admin.commands.undo"), self._undo, decisive=True),
        )

    async def _pause(self, request: Request, _: str) -> None:
        """Answer owners only."""
        await self._decider.decide(request, DecisionKind.PAUSE, "", ON)

    async def _resume(self, request: Request, _: str) -> None:
        """Answer everybody again who has access."""
        await self._decider.decide(request, DecisionKind.PAUSE, "", "")

    async def _changes(self, request: Request, _: str) -> None:
        """Show the newest decisions: when, by whom, what."""
        locale = request.locale
        lines = [
            f"{minute(each.at)} · {f'`{each.by}`' if each.by else FORGOTTEN[locale]} · {describe(each, locale)}"
            + (f" {UNDONE[locale]}" if each.undoes else "")
            for each in await self._decisions.newest(MAX_CHANGES)
        ]
        await request.answer.tell("\n".join([CHANGES[locale], *lines]) if lines else NO_CHANGES[locale])

    async def _undo(self, request: Request, _: str) -> None:
        await self._decider.undo(request)


ACTION_WORDS: dict[str, Localized] = {
    "list": text("menus.actions.list"),
    "enable": text("menus.actions.enable"),
    "disable": text("menus.actions.disable"),
}
ACTIONS = text("admin.survey.actions")
ACTION_ON = text("admin.survey.action_on")
ACTION_OFF = text("admin.survey.action_off")
NO_ACTION = text("admin.no_action")
NOT_SO = text("admin.verbs.not_so")
ALWAYS_ON = text("admin.always_on")
CHANGES = text("admin.survey.changes")
NO_CHANGES = text("admin.survey.no_changes")
UNDONE = text("admin.survey.undone")
