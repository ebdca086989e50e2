"""`python -m bench eval`: what real models do with the bot, judged on labelled turns (`bench/eval/score.py`).

Without --model, the small local models, which need LLAMA_PYTHON, an interpreter that has them (`make eval`). Results
go to a file as they come; a run that was cut goes on where it stopped. Of the half `report` no text is kept or shown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.eval.labels import HALVES, Label, load, sample
from bench.eval.observed import Observed, open_bench
from bench.eval.results import Results, print_tables, summaries
from bench.eval.score import Verdict, judge
from bot.settings.settings import Settings
from bot.settings.settings import load as load_settings
from core.models import Cycle
from tests.model.serving import serving

LOCAL = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
FOLDER = Path(".eval")
_LOCAL_CONTEXT_TOKENS = 8_192
_LOCAL_MAX_TOKENS = 320
_LOCAL_MAX_STEPS = 4  # a small model that goes round in circles takes minutes for a turn
_MODES = ("reasoning_heavy", "reasoning", "chat")
_PATIENCE_S = 3_600.0


def main(arguments: Sequence[str]) -> int:
    """Run, and print the tables."""
    options = _options(arguments)
    for model in (options.model,) if options.model else LOCAL:
        chosen = [label for label in load(options.half) if _is_wanted(label, options)]
        chosen = sample(chosen, options.limit or len(chosen))
        results = Results(options.out or FOLDER / f"{model.replace('/', '-')}.{options.cycle}.{options.half}.jsonl")
        known = {verdict.id for verdict in results.verdicts()}
        left = [label for label in chosen if label.id not in known]
        if left:
            with _settings(model, options) as settings:
                asyncio.run(_run(left, settings, results, options))
        ids = {label.id for label in chosen}
        verdicts = [verdict for verdict in results.verdicts() if verdict.id in ids]
        if options.json:
            print(json.dumps({"model": model, "cycle": options.cycle, "half": options.half} | summaries(verdicts)))
        elif verdicts:
            print_tables(f"{model}, {options.cycle}, {options.half}", verdicts)
    return 0


async def _run(labels: Sequence[Label], settings: Settings, results: Results, options: argparse.Namespace) -> None:
    async with open_bench(settings, Cycle(options.cycle), keeps_prompts=options.prompts) as bench:
        for number, label in enumerate(labels, 1):
            seen = await bench.run(label)
            verdict = judge(label, seen)
            results.add(verdict, seen if options.half != "report" else None)
            print(_line(number, len(labels), verdict, seen if options.half != "report" else None), file=sys.stderr)


def _line(number: int, count: int, verdict: Verdict, seen: Observed | None) -> str:
    marks = {"first": verdict.first_ok, "data": verdict.data_ok, "said": verdict.said_ok}
    wrong = [*(name for name, right in marks.items() if not right), *(verdict.false_claims if seen else ())]
    steps = " > ".join(f"{action} {outcome}" for action, outcome in seen.steps) if seen else ""
    return (
        f"{number}/{count} {verdict.id} {verdict.duration_s:.0f} s {steps} {'WRONG: ' * bool(wrong)}{', '.join(wrong)}"
    )


@contextmanager
def _settings(model: str, options: argparse.Namespace) -> Iterator[Settings]:
    """Yield the settings of the bot; a local model is served meanwhile.

    A local model is asked without randomness, and has all the time it wants: it shares the machine.
    """
    shared: dict[str, Any] = {"storage_url": "memory:", "turn_timeout_s": _PATIENCE_S}
    if model not in LOCAL:
        yield load_settings(model=model, **shared)
        return
    python = os.environ.get("LLAMA_PYTHON", "")
    if not python:
        sys.exit("the local models need LLAMA_PYTHON, an interpreter that has them: make eval")
    knobs: dict[str, Any] = {
        "model_temperature": 0.0,
        "model_timeout_s": _PATIENCE_S,
        "model_context_tokens": _LOCAL_CONTEXT_TOKENS,
    }
    knobs |= {f"model_{mode}_max_tokens": _LOCAL_MAX_TOKENS for mode in _MODES}
    with serving(python, model, options.threads) as address:
        own: dict[str, Any] = {
            "model": f"llamacpp:{model}",
            "llamacpp_base_url": f"{address}/v1",
            "max_steps": _LOCAL_MAX_STEPS,
        }
        yield load_settings(None, **own, **shared, **knobs)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench eval", description="Judge models on labelled turns.")
    parser.add_argument("--model", default="", help=f"provider:model as in MODEL, or {' or '.join(LOCAL)}")
    parser.add_argument("--cycle", default="auto", choices=tuple(Cycle))
    parser.add_argument("--half", default="tune", choices=HALVES)
    parser.add_argument("--limit", type=int, default=0, help="so many turns, of every category in turn")
    parser.add_argument("--only", default="", help="categories, separated by commas")
    parser.add_argument("--lang", default="", help="languages, separated by commas")
    parser.add_argument("--id", default="", help="turns, separated by commas")
    parser.add_argument("--out", type=Path, help=f"the file of the results; default: one in {FOLDER}")
    parser.add_argument("--prompts", action="store_true", help="keep the prompts in the file, too")
    parser.add_argument("--threads", type=int, default=1, help="of the local server")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    return parser.parse_args(arguments)


def _is_wanted(label: Label, options: argparse.Namespace) -> bool:
    wanted = ((options.only, label.category), (options.lang, label.lang), (options.id, label.id))
    return all(not names or value in names.split(",") for names, value in wanted)
