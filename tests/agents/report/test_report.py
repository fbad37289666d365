import json
import re
import shutil

import numpy as np
import pytest
from helpers.written_runs import write_run
from PIL import Image

from agents import report
from agents.errors import RecordError
from agents.report.runs import read_run, run_labels
from agents.storage.provenance import GRADER


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs") / "done")


def test_the_command_line_writes_one_file_and_prints_its_path(done, tmp_path, capsys):
    report.main([str(done), "--output", str(tmp_path / "a.html")])
    assert capsys.readouterr().out.startswith(f"report: {tmp_path / 'a.html'} (")
    report.main([str(done)])
    assert (done / "report.html").stat().st_size == (tmp_path / "a.html").stat().st_size


def test_nothing_outside_the_file_is_named_and_too_many_rollouts_are_thinned_with_a_note(done):
    page = report.write_report([done]).read_text()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert not re.search(r"@import|url\(", page)
    few = report.make_page([read_run(done)], limit=500)
    assert few.count('id="body-') < page.count('id="body-')
    assert "of 3 groups are left out" in few


def test_the_title_names_the_runs(tmp_path):
    one, two = (write_run(tmp_path / f"seed{k}", seed=k, steps=1) for k in range(2))
    for runs, title in {
        (one,): "CPGD on Figures-v2: seed0",
        (one, two): "CPGD on Figures-v2: seed0, seed1",
        (one,) * 30: "CPGD on Figures-v2: 30 runs",
    }.items():
        page = report.write_report(runs).read_text()
        assert f"<title>{title}</title>" in page
        assert f"<h1>{title}</h1>" in page


@pytest.mark.parametrize(
    "changed", [{"num_steps": 40}, {"num_test_problems": 9}, {"on_collapse": "rollback"}, {}]
)
def test_runs_that_differ_in_more_than_the_seed_are_curves_of_their_own(tmp_path, changed):
    runs = [write_run(tmp_path / str(k), seed=k, steps=2) for k in range(2)]
    runs.append(write_run(tmp_path / "other", seed=2, steps=2, **changed))
    if not changed:  # another version of the grader
        content = json.loads((runs[2] / "run.json").read_text())
        (runs[2] / "run.json").write_text(json.dumps(content | {"versions": {GRADER: "3"}}))
    one, two, other = map(read_run, runs)
    assert one.kind == two.kind != other.kind
    ((name, value),) = changed.items() or {"grader": 3}.items()
    assert run_labels([one, two, other])[2] == f"CPGD on Figures-v2, {name} {value}"


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["nowhere"], "nowhere is no folder"), (["."], "holds no run"), ([], "no run is given")],
)
def test_a_folder_that_is_no_run_is_one_line(words, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        report.main(words)
    assert expected in f"{ended.value.code} {capsys.readouterr().err}"
    assert not (tmp_path / "report.html").exists()


def test_a_report_that_fails_is_one_line_and_ends_no_run(tmp_path):
    line = report.report_at_end(tmp_path / "nowhere")
    assert line.startswith("warning: no report: ")
    assert "\n" not in line
    assert report.report_at_end(write_run(tmp_path / "run", steps=1)).startswith("report: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [("run.json", "["), ("metrics.jsonl", "[1]\n"), ("rollouts/step-10.jsonl", "{\n")],
)
def test_a_damaged_file_is_named_in_one_line_and_nothing_is_written(done, tmp_path, name, content):
    folder = tmp_path / "damaged"
    shutil.copytree(done, folder)
    (folder / "report.html").unlink(missing_ok=True)
    (folder / name).write_text(content)
    with pytest.raises(RecordError, match=re.escape(name)) as refused:
        report.write_report([folder])
    assert "\n" not in str(refused.value)
    assert not (folder / "report.html").exists()


def test_a_line_that_is_being_written_and_a_missing_image_are_left_out(done, tmp_path):
    folder = tmp_path / "live"
    shutil.copytree(done, folder)
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 21, "reward')
    (folder / "rollouts" / "step-1-0-0.png").unlink()
    page = report.write_report([folder]).read_text()
    assert '"steps":[1,2,3,4,' in page
    assert page.count("data:image/") == 2


UNSEEN = "\0\x1b[2J\x9b\u200b\u202e\u2066\ufff9\U000e0041\u00ad"


def test_control_characters_of_a_record_are_escapes_on_the_page(tmp_path):
    folder = write_run(tmp_path / "run\u202e", model=f"{UNSEEN}m", env=f"Figures{UNSEEN}-v0")
    page = report.write_report([folder], tmp_path / "report.html").read_text(encoding="utf-8")
    assert not {each for each in page if each in UNSEEN and not each.isprintable()}
    facts = page.split("<article", 1)[1]
    assert r"\x1b[2J" in facts
    assert r"\u202e" in facts


def test_collapse_detection_is_not_reported_before_its_window_is_full(tmp_path):
    pages = [
        report.write_report([write_run(tmp_path / str(steps), steps=steps)]).read_text()
        for steps in (0, 4, 5)
    ]
    said = ["Collapse detection raised no warning" in page for page in pages]
    assert said == [False, False, True]


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA"])
def test_equal_images_of_any_mode_are_stored_once_and_large_ones_downscaled(tmp_path, mode):
    folder = write_run(tmp_path / "run", steps=20)
    pixels = np.random.default_rng(0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)
    for path in (folder / "rollouts").glob("*.png"):
        Image.fromarray(pixels).convert(mode).save(path)
    page = report.write_report([folder]).read_text()
    assert page.count("data:image/") == 1
    assert len(page) < 2**20
