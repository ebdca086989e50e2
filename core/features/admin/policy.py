"""/admin policy: choose what of a conversation a model is shown, for the bot or in one place."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide
from core.features.admin.decisions import DecisionKind
from core.features.admin.scope import scoped
from core.features.admin.verb import Verb
from core.history.policy import NAMES, SUMMARY
from core.text.catalogue import text

DEFAULT: Final = "default"


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


POLICY_HOLDS = text("admin.policy.policy_holds")
NOTHING_SUMMARISES = text("admin.policy.nothing_summarises")

POLICY = Verb(
    "policy",
    text("admin.commands.policy"),
    policy,
    " [here] [NAME | default]",
    in_rooms=True,
)
