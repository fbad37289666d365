"""The environment of one's own questions: every kind of file, every kind of fault."""

import json
import pickle
import socket
from pathlib import Path

import numpy as np
import pandas
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from PIL import Image as Pictures

import reasonenv
from reasonenv import ask, check, score
from reasonenv.datasets.images import png_url
from reasonenv.envs import file
from reasonenv.errors import DataError, UsageError

QUESTIONS = [
    {"question": f"What is the area of a figure of {n} x {n} pixels?", "answer": n * n, "level": n}
    for n in range(1, 7)
]


def problems(data, split="train", **options):
    env = reasonenv.make("file", data=data, split=split, num_workers=1, **options)
    made = list(env.get_wrapper_attr("problems"))
    env.close()
    return made


def shown(problem):
    """All of a problem but its id, comparable."""
    images = [image.shape for image in problem.images]
    return (problem.question, problem.answer, problem.options, dict(problem.metadata), images)


@pytest.fixture
def figures(tmp_path):
    """Rows with a figure each, and a folder with them."""
    (tmp_path / "figures").mkdir()
    rows = [{**row, "image": f"figures/{row['level']}.png"} for row in QUESTIONS]
    for row in rows:
        Pictures.new("RGB", (row["level"],) * 2, "white").save(tmp_path / row["image"])
    return rows


def json_lines(rows, folder):
    path = folder / "mine.jsonl"
    path.write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    return path


def a_json_list(rows, folder):
    (folder / "mine.json").write_text(json.dumps(rows))
    return folder / "mine.json"


def json_lines_of_another_name(rows, folder):
    return json_lines(rows, folder).rename(folder / "mine.json")


def json_in_an_object(rows, folder):
    (folder / "mine.json").write_text(json.dumps({"data": rows}))
    return folder / "mine.json"


