import importlib
import json
import logging
import re
import zipfile
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.hub_rows import cell, hub, lines, mathvision
from PIL import Image

import reasonenv
from reasonenv import entry_points
from reasonenv.datasets.hub import main as print_revisions
from reasonenv.datasets.option_text import LETTERS, option_texts
from reasonenv.datasets.selection import without_images
from reasonenv.grading.reading import final_answer
from reasonenv.problem import answer_text
from reasonenv.registration import BUILT_IN, find
from reasonenv.scoring import score
from reasonenv.testing import check_env

DRAWN = ("Figures", "WordProblems", "Diagrams", "Sum", "Zoom", "Measure")
NOT_ON_THE_HUB = (*DRAWN, "Mixture", "file")
NAMES = [name for name in BUILT_IN if not name.startswith(NOT_ON_THE_HUB)]
VISION = "Qwen/Qwen2.5-VL-7B-Instruct"


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv("REASONENV_DATA", raising=False)


# Every file of real rows: environment, split, how many problems, how many with an image.
REAL = [
    ("MMK12-v0", "train", 32, 32),
    ("MathVista-v0", "testmini", 1000, 5),
    ("MathVerse-v0", "testmini", 132, 110),
    ("MathVerse-v0", "testmini_text_only", 66, 0),
    ("MathVision-v0", "test", 64, 64),
    ("OlympiadBench-v0", "test", 77, 0),
    ("OlympiadBench-v0", "OE_MM_maths_en_COMP", 2, 0),
    ("WeMath-v0", "testmini", 74, 74),
    ("AIME24-v0", "test", 30, 0),
    ("AIME25-v0", "test", 30, 0),
    ("MATH500-v0", "test", 500, 0),
    ("GSM8K-v0", "train", 80, 0),
    ("GSM8K-v0", "test", 80, 0),
    ("DAPOMath17k-v0", "train", 14, 0),
    ("DAPOMath17k-v0", "test", 30, 0),
    ("MMMUPro-v0", "standard (10 options)", 12, 12),
    ("MMMUPro-v0", "vision", 6, 6),
    ("DynaMath-v0", "sample_variant1", 10, 10),
    ("DynaMath-v0", "sample_variant3", 10, 10),
    ("Geometry3K-v0", "train", 10, 10),
    ("HMMTFeb25-v0", "test", 30, 0),
]


@pytest.mark.parametrize(("name", "split", "num_problems", "num_images"), REAL)
def test_every_real_row_is_a_problem_of_the_contract(shared, name, split, num_problems, num_images):
    problems = entry_points.all_problems(name, split, str(shared / "data"))
    assert len(problems) == num_problems
    assert len({problem.id for problem in problems}) == num_problems
    found = 0
    for problem in problems:
        assert problem.question.strip()
        assert problem.answer.strip()
        images = problem.images  # read each time
        found += bool(images)
        assert all(image.dtype == np.uint8 and image.ndim == 3 for image in images)
        assert problem.query is None or problem.query.strip()
        # An option is named by its letter.
        if problem.options:
            letters = LETTERS[: len(problem.options)]
            assert set(problem.answer.split(", ")) <= set(letters)
    assert found == num_images
    data = str(shared / "data")
    check_env(partial(reasonenv.make, name, split=split, data=data, num_workers=1))


@pytest.mark.parametrize("name", NAMES)
def test_the_model_to_begin_with_sees_where_there_is_something_to_see(name):
    schema = find(name).schema
    assert (find(name).model == VISION) == bool(schema.images or schema.more_images)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_source_revision_licence_splits_and_overlaps_of_each_data_set(name):
    environment = find(name)
    module = importlib.import_module(f"reasonenv.envs.{BUILT_IN[name]}")
    assert "Version History: v0: Initial version." in " ".join(module.__doc__.split())
    page = (Path(__file__).parents[3] / "docs/environments.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{name}` \| \[.*$", page, re.MULTILINE)
    schema = environment.schema
    assert f"https://huggingface.co/datasets/{schema.hub})" in row
    assert schema.revision is None or f"at revision {schema.revision[:7]}" in row
    assert environment.licence in row
    assert re.search(rf"[|;] {re.escape(environment.evaluation_split())} ", row)
    assert all(f" {size:,}" in row for size in environment.sizes.values())
    for other, problems in environment.overlaps.items():
        assert f"`{other}`: {problems}" in row


