"""What Discord's menus show of the core's tables, and for whom an answer is: all that Discord would refuse or leak."""

from __future__ import annotations

import re

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.button import MAX_ID_CHARS, Forms, press_id, press_of, stop_id, stopped_by
from adapters.discord.interaction_handler import command_of
from adapters.discord.markup import Drawn
from adapters.discord.room import Room, aside, audience, channel_id
from adapters.discord.slash import said
from core.commands.menu import OptionKind
from core.outgoing import MAX_COMMAND_BYTES, Button
from core.text.catalogue import menu_names
from core.types import ChatKey, ConversationKey, Locale, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu

MENU = menu()
COMMANDS = {entry.name: entry for entry in MENU}
VERBS = [verb for entry in MENU for verb in entry.verbs]
ROOM = Room(5, guild=1)
FIELDS = [field for entry in (*MENU, *VERBS) for field in entry.fields]
OPTIONS = [field.name for field in FIELDS]
OWN = ("ask", "message", "private")  # what only Discord has


def test_every_name_in_a_menu_is_as_discord_wants_it_in_every_language() -> None:
    names = {*OWN, *OPTIONS, *(entry.name for entry in (*MENU, *VERBS))}
    shown = [each for name in names for each in (name, *menu_names(name).values())]
    assert [each for each in shown if each != each.lower() or not re.fullmatch(r"[-_'\w]{1,32}", each)] == []


@pytest.mark.parametrize("locale", [Locale.PT, Locale.ES])
def test_no_two_commands_of_a_menu_have_one_name_in_any_language(locale: Locale) -> None:
    for names in (["ask", *COMMANDS], *([verb.name for verb in entry.verbs] for entry in MENU)):
        shown = [menu_names(name).get(locale, name) for name in names]
        assert len(set(shown)) == len(shown)


def test_there_are_at_most_a_hundred_commands_25_in_a_group_and_descriptions_of_a_hundred_characters() -> None:
    assert len(["ask", *MENU]) <= 100
    assert all(len(entry.verbs) <= 25 for entry in MENU)
    for entry in (*MENU, *VERBS):
        assert all(1 <= len(text) <= 100 for text in entry.about.values()), entry
    for field in FIELDS:
        for text in (field.about, *field.words.values()):
            assert all(1 <= len(told) <= 100 for told in text.values()), field


def test_whoever_fills_in_a_command_reads_words_and_no_notation() -> None:
    for field in FIELDS:
        for told in (*field.about.values(), *(text for texts in field.words.values() for text in texts.values())):
            assert not re.search(r"[\[\]|…]|\b[A-Z]{3,}\b(?<!JSON)", told), field
    for entry in (*MENU, *VERBS):
        assert entry.fields or entry.verbs or not entry.usage.strip(), f"{entry.name} takes something"
        named = [field.name for field in entry.fields]
        assert len(set(named)) == len(named)


def test_every_word_of_a_usage_is_chosen_and_every_name_is_offered_while_one_types() -> None:
    for entry in (*MENU, *VERBS):
        words = set(re.findall(r"(?<![\w:])[a-z]{2,}", entry.usage))
        chosen = {part for field in entry.fields for word in field.words for part in word.split()}
        offered = chosen | {verb.name for verb in entry.verbs}
        completes = any(field.completes for field in entry.fields)
        assert words <= offered or completes, f"{entry.name}: {words - offered}"
        if re.search(r"\bN\b|PERSON|PROVIDER", entry.usage) and not entry.verbs:
            assert completes or any(field.kind is OptionKind.NUMBER for field in entry.fields), entry.name


