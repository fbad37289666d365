"""The command line; see `benchmarks.grid`."""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import benchmarks.grid
from agents.cli.exit import errors_in_one_line
from agents.errors import UsageError
from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import json_value, read_json
from benchmarks.grid import measures, picture, raw, runner, study, table
from benchmarks.grid.measures import Runs
from benchmarks.grid.study import Study, Task
from benchmarks.stability import pilot

RESULTS = Path(__file__).parents[1]
SMOKE = (
    *("--num-steps", "3", "--num-prompts", "4", "--group-size", "4"),
    *("--minibatch-size", "8", "--num-test-problems", "8"),
)
"""Flags of runs of seconds: no result, but every part at work."""
BRIEF = ("--model", study.BRIEF)
"""Flags of such runs of a study without a model of its own: one that knows little."""


@dataclass(frozen=True)
class Options:
    """What is run and where it goes."""

    output: Path
    seeds: tuple[int, ...] | None
    extra: tuple[str, ...]
    smoke: bool
    cells: tuple[str, ...] = ()
    """Names of those that are run; none for all."""

    def all_tasks(self, of: Study) -> list[Task]:
        """The runs of a study, and those with the seeds that are asked for."""
        rates: Mapping[str, str] = {}
        if {study.RATE, study.BELOW} & {*of.common.split()} and "--learning-rate" not in self.extra:
            rates = pilot.chosen(self.output, whole=not self.smoke)
        start = BRIEF if self.smoke and "--model" not in of.common.split() else ()
        seeds = sorted({*of.seeds, *self.seeds_of(of)})
        return study.tasks(of, seeds, (*start, *self.extra), rates)

    def seeds_of(self, of: Study) -> tuple[int, ...]:
        """Those that are asked for; a pilot has none but its own, by which it chooses."""
        if of.pilot and not set(self.seeds or ()) <= set(of.seeds):
            return of.seeds
        return self.seeds or (of.seeds[:2] if self.smoke else of.seeds)

    def tasks(self, of: Study) -> list[Task]:
        """The runs that are asked for."""
        names = [cell.name for cell in of.cells]
        if unknown := set(self.cells) - set(names):
            raise UsageError(f"{of.name} has no cell {min(unknown)!r}: it has {', '.join(names)}")
        few = self.cells or ((names[0], names[-1]) if self.smoke else names)
        return [t for t in self.all_tasks(of) if t.name in few and t.seed in self.seeds_of(of)]

    def runs(self, tasks: Sequence[Task]) -> dict[str, dict[int, measures.Record]]:
        """What is kept of them."""
        found: dict[str, dict[int, measures.Record]] = {}
        for task in tasks:
            if file := raw.path(self.output / "raw", task):
                found.setdefault(task.name, {})[task.seed] = raw.read(file)
        return found


def draw(of: Study, runs: Runs, output: Path) -> None:
    """Writes the table, the numbers and the pictures of a study, from its records alone.

    Its tests are corrected together with those of the other studies of its folder, whose tables and
    numbers are written again.
    """
    base = output / of.name
    base.parent.mkdir(parents=True, exist_ok=True)
    page = {of.name: json_value(measures.of_study(of, runs))}
    folder = f"{base.parent.name}/"
    for name in (name for name in study.NAMES if name.startswith(folder) and name != of.name):
        if (output / f"{name}.json").exists():
            page[name] = read_json(output / f"{name}.json")
    measures.correct(page.values())
    for name, found in page.items():
        write_atomically(output / f"{name}.json", json.dumps(found, indent=1).encode() + b"\n")
        write_atomically(output / f"{name}.md", table.markdown(found).encode())
    picture.cells(of, runs, base.with_name(f"{base.name}-accuracy.png"))
    picture.signs(of, runs, base.with_name(f"{base.name}-signs.png"))
    print(f"wrote {base}.md")


def check(tasks: Sequence[Task], options: Options, crew: runner.Crew) -> list[str]:
    """Runs the first run that is kept once more; what is not equal."""
    kept = ((task, raw.path(options.output / "raw", task)) for task in tasks)
    task, file = next(((task, file) for task, file in kept if file), (None, None))
    if task is None or file is None:
        raise UsageError("no run of this study is kept: run it before it is checked")
    with tempfile.TemporaryDirectory() as folder:
        failures = runner.run_all([task], Path(folder), crew)
        again = raw.path(Path(folder), task)
        if again is None:
            return failures
        difference = raw.equal(raw.read(file), raw.read(again))
    if difference:
        return [f"{task.name} seed {task.seed} gave other numbers: {difference}"]
    print(f"{task.name} seed {task.seed} gave the same numbers again")
    return []


def run(names: Sequence[str], options: Options, given: argparse.Namespace) -> list[str]:
    """Runs studies one after the other, each with its tables; what failed."""
    failures: list[str] = []
    crew = runner.Crew(runner.slots(given.jobs), given.scratch)
    for name in names:
        of = study.find(name)
        tasks = options.tasks(of)
        print(f"{name}: {of.question}", flush=True)
        if given.check:
            failures += check(tasks, options, crew)
            continue
        try:
            if not given.draw:
                failures += runner.run_all(tasks, options.output / "raw", crew)
        finally:
            if runs := options.runs(options.all_tasks(of)):
                draw(of, runs, options.output)
    return failures


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.grid",
        description=benchmarks.grid.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("studies", nargs="+", help=f"all, or of: {', '.join(study.NAMES)}")
    add("--seeds", type=int, nargs="+", help="in place of a study's, but a pilot's")
    add("--cells", nargs="+", default=[], help="names of those to run")
    add("--jobs", type=int, help="runs at a time; one on each GPU or core by default")
    add("--output", type=Path, help="folder of raw/ and the tables; by default this package's")
    add("--scratch", type=Path, help="folder of what is not finished; by default runs/grid")
    add("--smoke", action="store_true", help="runs of seconds, into runs/smoke")
    add("--draw", action="store_true", help="only tables and pictures, of what is kept")
    add("--check", action="store_true", help="run one run again and compare")
    add("--flags", nargs=argparse.REMAINDER, default=[], help="the rest: of every run")
    given = parser.parse_args(arguments)
    given.scratch = given.scratch or Path("runs/smoke/grid" if given.smoke else "runs/grid")
    if given.flags and not given.output:
        parser.error("--flags makes another study of it: give an --output of its own")
    if not (given.output or given.smoke or given.draw):
        parser.error(
            "the records of this package are of Figures-v0, to which release 0.3.0 can add: give "
            "new runs an --output of their own, or take --draw or --smoke"
        )
    given.output = given.output or (Path("runs/smoke") if given.smoke else RESULTS)
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    given = parsed(sys.argv[1:] if arguments is None else arguments)
    smoke = SMOKE if given.smoke else ()
    seeds = tuple(given.seeds) if given.seeds else None
    options = Options(given.output, seeds, (*smoke, *given.flags), given.smoke, tuple(given.cells))
    names = study.NAMES if given.studies == ["all"] else given.studies
    with errors_in_one_line():
        failures = run(names, options, given)
    if given.smoke and not failures:
        shutil.rmtree(given.scratch, ignore_errors=True)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