def csv_of_excel(rows, folder):
    path = folder / "mine.csv"
    frame = pandas.DataFrame(rows).rename(columns=str.capitalize)
    path.write_bytes(frame.to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig"))
    return path


def parquet_of_paths(rows, folder):
    pandas.DataFrame(rows).to_parquet(folder / "mine.parquet")
    return folder / "mine.parquet"


def parquet_of_bytes(rows, folder):
    rows = [{**row, "image": (folder / row["image"]).read_bytes()} for row in rows]
    pandas.DataFrame(rows).to_parquet(folder / "mine.parquet")
    return folder / "mine.parquet"


def with_pictures(rows, folder):
    images = [[str(folder / row["image"])] for row in rows]
    data = Dataset.from_list([{**row, "image": None} for row in rows]).remove_columns("image")
    return data.add_column("images", images).cast_column("images", List(Image()))


def parquet_of_datasets(rows, folder):
    with_pictures(rows, folder).to_parquet(folder / "mine.parquet")
    return folder / "mine.parquet"


def a_saved_dataset(rows, folder):
    with_pictures(rows, folder).save_to_disk(folder / "saved")
    return folder / "saved"


def an_image_folder(rows, folder):
    rows = [{"file_name": row.pop("image"), **row} for row in map(dict, rows)]
    (folder / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def a_list(rows, folder):
    return [{**row, "image": Pictures.open(folder / row["image"])} for row in rows]


def a_data_frame(rows, folder):
    arrays = [np.asarray(Pictures.open(folder / row["image"])) for row in rows]
    return pandas.DataFrame(rows).assign(image=arrays, answer=[float(r["answer"]) for r in rows])


KINDS = (
    *(
        json_lines,
        json_lines_of_another_name,
        a_json_list,
        json_in_an_object,
        csv_of_excel,
        parquet_of_paths,
        an_image_folder,
    ),
    *(parquet_of_bytes, parquet_of_datasets, with_pictures, a_saved_dataset, a_list, a_data_frame),
)


@pytest.mark.parametrize("kind", KINDS)
def test_questions_of_every_kind_are_the_same_problems(figures, tmp_path, kind, monkeypatch):
    def no_network(*_):
        raise AssertionError("a connection was opened")

    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    data = kind(figures, tmp_path)
    made = problems(data)
    as_text = kind is csv_of_excel
    for problem, row in zip(made, figures, strict=True):
        side = row["level"]
        metadata = {"Level": str(side)} if as_text else {"level": side}
        assert shown(problem) == (
            row["question"],
            str(row["answer"]),
            (),
            metadata,
            [(side, side, 3)],
        )


@pytest.mark.parametrize("kind", [json_lines, parquet_of_bytes, with_pictures])
def test_problems_go_to_other_processes(figures, tmp_path, kind):
    own = file.problems(data=kind(figures, tmp_path))
    copies = pickle.loads(pickle.dumps(own))
    assert [shown(problem) for problem in copies] == [shown(problem) for problem in own]


def test_columns_are_named_by_options_and_dots_lead_into_objects():
    rows = [{"frage": "1 + 1?", "lösung": {"wert": 2}, "fach": "Mathematik", "nr": 17, "id": [3]}]
    columns = {"question": "frage", "answer": "lösung.wert", "metadata": ["fach"], "id": "nr"}
    (problem,) = problems(rows, columns=columns)
    assert (problem.id, problem.question, problem.answer) == ("17", "1 + 1?", "2")
    assert problem.metadata == {"fach": "Mathematik"}
    chat = [
        {"prompt": [{"role": "user", "content": "2 + 2?"}], "reward_model": {"ground_truth": 4}}
    ]
    for choice in ({"question": "prompt.0.content"}, {}):
        (problem,) = problems(chat, columns=choice)
        assert (problem.question, problem.answer) == ("2 + 2?", "4")


def test_a_prompt_of_chat_messages_is_a_question_with_its_images_in_place(figures, tmp_path):
    image = {"type": "image_url", "image_url": {"url": png_url(np.zeros((4, 5, 3), np.uint8))}}
    parts = [
        {"type": "text", "text": "Is "},
        image,
        {"type": "text", "text": " larger than "},
        {"type": "image", "image": figures[2]["image"]},
        {"type": "text", "text": "?"},
    ]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    path = json_lines([{"messages": messages, "answer": "yes"}], tmp_path)
    (problem,) = problems(str(path))
    assert problem.question == "Be brief.\n\nIs <image 1> larger than <image 2>?"
    assert [image.shape for image in problem.images] == [(4, 5, 3), (3, 3, 3)]


def test_places_of_images_in_messages_are_those_of_a_column_as_trl_and_verl_have_them(
    figures, tmp_path
):
    placed = {"type": "image", "image": None, "text": None}  # as Arrow fills in what is missing
    content = [placed, {"type": "text", "text": "Its area?", "image": None}]
    rows = [{"prompt": [{"role": "user", "content": content}], "answer": 9, **figures[2]}]
    rows[0].pop("question")
    (problem,) = problems(str(parquet_of_bytes(rows, tmp_path)))
    assert problem.question == "<image 1>Its area?"
    assert [image.shape for image in problem.images] == [(3, 3, 3)]


def test_chat_prompts_are_held_out_by_their_words():
    rows = [{"prompt": [{"role": "user", "content": f"{n} + 3?"}], "answer": n} for n in range(99)]
    assert 0 < len(problems(rows, split="heldout", holdout=0.3)) < 60


@pytest.mark.parametrize(
    ("row", "answer", "solution"),
    [
        ({"answer": "2 + 3 is 5.\n#### 5"}, "5", "2 + 3 is 5.\nThe answer is $\\boxed{5}$."),
        ({"solution": "So it is \\boxed{5}."}, "5", "So it is \\boxed{5}."),
        ({"solution": "x = 5"}, "x = 5", None),
        ({"answer": "5", "solution": "2 + 3 = 5"}, "5", "2 + 3 = 5"),
        ({"final_answer": 10**30, "rationale": "Counted."}, "1" + "0" * 30, "Counted."),
        ({"answer": ["0.5"]}, "0.5", None),
        ({"answer": 1e300}, "1e+300", None),
        ({"answer": -0.0}, "0", None),
        ({"answer": True}, "True", None),
        ({"answer": "nan", "gt": "3", "target": None}, None, None),
    ],
)
def test_the_answer_and_a_worked_solution_are_told_apart(row, answer, solution):
    if answer is None:
        with pytest.raises(DataError, match="column 'answer' holds 'nan'"):
            problems([{"question": "?", **row}])
        return
    (problem,) = problems([{"question": "?", **row}])
    assert (problem.answer, problem.solution) == (answer, solution)


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["3", "5"], "B"),
        (["3", "5"], "5"),
        (["3", 5.0], 5),
        (["A. 3", "B. 5"], "(B)"),
        ({"A": "3", "B": 5, "C": None}, "B"),
        ({"a": "3", "b": "5"}, "b"),
        ('["3", "5"]', "5"),
        ("3\n5", "B."),
        (np.array(["3", "5"]), "B"),
    ],
)
def test_a_multiple_choice_has_letters_and_its_answer_is_one(options, answer):
    (problem,) = problems([{"question": "2 + 3?", "choices": options, "answer": answer}])
    assert (problem.options, problem.answer) == (("3", "5"), "B")
    assert problem.question == "2 + 3?\n(A) 3\n(B) 5"


