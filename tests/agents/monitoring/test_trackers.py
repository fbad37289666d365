import json
import math
import sqlite3
import struct

import pytest

from agents.errors import MissingPackageError, UsageError
from agents.monitoring.logs import RunLog
from agents.monitoring.trackers import STARTS, Tracker, check_installed

SETTINGS = {"run": {"seed": 3, "env": "Letters-v0"}, "algorithm": "CPGD"}
HOSTILE = "\x1b[2J<script>alert(1)</script> | `x` \u202e"
INFOS = {
    "problem_id": ["p", "p"],
    "answer": ["7", None],
    "reference": ["7", "7"],
    "accuracy": [1.0, 0.0],
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Folders for what the libraries write, none of which asks a network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return tmp_path


def run_of_three_steps(folder, name):
    """Two steps, and a third after the run is resumed; an evaluation, and a table of responses."""
    observations = {"system": ("", ""), "question": (HOSTILE, HOSTILE), "images": ((), ())}
    with RunLog(folder, 3, trackers=(name,), settings=SETTINGS) as log:
        log.write_evaluation(0, {"split": "test", "accuracy": 0.25, "by": {"a": 1.0}})
        log.write(1, {"reward/mean": 0.5, "train/loss": math.nan})
        log.write(2, {"reward/mean": 0.75})
        log.write_rollout(2, observations, (HOSTILE, "\ud800"), [1.0, 0.0], INFOS, group_size=2)
    with RunLog(folder, 3, start=2, trackers=(name,), settings=SETTINGS) as log:
        log.write(3, {"reward/mean": 1.0})


EXPECTED = {
    "reward/mean": [(1, 0.5), (2, 0.75), (3, 1.0)],
    "evaluation/test/accuracy": [(0, 0.25)],
}


def test_tensorboard_has_metrics_evaluations_and_responses(home):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run_of_three_steps(home / "run", "tensorboard")
    events = accumulator.EventAccumulator(str(home / "run" / "tensorboard")).Reload()
    values = {name: [(e.step, e.value) for e in events.Scalars(name)] for name in EXPECTED}
    assert values == EXPECTED
    (tensor,) = events.Tensors("rollouts/text_summary")
    text = tensor.tensor_proto.string_val[0].decode()
    assert all(line.startswith("    ") for line in text.splitlines())
    assert "\\x1b[2J" in text
    assert "\x1b" not in text


@pytest.mark.filterwarnings("ignore")  # those that MLflow's own dependencies cause
@pytest.mark.slow(reason="makes the database of MLflow")
def test_mlflow_has_metrics_evaluations_and_responses(home):
    mlflow = pytest.importorskip("mlflow", reason="needs MLflow: pip install mlflow")
    run_of_three_steps(home / "run", "mlflow")
    (run,) = mlflow.search_runs(search_all_experiments=True, output_format="list")
    history = mlflow.MlflowClient().get_metric_history
    values = {n: [(m.step, m.value) for m in history(run.info.run_id, n)] for n in EXPECTED}
    assert values == EXPECTED
    assert mlflow.load_table("rollouts.json")["response"][0] == HOSTILE
    assert mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/settings.json") == SETTINGS


@pytest.mark.slow(reason="starts Trackio")
def test_trackio_has_metrics_evaluations_and_responses(home):
    pytest.importorskip("trackio", reason="needs Trackio: pip install trackio")
    run_of_three_steps(home / "run", "trackio")
    (database,) = (home / "trackio").glob("reasonenv*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select run_name, step, metrics from metrics").fetchall()
    assert len({name for name, _, _ in rows}) == 1
    logged = [(step, json.loads(metrics)) for _, step, metrics in rows]
    for name, values in EXPECTED.items():
        assert sorted((step, m[name]) for step, m in logged if name in m) == values
    assert any("rollouts" in metrics for _, metrics in logged)


def log_records(data, block=2**15, first=7):
    """Records of a file in the format of LevelDB's log, after a header of seven bytes."""
    place, record = first, b""
    while place + 7 <= len(data):
        if block - place % block < 7:
            place += block - place % block
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or last part
            yield record
            record = b""


@pytest.mark.slow(reason="starts the service of Weights & Biases")
def test_wandb_has_metrics_evaluations_and_responses(home):
    wandb = pytest.importorskip("wandb", reason="needs Weights & Biases: pip install wandb")
    from wandb.proto import wandb_internal_pb2

    run_of_three_steps(home / "run", "wandb")
    wandb.teardown()  # waits for the service, a process of its own that writes the files
    files = sorted((home / "run").glob("wandb/offline-run-*/*.wandb"))
    rows, ids = [], set()
    for file in files:
        for content in log_records(file.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(content)
            if record.HasField("run"):
                ids.add(record.run.run_id)
            items = {"/".join(i.nested_key) or i.key: i.value_json for i in record.history.item}
            rows.append({name: json.loads(value) for name, value in items.items()})
    assert len(ids) == 1, wandb.__version__
    assert len(files) == 2
    for name, values in EXPECTED.items():
        assert [(row["step"], row[name]) for row in rows if name in row] == values
    assert any("rollouts" in row or any(k.startswith("rollouts/") for k in row) for row in rows)


@pytest.mark.parametrize("name", ["nothing_of_this_name", "folder"])
def test_a_missing_library_is_one_line(tmp_path, monkeypatch, name):
    (tmp_path / "folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackageError, match=rf"^--track {name} needs its library: pip"):
        check_installed([name])


def test_a_tracker_that_fails_is_left_out_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    events = []

    def failing(*_):
        raise ConnectionError("no\nroute")

    monkeypatch.setitem(STARTS, "wandb", lambda *_: Tracker(failing, failing, failing))
    working = Tracker(lambda *event: events.append(event), failing, events.append)
    monkeypatch.setitem(STARTS, "mlflow", lambda *_: working)
    log = RunLog(tmp_path, 2, trackers=("wandb", "mlflow"))
    log.write(1, {"x": 1, "text": "no number", "none": None})
    log.write(2, {"x": 2})
    with pytest.raises(KeyError), log:
        raise KeyError
    assert events == [(1, {"x": 1}), (2, {"x": 2}), True]
    errors = capsys.readouterr().err
    assert errors.count("warning: wandb fails (no route): the run goes on without it") == 1


def test_a_library_that_cannot_start_is_one_line(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no\nroute")

    monkeypatch.setitem(STARTS, "trackio", refuse)
    with pytest.raises(UsageError, match=r"^--track trackio: no route$"):
        RunLog(tmp_path, 2, trackers=("trackio",))
