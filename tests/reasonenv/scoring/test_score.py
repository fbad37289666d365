import gzip
import json
import os
from pathlib import Path

import pytest

from reasonenv.grading import VERSION
from reasonenv.score import main
from reasonenv.scoring import score
from reasonenv.scoring.responses import SkipLog
from reasonenv.scoring.scoreboard import grade_responses, summarize
from reasonenv.scoring.statistics import over_clusters, wilson

SUBJECTS = ["algebra", "counting"]
LABELS = [
    {"id": str(n), "answer": str(n * n), "options": [], "level": n % 3, "subject": SUBJECTS[n % 2]}
    for n in range(1, 9)
]


def written(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path):
    written(tmp_path / "mathvision" / "test_labels.jsonl", LABELS)
    return tmp_path


def responses(right=range(1, 9)):
    """Squares of some of the numbers, and wrong answers to the others."""
    return [
        {"id": str(n), "response": f"\\boxed{{{n * n if n in right else 0}}}"} for n in range(1, 9)
    ]


def command(env, data, path, *more):
    return main(["--env", env, "--data", str(data), "--responses", str(path), *map(str, more)])


def call(data, path, *more):
    return command("MathVision-v0", data, path, *more)


def saved(data, rows, *more, env="MathVision-v0"):
    """The scores of rows that the command saves."""
    output = data / "scores.json"
    assert command(env, data, written(data / "r.jsonl", rows), "--output", output, *more) == 0
    return json.loads(output.read_text())


@pytest.mark.parametrize("flag", ["output", "verdicts"])
@pytest.mark.parametrize(
    ("place", "fault"),
    [("no/file", "no such parent folder"), ("", "this is a folder, give a file")],
)
def test_scores_that_cannot_be_saved_are_told_before_the_work(data, capsys, flag, place, fault):
    path = data / place
    assert call(data, "unread.jsonl", f"--{flag}", path) == 2
    assert capsys.readouterr().err == f"error: --{flag}={path}: {fault}\n"


@pytest.mark.parametrize(
    "flags",
    [
        ["--output", "r.jsonl"],
        ["--verdicts", "./r.jsonl"],
        ["--output", "other.jsonl", "--compare", "other.jsonl"],
        ["--verdicts", "link.jsonl"],
        ["--output", "q.jsonl"],
        ["--output", "new.json", "--verdicts", "new.json"],
    ],
    ids=" ".join,
)
def test_scores_replace_no_file_of_the_command(tmp_path, monkeypatch, capsys, flags):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "q.jsonl", [{"id": "1", "question": "1 + 1?", "answer": "2"}])
    for name in ("r", "other"):
        written(tmp_path / f"{name}.jsonl", [{"id": "1", "response": "2"}])
    (tmp_path / "link.jsonl").symlink_to("r.jsonl")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    command = ["--env", "file", "--data", "q.jsonl", "--responses", "r.jsonl"]
    assert main([*command, *flags]) == 2
    assert "the command uses this file already, give another\n" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_command_prints_tables_and_saves_scores(data, capsys):
    verdicts = data / "verdicts.jsonl"
    scores = saved(data, responses(right=[1, 2, 3]), "--verdicts", verdicts)
    output = capsys.readouterr()
    assert "37.50%" in output.out
    assert output.err == ""
    assert (scores["env"], scores["num_problems"], scores["num_samples"]) == ("MathVision-v0", 8, 1)
    assert scores["accuracy"] == pytest.approx(3 / 8)
    assert scores["grader_version"] == VERSION
    low, high = scores["interval"]
    assert 0 <= low < 3 / 8 < high <= 1
    assert scores["by"]["subject"]["algebra"]["accuracy"] == pytest.approx(1 / 4)
    assert scores["by"]["subject"]["counting"]["num"] == 4
    told = [json.loads(line) for line in verdicts.read_text().splitlines()]
    assert [row["correct"] for row in told] == [True] * 3 + [False] * 5
    names = ["mathvision", "r.jsonl", "scores.json", "verdicts.jsonl"]
    assert sorted(os.listdir(data)) == names