def test_a_question_that_has_its_options_and_one_without_stay_as_they_are():
    rows = [
        {"question": "2 + 3?\nA. 3\nB. 5", "options": ["3", "5"], "answer": "B"},
        {"question": "2 + 3?", "options": [], "answer": "5"},
    ]
    assert [problem.question for problem in problems(rows)] == [row["question"] for row in rows]


def test_an_array_that_is_no_image_is_named_on_access():
    array = np.zeros((0, 4, 3), np.uint8)
    message = r"data, row 1: column 'image': an array of uint8, \(0, 4, 3\), is no image: "
    with pytest.raises(DataError, match=message):
        problems([{"question": "?", "answer": 1, "image": array}])


def test_labels_of_a_dataset_are_names():
    features = Features({"question": Value("string"), "answer": ClassLabel(names=["no", "yes"])})
    data = Dataset.from_list([{"question": "Is 7 prime?", "answer": 1}], features=features)
    assert problems(data)[0].answer == "yes"


def test_marks_without_a_number_are_numbered():
    picture = Pictures.new("L", (3, 3))
    rows = [{"question": "Is <image> like <image>?", "answer": "yes", "images": [picture, picture]}]
    assert problems(rows)[0].question == "Is <image 1> like <image 2>?"


FAULTS = [
    (fault["row"], fault["message"])
    for fault in map(
        json.loads, Path(__file__).with_name("faults_of_rows.jsonl").read_text().splitlines()
    )
]


@pytest.mark.parametrize(("row", "message"), FAULTS)
def test_a_row_that_makes_no_problem_is_named_with_what_to_do(tmp_path, row, message):
    Pictures.new("L", (3, 3)).save(tmp_path / "1.png")
    good = {"question": "?", "answer": "5", "id": "a"}
    good |= {"split": "train"} if isinstance(row, dict) and "split" in row else {}
    if isinstance(row, dict):
        line = json.dumps({**good, "id": "b", **row})
    else:
        line = row if isinstance(row, str) else json.dumps(row)
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{json.dumps(good)}\n{line}\n")
    with pytest.raises(DataError, match=message) as raised:
        problems(str(path))
    (told,) = str(raised.value).splitlines()
    assert told.startswith("mine.jsonl, line 2: ")
    if isinstance(row, dict) and "id" not in row:
        options = """without=['b'], --env-options '{"without": ["b"]}'"""
        assert told.endswith(f"; it is left out by {options}")
        assert [problem.id for problem in problems(str(path), without=["b"])] == ["a"]
    assert [problem.id for problem in problems(str(path), without="invalid")] == ["a"]


def test_a_row_without_an_id_takes_none_that_another_row_has(tmp_path):
    rows = [{"question": "?", "answer": n, "id": n} for n in (2, 1, 1)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join([json.dumps(rows[0]), "{", *map(json.dumps, rows[1:])]))
    with pytest.raises(DataError, match="2 rows make no problem"):
        problems(str(path))
    assert [problem.id for problem in problems(str(path), without="invalid")] == ["2", "1"]
    ids = ["mine.jsonl, line 2", "mine.jsonl, line 4"]
    assert [problem.id for problem in problems(str(path), without=ids)] == ["2", "1"]