def test_a_command_says_what_is_filled_in_in_its_own_order() -> None:
    role = next(verb for verb in VERBS if verb.name == "role")
    eva = discord.Object(5, type=discord.User)
    assert said("/admin role", role.fields, {"role": "admin", "person": eva}) == "/admin role discord:5 admin"
    assert said("/forget", COMMANDS["forget"].fields, {"memory": None, "what": "all"}) == "/forget all"
    kinds = {"kind": "profile", "page": 2}
    assert said("/memories", COMMANDS["memories"].fields, kinds) == "/memories profile 2"
    assert said("/import", COMMANDS["import"].fields, {"file": object()}) == "/import"


@given(st.sampled_from(["", "oi", "/", "/reset", "/stop now", "/memories 2", "/retry", "/ x", "/x"]), st.booleans())
def test_what_is_private_in_a_room_is_hidden_and_never_said_into_the_rooms_own_conversation(
    text: str, unseen: bool
) -> None:
    command = command_of(text, COMMANDS)
    to = audience(ROOM, 7, command, unseen=unseen)
    assert to.private == to.hidden
    if unseen:
        assert to.chat.is_aside
    if to.private and not to.chat.is_aside:
        assert command is not None
        assert command.in_conversation
    direct = audience(Room(5, private=True), 7, command, unseen=unseen)
    assert (direct.chat, direct.private, direct.hidden) == (ChatKey("discord", "5"), True, False)


def test_a_place_aside_is_of_one_person_in_one_channel_and_written_into_there() -> None:
    chats = [ROOM.chat, Room(6, parent=5, guild=1).chat]
    places = [aside(chat, user) for chat in chats for user in (7, 8)]
    assert len({*places, *chats}) == 6
    assert [channel_id(place) for place in places] == [5, 5, 6, 6]


@given(
    st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: len(text.encode()) <= MAX_COMMAND_BYTES),
    st.booleans(), st.booleans(), st.booleans(), st.integers(0, 149),
)  # fmt: skip
def test_all_that_a_button_means_stands_in_its_id(
    command: str, asks: bool, in_place: bool, aloof: bool, number: int
) -> None:
    choice = Button("x", command, asks="?" * asks, in_place=in_place)
    custom_id = press_id(choice, number, aside=aloof)
    assert len(custom_id) <= MAX_ID_CHARS
    found = press_of({"custom_id": custom_id})
    assert (found.command, found.asks, found.in_place, found.aside) == (command, asks, in_place, aloof)
    assert stopped_by({"custom_id": custom_id}) is None


@given(st.text(max_size=100))
def test_an_id_of_any_other_form_means_nothing(custom_id: str) -> None:
    if not custom_id.startswith("elefante:"):
        assert not press_of({"custom_id": custom_id}).command


@pytest.mark.parametrize("thread", ["", str(10**18), "@" + str(10**18), f"{10**18}@{10**18}"])
def test_the_stop_button_holds_its_conversation(thread: str) -> None:
    conversation = ConversationKey(ChatKey("discord", str(10**18), thread), UserKey("discord", str(10**18)))
    assert len(stop_id(conversation)) <= MAX_ID_CHARS
    assert stopped_by({"custom_id": stop_id(conversation)}) == conversation


def test_a_form_as_an_older_client_sends_it_is_understood() -> None:
    rows = [{"type": 1, "components": [{"type": 4, "custom_id": "text", "value": "novo"}]}]
    assert press_of({"custom_id": "elefante:do:f0:/edit 7", "components": rows}).command == "/edit 7 novo"


def test_only_what_leaves_a_conversation_as_it_is_overtakes() -> None:
    commands = [command_of(text, COMMANDS) for text in ("/memories 2", "/stop", "/reset", "/remember x", "/retry")]
    assert [command is not None and command.in_order for command in commands] == [False, False, True, True, True]
    assert [command_of(text, COMMANDS) for text in ("oi", "/")] == [None, None]


def test_of_many_forms_only_the_newest_are_kept_in_mind() -> None:
    forms = Forms(FakeClock())
    for number in range(1100):
        forms.note("7", Drawn(choices=(Button("Editar", f"/edit {number}", asks="Novo conteúdo"),)))
    assert len(forms) == 1000