def test_the_split_to_report_is_the_one_that_papers_report():
    reported = {name: find(name).evaluation_split() for name in NAMES}
    assert Counter(reported.values()) == {
        **{"test": 19, "testmini": 3, "validation": 1, "train": 1, "mini": 1},
        **{"standard (10 options)": 1, "en-top": 1},
    }
    assert reported["MathVision-v0"] == "test"
    assert find("Figures-v2").evaluation_split() == "test"


def test_a_revision_that_the_hub_does_not_tell_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert print_revisions(["FanqingM/MMK12"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the hub does not tell of FanqingM/MMK12: ")


def mathvista(**changes):
    row = {
        "pid": "7",
        "question": "How far?",
        "image": "images/7.jpg",
        "decoded_image": cell(7),
        "choices": None,
        "unit": "m",
        "precision": 1.0,
        "answer": "1.5",
        "question_type": "free_form",
        "answer_type": "float",
        "metadata": {"task": "FQA", "skills": ["arithmetic", "logic"], "source": "X"},
        "query": "Hint: Please answer.\nQuestion: How far? (Unit: m)",
    }
    return {**row, **changes}


def test_mathvista_of_the_hub_has_choices_units_and_its_query(tmp_path):
    choice = mathvista(
        pid="8",
        unit=None,
        choices=["12", "18", "18"],
        answer="18",
        question_type="multi_choice",
        answer_type="text",
        precision=None,
        query=None,
    )
    data = hub(tmp_path, "testmini", [mathvista(), choice])
    one, two = entry_points.all_problems("MathVista-v0", data=data)
    assert one.question == "How far? (Unit: m)"
    assert one.query.startswith("Hint: Please answer.")
    assert one.metadata["skills"] == ["arithmetic", "logic"]
    assert one.images[0][0, 0].tolist() == [7, 0, 0]
    assert two.question == "How far?\nChoices:\n(A) 12\n(B) 18\n(C) 18"
    assert two.answer == "B"
    assert two.options == ("12", "18", "18")


def test_mathvista_words_its_queries_as_the_benchmark_does(shared):
    from reasonenv.envs.paper_benchmarks import _mathvista

    rows = json.loads((shared / "data/mathvista/testmini_full_noimages.json").read_text())
    for row in rows.values():
        made = _mathvista({**row, "query": None})
        assert made.query.split() == row["query"].split()


def test_mathverse_words_its_queries_as_the_benchmark_does(shared):
    from reasonenv.envs.paper_benchmarks import _mathverse

    file = shared / "data/mathverse/testmini_text_only_subset.jsonl"
    for line in file.read_text().splitlines():
        row = json.loads(line)
        assert _mathverse({**row, "query_cot": None}).query.split() == row["query_cot"].split()


def test_an_answer_that_is_none_of_the_choices_is_told(tmp_path):
    data = hub(tmp_path, "testmini", [mathvista(choices=["1", "2"], answer="3")])
    problems = entry_points.all_problems("MathVista-v0", data=data)
    with pytest.raises(ValueError, match=r"row 0 \(id '7'\): the answer '3' is none of the cho"):
        problems[0]


def test_mathverse_rows_of_the_visualizer_know_their_problem(shared, tmp_path):
    rows = shared / "data/mathverse/visualizer_subset.jsonl"
    (tmp_path / rows.name).write_text(rows.read_text())
    problems = entry_points.all_problems("MathVerse-v0", data=str(tmp_path))
    made = [without_images(problems, index) for index in range(len(problems))]
    groups = {find("MathVerse-v0").cluster_of(problem.metadata) for problem in made}
    assert None not in groups
    assert len(groups) < len(made)


def test_mathverse_vision_only_refers_to_its_image(shared):
    data = str(shared / "data")
    chosen = {"filter": {"problem_version": "Vision Only"}, "num_workers": 1}
    envs = reasonenv.make("MathVerse-v0", num_envs=22, data=data, **chosen)
    observations, _ = envs.reset(seed=0)
    envs.close()
    assert set(observations["question"]) == {"Answer the question that is shown in the image."}
    assert all(len(images) == 1 for images in observations["images"])


def test_mathvision_has_its_image_at_its_mark_and_its_options_below(tmp_path):
    rows = [
        mathvision(),
        mathvision(id="10", options=["1", "2", "3", "4", "$\\pi$"]),
        mathvision(id="11", question="From <image1>\n<image2>?", options=[], answer="5"),
    ]
    parts, texts, several = entry_points.all_problems(
        "MathVision-v0", data=hub(tmp_path, "test", rows)
    )
    assert parts.question == "Which part\n<image 1>\nis it?"
    assert parts.options == ()
    assert parts.metadata == {"subject": "topology", "level": 3}
    assert texts.question.endswith("is it?\n(A) 1\n(B) 2\n(C) 3\n(D) 4\n(E) $\\pi$")
    assert texts.options[4] == "$\\pi$"
    assert "only one letter" in texts.query
    # The image shows both parts below their names, so the names stay.
    assert several.question == "From <image 1>\n<image1>\n<image2>?"


def test_the_files_of_testmini_are_not_those_of_test(tmp_path):
    hub(tmp_path, "testmini", [mathvision(id="1")])
    data = hub(tmp_path / "data", "test", [mathvision(id="2")])
    assert data.startswith(str(tmp_path))
    folder = str(tmp_path)
    assert [p.id for p in entry_points.all_problems("MathVision-v0", "testmini", folder)] == ["1"]
    assert [p.id for p in entry_points.all_problems("MathVision-v0", "test", folder)] == ["2"]


def test_labels_alone_are_no_problems_but_stand_aside_of_rows(tmp_path):
    labels = [{"id": "9", "answer": "C", "options": [], "level": 1, "subject": "x"}]
    data = lines(tmp_path, "test_labels.jsonl", labels)
    with pytest.raises(ValueError, match=r"test_labels\.jsonl, row 0 has no column 'question'"):
        entry_points.all_problems("MathVision-v0", data=data)
    row = {key: value for key, value in mathvision().items() if key != "decoded_image"}
    lines(tmp_path, "test_rows.jsonl", [row])
    assert [p.id for p in entry_points.all_problems("MathVision-v0", data=data)] == ["9"]


def olympiad(**changes):
    row = {
        "id": 1,
        "subfield": "Geometry",
        "context": None,
        "question": "Given <image_1> and <image_2>, find $x$.",
        "solution": ["First.", "Second."],
        "final_answer": ["$2$", "3"],
        "is_multiple_answer": True,
        "unit": "cm",
        "answer_type": "Numerical",
        "error": "1e-2",
    }
    return {**row, **changes}


def test_olympiadbench_pools_its_parts_with_images_where_they_are_marked(tmp_path, caplog):
    images = {f"image_{k}": cell(k) if k < 3 else None for k in range(1, 10)}
    for part, row in {
        "OE_TO_maths_en_COMP": olympiad(),
        "OE_MM_maths_en_COMP": olympiad(**images),
        "OE_TO_physics_en_COMP": olympiad(id=2, context="A ball."),
        "OE_MM_physics_en_COMP": olympiad(id=3, **images, question="<image_2> then <image_1>"),
    }.items():
        hub(tmp_path / part, part, [row])
    problems = entry_points.all_problems("OlympiadBench-v0", data=str(tmp_path))
    assert [p.id for p in problems] == ["1", "OE_MM_maths_en_COMP/1", "2", "3"]
    assert [len(p.images) for p in problems] == [0, 2, 0, 2]
    assert problems[1].question == "Given <image 1> and <image 2>, find $x$."
    assert [image[0, 0, 0] for image in problems[1].images] == [1, 2]
    assert problems[3].question == "<image 2> then <image 1>"
    assert [image[0, 0, 0] for image in problems[3].images] == [1, 2]
    assert problems[0].answer == "$2$, 3"
    assert problems[0].solution == "First."
    assert problems[2].question.startswith("A ball.\nGiven")
    assert problems[2].metadata["subject"] == "Physics"
    assert [p.id for p in problems[1:3]] == ["OE_MM_maths_en_COMP/1", "2"]
    assert problems[-1].id == "3"
    assert not caplog.records


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "The problem has multiple answers, each of them should be a numerical value. "),
        ({}, r"\boxed{multiple answers connected with commas}(unit)." + '" and give'),
        ({"is_multiple_answer": False}, "The answer of The problem should be a numerical value. "),
        ({"answer_type": "Interval,Equation"}, "in order being an interval, an equation. "),
        ({"answer_type": "Tuple"}, "competition. Please calculate"),
        ({"unit": None}, 'connected with commas}." and give the result explicitly.\nGiven'),
    ],
)
def test_olympiadbench_is_asked_in_its_own_words(tmp_path, changes, words):
    name = "OE_TO_maths_en_COMP"
    data = hub(tmp_path, name, [olympiad(**changes)])
    (problem,) = entry_points.all_problems("OlympiadBench-v0", name, data)
    assert words in problem.query


