"""/admin quota, as owners and admins meet it: what holds, how much is used, and how it is changed."""

from __future__ import annotations

import pytest

from core.dialogue import Task
from core.features.access.storage import Person
from core.features.ledger.calls import SpendingScope
from core.features.quotas.limits import QUOTA, Defaults, read
from core.types import Role, UserKey
from tests.fakes.house import ANA, BIA, House, NamedModels
from tests.fakes.metered import NO_PRICES, MeteredHouse

CARO = UserKey("test", "caro")


async def opened(**defaults: str) -> MeteredHouse:
    """Ana owns the bot, Bia administers it, Caro is a member."""
    house = House(
        {Task.DECIDE: ["Finish"]},
        defaults=Defaults(**{name: read(text) for name, text in defaults.items()}),
        trusted=(),
    )
    for user, role in ((ANA, Role.OWNER), (BIA, Role.ADMIN), (CARO, Role.MEMBER)):
        await house.people.put(Person(user, role, user.user, house.clock.now()))
    return MeteredHouse(house)


async def test_all_limits_are_shown_with_where_they_come_from_and_how_much_is_used() -> None:
    bot = await opened(
        person="messages_minute=30", guest="tokens_day=100", room="messages_minute=60", bot="cost_day=100"
    )
    async with bot.open() as handler:
        await bot.say(handler, "/admin allow here", chat="room", room=True)
        await bot.say(handler, "hi", CARO, chat="room", room=True)
        await bot.say(handler, "/admin quota test:caro tokens_day=60 messages_minute=9")
        await bot.say(handler, "/admin quota GUEST none")
        told = await bot.say(handler, "/admin quota", BIA)
    assert told == (
        "Limits (days and months of UTC):\n"
        "`bot`: `cost_day=100` · settings · this month 1 message, 30 tokens, US$ 30.00 · 30 % of US$ 100.00 a day\n"
        "`owner`: no limit · settings\n"
        "`admin`: `messages_minute=30` · settings\n"
        "`member`: `messages_minute=30` · settings\n"
        "`guest`: no limit · decided\n"
        "each room: `messages_minute=60`\n"
        "\nWith limits of their own:\n"
        "`test:caro`: `messages_minute=9 tokens_day=60` · decided · this month 1 message, 30 tokens, US$ 30.00 · "
        "11 % of 9 messages a minute, 50 % of 60 tokens a day\n"
        "\nWho used most this month:\n"
        "`test:room`: `messages_minute=60` · settings · this month 1 message, 30 tokens, US$ 30.00 · "
        "1 % of 60 messages a minute\n"
        "\nTo change: /admin quota NAME LIMITS, where NAME is PLATFORM:ID, @name, owner, admin, member, guest or bot; "
        "/admin quota NAME reset goes back to the settings. For example: "
        "`/admin quota guest messages_minute=10 tokens_day=50000 cost_month=2.50`"
    )


async def test_who_limits_money_is_told_which_models_have_no_price() -> None:
    bot = await opened()
    models = bot.house.machine.models
    assert isinstance(models, NamedModels)
    models.without_price = ["groq:new"]
    async with bot.open() as handler:
        assert "what groq:new costs" in await bot.say(handler, "/admin quota bot cost_day=1")
        assert "what groq:new costs" not in await bot.say(handler, "/admin quota bot tokens_day=1000")


async def test_an_owner_changes_a_limit_at_once_and_takes_it_back() -> None:
    bot = await opened()
    async with bot.open() as handler:
        assert await bot.say(handler, "/admin quota caro tokens_day=0") == (
            "Done. quota `test:caro`: as the settings say → `tokens_day=0`\nTo undo it: /admin undo"
        )
        assert "leaves nothing" in await bot.say(handler, "hi", CARO)
        assert "`tokens_day=0` → as the settings say" in await bot.say(handler, "/admin undo")
        assert await bot.say(handler, "hi", CARO) == "ok"
        await bot.say(handler, "/admin quota member Cost_Month=2.50 tokens_day=100")
        assert await bot.house.decisions.value(QUOTA, "member") == "tokens_day=100 cost_month=2.50"
        assert "is already so" in await bot.say(handler, "/admin quota member tokens_day=100 cost_month=2.50")
        assert (await bot.say(handler, "/admin quota member")).startswith(
            "`member`: `tokens_day=100 cost_month=2.50` · decided"
        )
        assert (await bot.say(handler, "/admin quota caro")).startswith(
            "`test:caro`: `tokens_day=100 cost_month=2.50` · member"
        )
        assert "→ as the settings say" in await bot.say(handler, "/admin quota member reset")
        changes = await bot.say(handler, "/admin changes", BIA)
    assert "`test:ana` · quota `member`: `tokens_day=100 cost_month=2.50` → as the settings say" in changes


async def test_an_admin_sees_limits_and_changes_none_and_a_member_sees_nothing() -> None:
    bot = await opened()
    async with bot.open() as handler:
        assert "no limit · settings" in await bot.say(handler, "/admin quota caro", BIA)
        assert await bot.say(handler, "/admin quota caro tokens_day=0", BIA) == (
            "Only an owner can change that. Nothing was done."
        )
        assert await bot.say(handler, "/admin quota", CARO) == "Only this bot's owner can do that."
    assert dict(await bot.house.decisions.values(QUOTA)) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("caro lines=3", "That is not a limit: lines=3. The limits are: `messages_minute`, `tokens_day`,"),
        ("caro tokens_day=-1", "That is not a limit: `tokens_day=-1`."),
        ("bot 5", "That is not a limit: 5."),
        ("mars:1 tokens_day=1", "There is no platform “mars” here."),
        ("here tokens_day=1", "Say who. I need the numeric id"),
    ],
)
async def test_what_cannot_be_meant_changes_nothing_and_says_what_can(text: str, told: str) -> None:
    bot = await opened()
    async with bot.open() as handler:
        assert (await bot.say(handler, f"/admin quota {text}")).startswith(told)
    assert dict(await bot.house.decisions.values(QUOTA)) == {}


async def test_a_rooms_limit_is_seen_and_changed_in_the_room() -> None:
    bot = await opened()
    async with bot.open() as handler:
        await bot.say(handler, "/admin allow here", chat="room", room=True)
        told = await bot.say(handler, "/admin quota here tokens_month=100", chat="room", room=True)
        assert "quota `test:room`: as the settings say → `tokens_month=100`" in told
        assert (await bot.say(handler, "/admin quota here", chat="room", room=True)).startswith(
            "`test:room`: `tokens_month=100` · decided · this month 0 messages, 0 tokens, US$ 0.00 · "
            "0 % of 100 tokens a month"
        )
        assert "Here only" in await bot.say(handler, "/admin quota", chat="room", room=True)
    [holding] = await bot.house.quotas.holding([SpendingScope(room="test:room")], None)
    assert holding.decided == "test:room"


async def test_calls_without_a_price_are_told() -> None:
    bot = MeteredHouse((await opened()).house, NO_PRICES)
    async with bot.open() as handler:
        await bot.say(handler, "hi", CARO)
        assert "The price of 2 calls is not known: they count in tokens, not in money." in await bot.say(
            handler, "/admin quota"
        )
