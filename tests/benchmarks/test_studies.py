"""The studies of `benchmarks/`: tables and pictures are those of the records that are kept."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agents.storage.json_files import json_value
from benchmarks.grid import __main__ as command
from benchmarks.grid import measures, study, table
from benchmarks.rpg import rate, setting

RESULTS = Path(__file__).parents[2] / "benchmarks"
KEPT = [name for name in study.NAMES if (RESULTS / f"{name}.json").exists()]
PAGES = ("stability", "ablations", "rpg", "recent", "mismatch", "tools")


def of_page(page):
    """Names of the studies of a page."""
    return [name for name in KEPT if name.startswith(f"{page}/")]


def records(name):
    options = command.Options(RESULTS, None, (), smoke=False)
    of = study.find(name)
    return of, options.runs(options.all_tasks(of))


def test_every_study_is_kept_with_three_seeds_of_every_cell():
    assert list(study.NAMES) == KEPT
    for name in KEPT:
        of, runs = records(name)
        assert all(len(runs[cell.name]) >= 3 for cell in of.cells)


def test_the_studies_of_rpg_are_at_the_rate_that_their_pilot_chose():
    chosen = rate.choice(json.loads((RESULTS / "rpg/rate.json").read_text())["cells"])
    assert setting.COMMON.endswith(f"--learning-rate {chosen}")


@pytest.fixture(scope="module")
def computed():
    """The numbers of each study, from its records, and corrected with those of its page."""
    found = {name: json_value(measures.of_study(*records(name))) for name in KEPT}
    for page in PAGES:
        measures.correct(found[name] for name in of_page(page))
    return found


@pytest.mark.parametrize("name", KEPT)
def test_a_table_is_that_of_its_records(name, computed):
    assert table.markdown(computed[name]) == (RESULTS / f"{name}.md").read_text()
    assert computed[name] == json.loads((RESULTS / f"{name}.json").read_text())


def pairs_of(name):
    """Each pair of a study with the paired differences of its seeds, by what is compared."""
    found = json.loads((RESULTS / f"{name}.json").read_text())
    for pair in found["pairs"]:
        one, other = (
            {run["seed"]: run for run in found["cells"][cell]["runs"]}
            for cell in (pair["first"], pair["second"])
        )
        seeds = sorted(one.keys() & other.keys())
        yield (
            pair,
            {
                of: np.array([float(one[s][of]) - other[s][of] for s in seeds])
                for of in measures.COMPARED
            },
        )


@pytest.mark.parametrize("name", KEPT)
def test_each_p_value_is_that_of_all_signs_and_so_a_possible_one(name):
    for pair, differences in pairs_of(name):
        for of, values in differences.items():
            signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))
            sums = np.abs(signs @ values)
            exact = (sums >= abs(values.sum()) - 1e-9).mean()
            assert pair[of]["p_value"] == exact >= pair["least_p"] == 2.0 ** (1 - len(values))


@pytest.mark.parametrize("page", PAGES)
def test_each_p_value_of_a_page_is_corrected_for_all_its_tests(page):
    tests = [
        pair[of] for name in of_page(page) for pair, _ in pairs_of(name) for of in measures.COMPARED
    ]
    p_values = np.array([test["p_value"] for test in tests])
    for test in tests:
        # Holm: the largest of (tests whose p is not smaller) x p over all p up to this one.
        smaller = p_values[p_values <= test["p_value"]]
        least = max((p_values >= p).sum() * p for p in smaller)
        assert test["p_corrected"] == pytest.approx(min(1.0, least))


@pytest.mark.parametrize("name", KEPT)
def test_each_interval_of_a_mean_is_that_of_its_seeds(name):
    """Against the plain formula: |m - mean| <= t s / sqrt(n), the error scaled by its variance."""
    found = json.loads((RESULTS / f"{name}.json").read_text())
    horizon = found["num_steps"]
    means = [
        (np.array([run[of] for run in cell["runs"]], float) / unit, np.array(cell[key]) / unit)
        for cell in found["cells"].values()
        for of, key, unit in (
            ("accuracy", "accuracy_interval", 1),
            ("steps_before_collapse", "steps_interval", horizon),
        )
    ]
    for pair, differences in pairs_of(name):
        for of, unit in (("accuracy", 1), ("steps_before_collapse", horizon)):
            interval = np.array(pair[of]["interval"])
            means.append(((differences[of] / unit + 1) / 2, (interval / unit + 1) / 2))
    for values, interval in means:
        mean, spread = values.mean(), values.std(ddof=1)
        if spread < 1e-12:
            assert len(interval) == 0 or mean in (0, 0.5, 1)
            continue
        for end in interval:
            error = spread * np.sqrt(end * (1 - end) / (mean * (1 - mean)) / len(values))
            assert abs(end - mean) == pytest.approx(T[len(values)] * error, rel=1e-4)


T = {3: 4.302653, 4: 3.182446, 5: 2.776445, 10: 2.262157}
"""Student's t of n - 1 degrees of freedom, two-sided at .05: Fisher and Yates's table."""


@pytest.mark.slow(reason="draws a whole study; test_grid draws a small one")
def test_figure_1_is_redrawn_from_its_records(tmp_path):
    command.draw(*records("stability/figure1"), tmp_path)
    for kind in ("accuracy", "signs"):
        name = f"stability/figure1-{kind}.png"
        one, other = (pixels(folder / name) for folder in (RESULTS, tmp_path))
        assert one.shape == other.shape
        # Another version of matplotlib may set its letters a little otherwise.
        assert (np.abs(one - other).max(-1) > 64).mean() < 0.005
    crosses = [red(pixels(f / "stability/figure1-accuracy.png")) for f in (RESULTS, tmp_path)]
    assert crosses[1] == pytest.approx(crosses[0], rel=0.1)
    assert crosses[1] > 0


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB"), float)


def red(picture):
    """Pixels of the crosses, which mark collapses."""
    return int(((picture[..., 0] > 160) & (picture[..., 1:] < 120).all(-1)).sum())


@pytest.mark.parametrize("name", KEPT)
def test_every_record_says_what_was_run_where_and_with_which_code(name):
    _, runs = records(name)
    for by_seed in runs.values():
        for seed, record in by_seed.items():
            assert record["seed"] == seed
            assert record["command"].endswith(f"--seed {seed}")
            assert not record["git"]["changed"]
            assert record["machine"]["num_cores"] > 0
            # A run that its own metrics stopped would have fewer; none has been.
            num_steps = record["settings"]["run"]["num_steps"]
            assert record["steps"]["step"] == list(range(1, num_steps + 1))


@pytest.mark.parametrize("group", PAGES)
def test_a_page_of_studies_quotes_rows_of_their_tables(group):
    of = of_page(group)
    rows = {line for name in of for line in (RESULTS / f"{name}.md").read_text().splitlines()}
    names = {cell.name for name in of for cell in study.find(name).cells}
    names |= {" - ".join(pair) for name in of for pair in study.find(name).pairs}
    page = (RESULTS / group / "README.md").read_text().splitlines()
    quoted = [line for line in page if line.strip("| ").split(" | ")[0] in names]
    assert len(quoted) >= 10
    assert set(quoted) <= rows


def test_the_overview_of_the_studies_has_the_rows_of_the_table_of_figure_1():
    table_rows = (RESULTS / "stability/below.md").read_text().splitlines()
    cells = [cell.name for cell in study.find("stability/below").cells]
    said = [row.strip("| ").split(" | ") for row in claims_in_short().splitlines()]
    said = [parts for parts in said if parts[0] in cells]
    assert [parts[0] for parts in said] == cells
    for parts in said:
        assert any(all(f"| {part} |" in row for part in parts) for row in table_rows)


PAGES_IN_WORDS = {
    "README.md": KEPT,
    "stability/README.md": [*of_page("stability"), "ablations/table2"],
    "ablations/README.md": of_page("ablations"),
    "rpg/README.md": of_page("rpg"),
    "recent/README.md": of_page("recent"),
    "mismatch/README.md": of_page("mismatch"),
    "tools/README.md": of_page("tools"),
    "throughput/README.md": [],
    "../README.md": KEPT,
}
"""The studies of which each page tells."""


def numbers_of(names):
    """Intervals and p-values of studies, and the intervals of the ratios of times."""
    intervals, p_values = [], []
    for name in names:
        found = json.loads((RESULTS / f"{name}.json").read_text())
        tests = [pair[of] for pair in found["pairs"] for of in measures.COMPARED]
        p_values += [test[key] for test in tests for key in ("p_value", "p_corrected")]
        intervals += [test["interval"] for test in tests]
        for cell in found["cells"].values():
            keys = ("collapse_interval", "steps_interval", "accuracy_interval")
            intervals += [cell[key] for key in keys]
    for path in (RESULTS / "throughput").glob("*.json"):
        regimes = json.loads(path.read_text()).get("regimes", {})
        intervals += [regime["ratio"]["trl"]["interval"] for regime in regimes.values()]
    kept = [ends for ends in intervals if ends]
    return kept + [[-high, -low] for low, high in kept], p_values


@pytest.mark.parametrize("page", PAGES_IN_WORDS)
def test_each_interval_and_p_value_in_words_is_one_of_the_records(page):
    intervals, p_values = numbers_of(PAGES_IN_WORDS[page])
    text = (RESULTS / page).read_text()
    quoted = re.findall(r"\[([+-]?[\d.]+), ([+-]?[\d.]+)\]", text)
    assert quoted
    for ends in quoted:
        digits = max(len(end.partition(".")[2]) for end in ends)
        rounded = {tuple(round(end, digits) + 0.0 for end in known) for known in intervals}
        assert tuple(map(float, ends)) in rounded, ends
    for p_value in re.findall(r"\bp = ([\d.]*\d)|([\d.]*\d) (?:after correction|corrected)", text):
        said = "".join(p_value)
        digits = len(said.partition(".")[2])
        assert float(said) in {round(p, digits) for p in p_values}, said


def claims_in_short():
    text = (RESULTS / "README.md").read_text()
    return text.split("## The claims in short", 1)[1].split("\n## ", 1)[0]
