import logging

import pytest
from helpers.hub_rows import cell, hub, lines, mathvision

import reasonenv
from reasonenv.datasets.selection import distinct_ids, held_out, select, without_images
from reasonenv.problem import Problem

SUBJECTS = ["algebra", "topology", "algebra", "counting"]


@pytest.fixture
def folder(tmp_path):
    rows = [mathvision(id=str(k), subject=s, level=k + 1) for k, s in enumerate(SUBJECTS)]
    return hub(tmp_path, "test", rows)


def ids(folder, **options):
    envs = reasonenv.make("MathVision-v0", num_envs=1, data=folder, num_workers=1, **options)
    found = [problem.id for problem in envs.problems]
    envs.close()
    return found


@pytest.mark.parametrize(
    ("filter", "chosen"),
    [
        ({"subject": "algebra"}, ["0", "2"]),
        ({"subject": ["algebra", "counting"]}, ["0", "2", "3"]),
        ({"level": [1, 4]}, ["0", "3"]),
        ({"level": "2"}, ["1"]),
        ({"subject": ["algebra"], "level": [2, 3]}, ["2"]),
        ({}, ["0", "1", "2", "3"]),
    ],
)
def test_problems_are_chosen_by_subject_and_difficulty(folder, filter, chosen):
    assert ids(folder, filter=filter) == chosen


