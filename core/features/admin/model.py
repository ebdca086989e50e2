"""/admin model: which model thinks what, changed while the bot runs. Knows modes and doubts. Knows no provider."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.admin.decide import decide
from core.features.admin.decisions import DecisionKind
from core.features.admin.machine import Doubt
from core.features.admin.verb import Verb
from core.models import MODES
from core.outgoing import Button
from core.text.unicode import one_line
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
DEFAULT: Final = "default"
EMBEDDING: Final = "embedding"
_MAX_NAME_CHARS: Final = 200


async def model(request: Request, argument: str) -> None:
    """Show what is asked in which mode, or have another model asked: proved first, then put in place."""
    mode, _, rest = argument.casefold().partition(" ")
    name = "".join(argument[len(mode) :].split())
    if not mode:
        await _show(request)
    elif mode == EMBEDDING:
        await request.tell(NOT_HOT, space=request.context.models.embedder.space)
    elif mode not in MODES or not rest.strip() or len(name) > _MAX_NAME_CHARS:
        await request.tell(HOW, modes=", ".join(MODES))
    elif name.casefold() == DEFAULT:
        await decide(request, DecisionKind.MODEL, mode, "")
    else:
        await _put(request, mode, name)


async def _put(request: Request, mode: str, name: str) -> None:
    await request.turn.status(PROVING[request.locale].format(name=name))
    proof = await request.context.machine.models.prove(mode, name)
    if proof.doubt is not None:
        said = DOUBTS[proof.doubt][request.locale].format(about=one_line(proof.about, 80), detail=proof.detail)
        await request.turn.tell(f"{said} {UNCHANGED[request.locale]}")
        return
    await decide(request, DecisionKind.MODEL, mode, name)
    if not proof.priced:
        await request.tell(UNPRICED, name=name)


async def _show(request: Request) -> None:
    locale = request.locale
    decided = await request.context.stores.decisions.values(DecisionKind.MODEL)
    lines = [_line(request, mode, decided.get(mode, "")) for mode in MODES]
    lines.append(f"`{EMBEDDING}` — {request.context.models.embedder.space} · {COLD[locale]}")
    back = [
        Button(BACK[locale].format(mode=mode), f"/admin model {mode} {DEFAULT}") for mode in MODES if mode in decided
    ]
    await request.turn.tell(
        "\n".join([TITLE[locale], *lines, "", HOW[locale].format(modes=", ".join(MODES))]), choices=back
    )


def _line(request: Request, mode: str, decided: str) -> str:
    """Return what is asked in a mode, and where that comes from."""
    models, locale = request.context.machine.models, request.locale
    held, usual = models.held(mode), models.usual(mode)
    if not decided:
        origin = SET[locale]
    elif held == decided:
        origin = DECIDED[locale].format(usual=usual)
    else:
        origin = LOST[locale].format(decided=decided)
    return f"`{mode}` ({ABOUT[mode][locale]}) — {held} · {origin}"


TITLE: Localized = {PT: "Quem pensa o quê:", EN: "Which model thinks what:", ES: "Qué modelo piensa qué:"}
ABOUT: dict[str, Localized] = {
    "heavy": {PT: "decide o próximo passo", EN: "decides what to do next", ES: "decide el próximo paso"},
    "reasoning": {
        PT: "extrai o que buscar e guardar",
        EN: "extracts what to search and save",
        ES: "extrae qué buscar y guardar",
    },
    "chat": {PT: "escreve o que se lê", EN: "writes what people read", ES: "escribe lo que se lee"},
    "summary": {PT: "resume conversas longas", EN: "summarises long conversations", ES: "resume conversaciones largas"},
}
SET: Localized = {PT: "da configuração", EN: "from the settings", ES: "de la configuración"}
DECIDED: Localized = {
    PT: "decidido em conversa (a configuração diz {usual})",
    EN: "decided in a chat (the settings say {usual})",
    ES: "decidido en un chat (la configuración dice {usual})",
}
LOST: Localized = {
    PT: "da configuração; foi decidido {decided}, que agora não pode ser usado (a chave ainda está na configuração?)",
    EN: "from the settings; decided was {decided}, which cannot be used now (is its key still in the settings?)",
    ES: "de la configuración; se decidió {decided}, que ahora no se puede usar (¿sigue su clave en la configuración?)",
}
COLD: Localized = {
    PT: "não muda com o bot no ar: /admin model embedding",
    EN: "does not change while the bot runs: /admin model embedding",
    ES: "no cambia con el bot en marcha: /admin model embedding",
}
NOT_HOT: Localized = {
    PT: "As memórias são achadas por vetores de {space}, e vetores de dois modelos não se comparam: cada memória teria "
    "de ser refeita. Por isso: pare o bot, escreva MODEL_EMBEDDING em .env, rode `elefante reindex` e comece "
    "de novo. Nada foi alterado.",
    EN: "Memories are found by vectors of {space}, and vectors of two models cannot be compared: each memory would "
    "have to be done anew. So it is changed like this: stop the bot, write MODEL_EMBEDDING into .env, run "
    "`elefante reindex`, and start again. Nothing was changed.",
    ES: "Las memorias se encuentran por vectores de {space}, y los vectores de dos modelos no se comparan: habría que "
    "rehacer cada memoria. Por eso se cambia así: detén el bot, escribe MODEL_EMBEDDING en .env, ejecuta "
    "`elefante reindex` y arráncalo de nuevo. No se cambió nada.",
}
HOW: Localized = {
    PT: "Para mudar: /admin model MODO PROVEDOR:MODELO (ou vários, com vírgulas); de volta à configuração: "
    "/admin model MODO default. Modos: {modes}.",
    EN: "To change one: /admin model MODE PROVIDER:MODEL (or several, with commas); back to the settings: "
    "/admin model MODE default. Modes: {modes}.",
    ES: "Para cambiar: /admin model MODO PROVEEDOR:MODELO (o varios, con comas); de vuelta a la configuración: "
    "/admin model MODO default. Modos: {modes}.",
}
BACK: Localized = {
    PT: "{mode}: como na configuração",
    EN: "{mode}: as the settings say",
    ES: "{mode}: según configuración",
}
PROVING: Localized = {PT: "Perguntando a {name}…", EN: "Asking {name}…", ES: "Preguntando a {name}…"}
DOUBTS: dict[Doubt, Localized] = {
    Doubt.FORM: {
        PT: "“{about}” não nomeia um modelo: escreva PROVEDOR:MODELO.",
        EN: "“{about}” names no model: write PROVIDER:MODEL.",
        ES: "“{about}” no nombra un modelo: escribe PROVEEDOR:MODELO.",
    },
    Doubt.PROVIDER: {
        PT: "Não conheço o provedor “{about}”. Há: {detail}.",
        EN: "I do not know the provider “{about}”. There are: {detail}.",
        ES: "No conozco el proveedor “{about}”. Hay: {detail}.",
    },
    Doubt.KEY: {
        PT: "Para {about} falta {detail} em .env (e o bot só lê esse arquivo quando começa).",
        EN: "{about} needs {detail} in .env (which the bot reads only when it starts).",
        ES: "A {about} le falta {detail} en .env (que el bot solo lee al arrancar).",
    },
    Doubt.ANSWER: {
        PT: "Perguntei a {about}, e não deu certo: {detail}.",
        EN: "I asked {about}, and it did not work: {detail}.",
        ES: "Pregunté a {about}, y no funcionó: {detail}.",
    },
}
UNCHANGED: Localized = {PT: "Nada foi alterado.", EN: "Nothing was changed.", ES: "No se cambió nada."}
UNPRICED: Localized = {
    PT: "Não sei quanto {name} custa: cotas em dinheiro não o contam. MODEL_PRICES pode dizer.",
    EN: "I do not know what {name} costs: limits in money do not count it. MODEL_PRICES can tell.",
    ES: "No sé cuánto cuesta {name}: los límites en dinero no lo cuentan. MODEL_PRICES puede decirlo.",
}

MODEL = Verb(
    "model",
    {PT: "que modelo pensa o quê", EN: "which model thinks what", ES: "qué modelo piensa qué"},
    model,
    " [MODE [PROVIDER:MODEL | default]]",
    for_owners=True,
)
