"""Alarms: for each kind of trouble, when the owners know, how often they are told, what they and the members read.

The bot of `bench.night`: real but for the clock. `python -m bench alarms [NAME ...]` runs all scenarios, or those whose
names hold a word; ALARMS_FULL=1 prints every sentence that was read.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from bench.night import EN, HOUR_S, IN_VAIN, KEY, MEMBERS, PT, WORD, Night, fails, night, says
from bench.table import show
from bot.logs import configure
from core.dialogue import Stop
from tests.fakes import openai_server
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.telegram_wire import Refused

QUOTA: Final = "You exceeded your current quota, please check your plan and billing details."
LOW: Final = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
_RETRY_NO: Final = {"x-should-retry": "false"}

Scenario = Callable[[Path], Awaitable[Night]]


def _quota() -> Answer:
    answer = fails("openai", 429, QUOTA)
    return Answer(
        429,
        answer.headers,
        answer.body.replace(b"rate_limit_exceeded", b"insufficient_quota").replace(
            b'"requests"', b'"insufficient_quota"'
        ),
    )


async def _judge(
    world: Night, *, names: str, kind: str = "ERROR", for_owner: bool = True, over: int = 1, told: int = 1
) -> None:
    """Judge what every scenario must come to; call it after the end was told. `names` stands in the log."""
    for to in ("pt", "en"):
        world.must(
            len(world.of_trouble(to)) == told, f"{to}: {len(world.of_trouble(to))} messages in the trouble, not {told}"
        )
        world.must(len(world.after(to)) == over, f"{to}: {len(world.after(to))} messages after it, not {over}")
    same = {each.text for each in world.told() if each.to == "pt"} & {
        each.text for each in world.told() if each.to == "en"
    }
    world.must(not same, f"en reads Portuguese: {[text[:60] for text in same]}")
    everything = "\n".join([*(each.text for each in world.told()), *world.answers.values(), world.terminal.getvalue()])
    world.must(KEY not in everything and "SECRET" not in everything, "a secret was said")
    world.must(KEY not in world.log and "SECRET" not in world.log, "a secret is in the log")
    world.must(WORD not in everything and WORD not in world.log, "a member's words are in an alarm or in the log")
    if for_owner:
        for text in world.all_read():
            world.must(not IN_VAIN.search(text), f"a member reads in vain: {text!r}")
    if kind:
        world.must(names in world.answers.get("logs", ""), f"/admin logs does not name {names}")
        world.must(any(names in line["event"] for line in world.log_lines(kind)), f"no {kind} in the log names {names}")
        world.must(
            not world.answers.get("status", "").count("\n0 err") and "no error" not in world.answers.get("status", ""),
            "/admin status counts no error",
        )


async def _hour(
    world: Night, turn: Callable[[], None] | None = None, *, mend: Callable[[], None], every_s: float = 60.0
) -> None:
    """An hour of trouble, a look at /admin, the mending, and ten minutes after it with members who ask."""
    await world.trouble(1.0, every_s, turn)
    await world.look()
    world.end()
    mend()
    await _mended(world)


async def _mended(world: Night) -> None:
    """Ten minutes in which members go on, and half an hour of silence."""
    for _ in range(8):
        world.ask()
        await world.pass_(90.0, 5.0)
    await world.pass_(1800.0, 60.0)


def _set(world: Night, name: str, answer: Any) -> Callable[[], None]:
    def do() -> None:
        world.models[name].answers = [answer]

    return do


# --- the scenarios ---


async def key_expires(folder: Path) -> Night:
    """The key expires (401) while three members keep asking."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        _set(world, "openai", fails("openai", 401, "Incorrect API key provided: sk-SECRET-KEY-openai."))()
        await _hour(world, mend=_set(world, "openai", says("openai")))
        await _judge(world, names="openai")
        return world