def test_olympiadbench_of_the_archive_has_its_figures_in_files(tmp_path, caplog):
    row = olympiad(question="<img_71> or <img_5>", solution=json.dumps(["Only."]))
    folder = tmp_path / "olympiadbench"
    (folder / "data").mkdir(parents=True)
    (folder / "images").mkdir()
    for number in (71, 5):
        image = Image.new("RGB", (number, 2))
        image.save(folder / "images" / f"img_{number}.jpg")
    (folder / "data" / "OE_MM_maths_en_COMP.json").write_text(json.dumps([row]))
    with caplog.at_level(logging.WARNING):
        (problem,) = entry_points.all_problems("OlympiadBench-v0", data=str(tmp_path))
    assert problem.question == "<image 1> or <image 2>"
    assert [image.shape[1] for image in problem.images] == [71, 5]
    assert problem.solution == "Only."
    (told,) = [record.getMessage() for record in caplog.records]
    assert "no files of OE_TO_maths_en_COMP, OE_TO_physics_en_COMP" in told


@pytest.mark.parametrize(
    ("option", "texts"),
    [
        ("A. Yes, right;  ; B. No.  ; C. No correct answer", ("Yes, right", "No.")),
        ("A. ①; ③; B. ②; ③; C. No correct answer", ("①; ③", "②; ③")),
        ("A. 1; C. 2", ()),
    ],
)
def test_wemath_reads_options_that_have_semicolons(option, texts):
    row = {"question number": 1, "question": "?", "answer": "A", "key": "2steps_1", "ID": "1"}
    assert find("WeMath-v0").convert({**row, "option": option}).options[:2] == texts


