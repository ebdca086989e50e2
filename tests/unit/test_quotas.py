"""Limits held against what was spent: whose they are, when they end, and that they hold for people side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialogue import Usage
from core.errors import StorageError
from core.features.admin.storage import Decision, Decisions
from core.features.ledger.calls import BOT, Asker, ModelCall, Spend, SpendingScope
from core.features.ledger.storage import Ledger, Spending
from core.features.quotas.limits import QUOTA, Defaults, Limit, read
from core.features.quotas.quotas import Quotas, Use
from core.types import Role, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.ram import RamDatabase

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
ROOM = "telegram:-100"
MEMBER, GUEST, OWNER, ADMIN = Role.MEMBER, Role.GUEST, Role.OWNER, Role.ADMIN


@dataclass
class Bank:
    """Quotas over a ledger in RAM, at a time that a test moves."""

    person: str = "none"
    guest: str = "none"
    room: str = "none"
    bot: str = "none"
    zone: str = "UTC"
    start: datetime = START
    ledger: Ledger = field(default_factory=lambda: Ledger(RamDatabase()))

    def __post_init__(self) -> None:
        self.clock = FakeClock(start=self.start)
        self.decisions: Decisions = Decisions(RamDatabase())
        self.quotas = self.restarted()

    def restarted(self) -> Quotas:
        defaults = Defaults(read(self.person), read(self.guest), read(self.room), read(self.bot))
        return Quotas(self.ledger, self.decisions, self.clock, defaults, ZoneInfo(self.zone))

    async def spend(
        self, tokens: int, user: UserKey | None = ANA, room: str = "", cost_usd: float | None = 0.0
    ) -> None:
        now = self.clock.now()
        await self.quotas.record(
            ModelCall(now, user, "chat", "finish", "a:1", "end", 1.0, None, Usage(tokens, 0), cost_usd, room)
        )

    async def ask(
        self,
        tokens: int = 0,
        user: UserKey = ANA,
        role: Role | None = MEMBER,
        *,
        room: str = "",
        cost: float = 0,
    ) -> Use | None:
        """One message and its answer; what kept it out, if anything did."""
        async with self.quotas.admitted(Asker(user, room), role, thinks=True) as full:
            if full is None:
                await self.spend(tokens, user, room, cost)
        return full

    async def command(self, role: Role = MEMBER, *, user: UserKey = ANA, counts: int = 1) -> Use | None:
        async with self.quotas.admitted(Asker(user), role, thinks=False, counts=counts) as full:
            return full

    async def decide(self, name: str, value: str) -> None:
        before = await self.decisions.value(QUOTA, name)
        await self.decisions.apply(Decision(self.clock.now(), ANA, QUOTA, name, before, value))


@pytest.mark.parametrize(
    ("zone", "at", "ends"),
    [
        ("America/Sao_Paulo", datetime(2026, 3, 15, 2, 30, tzinfo=UTC), datetime(2026, 3, 15, 3, tzinfo=UTC)),
        ("Europe/Lisbon", datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(2026, 3, 29, 23, tzinfo=UTC)),
    ],
)
async def test_a_day_ends_at_the_midnight_of_its_time_zone_also_when_the_clock_is_changed(
    zone: str, at: datetime, ends: datetime
) -> None:
    bank = Bank(person="tokens_day=1", zone=zone, start=at)
    assert await bank.ask(1) is None
    full = await bank.ask()
    assert full is not None
    assert full.ends == ends
    await bank.clock.advance((ends - at).total_seconds() - 1)
    assert await bank.ask() is not None
    await bank.clock.advance(1)
    assert await bank.ask() is None


async def test_a_month_ends_with_its_last_day() -> None:
    start = datetime(2026, 3, 31, 22, 59, tzinfo=UTC)
    bank = Bank(person="cost_month=1", zone="Europe/Lisbon", start=start)
    assert await bank.ask(cost=1.0) is None
    full = await bank.ask()
    assert full is not None
    assert (full.period, full.ends) == ("2026-03", start + timedelta(minutes=1))
    await bank.clock.advance(60)
    assert await bank.ask() is None


async def test_zero_means_zero_and_nothing_written_means_no_limit() -> None:
    for limit in Limit:
        assert await Bank(person=f"{limit}=0").ask() is not None, limit
    assert await Bank().ask(10**9) is None


async def test_of_several_full_limits_the_one_that_lasts_longest_is_told() -> None:
    bank = Bank(person="messages_minute=1 tokens_day=10 tokens_month=10", room="tokens_day=10")
    assert await bank.ask(10, room=ROOM) is None
    full = await bank.ask(room=ROOM)
    assert full is not None
    assert full.limit is Limit.TOKENS_MONTH


@pytest.mark.parametrize(
    ("role", "limited"), [(None, True), (GUEST, True), (MEMBER, False), (ADMIN, False), (OWNER, False)]
)
async def test_guests_have_limits_of_their_own(role: Role | None, *, limited: bool) -> None:
    bank = Bank(guest="tokens_day=0", person="tokens_day=1")
    assert (await bank.ask(role=role) is not None) is limited


async def test_an_owner_is_bound_by_the_bots_limits_and_not_by_a_persons() -> None:
    assert await Bank(person="tokens_day=0").ask(role=OWNER) is None
    assert await Bank(bot="tokens_day=0").ask(role=OWNER) is not None


async def test_what_was_decided_goes_before_the_settings_of_a_person_first_then_of_a_role() -> None:
    bank = Bank(person="tokens_day=0", room="tokens_day=0", bot="tokens_day=0")
    for name in ("member", "bot", ROOM):
        assert await bank.ask(room=ROOM) is not None
        await bank.decide(name, "none")
    assert await bank.ask(room=ROOM) is None
    await bank.decide(str(ANA), "tokens_day=0")
    assert await bank.ask() is not None
    assert await bank.ask(user=BIA) is None
    await bank.decide("owner", "tokens_day=0")
    assert await bank.ask(user=BIA, role=OWNER) is not None
    [holding] = await bank.quotas.holding([SpendingScope(ANA)], MEMBER)
    assert (holding.decided, dict(holding.limits)) == (str(ANA), read("tokens_day=0"))


async def test_what_cannot_be_read_any_more_is_as_if_it_had_not_been_decided() -> None:
    bank = Bank(person="tokens_day=0")
    await bank.decide(str(ANA), "lines_week=9")
    assert await bank.ask() is not None


async def test_messages_a_minute_count_back_sixty_seconds() -> None:
    bank = Bank(person="messages_minute=2")
    assert await bank.ask() is None
    await bank.clock.advance(20)
    assert await bank.command() is None
    full = await bank.ask()
    assert full is not None
    assert full.ends - bank.clock.now() == timedelta(seconds=40)
    assert await bank.command() is not None
    assert await bank.command(counts=0) is None, "a button, or /stop"
    async with bank.quotas.admitted(Asker(ANA), MEMBER, thinks=True, counts=0) as kept_out:
        assert kept_out is None, "a button by which a model is asked again"
    assert await bank.command(OWNER) is None, "it may be what takes the limit back"
    await bank.clock.advance(40)
    assert await bank.ask() is None
    assert await bank.ask() is not None


async def test_a_limit_a_minute_that_was_lowered_meanwhile_says_when_there_is_room() -> None:
    bank = Bank()
    await bank.decide(str(ANA), "messages_minute=3")
    for _ in range(3):
        assert await bank.ask() is None
        await bank.clock.advance(10)
    await bank.decide(str(ANA), "messages_minute=1")
    full = await bank.ask()
    assert full is not None
    assert full.ends - bank.clock.now() == timedelta(seconds=50)


async def test_nothing_is_forgotten_by_a_restart() -> None:
    bank = Bank(person="tokens_day=10", bot="messages_minute=2")
    assert await bank.ask(4) is None
    assert await bank.ask(4) is None
    bank.quotas = bank.restarted()
    full = await bank.ask(user=BIA)
    assert full is not None
    assert full.limit is Limit.MESSAGES_MINUTE
    await bank.clock.advance(60)
    assert await bank.ask(4) is None
    bank.quotas = bank.restarted()
    await bank.clock.advance(60)
    assert await bank.ask() is not None


async def test_what_was_spent_before_yesterday_is_read_once_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, datetime]] = []

    def by_calls(self: Spending, scope: SpendingScope, *since: datetime) -> Sequence[Spend]:
        asked.extend((scope.name, first) for first in since)
        return summed(self, scope, *since)

    summed = Spending.by_calls
    monkeypatch.setattr(Spending, "by_calls", by_calls)

    bank = Bank(bot="tokens_month=100", ledger=Ledger(RamDatabase()))
    month, recent, today = [("bot", datetime(2026, 3, day, tzinfo=UTC)) for day in (1, 13, 14)]
    for _ in range(3):
        await bank.ask(1)
    assert asked == [today, recent, month, today, recent, today, recent]
    await bank.clock.advance(5 * 24 * 3600)
    assert await bank.ask(97) is None
    assert month in asked[7:]
    assert await bank.ask() is not None


async def test_a_call_that_began_before_midnight_is_of_the_day_that_it_began_in() -> None:
    bank = Bank(person="tokens_day=10", start=datetime(2026, 3, 14, 23, 59, 59, tzinfo=UTC))
    began = bank.clock.now()
    await bank.quotas.spent(SpendingScope(ANA))
    await bank.clock.advance(2)
    await bank.quotas.spent(SpendingScope(ANA))
    await bank.quotas.record(ModelCall(began, ANA, "chat", "finish", "a:1", "end", 2.0, None, Usage(50, 0), 0.0))
    assert await bank.ask() is None
    day, month = await bank.quotas.spent(SpendingScope(ANA))
    assert (day.tokens, month.tokens) == (0, 50)


async def test_an_answer_that_broke_off_is_awaited_no_more() -> None:
    bank = Bank(bot="tokens_day=100")
    await bank.ask(60)
    with suppress(StorageError):
        async with bank.quotas.admitted(Asker(ANA), MEMBER, thinks=True):
            assert await bank.ask() is not None
            raise StorageError("broken")
    assert await bank.ask() is None


async def test_what_is_nearly_used_is_news_once_a_period_also_after_a_restart() -> None:
    bank = Bank(person="tokens_day=100", bot="tokens_month=1000")

    async def news() -> list[tuple[str, int]]:
        return [(use.scope.name, use.percent) for use in await bank.quotas.news(Asker(ANA), MEMBER)]

    await bank.spend(79)
    assert await news() == []
    await bank.spend(1)
    assert await news() == [(str(ANA), 80)]
    assert await news() == []
    bank.quotas = bank.restarted()
    await bank.spend(15)
    assert await news() == []
    await bank.spend(5)
    assert await news() == [(str(ANA), 100)]
    bank.quotas = bank.restarted()
    assert await news() == []
    await bank.clock.advance(24 * 3600)
    await bank.spend(700)
    assert await news() == [(str(ANA), 700), ("bot", 80)]


async def test_zero_is_no_news() -> None:
    bank = Bank(person="tokens_day=0 messages_minute=0")
    assert await bank.quotas.news(Asker(ANA), MEMBER) == []


async def test_nothing_is_kept_of_a_person_who_was_forgotten() -> None:
    bank = Bank(person="tokens_month=10 messages_minute=5", bot="tokens_day=1000")
    await bank.ask(10)
    await bank.quotas.news(Asker(ANA), MEMBER)
    await bank.quotas.forget(ANA)
    assert str(ANA) not in repr(vars(bank.quotas) | {"ledger": None, "_decisions": None})
    day, _ = await bank.quotas.spent(BOT)
    assert day.tokens == 10
    assert await bank.ask() is None


@given(
    limit=st.integers(1, 500),
    zone=st.sampled_from(["UTC", "America/Sao_Paulo", "Europe/Lisbon", "Asia/Kathmandu"]),
    steps=st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 300), st.booleans()), max_size=40),
)
async def test_no_day_is_ever_above_its_limit_by_more_than_the_last_answer(
    limit: int, zone: str, steps: list[tuple[int, int, bool]]
) -> None:
    bank = Bank(person=f"tokens_day={limit}", zone=zone, start=datetime(2026, 3, 28, 20, tzinfo=UTC))
    spent: dict[str, list[int]] = {}
    for delay_s, tokens, restarts in steps:
        await bank.clock.advance(delay_s)
        bank.quotas = bank.restarted() if restarts else bank.quotas
        today = bank.clock.now().astimezone(ZoneInfo(zone)).date().isoformat()
        before = sum(spent.get(today, []))
        let_in = await bank.ask(tokens) is None
        assert let_in == (before < limit), "let in exactly while something is left of this local day"
        if let_in:
            spent.setdefault(today, []).append(tokens)
    for answers in spent.values():
        assert sum(answers[:-1]) < limit
