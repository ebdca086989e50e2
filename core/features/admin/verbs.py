"""The verbs of /admin, one row each: name, who may, what follows it, what menus offer, and what it runs.

A verb that decides something does so by `Decider.decide`, which checks who may, tells, and records what /admin undo
takes back. Verbs of other features stand in their folders.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from core.actions.action import Registry
from core.answering.shown import MAX_MESSAGES
from core.commands.command import Request
from core.commands.menu import MenuOption, choice_field, completed_field, number_field, text_field
from core.errors import ConfigError
from core.features.access.gate import ROLES
from core.features.access.storage import DENIED
from core.features.admin.admin import ROOM, WHERE, Admin, Verb
from core.features.admin.names import EXAMPLE
from core.features.admin.people import GIVEN, LEAVE, MODE_LABELS, Handover, PeopleVerbs
from core.features.admin.settings import ABOUT_MODES, CONTEXT, DEFAULT, TALK, SettingVerbs
from core.features.admin.status import MOST_LOGS, RETRY, Status
from core.features.admin.storage import ALL_MODES, ALLOWED, ALONE, OFF, ON, TOGETHER, DecisionKind
from core.features.feature import Contribution, Shared
from core.history.window import LAST_MESSAGES, LAST_TOKENS, SUMMARY
from core.text.catalogue import Sentences, text, texts
from core.types import Role

SURVEY = Sentences("admin.survey")


def build(shared: Shared, registry: Registry) -> Contribution:
    """Contribute /admin with the verbs of all features."""
    people, owners, settings, status = (
        PeopleVerbs(shared),
        Handover(shared),
        SettingVerbs(shared, registry),
        Status(shared),
    )
    decider = shared.decider
    decider.on(DecisionKind.MODEL, shared.machine.models.put)
    decider.on(DecisionKind.ACTION, partial(_turn_action, registry))
    person = shared.names.verb
    judged = partial(person, usage=" PERSON | here", fields=[ROOM], by_reply=True, decisive=True, in_rooms=True)
    allow = partial(people.judge, role=Role.MEMBER.value, room=ALLOWED)
    deny, block = partial(people.judge, role=DENIED, room=""), partial(people.judge, role=Role.BLOCKED.value)
    decisive = partial(Verb, decisive=True)

    async def pause(request: Request, _: str, *, value: str) -> None:
        """Answer owners only, or everybody again who has access."""
        await decider.decide(request, DecisionKind.PAUSE, "", value)

    async def changes(request: Request, _: str) -> None:
        """Show the newest decisions: when, by whom, what."""
        lines = await decider.changes(request.locale)
        await request.answer.tell(
            "\n".join([SURVEY.changes[request.locale], *lines]) if lines else SURVEY.no_changes[request.locale]
        )

    async def undo(request: Request, _: str) -> None:
        """Take back the newest decision that was not taken back."""
        await decider.undo(request)

    verbs = (
        Verb("status", text("admin.commands.status"), status.status, f" [{RETRY}]", fields=(_RETRY,)),
        person("users", text("admin.commands.users"), people.users, " [PERSON]"),
        judged("allow", text("admin.commands.allow"), allow),
        judged("deny", text("admin.commands.deny"), deny),
        person("block", text("admin.commands.block"), block, by_reply=True, decisive=True),
        person(
            "role",
            text("admin.commands.role"),
            people.role,
            " PERSON admin|member|guest",
            example=f"{EXAMPLE} admin",
            fields=[_GIVEN],
            for_owners=True,
            by_reply=True,
            decisive=True,
        ),
        Verb(
            "access",
            text("admin.commands.access"),
            people.access_mode,
            " [private|members|open]",
            "members",
            for_owners=True,
            fields=(choice_field("mode", text("menus.fields.access"), MODE_LABELS),),
        ),
        person(
            "owner",
            text("admin.commands.owner"),
            owners.owner,
            " [PERSON | leave]",
            fields=[choice_field("what", text("menus.fields.owner"), {LEAVE: text("menus.owner.leave")})],
            for_owners=True,
            decisive=True,
        ),
        Verb(
            "actions",
            text("admin.commands.actions"),
            settings.actions,
            " list | enable NAME | disable NAME",
            "disable MemorySave",
            fields=_ACTION_FIELDS,
            complete=settings.offer_actions,
        ),
        Verb(
            "model",
            text("admin.commands.model"),
            settings.model,
            " [PROVIDER:MODEL | MODE PROVIDER:MODEL | [MODE] default]",
            "chat openai:gpt-6-luna",
            for_owners=True,
            fields=_MODEL_FIELDS,
            complete=settings.offer_models,
        ),
        Verb(
            "prompt",
            text("admin.commands.prompt"),
            settings.prompt,
            " [here] [TEXT | off | default]",
            for_owners=True,
            in_rooms=True,
            fields=_PROMPT_FIELDS,
        ),
        Verb(
            "policy",
            text("admin.commands.policy"),
            settings.policy,
            " [here] [NAME | default]",
            SUMMARY,
            in_rooms=True,
            fields=(WHERE, choice_field("what", text("menus.fields.policy"), _POLICIES)),
        ),
        Verb(
            "room",
            text("admin.commands.room"),
            settings.room,
            " ".join(
                [
                    " [ROOM] [allow | deny | talk together|alone | context N",
                    *(f"| {each.word} on|off" for each in shared.added.switches),
                ]
            )
            + "]",
            f"{CONTEXT} 20",
            of_room=True,
            fields=_room_fields(shared),
        ),
        *shared.added.verbs,
        Verb(
            "logs",
            text("admin.commands.logs"),
            status.logs,
            " [N]",
            fields=(number_field("number", text("menus.fields.logs"), MOST_LOGS),),
        ),
        decisive("pause", text("admin.commands.pause"), partial(pause, value=ON), for_owners=True),
        decisive("resume", text("admin.commands.resume"), partial(pause, value=""), for_owners=True),
        Verb("changes", text("admin.commands.changes"), changes),
        decisive("undo", text("admin.commands.undo"), undo),
    )
    admin = Admin(verbs, shared.replies)
    return Contribution(
        commands=(admin.command,),
        forgetters=(shared.stores.decisions,),
        offers=(admin,),
    )


def _room_fields(shared: Shared) -> tuple[MenuOption, ...]:
    choices = texts("menus.room", ("allow", "deny"))
    choices |= {CONTEXT: text("menus.room.context"), f"{CONTEXT} {OFF}": text("menus.room.context_off")}
    choices |= {f"{TALK} {TOGETHER}": text("menus.room.together"), f"{TALK} {ALONE}": text("menus.room.alone")}
    for each in shared.added.switches:
        choices |= {f"{each.word} {ON}": each.turn_on, f"{each.word} {OFF}": each.turn_off}
    return (
        text_field("id", text("menus.fields.room_id")),
        choice_field("what", text("menus.fields.in_room"), choices),
        number_field("messages", text("menus.fields.messages"), MAX_MESSAGES),
    )


def _turn_action(registry: Registry, name: str, value: str) -> None:
    """Turn an action ON or OFF, or leave it to the settings ("")."""
    with suppress(ConfigError):  # decided by a version of this program that had the action
        {ON: registry.enable, OFF: registry.disable}.get(value, registry.restore)(name)


_RETRY: Final = choice_field("what", text("menus.fields.retry"), {RETRY: text("admin.platforms.try_now")})
_GIVEN: Final = choice_field("role", text("menus.fields.role"), {role: ROLES[role] for role in GIVEN}, required=True)
_ACTION_FIELDS: Final = (
    choice_field(
        "what",
        text("menus.fields.actions"),
        texts("menus.actions", ("list", "enable", "disable")),
    ),
    completed_field("action", text("menus.fields.action")),
)
_MODEL_FIELDS: Final = (
    choice_field("mode", text("menus.fields.mode"), {**ABOUT_MODES, ALL_MODES: text("menus.modes.all")}),
    completed_field("model", text("menus.fields.model")),
)
_PROMPT_FIELDS: Final = (
    WHERE,
    text_field("text", text("menus.fields.prompt")),
    choice_field(
        "what",
        text("menus.fields.prompt_off"),
        texts("menus.prompt", (OFF, DEFAULT)),
    ),
)
_POLICIES: Final = texts("menus.policies", (SUMMARY, LAST_MESSAGES, LAST_TOKENS)) | {DEFAULT: text("menus.settings")}