def test_wemath_has_steps_and_its_own_prompt(shared):
    problems = entry_points.all_problems("WeMath-v0", data=str(shared / "data"))
    assert all(problem.options[-1] == "No correct answer" for problem in problems)
    assert {p.metadata["key"] for p in problems} >= {"2steps_1", "3steps_multi"}
    assert "<Answer>: <<your option>>" in problems[0].query


def test_gsm8k_has_worked_solutions_without_marks(shared):
    problem = entry_points.all_problems("GSM8K-v0", "train", str(shared / "data"))[0]
    assert problem.id == "0"
    assert problem.answer == "72"
    assert "<<" not in problem.solution
    assert final_answer(problem.solution) == "72"


def test_a_gsm8k_row_without_its_last_line_is_told(tmp_path):
    rows = [{"question": "1+1?", "answer": "#### 1,200"}, {"question": "2+2?", "answer": "4"}]
    problems = entry_points.all_problems("GSM8K-v0", "test", lines(tmp_path, "test.jsonl", rows))
    assert problems[0].answer == "1200"
    with pytest.raises(ValueError, match=r"gsm8k test, row 1 .* has no line '#### number'"):
        problems[1]


def test_dapo_has_the_question_without_its_wrapper_and_says_its_language(shared, tmp_path):
    problem = entry_points.all_problems("DAPOMath17k-v0", data=str(shared / "data"))[0]
    assert problem.question.startswith("In triangle $ABC$")
    assert problem.question.endswith("find $a + b + c$.")
    file = shared / "data/dapo_math_17k/dapo_math_17k_sample.jsonl"
    row = json.loads(file.read_text().splitlines()[0])
    assert problem.query == row["prompt"][0]["content"]
    row["prompt"][0]["content"] = row["prompt"][0]["content"].replace("In triangle", "在三角形")
    data = lines(tmp_path, "dapo_math_17k.jsonl", [row])
    assert entry_points.all_problems("DAPOMath17k-v0", data=data)[0].metadata["language"] == "cn"


def test_dapo_keeps_each_prompt_once_in_lines_as_well(shared, tmp_path):
    file = shared / "data/dapo_math_17k/dapo_math_17k_sample.jsonl"
    (tmp_path / "dapo-math-17k.jsonl").write_text(file.read_text() * 5)
    assert len(entry_points.all_problems("DAPOMath17k-v0", data=str(tmp_path))) == 14


@pytest.mark.parametrize("answer", [27.0, "27", "27.0", 27])
@pytest.mark.parametrize("column", ["question", "problem"])
@pytest.mark.parametrize("kind", [hub, lines])
def test_amc23_takes_rows_as_they_were_looked_up(tmp_path, answer, column, kind):
    rows = [{"id": 3, column: "How many?", "answer": answer, "url": "x"}]
    name = "test" if kind is hub else "test.jsonl"
    (problem,) = entry_points.all_problems("AMC23-v0", data=kind(tmp_path, name, rows))
    assert problem.id == "3"
    assert float(problem.answer) == 27


