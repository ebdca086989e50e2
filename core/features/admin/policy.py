"""/admin policy and /admin drafts: how conversations are held, for all or in one place. Knows names and places."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide, describe_value
from core.features.admin.decisions import OFF, ON, Decision, DecisionKind
from core.features.admin.scope import scoped
from core.features.admin.verb import Verb
from core.history.policy import NAMES, SUMMARY
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
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


POLICY_HOLDS: Localized = {
    PT: "O que se mostra de uma conversa ao modelo, {where}: {name}. Uma conversa que escolheu a sua fica com ela.\n"
    "Para mudar: /admin policy{here} NOME. Há: {names}. De volta: /admin policy{here} default",
    EN: "What a model is shown of a conversation, {where}: {name}. A conversation that has one of its own keeps it.\n"
    "To change it: /admin policy{here} NAME. There are: {names}. Back: /admin policy{here} default",
    ES: "Lo que se muestra de una conversación al modelo, {where}: {name}. Una conversación con la suya la conserva.\n"
    "Para cambiarla: /admin policy{here} NOMBRE. Hay: {names}. De vuelta: /admin policy{here} default",
}
NOTHING_SUMMARISES: Localized = {
    PT: "Agora não há modelo de linguagem que resuma: até haver um (/admin model summary), mostra-se o que cabe.",
    EN: "There is no language model now that summarises: until there is (/admin model summary), what fits is shown.",
    ES: "Ahora no hay modelo de lenguaje que resuma: hasta que lo haya (/admin model summary), se muestra lo que cabe.",
}
DRAFTS_HOLD: Localized = {
    PT: "{held}\nRespostas que crescem num rascunho, onde a plataforma os tem (Telegram, em particular). "
    "Para mudar: /admin drafts{here} on, off ou default. Cada pessoa pode escolher para si.",
    EN: "{held}\nAnswers that grow in a draft, where the platform has those (Telegram, in private). "
    "To change it: /admin drafts{here} on, off or default. Each person may choose for themselves.",
    ES: "{held}\nRespuestas que crecen en un borrador, donde la plataforma los tiene (Telegram, en privado). "
    "Para cambiarlo: /admin drafts{here} on, off o default. Cada persona puede elegir por sí misma.",
}

POLICY = Verb(
    "policy",
    {PT: "o que o modelo vê da conversa", EN: "what a model sees of a chat", ES: "qué ve el modelo de la conversación"},
    policy,
    " [here] [NAME | default]",
    in_rooms=True,
)
DRAFTS = Verb(
    "drafts",
    {PT: "respostas em rascunho", EN: "answers that grow in a draft", ES: "respuestas en borrador"},
    drafts,
    " [here] [on | off | default]",
    in_rooms=True,
)
