"""/admin: what owners and admins steer the bot with. Knows the verbs and who may use each. Checked on ids, every time.

Does not know how a decision is made, nor what the bot looks like from inside: those are `decide` and `survey`.
"""

from __future__ import annotations

from core.commands.command import Command, Request
from core.features.access.admission import ACCESS, ALLOW, BLOCK, DENY, HERE, ROLE
from core.features.admin.decide import decide, undo
from core.features.admin.decisions import OFF, ON, DecisionKind
from core.features.admin.logs import LOGS
from core.features.admin.model import MODEL
from core.features.admin.policy import POLICY
from core.features.admin.prompt import PROMPT
from core.features.admin.survey import actions, changes, status, users
from core.features.admin.verb import MAX_ID_CHARS, Verb
from core.features.broadcast.admin_broadcast import BROADCAST
from core.features.ledger.admin_usage import USAGE_VERB
from core.features.quotas.admin_quota import QUOTA
from core.features.transfer.admin_data import BACKUP, EXPORT_OF, FORGET_OF
from core.text.catalogue import text


async def admin(request: Request, argument: str) -> None:
    """Run a verb, or list those that the person may use. Where others read along only what is about that room."""
    name, _, rest = argument.partition(" ")
    verb = VERBS.get(name.strip().casefold())
    if not request.incoming.private and not (verb and verb.in_rooms and rest.casefold().split()[:1] == [HERE]):
        known = (f"/admin {verb.name} {HERE}" for verb in _open_to(request) if verb.in_rooms)
        await request.tell(NOT_HERE, known=", ".join(known))
    elif verb is None or not verb.is_for(request.role):
        lines = [f"/admin {verb.name}{verb.usage} — {verb.about[request.locale]}" for verb in _open_to(request)]
        await request.turn.tell("\n".join(lines))
    else:
        await verb.run(request, rest.strip())


async def switch(request: Request, argument: str) -> None:
    """List the actions, or turn one on or off, at once and for good (T6)."""
    values = {"enable": ON, "disable": OFF}
    match argument.split():
        case [verb, name] if verb.casefold() in values:
            await _turn_action(request, name, values[verb.casefold()])
        case _:
            await actions(request)


async def pause(request: Request, _: str) -> None:
    """Answer nobody but owners."""
    await decide(request, DecisionKind.PAUSE, "", ON)


async def resume(request: Request, _: str) -> None:
    """Answer everybody again whom the bot knows."""
    await decide(request, DecisionKind.PAUSE, "", "")


async def _undo(request: Request, _: str) -> None:
    await undo(request)


async def _turn_action(request: Request, name: str, value: str) -> None:
    registry = request.context.registry
    known = {action.name.casefold(): action.name for action in (*registry.enabled, *registry.disabled)}
    found = known.get(name.casefold())
    if found is None:
        await request.tell(NO_ACTION, name=name[:MAX_ID_CHARS], actions=", ".join(known.values()))
    elif found == registry.fallback.name:
        await request.tell(ALWAYS_ON, name=found)
    else:
        await decide(request, DecisionKind.ACTION, found, value)


def _open_to(request: Request) -> list[Verb]:
    return [verb for verb in VERBS.values() if verb.is_for(request.role)]


NOT_HERE = text("admin.not_here")
NO_ACTION = text("admin.no_action")
ALWAYS_ON = text("admin.always_on")

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("status", text("admin.commands.status"), status),
        Verb(
            "users",
            text("admin.commands.users"),
            users,
            " [PLATFORM:ID]",
        ),
        ALLOW,
        DENY,
        BLOCK,
        ROLE,
        ACCESS,
        Verb(
            "actions",
            text("admin.commands.actions"),
            switch,
            " list | enable NAME | disable NAME",
        ),
        MODEL,
        PROMPT,
        POLICY,
        USAGE_VERB,
        QUOTA,
        BROADCAST,
        LOGS,
        BACKUP,
        EXPORT_OF,
        FORGET_OF,
        Verb("pause", text("admin.commands.pause"), pause, for_owners=True),
        Verb("resume", text("admin.commands.resume"), resume, for_owners=True),
        Verb("changes", text("admin.commands.changes"), changes),
        Verb("undo", text("admin.commands.undo"), _undo),
    )
}

ADMIN = Command(
    "admin",
    text("commands.admin"),
    admin,
    usage=" …",
    for_staff=True,
    verbs=tuple(verb.entry() for verb in VERBS.values()),
)
