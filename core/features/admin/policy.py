"""/admin policy and /admin drafts: how conversations are held, for all or in one place. Knows names and places."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide, describe_value
from core.features.admin.decisions import OFF, ON, Decision, DecisionKind
from core.features.admin.scope import scoped
from core.features.admin.verb import Verb
from core.history.policy import NAMES, SUMMARY
from core.text.catalogue import text

DEFAULT: Final = "default"
_STREAMING: Final = (ON, OFF)


async def policy(request: Request, argument: str) -> None:
    """Show which policy chooses what a model is shown of a conversation, or choose one."""
    scope, name = scoped(request, argument)
    name = name.casefold()
    conversations = request.turn.conversation.conversations
    if name in {*NAMES, DEFAULT}:
        await decide(request, DecisionKind.POLICY, scope.name, "" if name == DEFAULT else name)
        if name == SUMMARY and not conversations.summarises:
            await request.tell(NOTHING_SUMMARISES)
        return
    decisions = request.context.stores.decisions
    value = await decisions.value(DecisionKind.POLICY, scope.name) or await decisions.value(DecisionKind.POLICY)
    await request.tell(
        POLICY_HOLDS,
        where=scope.told(request.locale),
        name=value or conversations.usual_policy(),
        here=scope.word,
        names=", ".join(NAMES),
    )


async def drafts(request: Request, argument: str) -> None:
    """Show whether answers grow in a draft where the platform has those, or say so."""
    scope, word = scoped(request, argument)
    word = word.casefold()
    if word in {*_STREAMING, DEFAULT}:
        await decide(request, DecisionKind.DRAFTS, scope.name, "" if word == DEFAULT else word)
        return
    context = request.context
    value = await context.stores.decisions.value(
        DecisionKind.DRAFTS, scope.name
    ) or await context.stores.decisions.value(DecisionKind.DRAFTS)
    held = Decision(context.clock.now(), None, DecisionKind.DRAFTS, scope.name, "", value)
    await request.tell(DRAFTS_HOLD, held=describe_value(held, request.locale), here=scope.word)


POLICY_HOLDS = text("admin.policy.policy_holds")
NOTHING_SUMMARISES = text("admin.policy.nothing_summarises")
DRAFTS_HOLD = text("admin.policy.drafts_hold")

POLICY = Verb(
    "policy",
    text("admin.commands.policy"),
    policy,
    " [here] [NAME | default]",
    in_rooms=True,
)
DRAFTS = Verb(
    "drafts",
    text("admin.commands.drafts"),
    drafts,
    " [here] [on | off | default]",
    in_rooms=True,
)
