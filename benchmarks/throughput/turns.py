"""Sides and their turns: A B, B A, A B ..., each of which is timed while the other waits."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mixes
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
        given = {name: getattr(options, name) for name in ("turns", "steps")}
        given = {name: value for name, value in given.items() if value}
        run = SIZES[options.size].run | json.loads(options.ours)
        self.size: Size = replace(SIZES[options.size], run=run, **given)
        self.options, self.folder, self.starts = options, folder, 0
        problems.write(folder / "data", 20 if self.size.vocabulary else 0)
        rows = problems.posed(folder / "data", self.size.prompt)
        (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.weights = sizes.write(folder / "model", self.size)
        tokens = sizes.tokenizer(self.size.vocabulary)
        counted = [tokens.apply_chat_template(row["prompt"], tokenize=False) for row in rows[:64]]
        self.prompt = round(np.mean([len(tokens.encode(text)) for text in counted]))

    def start(self, name: str) -> Side:
        """A side, ready for its first turn."""
        self.starts += 1
        scratch = self.folder / f"{name}-{self.starts}"
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


def fresh(bench: Benchmark) -> dict[str, dict[str, list[Any]]]:
    """All regimes, with new processes for each turn, where two do not fit into one memory."""
    names = bench.size.sides
    found = {regime: {name: [] for name in names} for regime in bench.options.regimes}
    for number in range(bench.size.turns):
        for name in order(names, number):
            with bench.start(name) as side:
                for regime in bench.options.regimes:
                    turns, steps = plan(bench.size, regime)
                    if number >= turns or None in found[regime][name]:
                        continue
                    if regime != "hostile":
                        bench.turn(side, regime, 0, WARM)
                    first = WARM + number * steps
                    found[regime][name].append(bench.turn(side, regime, first, steps))
                    if found[regime][name][-1] is None:
                        break
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
