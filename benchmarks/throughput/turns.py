"""Sides and their turns: A B, B A, A B ..., each of which is timed while the other waits."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mixes
from agents.storage.atomic_files import write_atomically
from throughput import problems, sizes
from throughput.regimes import lengths
from throughput.side import PROJECT, Side
from throughput.sizes import SIZES, Size

HOSTILE = PROJECT / "reasonenv" / "attacks" / "hostile.jsonl"
WARM = 2
"""Steps before the first that counts, of each regime and process."""
DEADLINE = 300.0
"""Seconds for a turn under attack; a side that takes longer is ended, and has no figure."""


class Benchmark:
    """One run: where its files are, and how a side is started."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        given = {name: getattr(options, name) for name in ("turns", "steps", "sides")}
        given = {name: value for name, value in given.items() if value}
        run = SIZES[options.size].run | json.loads(options.ours)
        self.size: Size = replace(SIZES[options.size], run=run, **given)
        self.options, self.folder = options, folder
        problems.write(folder / "data", 20 if self.size.vocabulary else 0)
        rows = problems.posed(folder / "data", self.size.prompt)
        (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        if not (folder / "model").exists():
            self._file("model").unlink(missing_ok=True)
        self.weights = self.kept("model", lambda: sizes.write(folder / "model", self.size))
        tokens = sizes.tokenizer(self.size.vocabulary)
        counted = [tokens.apply_chat_template(row["prompt"], tokenize=False) for row in rows[:64]]
        self.prompt = round(np.mean([len(tokens.encode(text)) for text in counted]))

    def start(self, name: str) -> Side:
        """A side, ready for its first turn."""
        scratch = Path(tempfile.mkdtemp(dir=self.folder, prefix=f"{name}-"))
        # The peer's proofs take prompts, which ours leaves out; who starts anew has had no proof.
        proofs = 0 if self.size.fresh else len(self.size.cases)
        config = {
            "side": name,
            "run": self.size.run,
            "size": self.options.size,
            "model": str(self.folder / "model"),
            "data": str(self.folder / "data"),
            "prompts": str(self.folder / "prompts.jsonl"),
            "scratch": str(scratch),
            "position": proofs * self.size.num_prompts,
            "enemies": [item.response for item in mixes.hostile(str(HOSTILE))],
        }
        python = sys.executable if name == "ours" else self.options.peer
        return Side(config, python, self.options.threads)

    def kept(self, part: str, measure: Callable[[], Any]) -> Any:
        """What `measure` gave, in this process or in an earlier one with the same folder."""
        if not self._file(part).exists():
            write_atomically(self._file(part), json.dumps(measure()).encode())
        return json.loads(self._file(part).read_text())

    def _file(self, part: str) -> Path:
        return self.folder / f"{part}.json"

    def turn(self, side: Side, regime: str, first: int, steps: int) -> dict[str, Any] | None:
        """Steps of a side in a regime, from its step `first` on; None when it did not end."""
        command = {"do": "run", "regime": regime, "step": first, "steps": steps}
        answer = side.ask(command, DEADLINE if regime == "hostile" else 3600.0)
        if answer is None:
            return None
        size = self.size
        forms = (size.responses, size.length, size.longest)
        numbers = range(first, first + steps)
        return answer | {"lengths": [lengths(regime, n, *forms).tolist() for n in numbers]}


def plan(size: Size, regime: str) -> tuple[int, int]:
    """Turns of a regime, and steps of a turn."""
    return size.hostile if regime == "hostile" else (size.turns, size.steps)


def order(names: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Who is first changes from turn to turn."""
    return names if number % 2 == 0 else names[::-1]


def alternating(bench: Benchmark, sides: dict[str, Side]) -> dict[str, dict[str, list[Any]]]:
    """All regimes, with processes that live through them."""
    found: dict[str, dict[str, list[Any]]] = {}
    for regime in bench.options.regimes:
        turns, steps = plan(bench.size, regime)
        taken = found[regime] = {name: [] for name in sides}
        for side in sides.values():
            if regime != "hostile":
                bench.turn(side, regime, 0, WARM)
        for number in range(turns):
            for name in order(tuple(sides), number):
                if None not in taken[name]:
                    taken[name].append(
                        bench.turn(sides[name], regime, WARM + number * steps, steps)
                    )
        told(regime, taken)
    return found


def parts(bench: Benchmark) -> dict[str, tuple[str, str, int]]:
    """Turns of new processes, where two sides do not fit into one memory: side, regime, number."""
    return {
        f"{name}-{regime}-{number}": (name, regime, number)
        for regime in bench.options.regimes
        for number in range(plan(bench.size, regime)[0])
        for name in order(bench.size.sides, number)
    }


def fresh(bench: Benchmark, name: str, regime: str, number: int) -> dict[str, Any] | None:
    """A turn of a process that is started for it."""
    steps = plan(bench.size, regime)[1]
    with bench.start(name) as side:
        if regime != "hostile":
            bench.turn(side, regime, 0, WARM)
        return bench.turn(side, regime, WARM + number * steps, steps)


def all_fresh(bench: Benchmark) -> dict[str, dict[str, list[Any]]]:
    """All regimes, one process at a time; a side that was ended has no further turn."""
    found = {regime: {name: [] for name in bench.size.sides} for regime in bench.options.regimes}
    for part, (name, regime, number) in parts(bench).items():
        taken = found[regime][name]
        if None not in taken:
            taken.append(bench.kept(part, partial(fresh, bench, name, regime, number)))
    for regime, taken in found.items():
        told(regime, taken)
    return found


def told(regime: str, taken: dict[str, list[Any]]) -> None:
    for name, turns in taken.items():
        rows = [row["step"] for turn in turns if turn for row in turn["rows"]]
        if rows:
            say(f"{regime:12} {name:10} {np.median(rows):.4f} s a step")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