async def quota(folder: Path) -> Night:
    """OpenAI: 429 insufficient_quota."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        _set(world, "openai", _quota())()
        await _hour(world, mend=_set(world, "openai", says("openai")))
        await _judge(world, names="openai")
        return world


async def credit(folder: Path) -> Night:
    """Anthropic: credit balance too low (400)."""
    async with night(folder, "anthropic", MODEL="anthropic:claude-haiku-5-5") as world:
        await world.hello()
        _set(world, "anthropic", fails("anthropic", 400, LOW))()
        await _hour(world, mend=_set(world, "anthropic", says("anthropic")))
        await _judge(world, names="anthropic")
        return world


async def unknown_model(folder: Path) -> Night:
    """A model name that does not exist (404)."""
    async with night(folder, "openai", MODEL="openai:gpt-55-turbo") as world:
        await world.hello()
        _set(
            world,
            "openai",
            fails("openai", 404, "The model `gpt-55-turbo` does not exist or you do not have access to it."),
        )()
        await _hour(world, mend=_set(world, "openai", says("openai")))
        await _judge(world, names="openai:gpt-55-turbo")
        return world


async def local_down(folder: Path) -> Night:
    """The local model server is down, alone in the chain."""
    local = LoopbackServer([says("ollama")])
    async with night(folder, "ollama", MODEL="ollama:qwen3:8b") as world:
        async with local.running():
            world.write_env(OLLAMA_BASE_URL=f"{local.url}/v1")
            await world.hello()
        await world.trouble()
        await world.look()
        world.end()
        async with local.running(int(local.url.rpartition(":")[2])):
            await _mended(world)
        await _judge(world, names="ollama:qwen3:8b", for_owner=False)
        return world


async def chain_of_two(folder: Path) -> Night:
    """A chain of two: the first key is refused, the second answers."""
    async with night(folder, "openai", "anthropic", MODEL="openai:gpt-5,anthropic:claude-haiku-5-5") as world:
        await world.hello()
        _set(world, "openai", fails("openai", 401))()
        await _hour(world, mend=_set(world, "openai", says("openai")))
        await _judge(world, names="openai")
        world.must(set(world.all_read()) == {"Roxa."}, f"members read {world.all_read()}")
        return world


async def flapping(folder: Path) -> Night:
    """A model that fails every other minute for an hour."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        bad = [fails("openai", 401), says("openai")]
        turns = iter(range(10**6))

        def turn() -> None:
            world.models["openai"].answers = [bad[next(turns) % 2]]

        await _hour(world, turn, mend=_set(world, "openai", says("openai")))
        total = [len(world.of_trouble(to)) for to in ("pt", "en")]
        world.must(max(total) <= 2, f"{total} messages in an hour of flapping")
        world.must("⚠️" in world.of_trouble()[-1].text, "the last word is that it works, and it fails for an hour more")
        await _judge(world, names="openai", told=total[0], over=1)
        return world


async def outage_flapping(folder: Path) -> Night:
    """The same with 503s: down for ten minutes, up for two, for an hour."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        turns = iter(range(10**6))

        def turn() -> None:
            world.models["openai"].answers = [fails("openai", 503) if next(turns) % 12 < 10 else says("openai")]

        await _hour(world, turn, mend=_set(world, "openai", says("openai")))
        total = [len(world.of_trouble(to)) for to in ("pt", "en")]
        world.must(1 <= max(total) <= 2, f"{total} messages in an hour of flapping")
        await _judge(world, names="openai", told=total[0], over=len(world.after()), for_owner=False)
        world.must(len(world.after()) <= 1, f"{len(world.after())} messages after it")
        return world


async def summary_wrong(folder: Path) -> Night:
    """Only the summary model is wrong (404)."""
    async with night(
        folder,
        "openai",
        "anthropic",
        MODEL="openai:gpt-5",
        MODEL_SUMMARY="anthropic:claude-nobody",
        TOKEN_THRESHOLD=str(300),
        RECENT_WINDOW_SIZE="2",
    ) as world:
        await world.hello()
        _set(world, "anthropic", fails("anthropic", 404, "model: claude-nobody"))()
        _set(world, "openai", says("openai", "Roxa. " * 40))()
        await _hour(world, mend=_set(world, "anthropic", says("anthropic", "Falaram de cores.")))
        await _judge(world, names="anthropic:claude-nobody")
        world.must(all("Roxa." in text for text in world.all_read()), f"members read {world.all_read()}")
        return world


async def embedder_refused(folder: Path) -> Night:
    """The remote embedder's key is refused."""
    async with night(
        folder,
        "openai",
        "anthropic",
        MODEL="anthropic:claude-haiku-5-5",
        MODEL_EMBEDDING="openai:text-embedding-3-small",
        MODEL_EMBEDDING_DIMS="8",
    ) as world:
        _set(world, "openai", openai_server.embedding(8))()
        await world.hello()
        for who in MEMBERS:
            await world.answer(who, f"/remember a cor da {WORD} é roxa")
        _set(world, "openai", fails("openai", 401))()
        await _hour(world, mend=_set(world, "openai", openai_server.embedding(8)))
        await _judge(world, names="openai:text-embedding-3-small")
        unlike = [text for text in world.all_read() if text != "Roxa." and not text.startswith("Guardei")]
        world.must(not unlike, f"members read {unlike}")
        return world


