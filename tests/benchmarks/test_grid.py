"""The studies under benchmarks/, and what runs them, judges their runs and draws them."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from helpers.tiny_runs import SMALL, flags

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from agents.cli.flags import parse_run  # noqa: E402
from agents.cpgd import CPGD  # noqa: E402
from agents.learner import Learner  # noqa: E402
from agents.run import main  # noqa: E402
from benchmarks.grid import __main__ as command  # noqa: E402
from benchmarks.grid import measures, raw, runner, study, table  # noqa: E402
from benchmarks.grid.collapse import Collapse, collapse, shrunk  # noqa: E402
from benchmarks.grid.statistics import (  # noqa: E402
    holm,
    kaplan_meier,
    restricted_mean,
)
from benchmarks.grid.study import Cell, Study, Task  # noqa: E402
from benchmarks.rpg import rate  # noqa: E402
from benchmarks.stability import pilot  # noqa: E402


def steps(accuracy, form=1.0):
    count = len(accuracy)
    return {
        "reward/accuracy": accuracy,
        "reward/format": [form] * count,
        "train/loss": [0.1] * count,
        "train/grad_norm": [0.5] * count,
        "train/skipped": [0.0] * count,
        "response/length_mean": [24.0] * count,
    }


def test_a_run_collapses_where_ten_steps_have_less_than_half_of_the_best_ten():
    run = steps([0.4] * 20 + [0.1] * 20)
    # n steps at 0.1 among ten are below 0.2 for the first time when n is 7.
    assert collapse(run, 40) == Collapse(27, "form", True)
    assert collapse(steps(run["reward/accuracy"], form=0.2), 40) == Collapse(27, "noise", True)


def test_a_run_that_recovers_has_not_collapsed_for_good():
    assert collapse(steps([0.4] * 20 + [0.1] * 10 + [0.4] * 20), 50) == Collapse(27, "form", False)


def test_what_the_warm_start_could_do_counts_even_if_it_is_lost_at_once():
    assert collapse(steps([0.4] + [0.02] * 20), 21) == Collapse(10, "form", True)


def test_a_run_that_learns_or_knows_nothing_has_not_collapsed():
    assert collapse(steps([0.3 + 0.01 * i for i in range(60)]), 60) is None
    assert collapse(steps([0.0] * 30), 30) is None


@pytest.mark.parametrize(
    "odd", [{"train/loss": None}, {"train/grad_norm": None}, {"train/skipped": 1.0}]
)
def test_a_loss_or_gradient_that_is_no_number_is_a_collapse(odd):
    (name, value), *_ = odd.items()
    run = steps([0.4] * 12)
    run[name] = [*run[name][:4], value, *run[name][5:]]
    assert collapse(run, 12) == Collapse(5, "numbers", False)
    assert collapse(run, 150) == Collapse(5, "numbers", True)


def test_responses_of_less_than_a_third_of_their_first_length_are_short():
    assert shrunk(steps([0.4] * 30) | {"response/length_mean": [24.0] * 10 + [7.9] * 20})
    assert not shrunk(steps([0.4] * 30) | {"response/length_mean": [24.0] * 10 + [8.1] * 20})


def test_kaplan_meier_counts_only_those_that_are_still_looked_at():
    # Two of five end at 2; one is lost from sight at 3; of the two left, one ends at 5.
    times, seen = [2, 2, 3, 5, 8], [True, True, False, True, False]
    assert kaplan_meier(times, seen) == [(2, pytest.approx(0.6)), (5, pytest.approx(0.3))]
    assert restricted_mean(times, seen, 8) == pytest.approx(2 * 1 + 3 * 0.6 + 3 * 0.3)
    assert restricted_mean(times, seen, 4) == pytest.approx(2 * 1 + 2 * 0.6)
    assert restricted_mean([4, 9, 10], [True, True, False], 10) == pytest.approx((4 + 9 + 10) / 3)


def test_holm_raises_the_smallest_most_and_keeps_the_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    # Five seeds of one sign, and two pairs of nine: .5625, which a drawn p-value once had as .549.
    assert holm([2 / 32, 2 / 32, *[1.0] * 7]) == [9 / 16, 9 / 16, *[1.0] * 7]
    assert holm([]) == []


def test_pairs_are_tested_over_the_seeds_that_both_have():
    def run(seed, accuracy, collapsed):
        return {
            "seed": seed,
            "accuracy": accuracy,
            "collapsed": collapsed,
            "steps_before_collapse": 10 if collapsed else 150,
        }

    ones = [run(seed, 0.9, False) for seed in range(6)]
    others = [run(seed, 0.1, True) for seed in range(5)]
    (pair,) = measures.of_pairs([("a", "b"), ("a", "absent")], {"a": ones, "b": others}, 150)
    assert pair["num_seeds"] == 5
    assert pair["least_p"] == 2 / 32
    for name in measures.COMPARED:  # five wins of five
        assert pair[name]["p_value"] == 2 / 32
    assert pair["steps_before_collapse"]["difference"] == 140
    assert pair["steps_before_collapse"]["interval"] == []
    low, high = pair["collapsed"]["interval"]
    assert -1 == low < high < 0


def test_p_values_are_corrected_for_all_tests_of_all_studies_of_a_page():
    def tested(*p_values):
        return dict(zip(measures.COMPARED, ({"p_value": p} for p in p_values), strict=True))

    page = [
        {"pairs": [tested(1 / 16, 1 / 8, 1.0), tested(1 / 4, 1.0, 1.0)]},
        {"pairs": [tested(1 / 32, 1.0, 1.0)]},
        {"pairs": []},
    ]
    measures.correct(page)
    assert [found["tests_of_page"] for found in page] == [9, 9, 9]
    first, second, third = (pair for found in page for pair in found["pairs"])
    assert third["accuracy"]["p_corrected"] == 9 / 32
    assert first["accuracy"]["p_corrected"] == 8 / 16
    assert first["collapsed"]["p_corrected"] == 7 / 8
    assert second["accuracy"]["p_corrected"] == 1.0


def test_the_pilot_takes_the_smallest_rate_at_which_half_of_its_runs_collapse():
    def cells(*collapses):
        names = (f"GRPO {rate}" for rate in pilot.RATES)
        counts = zip(names, collapses, strict=True)
        return {name: {"collapses": count, "num_seeds": 4} for name, count in counts}

    assert pilot.choice(cells(1, 2, 4, 4)) == pilot.RATES[1]
    assert pilot.choice(cells(0, 1, 1, 0)) == pilot.RATES[2]
    assert pilot.choice(cells(0, 0, 0, 0)) == pilot.RATES[3]


def test_the_rate_of_a_pilot_that_is_not_whole_is_not_taken(tmp_path):
    path = tmp_path / "stability" / "pilot.json"
    with pytest.raises(ValueError, match=r"pilot\.json is not there: run python -m"):
        pilot.chosen(tmp_path)
    path.parent.mkdir()
    path.write_text('{"cells": {"GRPO 3e-4": {"collapses": 4, "num_seeds": 4}}}')
    with pytest.raises(ValueError, match="has 4 runs of 16: go on"):
        pilot.chosen(tmp_path)
    assert pilot.chosen(tmp_path, whole=False) == {study.RATE: "3e-4", study.BELOW: "3e-4"}


def test_below_the_rate_of_the_pilot_is_the_next_smaller_one(tmp_path):
    (tmp_path / "stability").mkdir()
    cells = {f"GRPO {rate}": {"collapses": 4, "num_seeds": 4} for rate in pilot.RATES}
    cells[f"GRPO {pilot.RATES[0]}"]["collapses"] = 1
    (tmp_path / "stability" / "pilot.json").write_text(json.dumps({"cells": cells}))
    rates = {study.RATE: pilot.RATES[1], study.BELOW: pilot.RATES[0]}
    assert pilot.chosen(tmp_path) == rates
    options = command.Options(tmp_path, (0,), (), smoke=False)
    for name, word in (("stability/figure1", study.RATE), ("stability/below", study.BELOW)):
        tasks = options.tasks(study.find(name))
        assert {task.flag("--learning-rate", "") for task in tasks} == {rates[word]}


def test_the_pilot_shares_no_seed_with_a_study_that_takes_its_rate():
    taking = [study.find(name) for name in study.NAMES]
    taking = [of for of in taking if {study.RATE, study.BELOW} & {*of.common.split()}]
    assert len(taking) == 5
    assert not {seed for of in taking for seed in of.seeds} & set(pilot.STUDY.seeds)


def test_seeds_that_are_asked_of_all_studies_are_not_the_pilots(tmp_path):
    (tmp_path / "stability").mkdir()
    cells = {f"GRPO {rate}": {"collapses": 2, "num_seeds": 4} for rate in pilot.RATES}
    (tmp_path / "stability" / "pilot.json").write_text(json.dumps({"cells": cells}))

    def seeds(name, *asked):
        options = command.Options(tmp_path, asked, (), smoke=False)
        return {task.seed for task in options.tasks(study.find(name))}

    assert seeds("stability/pilot", 0, 1) == set(pilot.STUDY.seeds)
    assert seeds("stability/pilot", 100) == {100}
    assert seeds("rpg/rate", 0, 1) == set(rate.STUDY.seeds)
    assert seeds("stability/figure1", 0, 1) == {0, 1}


def test_the_rate_of_rpg_is_the_largest_at_which_dapo_lasts():
    def choice(*collapses):
        cells = {f"DAPO {r}": {"collapses": c} for r, c in zip(rate.RATES, collapses, strict=True)}
        return rate.choice(cells)

    assert choice(0, 0, 3) == "2e-4"
    assert choice(0, 1, 0) == "3e-4"
    assert choice(0, 0, 0) == "3e-4"
    assert choice(1, 2, 3) == "1e-4"


def test_the_pilot_of_rpg_shares_no_seed_with_its_studies():
    taking = [study.find(n) for n in study.NAMES if n.startswith("rpg/") and n != "rpg/rate"]
    assert not {seed for of in taking for seed in of.seeds} & set(rate.STUDY.seeds)


@pytest.mark.parametrize("name", study.NAMES)
def test_every_cell_of_a_study_is_a_command_and_every_pair_names_two(name):
    of = study.find(name)
    names = [cell.name for cell in of.cells]
    assert len(set(names)) == len(names)
    assert {one for pair in of.pairs for one in pair} <= set(names)
    tasks = study.tasks(of, (0,), rates={study.RATE: "5e-4", study.BELOW: "3e-4"})
    assert len({task.key for task in tasks}) == len(tasks)
    for task in tasks:
        found = vars(import_module(task.words[0])).values()
        learner = next(
            v
            for v in found
            if isinstance(v, type) and v.__module__ == task.words[0] and issubclass(v, Learner)
        )
        run, _ = parse_run(learner, task.words[1:])
        assert (run.num_prompts * run.group_size) % run.minibatch_size == 0


def test_a_command_is_the_same_whatever_the_order_and_the_name_of_its_cell():
    def task(words):
        return Task("a name", 3, tuple(shlex.split(words)))

    one = task("agents.cpgd --beta None --num-steps 5 --seed 3")
    assert one.key == task("agents.cpgd --num-steps 5 --seed 4 --beta None").key
    assert one.key != task("agents.cpgd --num-steps 6 --seed 3 --beta None").key
    rates = {study.RATE: "5e-4", study.BELOW: "3e-4"}
    shared = [
        {t.key for t in study.tasks(study.find(name), (0,), rates=rates) if t.name == "CPGD"}
        for name in ("stability/below", "ablations/table2", "ablations/bounds")
    ]
    assert len(set.union(*shared)) == 1


def test_flags_of_a_cell_win_over_those_of_all_and_are_told_once():
    of = Study(
        name="x",
        question="",
        cells=(Cell("a", "agents.rloo --whiten --num-steps 7"),),
        common="--num-steps 150 --learning-rate RATE",
        seeds=(0,),
        pairs=(),
    )
    (task,) = study.tasks(of, (2,), ["--beta", "None"], rates={"RATE": "1e-3"})
    assert task.words == tuple(
        shlex.split("agents.rloo --num-steps 7 --learning-rate 1e-3 --whiten --beta None --seed 2")
    )


CELLS = (
    Cell("CPGD", "helpers.grid_cell"),
    Cell("PG", "helpers.grid_cell --clip-low None --clip-high None --drift-coefficient None"),
    Cell("broken", "helpers.grid_cell --env Nowhere-v0"),
)


def kept(folder, task):
    file = raw.path(folder, task)
    assert file
    return raw.read(file)


@pytest.fixture(scope="module")
def lettered(tiny_folder):
    """A study of seconds, two of whose cells can be run."""
    return Study(
        name="toy/letters",
        question="Which letters?",
        cells=CELLS,
        common=shlex.join(flags(**SMALL | {"model": tiny_folder, "num_test_problems": 4})),
        seeds=(0, 1),
        pairs=(("CPGD", "PG"),),
    )


@pytest.fixture(scope="module")
def ran(lettered, tmp_path_factory):
    """Where two cells of it were run with one seed, and what failed."""
    folder = tmp_path_factory.mktemp("grid")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)
        crew = runner.Crew([{"OMP_NUM_THREADS": "1"}] * 2, folder / "scratch")
        tasks = study.tasks(lettered, (0,))
        failures = runner.run_all(tasks, folder / "raw", crew)
        yield folder, tasks, crew, failures


class CrewOfThisProcess(runner.Crew):
    """Runs a cell without another process, which would load PyTorch once more."""

    def run(self, words, log):
        began = time.perf_counter()
        log.touch()
        main(CPGD, words[1:])
        return 0, {"wall_s": time.perf_counter() - began}


@pytest.fixture(scope="module")
def recorded(lettered, tmp_path_factory):
    """Where the records of its two cells are that can be run."""
    folder = tmp_path_factory.mktemp("recorded")
    tasks = study.tasks(lettered, (0,))[:2]
    crew = CrewOfThisProcess([{}], folder / "scratch")
    assert [runner.run_one(task, folder / "raw", crew).failure for task in tasks] == ["", ""]
    return folder, tasks, crew


def test_each_cell_that_fails_is_one_line(tmp_path):
    tasks = [Task(name, 0, (f"absent_{name}",)) for name in ("one", "other")]
    crew = runner.Crew([{}], tmp_path / "scratch")
    for task, line in zip(tasks, runner.run_all(tasks, tmp_path / "raw", crew), strict=True):
        assert line.startswith(f"failed: {task.name} seed 0, status 1: ")
        assert f"No module named {task.words[0]}" in line
        assert "\n" not in line


@pytest.mark.slow(reason="three processes that train")
def test_a_cell_that_fails_is_one_line_and_the_others_go_on(ran):
    folder, tasks, _, failures = ran
    (line,) = failures
    assert line.startswith("failed: broken seed 0, status 1: error: ")
    assert "Nowhere" in line
    assert [raw.path(folder / "raw", task) is None for task in tasks] == [False, False, True]
    left = [path.name for path in (folder / "scratch").iterdir()]
    assert all(name.startswith("broken") for name in left)


def test_a_record_has_every_step_and_nothing_of_this_machines_folders(recorded, tiny_folder):
    folder, tasks, _ = recorded
    file = raw.path(folder / "raw", tasks[0])
    assert file
    assert file.stat().st_size < 20_000
    record = raw.read(file)
    assert {len(column) for column in record["steps"].values()} == {3}
    assert not [name for name in record["steps"] if name.startswith(raw.VARYING)]
    assert {row["step"] for row in record["evaluations"]} == {0, 3}
    assert len(record["responses"]) == 4
    assert record["wall_s"] > record["training_s"] > 0
    told = json.dumps({name: part for name, part in record.items() if name != "command"})
    assert str(folder) not in told
    assert str(tiny_folder) not in told


def test_what_is_kept_is_not_run_again(recorded, monkeypatch):
    folder, tasks, crew = recorded
    monkeypatch.setattr(subprocess, "Popen", None)
    assert runner.run_all(tasks, folder / "raw", crew) == []


@pytest.mark.slow(reason="trains in another process")
def test_a_second_run_in_a_fresh_process_gives_the_same_numbers(ran, tmp_path):
    folder, tasks, crew, _ = ran
    assert runner.run_all(tasks[:1], tmp_path, crew) == []
    one, other = (kept(place, tasks[0]) for place in (folder / "raw", tmp_path))
    assert raw.equal(one, other) == ""
    other["steps"]["train/loss"][1] += 1e-6
    assert raw.equal(one, other).startswith("train/loss at step 2 is ")
    other["steps"]["train/loss"] = one["steps"]["train/loss"][:2]
    assert raw.equal(one, other).startswith("train/loss at step 3 is ")
    del other["steps"]["train/loss"]
    assert raw.equal(one, other).startswith("train/loss at step 1 is ")


def test_tables_and_pictures_are_redrawn_from_the_records_alone(recorded, lettered, tmp_path):
    folder, tasks, _ = recorded
    options = command.Options(folder, (0,), (), False)
    runs = options.runs(tasks)
    command.draw(lettered, runs, tmp_path)
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "toy").iterdir()}
    assert set(drawn) == {
        "letters.json",
        "letters.md",
        "letters-accuracy.png",
        "letters-signs.png",
    }
    found = json.loads(drawn["letters.json"])
    record = kept(folder / "raw", tasks[0])
    cell = found["cells"]["CPGD"]
    assert cell["num_seeds"] == 1
    assert cell["ratio_max"] == max(record["steps"]["policy/ratio_max"])
    assert cell["kl_old"] == pytest.approx(sum(record["steps"]["policy/kl_old"]) / 3)
    assert cell["test"] == record["evaluations"][-1]["accuracy"]
    assert list(found["cells"]) == ["CPGD", "PG"]
    assert [pair["least_p"] for pair in found["pairs"]] == [1.0]
    for path, content in drawn.items():
        assert not path.endswith(".png") or content.startswith(b"\x89PNG")
    rows = [line.strip("| ").split(" | ") for line in drawn["letters.md"].decode().splitlines()]
    results, signs = (row for row in rows if row[0] == "CPGD")
    told = dict(zip(table.RESULTS, results, strict=True))
    told |= dict(zip(table.SIGNS, signs, strict=True))
    assert told["on new images"] == f"{cell['test']:.3f}"
    assert told["ratio, largest"] == f"{cell['ratio_max']:.3g}"
    assert told["entropy, last"] == f"{cell['entropy_end']:.3f}"
    pair = next(row for row in rows if row[0] == "CPGD - PG")
    assert dict(zip(table.PAIRS, pair, strict=True))["least p"] == "1"


@pytest.mark.slow(reason="draws all pictures twice more")
def test_what_is_drawn_twice_is_the_same_in_every_byte(recorded, lettered, tmp_path):
    folder, tasks, _ = recorded
    runs = command.Options(folder, (0,), (), False).runs(tasks)
    drawn = []
    for place in (tmp_path / "one", tmp_path / "two"):
        command.draw(lettered, runs, place)
        drawn.append({path.name: path.read_bytes() for path in (place / "toy").iterdir()})
    assert drawn[0] == drawn[1]


def test_a_study_that_is_drawn_corrects_the_tests_of_the_others_of_its_page(
    recorded, lettered, tmp_path, monkeypatch
):
    folder, tasks, _ = recorded
    runs = command.Options(folder, (0,), (), False).runs(tasks)
    figures = replace(lettered, name="toy/figures")
    monkeypatch.setattr(study, "NAMES", ("toy/letters", "toy/figures"))
    for name in ("cells", "signs"):
        monkeypatch.setattr(command.picture, name, lambda *_: None)
    command.draw(lettered, runs, tmp_path)
    alone = (tmp_path / "toy/letters.md").read_text()
    command.draw(figures, runs, tmp_path)
    assert "over all 3 tests" in alone
    for name in ("letters", "figures"):
        assert "over all 6 tests" in (tmp_path / f"toy/{name}.md").read_text()


@pytest.mark.slow(reason="trains in three processes, one after another")
def test_a_grid_that_is_stopped_saves_and_goes_on(ran, lettered, tiny_folder, tmp_path):
    _, tasks, _, _ = ran
    long = Task("long", 0, (*tasks[0].words, "--num-steps", "400", "--num-test-problems", "0"))
    code = (
        "import sys; from pathlib import Path; from benchmarks.grid import runner;"
        "from benchmarks.grid.study import Task;"
        f"crew = runner.Crew([{{}}], Path({str(tmp_path / 'scratch')!r}));"
        f"runner.run_all([Task('long', 0, {long.words!r})], Path({str(tmp_path)!r}), crew)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE)
    metrics = tmp_path / "scratch" / long.stem / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert b"stopping: runs save" in said
    saved = len(metrics.read_text().splitlines())
    crew = runner.Crew([{}], tmp_path / "scratch")
    words = runner.words(long, tmp_path / "scratch" / long.stem, crew)
    assert words[-1] == "--resume"
    assert 0 < saved < 400
    assert raw.path(tmp_path, long) is None
