import re

import pytest
from helpers.tiny_runs import CPGD

from agents.algorithms import ALGORITHMS, find_learner
from agents.cli.flags import parse_run
from agents.cli.foreign_flags import PEERS, advice
from agents.cli.settings import Run

FLAGS = set(vars(Run())).union(*(vars(find_learner(name)()) for name in ALGORITHMS))


@pytest.mark.parametrize("name", PEERS["TRL"] | PEERS["verl"])
def test_a_name_of_a_peer_is_no_setting_of_a_run_and_its_advice_names_settings(name):
    assert name not in vars(Run())
    flags = re.findall(r"--([a-z][a-z-]+)", advice(f"--{name}"))
    assert {flag.replace("-", "_") for flag in flags} - {"nproc_per_node"} <= FLAGS
    assert flags or name in ("adv_estimator", "logging_steps")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        (
            "--num-generations=8",
            "--num-generations: that is a name of TRL, here it is --group-size",
        ),
        (
            "--train_batch_size",
            "--train_batch_size: that is a name of verl, here it is --num-prompts",
        ),
        ("--lr", "--lr: that is a name of TRL, here it is --learning-rate"),
    ],
)
def test_a_flag_of_a_peer_ends_in_one_line_with_ours(word, line, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        parse_run(CPGD, [word, "8"])
    assert capsys.readouterr().err == f"error: there is no flag {line}\n"


@pytest.mark.parametrize(
    "words",
    [
        "--output-dir lr=3",
        "--reward accuracy=0.5 format=1",
        "--push-to-hub true",
        "--no-freeze-vision",
        "--env-options=true",
    ],
)
def test_values_like_settings_are_values(words):
    parse_run(CPGD, words.split())


def test_a_setting_of_a_peer_in_a_file_ends_in_one_line_with_ours(tmp_path):
    (tmp_path / "trl.yaml").write_text("max_completion_length: 8\n")
    line = "there is no setting max_completion_length: that is a name of TRL, here it is --max-resp"
    with pytest.raises(SystemExit, match=f"^error: --config: {line}onse-length$"):
        parse_run(CPGD, ["--config", str(tmp_path / "trl.yaml")])


def test_a_learners_own_setting_counts_before_a_peers_name():
    assert parse_run(find_learner("rpg"), ["--beta", "0.5"])[1].beta == 0.5