async def disk(folder: Path) -> Night:
    """The disk slowly goes below the limit, then full, then has room again."""
    with _small_disk(folder / "data"):
        async with night(folder, "openai", MODEL="openai:gpt-5", DISK_ALERT_MB="12") as world:
            await world.hello()
            turns = iter(range(10**6))
            fill, below = folder / "data" / "other-programs", list[int]()

            def turn() -> None:
                room = max(20 - next(turns) // 2, 0)  # megabytes: below 12 after 17 minutes, full after 40
                if room == 12 and not below:
                    below.append(1)
                    world.began_s = world.clock.monotonic()
                free = shutil.disk_usage(folder / "data").free - room * 1_000_000
                if free > 0:
                    with suppress(OSError), fill.open("ab", buffering=0) as file:
                        file.write(bytes(free))

            await world.trouble(1.0, 60.0, turn)
            await world.look()
            world.end()
            fill.unlink()
            await _mended(world)
            await _judge(world, names="disk", told=2, over=2)
            return world


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk of 40 MB there. It takes the rights of root; without them this fails."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        configure(None, "INFO")  # the log's file is let go of
        subprocess.run(["umount", "-l", folder], check=True)


async def backup(folder: Path) -> Night:
    """The folder of backups cannot be written for six hours."""
    blocked = folder / "blocked"
    blocked.touch()  # a file where a folder should be
    async with night(folder, "openai", MODEL="openai:gpt-5", BACKUP_DIR=str(blocked / "backups")) as world:
        await world.hello()
        world.began_s = 0.0
        await world.pass_(6 * HOUR_S, 60.0)
        await world.look()
        world.end()
        blocked.unlink()
        await world.pass_(2 * HOUR_S, 60.0)
        await _judge(world, names="backup", for_owner=False)
        return world


async def damaged(folder: Path) -> Night:
    """The database is damaged while it runs."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        for _ in range(10):
            world.ask()
            await world.pass_(20.0, 2.0)
        path = world.settings.database_path
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.seek(4096 * 2)
            file.write(os.urandom(len(whole) - 4096 * 2))
        await world.trouble()
        await world.look()
        world.end()
        await world.stop()
        world.must(world.of_trouble(), "the owner is not told within an hour")
        for name in ("elefante.db-wal", "elefante.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.write_bytes(whole)
        await world.start()
        await world.pass_(300.0, 10.0)
        await _judge(world, names="damaged")
        return world


async def crash_loop(folder: Path) -> Night:
    """A crash loop: killed and started again every 30 s for an hour while the key is refused."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        _set(world, "openai", fails("openai", 401))()
        await world.pass_(30.0, 5.0)
        world.began_s = world.clock.monotonic()
        for _ in range(120):
            world.ask()
            await world.pass_(28.0, 7.0)
            await world.crash()
            await world.start()
        await world.look()
        world.end()
        _set(world, "openai", says("openai"))()
        for _ in range(4):
            world.ask()
            await world.pass_(90.0, 5.0)
        await _judge(world, names="openai")
        return world


async def owner_blocked(folder: Path) -> Night:
    """One owner blocked the bot; another is on Discord."""
    async with night(folder, "openai", MODEL="openai:gpt-5", discord=True) as world:
        await world.hello()
        world.telegram.chat(PT.id).refusal = "403: Forbidden: bot was blocked by the user"
        _set(world, "openai", fails("openai", 401))()
        await _hour(world, mend=_set(world, "openai", says("openai")))
        world.must(
            len(world.of_trouble("discord")) == 1, f"discord: {len(world.of_trouble('discord'))} messages, not 1"
        )
        world.must(len(world.after("discord")) == 1, f"discord: {len(world.after('discord'))} messages after, not 1")
        tries = [call for call in world.telegram.calls if call.chat_id == PT.id and call.at_s >= world.began_s]
        world.must(len(tries) <= 40, f"{len(tries)} attempts to write to who blocked the bot")
        refused = len(world.of_trouble("pt"))
        assert refused == 0
        world.must(len(world.of_trouble("en")) == 1, "the other owner on Telegram is not told once")
        return world


async def platform_down(folder: Path) -> Night:
    """The key expires while Telegram's servers fail (502) at one owner's chat; the other owner's works."""
    for ill, well in ((EN, "pt"), (PT, "en")):
        own = folder / well
        own.mkdir()
        async with night(own, "openai", MODEL="openai:gpt-5") as world:
            await world.hello()

            def down(_method: str, params: Any, chat_id: str = str(ill.id)) -> None:
                if str(params.get("chat_id")) == chat_id:
                    raise Refused(502, "Bad Gateway")

            world.telegram.faults.append(down)
            _set(world, "openai", fails("openai", 401))()
            await world.trouble(0.75)
            found = world.of_trouble(well)
            world.must(found and found[0].at_s - world.began_s < 10, f"{well} knows after {found[:1]}")
            world.must(len(found) == 1, f"{well}: {len(found)} messages, not 1")
            if world.wrong or well == "en":
                return world
    raise AssertionError


async def no_owner(folder: Path) -> Night:
    """No owner yet; the bot is claimed in the trouble."""
    async with night(folder, "openai", MODEL="openai:gpt-5", ACCESS="open") as world:
        await world.start()
        _set(world, "openai", fails("openai", 401))()
        for who in MEMBERS:
            world.telegram.chat(who.id)
        await world.pass_(10.0)
        for _ in range(5):
            world.ask()
            await world.pass_(60.0, 5.0)
        read = world.all_read()
        world.must(
            not any("foi avisado" in text or "been told" in text for text in read),
            f"there is no owner, and a member reads: {read}",
        )
        [code] = set(re.findall(r"start=(\S+)", world.terminal.getvalue()))
        world.telegram.says(PT, f"/start {code}")
        world.began_s = world.clock.monotonic()
        await world.pass_(4.0, 0.5)
        world.answered.add(world.read(PT))
        for _ in range(20):
            world.ask()
            await world.pass_(60.0, 2.0)
        screen = [each.text for each in world.of_trouble("pt")]
        world.must(any("⚠️" in text for text in screen), f"who claimed the bot is not told: {screen}")
        await world.pass_(2400.0, 30.0)
        world.must(sum("⚠️" in text for text in screen) == 1, f"who claimed the bot is told {screen}")
        world.end()
        _set(world, "openai", says("openai"))()
        world.ask()
        await world.pass_(400.0, 5.0)
        world.must(len(world.after("pt")) == 1, f"after: {world.after('pt')}")
        return world


async def webhook(folder: Path) -> Night:
    """ALERT_URL, and every chat platform is down: the disk runs low."""
    free = {"bytes": 900_000_000}
    usage = shutil.disk_usage(folder)
    with patch("bot.alarms.shutil.disk_usage", lambda _: usage._replace(free=free["bytes"])):
        async with night(folder, "openai", MODEL="openai:gpt-5", webhook=True) as world:
            await world.hello()

            def down(_method: str, _params: Any) -> None:
                raise Refused(502, "Bad Gateway")

            world.telegram.faults.append(down)
            world.telegram.push({"message": None})
            await world.pass_(60.0, 5.0)
            free["bytes"] = 100_000_000
            world.began_s = world.clock.monotonic()
            await world.pass_(HOUR_S, 10.0)
            world.must(len(world.of_trouble("webhook")) >= 1, "the webhook was not told")
            world.end()
            free["bytes"] = 900_000_000
            await world.pass_(300.0, 5.0)
            world.must(len(world.after("webhook")) >= 1, "the webhook was not told of the end")
            world.telegram.faults.clear()
            world.telegram.push({"message": None})
            await world.pass_(600.0, 5.0)
            world.must("SECRET" not in world.log, "the address of the webhook is in the log")
            return world


async def rate_limited(folder: Path) -> Night:
    """Rate limits (429, retry-after) for a minute."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        busy = fails("openai", 429, "Rate limit reached", _RETRY_NO | {"retry-after-ms": "", "retry-after": "20"})
        _set(world, "openai", busy)()
        world.began_s = world.clock.monotonic()
        for _ in range(12):
            world.ask()
            await world.pass_(5.0)
        read = world.all_read()
        world.answers["member"] = " | ".join(read)
        _set(world, "openai", says("openai"))()
        for _ in range(5):
            world.ask()
            await world.pass_(60.0, 5.0)
        world.end()
        await world.look()
        await _judge(world, names="openai", kind="", told=0, over=0, for_owner=False)
        world.must("❌" not in world.answers["logs"], "an ERROR in the log")
        return world


async def prompt_refused(folder: Path) -> Night:
    """One member's prompts are refused by the model (content), or too long."""
    async with night(folder, "openai", MODEL="openai:gpt-5") as world:
        await world.hello()
        kinds = [
            says("openai"),
            fails("openai", 400, openai_server.CONTEXT_TOO_LONG),
            fails("openai", 400, "The response was filtered: content_filter"),
            Answer(403, {"retry-after-ms": "1"}, b'{"error": {"message": "Your input was flagged", "code": 403}}'),
        ]
        kinds.append(openai_server.says("", stop=Stop.REFUSED))
        turns = iter(range(10**6))

        def turn() -> None:
            _set(world, "openai", kinds[next(turns) // 2 % len(kinds)])()

        await world.trouble(1.0, 60.0, turn)
        world.end()
        await world.look()
        await _judge(world, names="openai", kind="", told=0, over=0, for_owner=False)
        world.must("❌" not in world.answers["logs"], "an ERROR in the log")
        return world


async def token_revoked(folder: Path) -> Night:
    """Telegram's token is revoked, Discord is on; then the token is mended in .env."""
    async with night(folder, "openai", MODEL="openai:gpt-5", discord=True) as world:
        await world.hello()
        world.telegram.token = revoked = "999:another"  # noqa: S105 (of the loopback server)
        world.telegram.push({"message": None})
        world.began_s = world.clock.monotonic()
        await world.pass_(240.0, 1.0)
        await world.pass_(HOUR_S - 240.0, 20.0)
        world.answers["logs"] = await world.discord_answer("/admin logs")
        world.answers["status"] = await world.discord_answer("/admin status")
        found = world.of_trouble("discord")
        world.must(len(found) == 1, f"discord: {[each.text for each in found]}")
        world.end()
        world.must(world.is_up, "the process ended")
        world.write_env(TELEGRAM_TOKEN=revoked)
        await world.pass_(900.0, 5.0)
        world.must(len(world.after("discord")) == 1, f"after: {world.after('discord')}")
        world.telegram.says(PT, "/help")
        await world.pass_(30.0)
        world.must("telegram" in world.answers["logs"].lower(), "/admin logs does not name Telegram")
        return world


SCENARIOS: Final = (
    key_expires, quota, credit, unknown_model, local_down, chain_of_two, flapping, outage_flapping, summary_wrong,
    embedder_refused, token_revoked, disk, backup, damaged, crash_loop, owner_blocked, platform_down, no_owner, webhook,
    rate_limited, prompt_refused,
)  # fmt: skip


async def run(scenario: Scenario) -> Night:
    """Run one scenario in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return await scenario(Path(folder))


def _plain(text: str) -> str:
    """Return the first line, without addresses and folders of this run."""
    return re.sub(r"/tmp/\S+?(?=[/)])|http://127\.0\.0\.1:\d+(/v1)?", "…", text.partition("\n")[0].strip())  # noqa: S108


def _report(scenario: Scenario, world: Night) -> None:
    """Print everything that was read."""
    print(f"=== {scenario.__name__}: {(scenario.__doc__ or '').strip()}")
    for each in world.told():
        if each.at_s >= world.began_s:
            print(f"  [{each.at_s - world.began_s:8.1f} s {each.to}] {each.text}")
    print("  members:", *world.all_read(), sep="\n    ")
    for key, text in world.answers.items():
        print(f"  {key}: {text}")
    print("  wrong:", *world.wrong, sep="\n    ", flush=True)


def main(names: Sequence[str] = ()) -> None:
    """Measure and print."""
    figures, words, wrong = [], [], []
    for scenario in SCENARIOS:
        if names and not any(name in scenario.__name__ for name in names):
            continue
        world = asyncio.run(run(scenario))
        what = (scenario.__doc__ or "").strip().rstrip(".")
        to = next((name for name in ("pt", "en", "discord", "webhook") if world.of_trouble(name)), "pt")
        found = world.of_trouble(to)
        knows = f"{found[0].at_s - world.began_s:.0f} s" if found else "-"
        figures.append((what, knows, str(len(found)), str(len(world.after(to))), str(len(world.wrong))))
        for name in ("pt", "en", "discord", "webhook"):
            words += [(what, name, _plain(each.text)) for each in [*world.of_trouble(name), *world.after(name)]]
        wrong += [(what, each) for each in world.wrong]
        if os.environ.get("ALARMS_FULL"):
            _report(scenario, world)
    head = ("trouble", "owner knows after", "messages (aim 1)", "over (aim 1)", "wrong")
    show("Alarms: an hour of trouble", head, figures)
    show("Alarms: what owners read", ("trouble", "who", "words"), words)
    show("Alarms: what is wrong", ("trouble", "what"), wrong)


if __name__ == "__main__":
    main(sys.argv[1:])