def test_minerva_takes_an_answer_or_the_box_of_a_solution(tmp_path):
    rows = [{"question": "Mass?", "answer": "$3 \\times 10^{5}$"}]
    (problem,) = entry_points.all_problems("MinervaMath-v0", data=hub(tmp_path / "a", "test", rows))
    assert problem.answer == "$3 \\times 10^{5}$"
    rows = [{"problem": "Mass?", "solution": "So $m = \\boxed{4e33}$ grams.", "type": "x"}]
    data = lines(tmp_path / "b", "test.jsonl", rows)
    (problem,) = entry_points.all_problems("MinervaMath-v0", data=data)
    assert (problem.id, problem.answer) == ("0", "4e33")


@pytest.mark.parametrize(
    ("value", "text"), [(27.0, "27"), ("027", "27"), (2.5, "2.5"), (" x ", "x"), (0, "0")]
)
def test_a_number_is_written_plainly(value, text):
    assert answer_text(value) == text


@pytest.mark.parametrize(
    ("options", "texts"),
    [(["A:3", "B. 4"], ("3", "4")), (["A:3", "C:4"], ()), (["A:3"], ()), (["x", "y"], ())],
)
def test_letters_are_taken_off_only_in_their_order(options, texts):
    assert option_texts(options) == texts


def row_of(**changes):
    return {"id": "7", "question": "How many?", "answer": "B", "image": cell(7), **changes}


EMMA = {
    "id": None,
    "pid": "Math_7",
    "question": "Which?\n<image_1>",
    "image": None,
    "category": "c",
}
CHART = {"id": None, "question": None, "answer": None, "reasoning_q": "How many?"}
# Environment, split, a row as on the hub without its image, and what the problem has of it.
ROWS = [
    ("LogicVista-v0", "test", {"answer": "A, C", "skill": ["spatial"]}, {"answer": "A, C"}),
    (
        "EMMA-v0",
        "mini",
        {**EMMA, "options": ["3", "$x$"], "type": "x", "source": "y", "image_1": cell(7)},
        {"id": "Math_7", "question": "Which?\n<image 1>\n(A) 3\n(B) $x$", "options": ("3", "$x$")},
    ),
    ("EMMA-v0", "test", {**EMMA, "options": None, "answer": "5", "image_1": cell(7)}, {}),
    (
        "CharXivNumeric-v0",
        "validation",
        {**CHART, "reasoning_a": "0.3", "reasoning_a_type": 4, "figure_path": "images/7.jpg"},
        {"id": "images/7.jpg", "question": "How many?", "answer": "0.3"},
    ),
    (
        "Geometry3K-v0",
        "test",
        {"question": None, "problem": "<image>Find x, not <image>.", "images": [cell(7)] * 2},
        {"question": "<image 1>Find x, not <image 2>."},
    ),
]


@pytest.mark.parametrize(("name", "split", "changes", "parts"), ROWS)
def test_rows_of_the_hub_become_problems(tmp_path, name, split, changes, parts):
    row = {column: value for column, value in row_of(**changes).items() if value is not None}
    (problem,) = entry_points.all_problems(name, split, hub(tmp_path, split, [row]))
    assert {part: getattr(problem, part) for part in parts} == parts
    assert {int(image[0, 0, 0]) for image in problem.images} == {7}


def test_the_languages_of_polymath_are_told_apart_by_their_folders(tmp_path):
    for language, question in (("de", "Wie viele?"), ("en", "How many?")):
        (tmp_path / language).mkdir()
        row = {"id": f"low-{language}-0", "question": question, "answer": "7"}
        hub(tmp_path / language, "low", [row])
    (problem,) = entry_points.all_problems("PolyMath-v0", "de-low", str(tmp_path))
    assert (problem.id, problem.question, problem.answer) == ("low-de-0", "Wie viele?", "7")


ZIPPED = [
    ("ViRL39K-v0", hub, "39Krelease", {"image": ["images/7.png"] * 2, "answer": "\\boxed{B}"}, 2),
    ("VisuLogic-v0", lines, "data.jsonl", {"image_path": "images/7.png", "label": "B"}, 1),
]


