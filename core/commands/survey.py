"""What owners and admins see of the bot: its state, its people, its actions, what was decided. Changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from core.commands.command import Request
from core.commands.decide import FORGOTTEN, STANDINGS, describe
from core.people import Matter, Person, Stranger
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
MAX_STRANGERS = 20
MAX_CHANGES = 20


async def status(request: Request, _: str) -> None:
    """Show how the bot does."""
    desk, models = request.desk, request.desk.models
    owners = await desk.kept.memories.owners()
    counts = [await desk.kept.memories.of(owner).count() for owner in owners]
    names = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    paused = bool(await desk.kept.decisions.value(Matter.PAUSE))
    await request.tell(
        STATUS,
        state=(STATE_PAUSED if paused else STATE_ANSWERING)[request.locale],
        uptime=_duration(desk.clock.monotonic() - desk.started_s),
        platforms=", ".join(sorted(desk.platforms)),
        models=", ".join(names),
        embedder=models.embedder.space,
        others=request.others,
        memories=sum(counts),
        people=len(owners),
    )


async def users(request: Request, _: str) -> None:
    """Show who has which standing, which rooms are let in, and who asked to be let in."""
    locale, access = request.locale, request.desk.access
    people = await access.people()
    strangers = await access.strangers(MAX_STRANGERS)
    rooms = await request.desk.kept.decisions.values(Matter.ROOM)
    lines = [USERS[locale], *(_person_line(person, locale) for person in people)]
    if rooms:
        lines += ["", ROOMS[locale], *(f"`{name}`" for name in rooms)]
    if strangers:
        lines += ["", ASKED[locale], *(_stranger_line(stranger) for stranger in strangers)]
    await request.turn.tell("\n".join(lines))


async def actions(request: Request) -> None:
    """Show which actions are on."""
    registry = request.desk.registry
    lines = [f"{ACTION_ON[request.locale]} {action.name}" for action in registry.enabled]
    lines += [f"{ACTION_OFF[request.locale]} {action.name}" for action in registry.disabled]
    await request.turn.tell("\n".join([ACTIONS[request.locale], *lines]))


async def changes(request: Request, _: str) -> None:
    """Show what was decided last: when, by whom, what."""
    locale = request.locale
    lines = [
        f"{_minute(each.at)} · {f'`{each.by}`' if each.by else FORGOTTEN[locale]} · {describe(each, locale)}"
        + (f" {UNDONE[locale]}" if each.undoes else "")
        for each in await request.desk.kept.decisions.newest(MAX_CHANGES)
    ]
    await request.turn.tell("\n".join([CHANGES[locale], *lines]) if lines else NO_CHANGES[locale])


def _person_line(person: Person, locale: Locale) -> str:
    return " · ".join([STANDINGS[person.standing.value][locale], f"`{person.user}`", *_named(person.name)])


def _stranger_line(stranger: Stranger) -> str:
    return " · ".join([_minute(stranger.at), f"`{stranger.user}`", *_named(stranger.name)])


def _named(name: str) -> list[str]:
    """Return a name as it is written, whatever marks are in it: whoever asks chose it."""
    return [f"`{bare}`"] if (bare := name.replace("`", "").strip()) else []


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    days, hours = divmod(minutes // 60, 24)
    return f"{days} d {hours} h {minutes % 60} min" if days else f"{hours} h {minutes % 60} min"


STATUS: Localized = {
    PT: "Estado: {state}\nNo ar há: {uptime}\nPlataformas: {platforms}\nModelos: {models}\nEmbeddings: {embedder}\n"
    "Outras mensagens em andamento: {others}\nMemórias: {memories} (pessoas com memórias: {people})",
    EN: "State: {state}\nUp for: {uptime}\nPlatforms: {platforms}\nModels: {models}\nEmbeddings: {embedder}\n"
    "Other messages being answered: {others}\nMemories: {memories} (people who have some: {people})",
    ES: "Estado: {state}\nActivo desde hace: {uptime}\nPlataformas: {platforms}\nModelos: {models}\n"
    "Embeddings: {embedder}\nOtros mensajes en curso: {others}\nMemorias: {memories} (personas con memorias: {people})",
}
STATE_PAUSED: Localized = {PT: "em pausa", EN: "paused", ES: "en pausa"}
STATE_ANSWERING: Localized = {PT: "atendendo", EN: "answering", ES: "atendiendo"}
USERS: Localized = {PT: "Quem eu atendo:", EN: "Whom I answer:", ES: "A quién atiendo:"}
ROOMS: Localized = {PT: "Salas permitidas:", EN: "Rooms let in:", ES: "Salas permitidas:"}
ASKED: Localized = {
    PT: "Escreveram sem que eu os conheça (os mais recentes primeiro, horário UTC; /admin allow ID deixa entrar):",
    EN: "Wrote without my knowing them (the newest first, times in UTC; /admin allow ID lets one in):",
    ES: "Escribieron sin que los conozca (los más recientes primero, hora UTC; /admin allow ID deja entrar):",
}
ACTIONS: Localized = {PT: "Ações:", EN: "Actions:", ES: "Acciones:"}
ACTION_ON: Localized = {PT: "✅ ligada:", EN: "✅ on:", ES: "✅ activada:"}
ACTION_OFF: Localized = {PT: "⛔ desligada:", EN: "⛔ off:", ES: "⛔ desactivada:"}
CHANGES: Localized = {
    PT: "Últimas mudanças (as mais recentes primeiro, horário UTC):",
    EN: "Last changes (the newest first, times in UTC):",
    ES: "Últimos cambios (los más recientes primero, hora UTC):",
}
NO_CHANGES: Localized = {PT: "Nada foi mudado ainda.", EN: "Nothing was changed yet.", ES: "Aún no se cambió nada."}
UNDONE: Localized = {PT: "(desfez)", EN: "(undone)", ES: "(deshecho)"}
