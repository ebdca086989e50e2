"""What owners and admins see of the bot: its state, its people, its actions, what was decided. Changes nothing."""

from __future__ import annotations

from core.commands.command import Request
from core.features.access.card import card, fits, minute, person_line, stranger_line, verdicts
from core.features.access.people import DENIED
from core.features.admin.decide import FORGOTTEN, ROLES, describe, value_text
from core.features.admin.decisions import DecisionKind
from core.features.admin.figures import figures
from core.features.admin.verb import person
from core.outgoing import Button
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.text.unicode import one_line
from core.types import UserKey

MAX_STRANGERS = 20
MOST_COUNTED = 1000
MAX_LABEL_CHARS = 40
MAX_CHANGES = 20


async def status(request: Request, _: str) -> None:
    """Show how the bot does."""
    context, models = request.context, request.context.models
    owners = await context.stores.memories.owners()
    counts = [await context.stores.memories.of(owner).count() for owner in owners]
    names = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    paused = bool(await context.stores.decisions.value(DecisionKind.PAUSE))
    told = STATUS[request.locale].format(
        state=(STATE_PAUSED if paused else STATE_ANSWERING)[request.locale],
        access=value_text(DecisionKind.ACCESS, await context.access.mode(), request.locale),
        uptime=_duration(context.clock.monotonic() - context.started_s),
        platforms=", ".join(sorted(context.notifier.seen)),
        models=", ".join(names),
        embedder=models.embedder.space,
        memories=sum(counts),
        people=len(owners),
    )
    await request.turn.tell("\n".join([told, *await figures(request)]))


async def users(request: Request, argument: str) -> None:
    """Show who has which standing, which rooms are let in, and who asked to be; or what is known of one person."""
    words = argument.split()
    if not words:
        await _everybody(request)
    elif name := await person(request, words, 1):
        platform, _, account = name.partition(":")
        await _somebody(request, UserKey(platform, account))


async def _everybody(request: Request) -> None:
    locale, access = request.locale, request.context.access
    asked = await access.strangers(MOST_COUNTED)
    rooms = await request.context.stores.decisions.values(DecisionKind.ROOM)
    lines = [USERS[locale], *(person_line(each, locale) for each in await access.people())]
    if rooms:
        lines += ["", ROOMS[locale], *(f"`{name}`" for name in rooms)]
    if denied := await access.denied():
        lines += ["", REFUSED[locale], *(stranger_line(each) for each in denied[:MAX_STRANGERS])]
    if asked:
        shown = asked[:MAX_STRANGERS]
        lines += ["", ASKED[locale], *(f"{at}. {stranger_line(each)}" for at, each in enumerate(shown, 1))]
    if (more := len(asked) - MAX_STRANGERS) > 0:
        lines.append(counted(MORE, locale, more))
    menu = [
        Button(f"{at}. {one_line(each.name, MAX_LABEL_CHARS) or each.user}", command)
        for at, each in enumerate(asked[:MAX_STRANGERS], 1)
        if fits(command := f"/admin users {each.user}")
    ]
    await request.turn.tell("\n".join(lines), menu=menu)


async def _somebody(request: Request, user: UserKey) -> None:
    """Show a person; a stranger on whom nobody decided with the buttons that do."""
    locale, access = request.locale, request.context.access
    known, noted = await access.person(user), await access.stranger(user)
    if known is not None:
        await request.turn.tell(person_line(known, locale))
    elif noted is not None and not noted.denied:
        shown = card(noted, locale)
        await request.turn.tell(shown.text, choices=shown.choices)
    else:
        role = ROLES[DENIED if noted else ""][locale]
        await request.turn.tell(f"{role} · `{user}`", choices=() if noted else verdicts(user, locale))


async def actions(request: Request) -> None:
    """Show which actions are on."""
    registry = request.context.registry
    lines = [f"{ACTION_ON[request.locale]} {action.name}" for action in registry.enabled]
    lines += [f"{ACTION_OFF[request.locale]} {action.name}" for action in registry.disabled]
    await request.turn.tell("\n".join([ACTIONS[request.locale], *lines]))


async def changes(request: Request, _: str) -> None:
    """Show what was decided last: when, by whom, what."""
    locale = request.locale
    lines = [
        f"{minute(each.at)} · {f'`{each.by}`' if each.by else FORGOTTEN[locale]} · {describe(each, locale)}"
        + (f" {UNDONE[locale]}" if each.undoes else "")
        for each in await request.context.stores.decisions.newest(MAX_CHANGES)
    ]
    await request.turn.tell("\n".join([CHANGES[locale], *lines]) if lines else NO_CHANGES[locale])


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    days, hours = divmod(minutes // 60, 24)
    return f"{days} d {hours} h {minutes % 60} min" if days else f"{hours} h {minutes % 60} min"


STATUS = text("admin.survey.status")
STATE_PAUSED = text("admin.survey.state_paused")
STATE_ANSWERING = text("admin.survey.state_answering")
USERS = text("admin.survey.users")
ROOMS = text("admin.survey.rooms")
ASKED = text("admin.survey.asked")
REFUSED = text("admin.survey.refused")
MORE = forms("admin.survey.more")
ACTIONS = text("admin.survey.actions")
ACTION_ON = text("admin.survey.action_on")
ACTION_OFF = text("admin.survey.action_off")
CHANGES = text("admin.survey.changes")
NO_CHANGES = text("admin.survey.no_changes")
UNDONE = text("admin.survey.undone")