def test_bad_lines_are_told_one_by_one_and_the_rest_is_scored(data, capsys):
    bad = [
        "{",
        "[1]",
        {"response": "no id"},
        {"id": "2"},
        {"id": "nobody", "response": "4"},
        {"id": "3", "response": "\\boxed{9}"},
    ]
    path = written(data / "responses.jsonl", [*responses(right=[1, 2, 3]), *bad])
    path.write_bytes(path.read_bytes() + b"\xff\n\n")
    output = data / "scores.json"
    assert call(data, path, "--output", output) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 7
    assert [line.partition("line ")[2].partition(":")[0].split()[0] for line in lines] == [
        *("9", "10", "11", "12", "15", "14", "13")
    ]
    assert lines[-1].endswith("skipped, MathVision-v0 has no problem 'nobody'")
    scores = json.loads(output.read_text())
    assert scores["accuracy"] == pytest.approx(3 / 8)
    assert scores["skipped"] == {"broken": 5, "duplicate": 1, "unknown_id": 1}
    assert call(data, path, "--strict") == 1


@pytest.mark.parametrize("name", ["r.json", "r.json.gz", "r.jsonl.gz", "r.jsonl"])
def test_responses_may_be_lines_or_one_value_of_json_compressed_or_not(data, name):
    rows = responses(right=[1, 2, 3])
    by_id = {row["id"]: {"response": row["response"]} for row in rows}
    for content in (rows, by_id) if ".json" in Path(name).suffixes else (None,):
        lines = "\n".join(map(json.dumps, rows))
        raw = (json.dumps(content, indent=1) if content else lines).encode()
        (data / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        assert call(data, data / name, "--output", data / "scores.json") == 0
        scores = json.loads((data / "scores.json").read_text())
        assert (scores["num_problems"], scores["accuracy"]) == (8, pytest.approx(3 / 8))


def test_what_a_kill_left_of_a_file_is_scored(data, capsys):
    content = "\n".join(json.dumps({**row, "model": os.urandom(500).hex()}) for row in responses())
    (data / "r.jsonl").write_text(content[:-10])
    (data / "r.jsonl.gz").write_bytes(gzip.compress(content.encode())[:3000])
    for name in ("r.jsonl", "r.jsonl.gz"):
        assert call(data, data / name, "--output", data / "scores.json") == 0
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(str(data / name))
        assert "skipped" in line
        assert 3 <= json.loads((data / "scores.json").read_text())["num_problems"] <= 7


@pytest.mark.parametrize(
    ("name", "content", "status", "told"),
    [
        ("r.json", '{"1": {"response": "1"}, "2": 4}', 0, "{}, row 2: skipped, 4 is no object"),
        (
            "r.json",
            '{"1": {"response": "1"},\n "1": {"response": "0"}}',
            2,
            "error: {} is not JSON: the key '1' comes 2 times",
        ),
        (
            "r.json",
            '{"1": {"response": "1"},\n "2": {"response": "4", "response": "0"}}',
            2,
            "the key 'response' comes 2 times",
        ),
        (
            "r.jsonl",
            '{"id": "1", "response": null}\n{"id": "2", "response": "4"}',
            0,
            "{}, line 1 (id '1'): its response is null and counts as empty",
        ),
    ],
)
def test_what_is_wrong_with_a_row_is_one_line(data, capsys, name, content, status, told):
    (data / name).write_text(content)
    assert call(data, data / name) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert told.format(data / name) in line


def test_another_response_to_a_problem_is_a_sample_of_it_and_is_told(data):
    told = []
    rows = [*responses(), {"id": "1", "response": "\\boxed{2}"}]
    scores = score("MathVision-v0", rows, data, skipped=SkipLog(told.append))
    assert scores["accuracy"] == pytest.approx(7.5 / 8)
    assert told == ["row 9: id '1' has 2 responses, others have 1; all count as samples"]
    told.clear()
    rows.insert(8, rows[0])
    assert score("MathVision-v0", rows, data, skipped=SkipLog(told.append)) == {
        **scores,
        "skipped": {"duplicate": 1},
    }
    assert told == [
        "row 9: skipped, id '1' has this response already",
        "row 10: id '1' has 2 responses, others have 1; all count as samples",
    ]
    assert scores["num_samples"] == 1
    assert score("MathVision-v0", responses() * 2, data)["num_samples"] == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there is no response to score"),
        (["{"], "there is no response to score"),
        ([{"id": "x", "response": "1"}], "none of the 1 responses is to a known problem"),
    ],
)
def test_what_cannot_be_scored_at_all_is_one_error_and_saves_nothing(data, capsys, rows, message):
    output = data / "scores.json"
    output.write_text("before")
    assert call(data, written(data / "r.jsonl", rows), "--output", output) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith(f"error: {message}")
    assert output.read_text() == "before"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "MathVistas-v0"], "did you mean MathVista-v0"),
        (["--data", "nowhere"], "there is no folder nowhere"),
        (["--responses", "nothing.jsonl"], "nothing.jsonl"),
        (["--output", "no/such/folder.json"], "--output=no/such/folder.json: no such parent"),
        (["--responses", "/dev/zero"], "/dev/zero is a pipe, a device or a folder: a regular"),
        (["--split", "tset"], "has no split 'tset' of mathvision: test"),
        (["--judge", "math:nothing"], "no judge 'math:nothing'"),
        (["--judge", "math.sin"], "give module:function"),
        (["--env", "MathVerse-v0"], "has no labels of mathverse"),
    ],
)
def test_a_wrong_argument_is_one_line(data, capsys, arguments, message):
    assert call(data, written(data / "r.jsonl", responses()), *arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_labels_come_from_the_file_that_covers_the_ids(tmp_path):
    solved = [{"question": f"{n}?", "answer": f"So.\n#### {n}"} for n in range(20)]
    written(tmp_path / "train_subset.jsonl", solved)
    written(tmp_path / "test_subset.jsonl", [{"answer": "#### 7"}] * 5)
    written(tmp_path / "outputs.jsonl", [{"id": n, "response": "7"} for n in range(99)])
    rows = [{"id": n, "response": f"#### {n}"} for n in range(10)]
    assert score("GSM8K-v0", rows, tmp_path)["accuracy"] == 1.0
    # Where both do, the test split is meant, unless one is named.
    few = [{"id": n, "response": "#### 7"} for n in range(4)]
    assert score("GSM8K-v0", few, tmp_path)["accuracy"] == 1.0
    assert score("GSM8K-v0", few, tmp_path, split="train")["accuracy"] == 0.0


def test_labels_may_lie_in_parquet_beside_images_that_are_not_read(tmp_path):
    import pyarrow
    from pyarrow import parquet

    image = {"bytes": b"no image", "path": None}
    rows = [{**row, "question": "?", "decoded_image": image} for row in LABELS]
    for part in (0, 1):
        table = pyarrow.Table.from_pylist(rows[part::2])
        parquet.write_table(table, tmp_path / f"test-0000{part}-of-00002.parquet")
    scores = score("MathVision-v0", responses(right=[8]), tmp_path)
    assert scores["accuracy"] == pytest.approx(1 / 8)
    assert scores["num_missing"] == 0


def test_labels_are_found_through_the_variable(data, monkeypatch):
    monkeypatch.setenv("REASONENV_DATA", str(data))
    assert score("MathVision-v0", responses())["accuracy"] == 1.0


def mathverse_label(n, version, answer="B"):
    """Versions of a problem follow each other in the data set, as on the hub."""
    return {
        "sample_index": str(n),
        "problem_index": str(n // 5),
        "problem_version": version,
        "answer": answer,
        "question_type": "multi-choice",
        "question": "",
        "metadata": {"subject": "Functions", "subfield": "Property"},
    }


def test_mathverse_counts_the_versions_with_images(tmp_path):
    versions = ["Text Dominant", "Vision Only", "Text Only"]
    rows = [mathverse_label(5 * n, version) for n, version in enumerate(versions)]
    written(tmp_path / "mathverse" / "testmini.jsonl", rows)
    given = [{"id": str(5 * n), "response": f"Answer: {answer}"} for n, answer in enumerate("BAB")]
    scores = score("MathVerse-v0", given, tmp_path)
    assert (scores["num_problems"], scores["accuracy"]) == (2, 0.5)
    assert scores["by"]["problem_version"]["Text Only"]["accuracy"] == 1.0
    assert scores["by"]["subfield"]["Functions, Property"]["num"] == 3
    assert score("MathVerse-v0", given[2:], tmp_path)["accuracy"] == 1.0


def test_an_environment_that_makes_its_own_problems_is_scored_by_them():
    import reasonenv

    envs = reasonenv.make("Figures-v2", num_envs=1, split="test")
    problems = envs.problems[:6]
    envs.close()
    rows = [{"id": p.id, "response": f"\\boxed{{{p.answer}}}"} for p in problems]
    scores = score("Figures-v2", [*rows[:5], {**rows[5], "response": "?"}])
    assert scores["accuracy"] == pytest.approx(5 / 6)
    assert sum(line["num"] for line in scores["by"]["family"].values()) == 6


@pytest.fixture
def sampled(tmp_path):
    """AIME: four samples of each of two problems; a majority of the first is right."""
    written(tmp_path / "test.jsonl", [{"id": 60, "answer": "033"}, {"id": 61, "answer": 104}])
    answers = {60: ["33", "033", "12", "33"], 61: ["5", "104", "5", "7"]}
    rows = [
        {"id": n, "response": f"\\boxed{{{answer}}}"}
        for n, own in answers.items()
        for answer in own
    ]
    return score("AIME24-v0", rows, tmp_path)


def test_several_samples_give_mean_pass_and_majority(sampled):
    assert (sampled["num_problems"], sampled["num_samples"]) == (2, 4)
    assert sampled["accuracy"] == sampled["mean@k"]["4"] == pytest.approx((3 / 4 + 1 / 4) / 2)
    assert sampled["pass@k"]["1"] == pytest.approx(0.5)
    # Of the six pairs of samples all have a right one in the first problem, three in the second.
    assert sampled["pass@k"]["2"] == pytest.approx((1 + 3 / 6) / 2)
    assert sampled["pass@k"]["4"] == 1.0
    assert sampled["maj@k"]["4"] == pytest.approx(0.5)
    low, high = sampled["interval_samples"]
    assert low < 0.5 < high
    assert set(sampled["intervals"]["pass@k"]) == {"1", "2", "4"}


def rates(value):
    """Every number of the scores that is a rate."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not name.startswith(("num", "status", "skipped", "counts")):
                yield from rates(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from rates(inner)
    elif isinstance(value, float):
        yield value


def test_every_rate_lies_between_zero_and_one(sampled, data):
    for scores in (sampled, score("MathVision-v0", responses(right=[1]), data)):
        found = list(rates(scores))
        assert len(found) > 10
        assert all(0 <= rate <= 1 for rate in found)
        assert json.loads(json.dumps(scores)) == scores


def test_two_files_of_responses_are_compared_problem_by_problem(data, capsys):
    theirs = written(data / "b.jsonl", responses(right=[1, 2])[:6])
    result = saved(data, responses(), "--compare", theirs)["compared"]
    counts = [result[name] for name in ("num_problems", "wins", "losses", "ties")]
    assert counts == [6, 4, 0, 2]
    assert result["difference"] == pytest.approx(4 / 6)
    assert result["p_value"] == pytest.approx(2 / 2**4)
    assert result["accuracies"] == pytest.approx([1, 1 / 3])
    assert result["intervals"] == [wilson(6, 6), wilson(2, 6)]
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"{data / 'r.jsonl'} 6 100.00% 60.97% to 100.00%" in lines
    assert any(line.startswith("difference 6 +66.67% ") for line in lines)
    test = (
        "Exact McNemar test: p = 0.125; the first is better on 4 problems, worse on 0, equal on 2"
    )
    assert test in lines
    # The other way round it is the same test.
    ours = written(data / "a.jsonl", responses())
    turned = saved(data, responses(right=[1, 2])[:6], "--compare", ours)["compared"]
    assert (turned["losses"], turned["p_value"]) == (4, result["p_value"])


def test_two_files_with_several_samples_have_a_test_over_problems(data, capsys):
    theirs = written(data / "b.jsonl", [*responses(right=[1]), *responses(right=[])])
    rows = [*responses(), *responses(right=[1, 2, 3])]
    result = saved(data, rows, "--compare", theirs)["compared"]
    assert result["test"] == "Exact sign-flip test over problems"
    assert result["accuracies"] == pytest.approx([11 / 16, 1 / 16])
    assert "Exact sign-flip test over problems: p = 0.00781" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("markdown", "|  | problems | accuracy |"), ("latex", "% needs \\usepackage{booktabs}")],
)
def test_tables_to_paste_are_all_of_the_output(data, capsys, form, beginning):
    path = written(data / "a.jsonl", responses(right=[1, 2, 3]))
    assert call(data, path, "--format", form, "--compare", path) == 0
    output = capsys.readouterr().out
    assert output.startswith(beginning)
    percent = "13.68% to 69.43%"
    assert (percent.replace("%", "\\%") if form == "latex" else percent) in output
    assert "Exact McNemar test: p = 1; the first" in output


def test_scores_as_json_are_those_of_the_file(data, capsys):
    path = written(data / "a.jsonl", responses(right=[1, 2, 3]))
    assert call(data, path, "--format", "json", "--output", data / "scores.json") == 0
    assert capsys.readouterr().out == (data / "scores.json").read_text()


def test_a_number_in_digits_of_another_script_is_refused(data, capsys):
    with pytest.raises(SystemExit):
        call(data, "a.jsonl", "--seed", "\uff11")
    assert "argument --seed: invalid int value: '\uff11'" in capsys.readouterr().err


def test_the_table_says_whose_rules_and_how_many_problems_are_missing(data, capsys):
    path = written(data / "a.jsonl", responses(right=[1])[:5])
    assert call(data, path) == 0
    output = capsys.readouterr().out
    assert "By the rules of the benchmark's own evaluation code" in output
    assert "3 problems of the split have no response, and do not count" in output
    written(data / "aime24" / "test.jsonl", [{"id": 60, "answer": "033"}])
    path = written(data / "b.jsonl", [{"id": "60", "response": "\\boxed{33}"}])
    command("AIME24-v0", data, path)
    assert f"Final answers by this package's grader, version {VERSION}" in capsys.readouterr().out


JUDGE = """
def strict(label, response):
    return response == label["answer"]

def extracts(label, response):
    return response.split()[-1] if response else None

def fails(label, response):
    raise RuntimeError("no such model")
"""


@pytest.mark.parametrize(
    ("name", "accuracy", "told"), [("strict", 1 / 8, 0), ("extracts", 7 / 8, 0), ("fails", 0, 8)]
)
def test_a_judge_gives_verdicts_or_answers(data, monkeypatch, capsys, name, accuracy, told):
    (data / "own_judge.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(str(data))
    rows = [{"id": str(n), "response": f"I say {n * n}"} for n in range(1, 7)]
    rows += [{"id": "7", "response": "49"}, {"id": "8", "response": ""}]
    scores = saved(data, rows, "--judge", f"own_judge:{name}")
    assert scores["accuracy"] == pytest.approx(accuracy)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == told
    assert all("no such model" in line for line in lines)


def test_an_extraction_that_a_row_brings_is_what_is_scored(data):
    rows = [{**row, "extraction": "0"} for row in responses()]
    rows[0]["extraction"] = "1"
    assert score("MathVision-v0", rows, data)["accuracy"] == pytest.approx(1 / 8)


def test_equal_files_give_equal_scores_whatever_the_order(data):
    rows = responses(right=[1, 5, 7])
    first = summarize(grade_responses("MathVision-v0", rows, data), seed=1)
    assert summarize(grade_responses("MathVision-v0", rows[::-1], data), seed=1) == first
    other = summarize(grade_responses("MathVision-v0", rows, data), seed=2)
    assert other["accuracy"] == first["accuracy"]


VERSIONS = ["Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only"]


@pytest.fixture
def verse(tmp_path):
    """Six problems in the five versions with images."""
    labels = [mathverse_label(n, VERSIONS[n % 5]) for n in range(30)]
    written(tmp_path / "mathverse" / "testmini.jsonl", labels)
    return tmp_path


def verse_responses(right):
    """The same verdict on all versions of a problem."""
    return [{"id": str(n), "response": f"Answer: {'AB'[n // 5 in right]}"} for n in range(30)]


def test_versions_of_a_problem_are_one_cluster_in_every_interval(verse, capsys):
    scores = score("MathVerse-v0", verse_responses(right=[0, 1, 2]), verse)
    assert (scores["num_problems"], scores["num_clusters"], scores["accuracy"]) == (30, 6, 0.5)
    assert scores["interval"] == over_clusters([5, 5, 5, 0, 0, 0], [5] * 6)
    assert scores["by"]["subject"]["Functions"]["interval"] == scores["interval"]
    assert scores["by"]["problem_version"]["Vision Only"]["interval"] == wilson(3, 6)
    saved(verse, verse_responses(right=[0]), env="MathVerse-v0")
    assert "Intervals are over 6 clusters of problems" in capsys.readouterr().out


def test_versions_of_a_problem_are_one_cluster_in_rows_of_the_visualizer(tmp_path):
    labels = [mathverse_label(n, VERSIONS[n % 5]) for n in range(30)]
    for label in labels:
        label["pid"], label["group"] = label.pop("sample_index"), label.pop("problem_index")
    written(tmp_path / "mathverse" / "visualizer.jsonl", labels)
    scores = score("MathVerse-v0", verse_responses(right=[0, 1, 2]), tmp_path)
    assert (scores["num_problems"], scores["num_clusters"]) == (30, 6)


def test_two_models_are_compared_over_clusters(verse, tmp_path, capsys):
    theirs = written(tmp_path / "b.jsonl", verse_responses(right=[2]))
    rows = verse_responses(right=[0, 1, 2])
    result = saved(verse, rows, "--compare", theirs, env="MathVerse-v0")["compared"]
    # Ten verdicts differ, of two problems: of four signs two are as extreme.
    assert (result["wins"], result["p_value"]) == (10, 0.5)
    assert result["intervals"][0] == over_clusters([5, 5, 5, 0, 0, 0], [5] * 6)
    assert "Exact sign-flip test over 6 clusters of problems: p = 0.5" in capsys.readouterr().out


def test_parts_of_a_composite_problem_and_of_one_context_are_clusters(tmp_path):
    steps = [
        {"ID": f"2steps_{n // 3}", "key": key, "answer": "A", "question number": n}
        for n, key in enumerate(2 * ["2steps_1", "2steps_2", "2steps_multi"])
    ]
    written(tmp_path / "wemath" / "testmini.jsonl", steps)
    rows = [{"id": n, "response": "Answer: A"} for n in range(6)]
    assert score("WeMath-v0", rows, tmp_path)["num_clusters"] == 2
    physics = [
        {"id": n, "final_answer": ["1"], "context": context}
        for n, context in enumerate(["A ball falls.", "A ball falls.", None, None])
    ]
    written(tmp_path / "olympiadbench" / "OE_TO_physics_en_COMP.jsonl", physics)
    rows = [{"id": n, "response": "\\boxed{1}"} for n in range(4)]
    assert score("OlympiadBench-v0", rows, tmp_path)["num_clusters"] == 3


@pytest.fixture
def olympiad(tmp_path):
    """Two parts with an id in common."""
    for part, answers in (("TO", {5: "1", 6: "2"}), ("MM", {5: "3", 7: "4", 8: "5"})):
        rows = [{"id": id, "final_answer": [answer]} for id, answer in answers.items()]
        written(tmp_path / "olympiadbench" / f"OE_{part}_maths_en_COMP.jsonl", rows)
    return tmp_path


@pytest.mark.parametrize(
    ("split", "answers"),
    [
        ("test", {"5": "1", "7": "4"}),
        (None, {"5": "1", "6": "2", "7": "4", "8": "5", "OE_MM_maths_en_COMP/5": "3"}),
        # Responses to one part alone.
        (None, {"5": "3", "7": "4", "8": "5"}),
        ("OE_MM_maths_en_COMP", {"5": "3", "7": "4"}),
    ],
)
def test_an_id_of_two_parts_is_that_of_the_environment(olympiad, split, answers):
    rows = [{"id": id, "response": f"\\boxed{{{answer}}}"} for id, answer in answers.items()]
    scores = score("OlympiadBench-v0", rows, olympiad, split=split)
    assert (scores["num_problems"], scores["accuracy"]) == (len(answers), 1.0)


def test_ids_of_two_splits_are_of_the_one_to_report_and_it_is_said(verse, caplog):
    labels = [mathverse_label(n, "Text Only", answer="A") for n in range(6)]
    written(verse / "mathverse" / "testmini_text_only.jsonl", labels)
    rows = verse_responses(right=range(6))[:5]
    assert score("MathVerse-v0", rows, verse)["accuracy"] == 1.0
    line = "scored by the split testmini; testmini_text_only has these ids too: --split chooses"
    assert [record.getMessage() for record in caplog.records] == [line]
    assert score("MathVerse-v0", rows, verse, split="testmini_text_only")["accuracy"] == 0.0


def test_labels_with_one_id_and_two_answers_are_refused(tmp_path):
    rows = [*LABELS, {**LABELS[0], "answer": "7"}]
    written(tmp_path / "test.jsonl", [*rows, LABELS[1]])
    assert score("MathVision-v0", responses()[1:], tmp_path)["accuracy"] == 1.0
    with pytest.raises(ValueError, match="two rows of test have the id '1' and different answers"):
        score("MathVision-v0", responses(), tmp_path)


def test_two_rows_of_one_sample_are_one_response(data, capsys):
    rows = [{**row, "sample": k} for k in (0, 1) for row in responses(right=[1])]
    again = {"id": "1", "sample": 0, "response": "\\boxed{2}"}
    path = written(data / "responses.jsonl", [*rows, again])
    assert call(data, path, "--strict", "--output", data / "scores.json") == 1
    scores = json.loads((data / "scores.json").read_text())
    assert (scores["num_samples"], scores["num_responses"]) == (2, 16)
    assert scores["skipped"] == {"duplicate": 1}
    line = f"{path}, line 17: skipped, sample 0 of id '1' stands at {path}, line 1\n"
    assert capsys.readouterr().err == line


def test_the_part_that_is_held_out_is_scored_by_the_labels_of_its_split(data):
    assert score("MathVision-v0", responses()[:3], data, split="heldout")["accuracy"] == 1.0