def test_of_metadata_that_is_a_list_one_element_is_enough():
    skills = (["a", "b"], ["c"], None, ["b"])
    made = [Problem(str(k), "?", "1", metadata={"skills": s}) for k, s in enumerate(skills)]
    assert [problem.id for problem in select(made, {"skills": ["b", "x"]})] == ["0", "3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": {"subjects": "x"}}, r"no problem has 'subjects': there is level, subject"),
        ({"filter": {"subject": "x"}}, r"no problem is left: filter=\{'subject': 'x'\}"),
        ({"filter": "algebra"}, "filter='algebra': give names and values"),
        ({"without": "0"}, "without='0': give a list of ids"),
        ({"without": ["9"]}, "without: no problem is called '9'"),
        ({"without": ["0", "1", "2", "3"]}, "no problem is left"),
        ({"holdout": 1.5}, "holdout=1.5: a fraction between 0 and 1 is needed"),
        ({"split": "heldout"}, "holds nothing out unless holdout says how much"),
    ],
)
def test_a_choice_that_does_not_fit_is_told_at_make(folder, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        ids(folder, **options)
    assert "\n" not in str(caught.value)


def test_a_row_that_is_not_whole_is_told_unless_it_is_left_out(tmp_path):
    rows = [mathvision(id="0"), mathvision(id="1", answer=" "), mathvision(id="2")]
    folder = hub(tmp_path, "test", rows)
    told = r"^mathvision test, row 1 \(id '1'\): column 'answer' is empty; it is left out by with"
    with pytest.raises(ValueError, match=told):
        ids(folder)
    assert ids(folder, without=["1"]) == ["0", "2"]
    assert ids(folder, without=["1"], filter={"subject": "topology"}) == ["0", "2"]
    with pytest.raises(ValueError, match="row 1"):
        ids(folder, filter={"subject": "topology"})


def test_no_image_is_decoded_to_choose(tmp_path):
    broken = {"decoded_image": {"bytes": b"x", "path": "1.png"}}
    rows = [mathvision(id="0", level=1, **broken), mathvision(id="1", level=2)]
    folder = hub(tmp_path, "test", rows)
    assert ids(folder, filter={"level": 2}) == ids(folder, without=["0"]) == ["1"]


def test_what_is_held_out_and_the_rest_are_the_whole_and_stay_the_same():
    made = [Problem(f"p{k}", "?", "1") for k in range(4000)]
    inside = select(made, keep=held_out(0.1, True))
    rest = select(made, keep=held_out(0.1, False))
    assert {p.id for p in inside} | {p.id for p in rest} == {p.id for p in made}
    assert not {p.id for p in inside} & {p.id for p in rest}
    assert 300 < len(inside) < 500
    # Told by the id alone: other problems beside it change nothing.
    few = select(made[:1000], keep=held_out(0.1, True))
    assert [p.id for p in few] == [p.id for p in inside if int(p.id[1:]) < 1000]


def test_the_heldout_split_is_of_the_training_split(shared):
    def posed(split):
        envs = reasonenv.make(
            "MMK12-v0", num_envs=1, split=split, data=shared / "data", holdout=0.3, num_workers=1
        )
        found = {without_images(envs.problems, index).id for index in range(len(envs.problems))}
        envs.close()
        return found

    assert len(posed("train") | posed("heldout")) == 32
    assert not posed("train") & posed("heldout")


def test_versions_of_a_problem_are_held_out_together(shared):
    def clusters(split):
        env = reasonenv.make("MathVerse-v0", split=split, data=shared / "data", holdout=0.3)
        problems = env.get_wrapper_attr("problems")
        made = [without_images(problems, index) for index in range(len(problems))]
        return [problem.metadata["problem_index"] for problem in made]

    inside, rest = clusters("heldout"), clusters("testmini")
    assert len(inside) > len(set(inside)) > 1
    assert not set(inside) & set(rest)


def test_a_million_generated_problems_are_not_filtered_one_by_one():
    with pytest.raises(ValueError, match="1000000 problems, too many to filter one by one"):
        reasonenv.make("Figures-v2", filter={"family": "sum"})


def test_several_files_of_lines_are_one_split_and_tell_what_they_lack(tmp_path, caplog):
    def row(id, **changes):
        return {**{k: v for k, v in mathvision(id=id).items() if k != "decoded_image"}, **changes}

    lines(tmp_path, "test_a.jsonl", [row("0"), row("1")])
    folder = lines(tmp_path, "test_b.jsonl", [row("1"), row("2")])
    with caplog.at_level(logging.WARNING):
        assert ids(folder) == ["0", "1", "2"]
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("mathvision test: 3 of 3 problems lack an image in ")
    lines(tmp_path, "test_b.jsonl", [row("1", question="Another?")])
    with pytest.raises(ValueError, match=r"test_b\.jsonl, row 0 \(id '1'\): another row with this"):
        ids(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": ', r"test\.jsonl, line 1: it is not JSON: "),
        ('{"id": "1", "question": 7}', r"row 0: column 'question' holds int, strings were exp"),
        ('{"id": "1", "question": "?"}', r"row 0 has no column 'answer' \(strings\): it has id, q"),
        ("", "has no rows"),
    ],
)
def test_lines_that_are_no_rows_are_told(tmp_path, content, message):
    (tmp_path / "test.jsonl").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        ids(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_an_image_file_beside_lines_is_shown_and_a_broken_one_told(tmp_path):
    rows = [{k: v for k, v in mathvision(id=i).items() if k != "decoded_image"} for i in "12"]
    rows = [{**row, "image": f"images/{row['id']}.jpg"} for row in rows]
    folder = lines(tmp_path, "test.jsonl", rows)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").write_bytes(cell(5)["bytes"])
    (tmp_path / "images" / "2.jpg").write_bytes(b"broken")
    env = reasonenv.make("MathVision-v0", data=folder)
    assert env.unwrapped.problems[0].images[0][0, 0].tolist() == [5, 0, 0]
    with pytest.raises(ValueError, match=r"\(id '2'\): file 'images/2.jpg': the image cannot be"):
        env.unwrapped.problems[1]
    env.close()


def test_splits_beside_the_training_split_stay_whole(tmp_path):
    rows = [{"question": f"{k}?", "answer": f"So.\n#### {k}"} for k in range(40)]
    for split in ("train", "test"):
        folder = lines(tmp_path, f"{split}.jsonl", rows)

    def count(split, holdout=0.5):
        env = reasonenv.make("GSM8K-v0", split=split, data=folder, holdout=holdout)
        return len(env.get_wrapper_attr("problems"))

    assert count("test") == 40
    assert count("train") + count("heldout") == 40
    assert count("train") == count(None)


def test_ids_to_leave_out_may_be_those_of_another_split(tmp_path):
    rows = [{"id": f"{k}", "question": f"{k}?", "answer": k, "split": "train"} for k in range(30)]
    rows.append({"id": "a", "question": "a?", "answer": 1, "split": "test"})
    path = lines(tmp_path, "q.jsonl", [*rows, {**rows[-1], "id": "b", "question": "b?"}])

    def posed(split, without=()):
        envs = reasonenv.make("file", data=path, split=split, holdout=0.3, without=without)
        return {problem.id for problem in envs.get_wrapper_attr("problems")}

    whole = {split: posed(split) for split in ("train", "heldout", "test")}
    without = [min(ids) for ids in whole.values()]
    for split, ids in whole.items():
        assert posed(split, without) == ids - {min(ids)}
        with pytest.raises(ValueError, match="without: no problem is called 'c'"):
            posed(split, [*without, "c"])


def test_ids_to_leave_out_may_be_of_the_only_split_there_is(tmp_path):
    rows = [{"question": f"{k}?", "answer": f"So.\n#### {k}"} for k in range(3)]
    folder = lines(tmp_path, "test.jsonl", rows)
    with pytest.raises(ValueError, match="without: no problem is called '3'"):
        reasonenv.make("GSM8K-v0", split="test", data=folder, without=["3"])
    lines(tmp_path, "train.jsonl", [*rows, {"question": "3?", "answer": "So.\n#### 3"}])
    env = reasonenv.make("GSM8K-v0", split="test", data=folder, without=["3", "0"])
    assert [problem.id for problem in env.get_wrapper_attr("problems")] == ["1", "2"]


def test_a_row_of_parquet_with_the_id_of_another_is_told_and_left_out(tmp_path):
    rows = [mathvision(id=id, question=f"{k}?") for k, id in enumerate("0102")]
    folder = hub(tmp_path, "test", rows)
    with pytest.raises(
        ValueError,
        match=r"test, row 2 \(id '0'\): row 0 has this id too; it is left out by without",
    ):
        ids(folder)
    assert ids(folder, without=["row 2"]) == ids(folder, without="invalid") == ["0", "1", "2"]


def test_the_number_of_a_row_is_its_id_whatever_its_columns(tmp_path):
    rows = [{"id": "x", "question": f"{k}?", "answer": f"So.\n#### {k}"} for k in range(3)]
    env = reasonenv.make("GSM8K-v0", data=lines(tmp_path, "train.jsonl", rows))
    assert [problem.id for problem in env.get_wrapper_attr("problems")] == ["0", "1", "2"]


def test_problems_of_one_id_are_no_samples_of_each_other():
    made = [Problem(id, "?", "1") for id in "abca"]
    assert distinct_ids(made, 3) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"problems 0 and 3 have the id 'a'.*split 'test'"):
        distinct_ids(made, 4)
