"""The studies of `benchmarks/`: tables and pictures are those of the records that are kept."""

import json
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


@pytest.mark.parametrize("name", KEPT)
def test_a_table_is_that_of_its_records(name):
    found = measures.of_study(*records(name))
    assert table.markdown(found) == (RESULTS / f"{name}.md").read_text()
    assert json_value(found) == json.loads((RESULTS / f"{name}.json").read_text())


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


@pytest.mark.parametrize("group", ["stability", "ablations", "rpg"])
def test_a_page_of_studies_quotes_rows_of_their_tables(group):
    of = [name for name in KEPT if name.startswith(f"{group}/")]
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


def claims_in_short():
    text = (RESULTS / "README.md").read_text()
    return text.split("## The claims in short", 1)[1].split("\n## ", 1)[0]
