"""Verbs about how the bot is: actions, model, prompt, policy, room."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from core.actions.action import Registry
from core.answering.shown import MAX_MESSAGES
from core.commands.command import CompletionRequest, Request, offer_of, offered
from core.errors import ChannelError
from core.features.access.gate import ALL_THERE, KNOWN_THERE
from core.features.admin.admin import HERE, MAX_ID_CHARS, WrongUse, place_of, tell_room
from core.features.admin.machine import Doubt, Proof
from core.features.admin.storage import (
    ALL_MODES,
    ALLOWED,
    ALONE,
    OFF,
    ON,
    TOGETHER,
    Decision,
    DecisionKind,
    of_modes,
)
from core.features.feature import Shared
from core.history.window import POLICIES, SUMMARY
from core.models import MODES
from core.outgoing import Button, Suggestion
from core.text.catalogue import Sentences, text, texts
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.text.words import nearest
from core.types import ChatKey, Locale, Localized, room_name

ADMIN = Sentences("admin")
MODEL = Sentences("admin.model")
POLICY = Sentences("admin.policy")
PROMPT = Sentences("admin.prompt")
SURVEY = Sentences("admin.survey")
POINTING = Sentences("pointing")
SCOPE = Sentences("scope")

DEFAULT: Final = "default"
EMBEDDING: Final = "embedding"
MAX_PERSONA_CHARS: Final = 2_000
CONTEXT: Final = "context"
TALK: Final = "talk"
KINDS: Final = ("heavy", "chat")
"""A mode of each kind of question: a choice out of several names, and plain text."""

_OF_ANSWERS: Final = ("heavy", "reasoning", "chat")
_FIRST_WORDS: Final = (*MODES, ALL_MODES, EMBEDDING)
_MAX_NAME_CHARS: Final = 200
_SWITCHES: Final = {"enable": ON, "disable": OFF}
_log = logging.getLogger(__name__)


class SettingVerbs:
    """Verbs that show what holds, and decide something else. What they decide holds at once and for good."""

    def __init__(self, shared: Shared, registry: Registry) -> None:
        self._shared = shared
        self._registry = registry
        self._models = shared.machine.models
        self._embedder = shared.models.embedder
        self._decisions = shared.stores.decisions
        self._decide = shared.decider.decide
        shared.decider.after[DecisionKind.CONTEXT] = self._announce
        shared.decider.after[DecisionKind.TALK] = partial(tell_of_talk, shared)

    # --- actions: T6

    async def offer_actions(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the actions, those that are on first."""
        marked = [(SURVEY.action_on, self._registry.enabled), (SURVEY.action_off, self._registry.disabled)]
        told = (
            Suggestion(f"{mark[request.locale]} {each.name}", each.name) for mark, found in marked for each in found
        )
        return offered(request.typed, told)

    async def actions(self, request: Request, argument: str) -> None:
        """List the actions, or turn one on or off."""
        match argument.split():
            case [verb, name] if verb.casefold() in _SWITCHES:
                await self._switch(request, name, _SWITCHES[verb.casefold()])
            case [] | ["list"]:
                lines = [f"{SURVEY.action_on[request.locale]} {action.name}" for action in self._registry.enabled]
                lines += [f"{SURVEY.action_off[request.locale]} {action.name}" for action in self._registry.disabled]
                await request.answer.tell("\n".join([SURVEY.actions[request.locale], *lines]))
            case _:
                raise WrongUse(NOT_SO[request.locale])

    async def _switch(self, request: Request, name: str, value: str) -> None:
        registry = self._registry
        known = {action.name.casefold(): action.name for action in (*registry.enabled, *registry.disabled)}
        found = known.get(name.casefold())
        if found is None:
            await request.tell(ADMIN.no_action, name=name[:MAX_ID_CHARS], actions=", ".join(known.values()))
        elif found == registry.fallback.name:
            await request.tell(ADMIN.always_on, name=found)
        else:
            await self._decide(request, DecisionKind.ACTION, found, value)

    # --- model: put in place only after it answered

    async def offer_models(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the models that can be asked and have a price, after that of the settings."""
        usual = Suggestion(AS_SET[request.locale], DEFAULT)
        return offered(request.typed, (usual, *(Suggestion(name, name) for name in self._models.names())))

    async def model(self, request: Request, argument: str) -> None:
        """Show what answers in each mode, or try another model and put it in place, in one mode or in all."""
        first, _, rest = argument.partition(" ")
        mode, name = first.casefold(), "".join(rest.split())
        if mode and mode not in _FIRST_WORDS:
            meant = nearest(first, _FIRST_WORDS)
            if ":" not in first and (meant or rest):
                raise WrongUse(self._no_mode(first, meant, request.locale))
            mode, name = ALL_MODES, "".join(argument.split())
        if not mode:
            await self._show_models(request)
        elif mode == EMBEDDING:
            await request.tell(MODEL.not_hot, space=self._embedder.space)
        elif not name or len(name) > _MAX_NAME_CHARS:
            raise WrongUse(MODEL.which[request.locale])
        else:
            await self._put_model(request, mode, "" if name.casefold() == DEFAULT else name)

    @staticmethod
    def _no_mode(name: str, meant: str, locale: Locale) -> str:
        said = MODEL.no_mode[locale].format(name=one_line(name, 80), modes=", ".join((*MODES, ALL_MODES)))
        return f"{said} {MODEL.meant[locale].format(command=meant)}" if meant else said

    async def _put_model(self, request: Request, mode: str, name: str) -> None:
        """Prove a model ("": those of the settings) by one question of each kind, and put it in place."""
        kinds = (mode,) if mode != ALL_MODES else KINDS if name else MODES
        asked = {kind: name or self._models.usual(kind) for kind in kinds}
        await request.answer.status(MODEL.proving[request.locale].format(name=", ".join(dict.fromkeys(asked.values()))))
        priced, was_one = True, self._is_one()
        for kind, each in asked.items():
            proof = await self._models.prove(kind, each)
            if proof.doubt is not None:
                await self._doubt(request, mode, proof, proof.doubt)
                return
            priced = priced and proof.priced
        value = of_modes(dict.fromkeys(MODES, name)) if mode == ALL_MODES and name else name
        await self._decide(request, DecisionKind.MODEL, mode, value)
        if not name:
            return
        if not priced:
            await request.tell(MODEL.unpriced, name=name)
        if was_one and not self._is_one():
            command = f"/admin model {ALL_MODES} {name}"
            said = MODEL.split[request.locale].format(command=f"`{command}`")
            await request.answer.tell(said, choices=offer_of(command))

    def _is_one(self) -> bool:
        """Tell whether one model decides, extracts and speaks, so that one call may do all of it."""
        return len({self._models.held(mode) for mode in _OF_ANSWERS}) == 1 and not self._models.is_limited("chat")

    async def _doubt(self, request: Request, mode: str, proof: Proof, doubt: Doubt) -> None:
        """Say why nothing was changed, and offer the model that was meant perhaps."""
        locale = request.locale
        said = DOUBTS[doubt][locale].format(about=one_line(proof.about, 80), detail=proof.why.get(locale, proof.detail))
        lines, command = [f"{said} {MODEL.unchanged[locale]}"], f"/admin model {mode} {proof.nearest}"
        if proof.nearest:
            lines.append(MODEL.meant[locale].format(command=f"`{command}`"))
        await request.answer.tell("\n".join(lines), choices=offer_of(command) if proof.nearest else ())

    async def _show_models(self, request: Request) -> None:
        locale = request.locale
        decided = await self._decisions.values(DecisionKind.MODEL)
        lines = [self._model_line(mode, decided.get(mode, ""), locale) for mode in MODES]
        lines.append(f"`{EMBEDDING}` — {self._embedder.space} · {MODEL.cold[locale]}")
        back = [
            Button(MODEL.back[locale].format(mode=mode), f"/admin model {mode} {DEFAULT}")
            for mode in MODES
            if mode in decided
        ]
        if len(back) > 1:
            back = [Button(MODEL.all_back[locale], f"/admin model {ALL_MODES} {DEFAULT}"), *back]
        how = MODEL.how[locale].format(modes=", ".join(MODES))
        await request.answer.tell("\n".join([MODEL.title[locale], *lines, "", how]), choices=back)

    def _model_line(self, mode: str, decided: str, locale: Locale) -> str:
        """Return what answers in a mode, and where that comes from."""
        held, usual = self._models.held(mode), self._models.usual(mode)
        if not decided:
            origin = MODEL.set[locale]
        elif held == decided:
            origin = MODEL.decided[locale].format(usual=usual)
        else:
            origin = MODEL.lost[locale].format(decided=decided)
        return f"`{mode}` ({ABOUT_MODES[mode][locale]}) — {held} · {origin}"

    # --- prompt and policy: everywhere, or "here"

    async def prompt(self, request: Request, argument: str) -> None:
        """Show the persona, set one, or remove it. In a place, off means none there, default that of the bot."""
        place, persona = _placed(request, argument)
        word = persona.casefold()
        if not persona:
            await self._show_persona(request, place)
            return
        if len(persona) > MAX_PERSONA_CHARS:
            await request.tell(PROMPT.too_long, chars=len(persona), max_chars=MAX_PERSONA_CHARS)
            return
        if word == DEFAULT or (word == OFF and not place):
            persona = ""
        await self._decide(request, DecisionKind.PROMPT, place, OFF if word == OFF and place else persona)
        if persona and word != OFF and self._models.is_limited("chat"):
            await request.tell(PROMPT.no_model)

    async def _show_persona(self, request: Request, place: str) -> None:
        locale, where = request.locale, _where(place, request.locale)
        own = await self._decisions.value(DecisionKind.PROMPT, place)
        persona = own or await self._decisions.value(DecisionKind.PROMPT)
        how = PROMPT.how[locale].format(here=_word(place), max_chars=MAX_PERSONA_CHARS)
        if not persona or persona == OFF:
            lines = [PROMPT.none[locale].format(where=where)]
        else:
            lines = [PROMPT.holds[locale].format(where=where), *(f"> {line}" for line in persona.splitlines())]
            lines += [] if own else [PROMPT.inherited[locale]]
            lines += [PROMPT.no_model[locale]] if self._models.is_limited("chat") else []
        await request.answer.tell("\n".join([*lines, "", how]))

    async def policy(self, request: Request, argument: str) -> None:
        """Show which policy chooses what a model is shown of a conversation, or set one."""
        place, name = _placed(request, argument.casefold())
        conversations = request.turn.conversation.conversations
        if name in {*POLICIES, DEFAULT}:
            await self._decide(request, DecisionKind.POLICY, place, "" if name == DEFAULT else name)
            if name == SUMMARY and not conversations.summarises:
                await request.tell(POLICY.nothing_summarises)
            return
        if name:
            raise WrongUse(POLICY.no_policy[request.locale].format(name=one_line(name, MAX_ID_CHARS)))
        value = self._decisions.value
        held = await value(DecisionKind.POLICY, place) or await value(DecisionKind.POLICY)
        await request.tell(
            POLICY.policy_holds,
            where=_where(place, request.locale),
            name=held or conversations.usual_policy(),
            here=_word(place),
            names=", ".join(POLICIES),
        )

    # --- room: what holds in one room

    async def room(self, request: Request, argument: str) -> None:
        """Show or change who may ask in the room, how people talk there, what models read, what features have there."""
        chat, words = self._meant(request, argument.split())
        name, words = room_name(chat), [word.casefold() for word in words]
        switches = {each.word: each for each in self._shared.added.switches}
        match words:
            case []:
                await self._show_room(request, chat)
            case ["allow" | "deny" as verdict]:
                await self._decide(request, DecisionKind.ROOM, name, ALLOWED if verdict == "allow" else "")
            case ["context", word] if word == OFF or (word.isdecimal() and not int(word)):
                is_on_there = await self._decisions.value(DecisionKind.SERVER_CONTEXT, name)
                await self._decide(request, DecisionKind.CONTEXT, name, OFF if is_on_there else "")
            case ["context", number] if number.isdecimal() and int(number) <= MAX_MESSAGES:
                await self._decide(request, DecisionKind.CONTEXT, name, str(int(number)))
            case ["context", *_]:
                raise WrongUse(POINTING.how_many[request.locale].format(most=MAX_MESSAGES))
            case ["talk", word] if word in {TOGETHER, ALONE}:
                await self._decide(request, DecisionKind.TALK, name, word)
            case ["talk", *_]:
                raise WrongUse(HOW_TALK[request.locale])
            case [switch, word] if switch in switches and word in {ON, OFF}:
                await self._decide(request, switches[switch].kind, name, OFF if word == OFF else "")
            case _:
                raise WrongUse(NOT_SO[request.locale])

    def _meant(self, request: Request, words: list[str]) -> tuple[ChatKey, list[str]]:
        """Return the room that is meant, and the other words: the one named first, or the one where this is said.

        Raises:
            WrongUse: it is said in private, and names none.
        """
        incoming, seen = request.incoming, self._shared.notifier.seen
        first = words[0] if words else ""
        here = incoming.chat.without_aside
        if not incoming.private or incoming.chat.is_aside:
            return here, words[1:] if first.casefold() == HERE else words
        platform, colon, chat = first.partition(":")
        if not colon or not chat or len(first) > MAX_ID_CHARS:
            raise WrongUse(POINTING.which_room[request.locale])
        if platform not in seen:
            name, known = verbatim(one_line(platform, MAX_ID_CHARS)), ", ".join(sorted(seen))
            raise WrongUse(NO_PLATFORM[request.locale].format(name=name, platforms=known))
        return ChatKey(platform, chat), words[1:]

    async def _show_room(self, request: Request, chat: ChatKey) -> None:
        locale = request.locale
        most = await self._decisions.room_messages(chat)
        is_open = await self._shared.access.welcomes(room_name(chat))
        together = await self._decisions.talks_together(chat)
        lines = [
            (ALL_THERE if is_open else KNOWN_THERE)[locale],
            (POINTING.talk_together if together else POINTING.talk_alone)[locale],
        ]
        lines.append(POINTING.context_on[locale].format(most=most) if most else POINTING.context_off[locale])
        if most and (why := await self._why_unread(chat)) is not None:
            lines.append(why[locale])
        for switch in self._shared.added.switches:
            is_off = await self._decisions.value(switch.kind, room_name(chat)) == OFF
            lines.append((switch.off if is_off else switch.on)[locale])
        await request.answer.tell("\n".join(lines))

    async def _announce(self, request: Request, decision: Decision) -> None:
        """Tell the room that its talk is read from now on, and who decided so if the platform shows the bot none."""
        if not decision.after or decision.before:
            return
        if (why := await self._why_unread(place_of(request, decision.name))) is not None:
            await request.answer.tell(why[request.locale])
        said = TO_THE_ROOM[request.locale].format(most=decision.after)
        await tell_room(request, self._shared.notifier, decision.name, said)

    async def _why_unread(self, chat: ChatKey) -> Localized | None:
        channels = self._shared.notifier.platforms.get(chat.platform)
        try:
            return None if channels is None else await channels.room(chat, "").why_unread()
        except ChannelError as error:
            _log.info("room not asked", extra={"error": type(error).__name__})
            return None


async def tell_of_talk(shared: Shared, request: Request, decision: Decision) -> None:
    """Tell the room whether its people continue one conversation from now on."""
    together = await shared.stores.decisions.talks_together(place_of(request, decision.name))
    said = (POINTING.now_together if together else POINTING.now_alone)[request.locale]
    await tell_room(request, shared.notifier, decision.name, said)


def _placed(request: Request, argument: str) -> tuple[str, str]:
    """Return the place that is meant (PLATFORM:ID, "" for the whole bot), and what was written besides."""
    first, _, rest = argument.partition(" ")
    is_here = first.casefold() == HERE
    return (room_name(request.incoming.chat), rest.strip()) if is_here else ("", argument.strip())


def _word(place: str) -> str:
    """Return what is written after a verb to mean the place."""
    return f" {HERE}" if place else ""


def _where(place: str, locale: Locale) -> str:
    return (SCOPE.this_place if place else SCOPE.whole_bot)[locale]


NOT_SO = text("admin.verbs.not_so")
AS_SET = text("menus.settings")


ABOUT_MODES = texts("admin.model.about", MODES)
DOUBTS = texts("admin.model.doubts", Doubt)


HOW_TALK = text("pointing.how_talk")
TO_THE_ROOM = text("pointing.to_the_room")
NO_PLATFORM = text("admin.names.no_platform")