@pytest.mark.parametrize(("name", "write", "file", "columns", "num_images"), ZIPPED)
def test_rows_beside_a_zip_become_problems(tmp_path, name, write, file, columns, num_images):
    row = {"question": "Which?", "qid" if name == "ViRL39K-v0" else "id": "7", **columns}
    data = write(tmp_path, file, [row])
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr("images/7.png", cell(7)["bytes"])
    (problem,) = entry_points.all_problems(name, data=data)
    assert (problem.id, problem.answer, len(problem.images)) == ("7", "B", num_images)


def test_the_row_of_logicvista_without_an_answer_is_left_out_and_named(tmp_path, caplog):
    rows = [row_of(id="v1_381"), row_of(id="v1_382", answer="")]
    data = hub(tmp_path, "test", rows)
    envs = reasonenv.make("LogicVista-v0", num_envs=1, data=data, num_workers=1)
    envs.close()
    assert len(envs.problems) == 1
    (record,) = caplog.records
    line = "left out: logicvista test, row 1 (id 'v1_382'): column 'answer' is empty"
    assert record.getMessage() == line
    given = [{"id": row["id"], "response": "\\boxed{B}"} for row in rows]
    scores = score("LogicVista-v0", given, data)
    assert (scores["num_problems"], scores["num_missing"]) == (1, 0)
    assert scores["skipped"] == {"unknown_id": 1}


def test_of_charxiv_the_questions_for_numbers_are_posed_and_scored(tmp_path):
    answers = {1: "(b)", 2: "OPT", 3: "40,000", 4: "9.17"}
    rows = [
        {"figure_path": f"{kind}.jpg", "reasoning_q": "?", "reasoning_a": answer, "image": cell()}
        | {"reasoning_a_type": kind}
        for kind, answer in answers.items()
    ]
    data = hub(tmp_path, "validation", rows)
    env = reasonenv.make("CharXivNumeric-v0", data=data, num_workers=1)
    env.close()
    assert [problem.id for problem in env.unwrapped.problems] == ["3.jpg", "4.jpg"]
    given = [{"id": "3.jpg", "response": "\\boxed{40000}"}]
    scores = score("CharXivNumeric-v0", given, data)
    assert (scores["accuracy"], scores["num_missing"]) == (1.0, 1)


def test_dynamath_pools_its_variants_under_ids_of_their_own(tmp_path):
    kinds = {"answer_type": "float", "subject": "x", "knowledge_level": "y"}
    for number in range(1, 11):
        row = row_of(ground_truth=f"{number}", decoded_image=cell(number), **kinds)
        row.pop("answer")
        hub(tmp_path, f"sample{number}", [{**row, "image": "image/7.png"}])
    problems = entry_points.all_problems("DynaMath-v0", "test", str(tmp_path))
    assert [problem.id for problem in problems] == [f"sample_variant{n}/7" for n in range(1, 11)]
    assert {problem.metadata["id"] for problem in problems} == {"7"}
    given = [{"id": p.id, "response": f'{{"short answer": "{p.answer}"}}'} for p in problems]
    assert score("DynaMath-v0", given, str(tmp_path))["worst_case"]["accuracy"] == 1.0
    one = entry_points.all_problems("DynaMath-v0", "sample_variant10", str(tmp_path))
    assert [problem.answer for problem in one] == ["10"]


def test_mmmu_pro_asks_for_an_answer_that_grader_and_official_rule_read(tmp_path):
    rows = [
        {"id": "a", "options": "['3', '<image 2>']", "answer": "B", "subject": "x"}
        | {"question": "Which? <image 1>", "image_1": cell(1), "image_2": cell(2)},
        {"id": "b", "options": "['3', '4']", "answer": "B", "subject": "x", "image": cell(3)},
    ]
    hub(tmp_path / "standard (10 options)", "test", rows[:1])
    hub(tmp_path / "vision", "test", rows[1:])
    for split, num_lines in (("standard (10 options)", 4), ("vision", 2)):
        env = reasonenv.make("MMMUPro-v0", split=split, data=str(tmp_path), num_workers=1)
        observation, infos = env.reset(seed=0)
        assert len(observation["question"].splitlines()) == num_lines
        assert len(observation["images"]) == num_lines // 2
        response = "It is so.\nAnswer: B"
        assert env.step(response)[1] == 1.0
        env.close()
        given = [{"id": infos["problem_id"], "response": response}]
        assert score("MMMUPro-v0", given, str(tmp_path), split=split)["accuracy"] == 1.0
