"""/admin prompt and policy: how the bot is, everywhere or ("here") in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.commands.command import Request
from core.commands.menu import choice_field, text_field
from core.features.admin.admin import HERE, WHERE, Verb, WrongUse
from core.features.admin.decide import Decider
from core.features.admin.decisions import OFF, DecisionKind, Decisions
from core.features.admin.machine import ModelSwitch
from core.history.policy import LAST_MESSAGES, LAST_TOKENS, NAMES, SUMMARY
from core.text.catalogue import text
from core.text.unicode import one_line
from core.types import Locale, room_name

DEFAULT: Final = "default"
MAX_PERSONA_CHARS: Final = 2_000
_MAX_NAME_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a setting holds. `name` is that of the decision: the place as PLATFORM:ID, or "" for the whole bot."""

    name: str

    @property
    def word(self) -> str:
        """What is written after the verb to mean it."""
        return f" {HERE}" if self.name else ""

    def told(self, locale: Locale) -> str:
        """Return its name for people."""
        return (THIS_PLACE if self.name else WHOLE_BOT)[locale]


class PlaceVerbs:
    """Show and change the persona, and what a model is shown of a conversation."""

    def __init__(self, decider: Decider, decisions: Decisions, models: ModelSwitch) -> None:
        self._decider = decider
        self._decisions = decisions
        self._models = models

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs, in the order of /admin."""
        persona, policy = text_field("text", text("menus.fields.prompt")), text("menus.fields.policy")
        without = choice_field("what", text("menus.fields.prompt_off"), _NO_PERSONA)
        return (
            Verb(
                "prompt",
                text("admin.commands.prompt"),
                self._prompt,
                " [here] [TEXT | off | default]",
                for_owners=True,
                in_rooms=True,
                fields=(WHERE, persona, without),
            ),
            Verb(
                "policy",
                text("admin.commands.policy"),
                self._policy,
                " [here] [NAME | default]",
                SUMMARY,
                in_rooms=True,
                fields=(WHERE, choice_field("what", policy, _POLICIES)),
            ),
        )

    async def _prompt(self, request: Request, argument: str) -> None:
        """Show the persona, set one, or remove it. In a place, off means none there, default that of the bot."""
        scope, persona = _scoped(request, argument)
        word = persona.casefold()
        if not persona:
            await self._show_persona(request, scope)
            return
        if len(persona) > MAX_PERSONA_CHARS:
            await request.tell(TOO_LONG, chars=len(persona), max_chars=MAX_PERSONA_CHARS)
            return
        if word == DEFAULT or (word == OFF and not scope.name):
            persona = ""
        after = OFF if word == OFF and scope.name else persona
        await self._decider.decide(request, DecisionKind.PROMPT, scope.name, after)
        if persona and word != OFF and self._models.is_limited("chat"):
            await request.tell(NO_MODEL)

    async def _show_persona(self, request: Request, scope: Scope) -> None:
        locale = request.locale
        own = await self._decisions.value(DecisionKind.PROMPT, scope.name)
        persona = own or await self._decisions.value(DecisionKind.PROMPT)
        how = HOW[locale].format(here=scope.word, max_chars=MAX_PERSONA_CHARS)
        if not persona or persona == OFF:
            lines = [NONE[locale].format(where=scope.told(locale))]
        else:
            lines = [HOLDS[locale].format(where=scope.told(locale))]
            lines += [f"> {line}" for line in persona.splitlines()]
            if not own:
                lines.append(INHERITED[locale])
            if self._models.is_limited("chat"):
                lines.append(NO_MODEL[locale])
        await request.answer.tell("\n".join([*lines, "", how]))

    async def _policy(self, request: Request, argument: str) -> None:
        """Show which policy chooses what a model is shown of a conversation, or set one."""
        scope, name = _scoped(request, argument.casefold())
        conversations = request.turn.conversation.conversations
        if name in {*NAMES, DEFAULT}:
            await self._decider.decide(request, DecisionKind.POLICY, scope.name, "" if name == DEFAULT else name)
            if name == SUMMARY and not conversations.summarises:
                await request.tell(NOTHING_SUMMARISES)
            return
        if name:
            raise WrongUse(NO_POLICY[request.locale].format(name=one_line(name, _MAX_NAME_CHARS)))
        value = self._decisions.value
        held = await value(DecisionKind.POLICY, scope.name) or await value(DecisionKind.POLICY)
        await request.tell(
            POLICY_HOLDS,
            where=scope.told(request.locale),
            name=held or conversations.usual_policy(),
            here=scope.word,
            names=", ".join(NAMES),
        )


def _scoped(request: Request, argument: str) -> tuple[Scope, str]:
    """Return where a setting is meant to hold, and what was written besides."""
    first, _, rest = argument.partition(" ")
    if first.casefold() == HERE:
        return Scope(room_name(request.incoming.chat)), rest.strip()
    return Scope(""), argument.strip()


_NO_PERSONA: Final = {OFF: text("menus.prompt.off"), DEFAULT: text("menus.prompt.default")}
_POLICIES: Final = {
    SUMMARY: text("menus.policies.summary"),
    LAST_MESSAGES: text("menus.policies.last_messages"),
    LAST_TOKENS: text("menus.policies.last_tokens"),
    DEFAULT: text("menus.settings"),
}

THIS_PLACE = text("scope.this_place")
WHOLE_BOT = text("scope.whole_bot")

HOLDS = text("admin.prompt.holds")
INHERITED = text("admin.prompt.inherited")
NONE = text("admin.prompt.none")
HOW = text("admin.prompt.how")
TOO_LONG = text("admin.prompt.too_long")
NO_MODEL = text("admin.prompt.no_model")

NO_POLICY = text("admin.policy.no_policy")
POLICY_HOLDS = text("admin.policy.policy_holds")
NOTHING_SUMMARISES = text("admin.policy.nothing_summarises")
