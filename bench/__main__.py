"""`python -m bench [--json] [NAME ...]`: measure, and print one table after another. Without a name, everything.

`python -m bench eval [OPTION ...]` judges real models, and `python -m bench proof [OPTION ...]` writes docs/proof.md;
neither is among everything.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

from bench import table

BENCHES = {
    "changes": "what becomes of changes that people tell, and of questions about a neighbour; --report, --show",
    "chat": "what people see of an answer, and when; parts: turns, room, crowd; it takes minutes",
    "cycle": "the stepwise and the single cycle: calls, tokens, seconds, messages",
    "day": "memory of a bot on both platforms over a day of talk; it takes minutes",
    "files": "a photo kept, read and forgotten: CPU, wall, disk; memory while many send large files at once",
    "limited": "how well limited mode keeps, finds, changes and removes, by language; --help for what it can show",
    "limited_examples": "how well the classifier of limited mode judges messages that it never saw",
    "memory": "saving, searching and opening memories, sealed and not: CPU, bytes, peak memory",
    "recall": "how well memory finds what was told, and says nothing otherwise; --data PATH",
    "structure": "lines, modules, importers, and the files that one plain message enters",
    "start": "seconds and memory of a start, and of a bot that waits",
    "turn": "CPU of a whole turn in limited mode",
    "times": "how well times and requests for reminders are read, by language; --data PATH, or --mentions",
}
"""Modules of this package that have a `main()`, and what each measures."""


APART: Final = {"eval": "bench.eval", "proof": "bench.proof.main"}
"""What is not among everything."""

_OPTIONS: Final = {"changes", "chat", "limited", "recall", "times"}
"""Benches that take what follows their name as options of their own."""


def main(names: list[str]) -> int:
    """Run the benches of those names in the order given; return the exit code. With `--json`, print JSON lines."""
    first, *rest = names or [""]
    if first in APART:
        return int(import_module(APART[first]).main(rest))
    table.as_json = "--json" in names
    names = [name for name in names if name != "--json"]
    if first in _OPTIONS:
        import_module(f"bench.{first}").main(names[1:])
        return 0
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"no such bench: {', '.join(unknown)}. There are:", file=sys.stderr)
        for name, what in BENCHES.items():
            print(f"  {name:<10}{what}", file=sys.stderr)
        return 2
    for name in names or BENCHES:
        import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
