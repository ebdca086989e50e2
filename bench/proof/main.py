"""Run the proof, and write its page: `python -m bench proof [--quick] [--locomo PATH] [--to FOLDER] [PART ...]`.

Without a part all are run, in less than half an hour on a quiet machine, and docs/proof.md and docs/proof.html are
written; some parts alone, or `--quick`, write into FOLDER, or print the page. With `--keep FOLDER` what was run is kept
there, and a run that was broken off goes on.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import subprocess
import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench.proof.page import Part, Proof, Proven, html, markdown, took
from bench.proof.runs import KILLS, RUNS, How

ROOT: Final = Path(__file__).parents[2]
PAGE, PLOTS = "proof.md", "proof.html"
FAILED = "It failed."


def commit() -> str:
    """Return the commit that is run, and whether the tree differs from it; "" outside of a clone."""

    def git(*arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return ran.stdout.strip() if ran.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "core", "adapters", "bot", "bench", "tests")
    return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")


def machine() -> list[tuple[str, str]]:
    """Return what the figures depend on; nothing by which a machine can be told from another of its kind."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("machine", f"{usable} cores, {ram:.0f} GiB of RAM, {platform.system()} on {platform.machine()}"),
        ("Python", platform.python_version()),
    ]


def main(arguments: Sequence[str] = ()) -> int:
    """Run the parts that are named, or all; return 1 if something is not as it should be."""
    parser = ArgumentParser("python -m bench proof", allow_abbrev=False)
    parser.add_argument("parts", nargs="*", choices=[*RUNS, []], metavar="PART", help=", ".join(RUNS))
    parser.add_argument("--quick", action="store_true", help="a tenth of everything: a smoke test")
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="LoCoMo's locomo10.json")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"on each platform ({KILLS})")
    parser.add_argument("--seed", type=int, default=1, help="of the kills")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where the page is written; docs for the whole proof")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="go on with what was run before, and keep it there")
    options = parser.parse_args(arguments)
    how = How(options.quick, options.locomo, options.kills, options.seed)
    before, began, earlier = os.getloadavg(), datetime.now(UTC), _kept(options.keep)
    parts = [_part(name, how, options.keep) for name in options.parts or RUNS]
    facts = [
        ("date", f"{began:%Y-%m-%d %H:%M} UTC"),
        ("commit", ", ".join(dict.fromkeys(part.commit for part in parts))),
        *machine(),
        ("load", f"{before[0]:.1f} before, {os.getloadavg()[1]:.1f} in its last five minutes, its own work included"),
        ("time", f"{took(sum(part.took_s for part in parts))} minutes, of all parts"),
        *(
            [("run before", f"{', '.join(earlier)}: broken off, and gone on with; maybe side by side")]
            if earlier
            else []
        ),
    ]
    proof = Proof(facts, parts, options.quick)
    is_whole = not options.parts and not options.quick
    if (folder := options.to or (ROOT / "docs" if is_whole else None)) is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PAGE).write_text(markdown(proof, PLOTS), encoding="utf-8")
        (folder / PLOTS).write_text(html(proof), encoding="utf-8")
        print(f"{PAGE} and {PLOTS} are written", file=sys.stderr)
    else:
        print(markdown(proof, PLOTS))
    return int(any(part.proven.wrong for part in parts))


def _kept(keep: Path | None) -> list[str]:
    """Return the names of the parts that were kept."""
    return [] if keep is None else [name for name in RUNS if (keep / f"{name}.pickle").exists()]


def _part(name: str, how: How, keep: Path | None) -> Part:
    """Run a part, or return what was kept of it."""
    kept = keep / f"{name}.pickle" if keep is not None else None
    if kept is not None and kept.exists():
        part: Part = pickle.loads(kept.read_bytes())  # noqa: S301 - a file of ours
        return part
    run, began_s, made = RUNS[name], time.monotonic(), commit()
    print(f"{run.title} ...", file=sys.stderr)
    try:
        proven = asyncio.run(run.prove(how))
    except Exception as error:  # noqa: BLE001 - what fails is told, and the other parts are run
        traceback.print_exception(error)
        proven = Proven(FAILED, wrong=[f"it ended with {type(error).__name__}"])
    part = Part(name, run.title, run.about, proven, time.monotonic() - began_s, made)
    print(f"  {took(part.took_s)}  {proven.says}", file=sys.stderr)
    if kept is not None and proven.says != FAILED:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(part))
    return part