def test_of_many_faults_ten_are_listed_and_the_others_counted(tmp_path, capsys, caplog):
    rows = [{"question": "?", "answer": None if n % 2 else n} for n in range(40)]
    data = str(json_lines(rows, tmp_path))
    assert check.main(["--env", "file", "--data", data, "--num-workers", "1"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("unreadable: mine.jsonl, line") for line in out) == 10
    assert "unreadable: and 10 more" in out
    with pytest.raises(DataError) as raised:
        problems(data)
    first, *listed, others, advice = str(raised.value).splitlines()
    assert first == "20 rows make no problem:"
    assert len(listed) == 10
    assert listed[1].startswith("mine.jsonl, line 7: column 'answer' is empty")
    assert others == "and 10 more"
    assert '--env-options \'{"without": "invalid"}\'' in advice
    assert len(problems(data, without="invalid")) == 20
    assert "left out: and 10 more" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "a.jsonl has no rows: give at least one question"),
        ("a.json", b"[]", "has no rows"),
        ("a.json", b" ", "has no rows"),
        ("a.csv", b"question,answer\n", "has no rows"),
        ("a.jsonl", b"{}\n{}", "has no column of the question"),
        ("a.jsonl", b"nothing\nat all", "no line can be read; the first: it is not JSON"),
        ("a.txt", b"1", r"a.txt: .txt is not read: save it as .jsonl, .json, .csv, .parquet"),
        ("a", b"1", "a file without suffix is not read"),
        ("a.xlsx", b"PK", ".xlsx is not read: save it as"),
        ("a.jsonl", '{"question": "?"}'.encode("utf-16"), "byte 0 is not UTF-8"),
        ("a.csv", b"question;answer\n1;2\n", "has one column, 'question;answer': separate"),
        (
            "a.csv",
            b"question,answer\n1\n",
            "no row can be read; the first: it has fewer values than the 2 columns",
        ),
        ("a.parquet", b"PAR1", "is not a readable parquet file"),
        ("a.jsonl", b'{"question": "?", "reply": 1}', "has no column of the answer .answer, final"),
    ],
)
def test_a_file_without_questions_is_told_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((DataError, UsageError), match=message) as raised:
        problems(str(tmp_path / name))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (None, {}, "file needs your questions: --data questions.jsonl"),
        ("no.jsonl", {}, "there is no file or folder no.jsonl"),
        (".", {}, "has no file of questions .* metadata.jsonl, with the columns file_name"),
        ("", {}, "file needs your questions"),
        ({"question": ["?"]}, {}, "data is of type dict: give a path, a list of dicts, a datasets"),
        ([], {}, "data, a list, has no rows"),
        (QUESTIONS, {"columns": {"answr": "a"}}, "no field 'answr': did you mean 'answer'"),
        (QUESTIONS, {"columns": {"question": "answr"}}, "no column 'answr': did you mean"),
        (QUESTIONS, {"columns": {"answer": ["a", "b"]}}, "'answer' is .*: give one column"),
        (QUESTIONS, {"columns": {"answer": 3}}, "'answer' is 3: give the name of a column"),
        (QUESTIONS, {"columns": "question"}, "columns='question': give fields and columns"),
        (QUESTIONS, {"columns": {"answer": None}}, "no column of the answer"),
        (QUESTIONS, {"split": "test"}, "have no split 'test': there are train, and holdout"),
        (
            QUESTIONS,
            {"holdout": 1e-9, "split": "heldout"},
            "6 questions, of 6 different texts, leaves",
        ),
        (QUESTIONS, {"holdout": 7}, "holdout=7: a fraction between 0 and 1"),
        (QUESTIONS, {"column": {}}, "takes no argument 'column': did you mean 'columns'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_one_line(
    tmp_path, monkeypatch, data, options, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((DataError, UsageError), match=message) as raised:
        problems(data, **{"split": None, **options})
    assert "\n" not in str(raised.value)


def test_other_environments_refuse_questions_in_memory():
    with pytest.raises(UsageError, match="data is a list: mmk12 is read from a folder"):
        reasonenv.make("MMK12-v0", data=QUESTIONS)


def test_splits_are_those_of_a_column():
    rows = [{**row, "split": ["dev", "train", "test"][n % 3]} for n, row in enumerate(QUESTIONS)]
    assert file.splits(rows) == ("train", "dev", "test")
    assert [problem.id for problem in problems(rows, "dev")] == ["1", "4"]
    assert file.ENVIRONMENT.evaluation_split({"data": rows}) == "dev"


def test_splits_are_those_of_file_names_and_of_a_dict(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / ".cache").mkdir()
    json_lines(QUESTIONS, tmp_path / ".cache")
    pandas.DataFrame(QUESTIONS[:4]).to_parquet(tmp_path / "data/train-00000-of-00002.parquet")
    pandas.DataFrame(QUESTIONS[4:5]).to_parquet(tmp_path / "data/train-00001-of-00002.parquet")
    csv_of_excel(QUESTIONS[5:], tmp_path / "data").rename(tmp_path / "my_val.csv")
    assert file.splits(str(tmp_path)) == ("train", "validation")
    ids = [problem.id for problem in problems(str(tmp_path))]
    assert ids[3:] == ["data/train-00000-of-00002/4", "data/train-00001-of-00002/1"]
    assert [problem.id for problem in problems(tmp_path, "validation")] == ["my_val/1"]
    both = DatasetDict({name: Dataset.from_list(QUESTIONS) for name in ("test", "train")})
    assert file.splits(both) == ("train", "test")
    assert problems(both, "test")[0].id == "test/1"


def test_a_row_whose_split_is_unknown_counts_for_every_split():
    rows = [{**row, "split": ["train", "test", None][n % 3]} for n, row in enumerate(QUESTIONS)]
    for split in ("train", "test"):
        with pytest.raises(DataError, match="2 rows make no problem"):
            problems(rows, split)


def test_a_part_is_held_out_by_the_question_whatever_the_order_and_the_ids():
    rows = [{"question": f"What is {n} + 1?", "answer": n + 1} for n in range(300)]
    parts = [problems(rows, split, holdout=0.2) for split in ("train", "heldout")]
    kept, held = ({problem.question for problem in part} for part in parts)
    assert not kept & held
    assert len(kept | held) == 300
    assert 40 < len(held) < 80
    other = [{"id": f"x{n}", **row} for n, row in enumerate(rows[::-1])]
    assert {problem.question for problem in problems(other, "heldout", holdout=0.2)} == held
    assert file.splits(rows, holdout=0.2) == ("train", "heldout")
    assert file.ENVIRONMENT.evaluation_split({"data": rows, "holdout": 0.2}) == "heldout"


def test_equal_questions_are_on_the_same_side_of_a_holdout():
    rows = [{"question": f"What is {n // 2} + 1?", "answer": n // 2 + 1} for n in range(200)]
    held = [problem.question for problem in problems(rows, "heldout", holdout=0.3)]
    assert len(held) == 2 * len(set(held)) > 0


def test_it_is_a_vector_environment_and_a_part_of_mixtures(figures, tmp_path):
    data = str(a_json_list(figures, tmp_path))
    envs = reasonenv.make("file", data=data, num_envs=4, group_size=2, num_workers=1)
    observations, infos = envs.reset(seed=0)
    reward = envs.step([f"\\boxed{{{int(k) ** 2}}}" for k in infos["problem_id"]])[1]
    assert reward.tolist() == [1.0] * 4
    assert observations["images"][0][0].shape[0] == int(infos["problem_id"][0])
    envs.close()
    options = {"file": {"data": data, "holdout": 0.5}}
    mixed = reasonenv.make(["file", "Figures-v2"], options=options, num_workers=1)
    assert mixed.get_wrapper_attr("problems").parts[0].id == "file"
    mixed.close()


def test_the_metadata_filters_and_broken_images_are_named_on_access(figures, tmp_path):
    path = json_lines(figures, tmp_path)
    assert [problem.answer for problem in problems(path, filter={"level": [2, 3]})] == ["4", "9"]
    (tmp_path / "figures/2.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"line 3: column 'image': the image cannot be read"):
        problems(path)


def test_responses_are_scored_by_labels_of_any_split(tmp_path, capsys):
    rows = [{"q": f"{n}?", "answer": n, "split": "train" if n else "test"} for n in range(4)]
    data, responses = a_json_list(rows, tmp_path), tmp_path / "responses.jsonl"
    answers = [{"id": str(n + 1), "response": f"\\boxed{{{n}}}"} for n in (1, 2, 3)]
    answers[0]["response"] = "\\boxed{7}"
    responses.write_text("\n".join(map(json.dumps, answers)))
    output = tmp_path / "scores.json"
    arguments = ["--env", "file", "--data", str(data), "--responses", str(responses)]
    arguments += ["--env-options", '{"columns": {"question": "q"}}', "--output", str(output)]
    assert score.main(arguments) == 0
    scores = json.loads(output.read_text())
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert (scores["num_problems"], scores["num_missing"]) == (3, 0)


def test_a_command_lists_the_rows_one_a_line(tmp_path, capsys):
    rows = [{"question": "?\n", "answer": answer} for answer in (1, None, None)]
    words = ["--env", "file", "--data", str(json_lines(rows, tmp_path)), "--model", "m"]
    words += ["--url", "http://localhost:1/v1", "--output", str(tmp_path / "r.jsonl")]
    assert ask.main(words) == 2
    first, second, third, advice = capsys.readouterr().err.splitlines()
    assert first == "error: 2 rows make no problem:"
    assert second.startswith("mine.jsonl, line 3: column 'answer' is empty")
    assert third.startswith("mine.jsonl, line 5: ")
    assert advice.startswith("correct them, or leave them out by without='invalid'")
