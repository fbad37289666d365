import asyncio
import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest
from helpers.hub_rows import cell, hub, lines
from PIL import Image

import reasonenv
from reasonenv.adapters.env_prompts import EnvPrompts
from reasonenv.adapters.trl import AccuracyReward, dataset, format_reward, text
from reasonenv.adapters.verl import compute_score, compute_scores, write
from reasonenv.errors import UsageError
from reasonenv.workers import Grader

RIGHT, WRONG, SILENT = r"It is \boxed{\frac{1}{2}}", r"It is \boxed{3}", ""
TOWER = r"It is \boxed{9^{9^{9^{9^{9}}}}}"
# Words that no comparison of strings settles: a process has to be asked.
HARD, HARD_REFERENCE = r"\boxed{(x+1)(x-1)}", "x^2-1"


def message(content):
    return [{"role": "assistant", "content": content}]


@pytest.fixture
def grader():
    with Grader(num_workers=1) as grader:
        yield grader


def test_trl_gets_a_number_for_each_completion_in_order():
    rewards = AccuracyReward()(
        prompts=["?"] * 4,
        completions=[WRONG, RIGHT, SILENT, HARD],
        solution=["0.5", "0.5", "0.5", HARD_REFERENCE],
    )
    assert rewards == [0.0, 1.0, 0.0, 1.0]


def test_problems_with_tools_are_carried_over_without_them_alone():
    with pytest.raises(UsageError, match=r"Sum-v0 has tools, .*: give max_calls=0"):
        EnvPrompts("Sum-v0")
    prompts = EnvPrompts("Sum-v0", max_calls=0)
    assert "calc" not in prompts[0].texts[0]
    assert prompts.score(0, prompts[0].problem.answer)[0] == 1


def test_trl_may_pass_conversations_and_all_that_it_passes_besides():
    reward = AccuracyReward(reference="answer")
    passed = {"completion_ids": [[1], [2]], "trainer_state": object(), "image": [None, None]}
    completions = [message(RIGHT), message([{"type": "text", "text": WRONG}])]
    assert reward(prompts=[[], []], completions=completions, answer=[0.5, 0.5], **passed) == [1, 0]


def test_trl_hears_nothing_of_what_cannot_be_judged(grader):
    assert grader.grade([TOWER], ["3"])[0].status not in ("ok", "no_answer")
    reward = AccuracyReward(grader=grader)
    rewards = reward(completions=[TOWER, RIGHT, RIGHT], solution=["3", None, "1/2"])
    assert rewards == [None, None, 1.0]


def test_a_column_of_options_makes_a_multiple_choice():
    reward = AccuracyReward(options="options")
    columns = {"solution": ["B", "B", "7"], "options": [["6 cm", "8 cm"]] * 2 + [None]}
    completions = [r"\boxed{8 cm}", r"\boxed{A}", r"\boxed{7}"]
    assert reward(completions=completions, **columns) == [1.0, 0.0, 1.0]


def test_trl_can_log_answers_and_the_part_of_each_status(grader):
    columns, metrics = {}, {}
    AccuracyReward(grader=grader)(
        completions=[RIGHT, SILENT, TOWER, RIGHT],
        solution=["0.5", "0.5", "0.5", None],
        log_extra=columns.__setitem__,
        log_metric=metrics.__setitem__,
    )
    assert columns["answer"][:2] == [r"\frac{1}{2}", ""]
    assert columns["status"][:2] == ["ok", "no_answer"]
    assert columns["status"][2] not in ("ok", "no_answer", "")
    assert columns["status"][3] == ""
    assert metrics["grade/ok"] == metrics["grade/no_answer"] == 0.25
    # All names, always: TRL gathers them over ranks that have graded other answers.
    assert len(metrics) == 6
    assert sum(metrics.values()) == 0.75


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"answer": ["1"]}, "no column 'solution' came with the completions: there are answer$"),
        ({}, "no column 'solution' came with the completions: there are none$"),
        ({"solution": ["1", "2"]}, "1 completions, but 2 values of 'solution'$"),
    ],
)
def test_a_column_that_does_not_fit_is_told_in_one_line(columns, message):
    with pytest.raises(ValueError, match=message):
        AccuracyReward()(completions=[RIGHT], **columns)


def test_trl_can_name_and_pickle_its_rewards():
    for reward in (AccuracyReward(reference="answer"), format_reward):
        assert reward.__name__ in ("accuracy_reward", "format_reward")
        assert pickle.loads(pickle.dumps(reward)) == reward


def test_threads_and_coroutines_may_ask_at_the_same_time():
    reward = AccuracyReward()

    def ask(number: int) -> list[float | None]:
        completions = [rf"\boxed{{(x+{number})(x-{number})}}", rf"\boxed{{{number}}}"]
        return reward(completions=completions, solution=[f"x^2-{number**2}", "0"])

    async def ask_from_a_loop() -> list[list[float | None]]:
        inside = ask(100)
        return [
            inside,
            *await asyncio.gather(*(asyncio.to_thread(ask, k) for k in range(101, 105))),
        ]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(1, 9))) == [[1.0, 0.0]] * 8
    assert asyncio.run(ask_from_a_loop()) == [[1.0, 0.0]] * 5


@pytest.mark.parametrize(
    ("completion", "words"),
    [
        ("as it is", "as it is"),
        (message("said"), "said"),
        ([{"content": "without a role"}], "without a role"),
        (message([{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]), "ab"),
        ([*message("call"), {"role": "tool", "content": "5"}, *message("it is 5")], "it is 5"),
        ([*message("call"), {"role": "tool", "content": "5"}], "call"),
        ([{"role": "assistant", "tool_calls": [{}]}], ""),
        (message(None), ""),
        ([], ""),
    ],
)
def test_the_words_of_a_completion_are_those_of_the_assistants_last_message(completion, words):
    assert text(completion) == words


def test_trl_gets_the_format_of_each_completion():
    tagged = "<think>a</think><answer>b</answer>"
    assert format_reward(prompts=["?"] * 2, completions=[tagged, message("b")]) == [1.0, 0.0]


def test_verl_gets_a_score_and_what_explains_it():
    score = compute_score(
        data_source="mine", solution_str=RIGHT, ground_truth="0.5", extra_info={"index": 3}
    )
    verdict = {"acc": 1.0, "pred": r"\frac{1}{2}", "status": "ok"}
    assert score == {"score": 1.0, **verdict, "accuracy": 1.0, "format": 0.0}


def test_verl_gets_the_scores_of_a_batch_in_order():
    scores = compute_scores(
        data_sources=np.array(["mine"] * 4, dtype=object),
        solution_strs=[WRONG, RIGHT, SILENT, r"\boxed{8 cm}"],
        ground_truths=["0.5", 0.5, np.float64(0.5), "B"],
        extra_infos=[None, {}, {"options": None}, {"options": np.array(["6 cm", "8 cm"])}],
    )
    assert [score["score"] for score in scores] == [0.0, 1.0, 0.0, 1.0]
    assert [score["pred"] for score in scores] == ["3", r"\frac{1}{2}", "", "8 cm"]
    assert scores[2]["status"] == "no_answer"


def test_verl_pays_by_names_and_weights(grader):
    rewards = {"accuracy": 2, "format": 0.5, "unjudged": -0.25, "repetition": {"n": 1}}
    responses = [f"<think>why</think><answer>{RIGHT}</answer>", TOWER]
    right, tower = compute_scores(
        ["mine"] * 2, responses, ["1/2", "3"], rewards=rewards, grader=grader
    )
    assert right["score"] == 2.5
    assert right["acc"] == right["format"] == 1.0
    assert tower["score"] == -0.25
    assert (tower["acc"], tower["unjudged"]) == (0.0, 1.0)
    assert right.keys() == tower.keys()


def test_verl_may_ask_from_many_threads():
    with ThreadPoolExecutor(8) as pool:
        scores = pool.map(lambda _: compute_score("mine", HARD, HARD_REFERENCE), range(32))
        assert {score["score"] for score in scores} == {1.0}


@pytest.mark.parametrize("truth", [None, ["3"], {"answer": "3"}])
def test_a_row_of_verl_without_a_reference_is_told_in_one_line(truth):
    with pytest.raises(ValueError, match=r"a row of 'mine' has ground_truth .*: give a text or"):
        compute_score("mine", RIGHT, truth)


def test_a_name_of_verls_configuration_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="no reward is called 'accurate': did you mean 'accuracy'"):
        compute_score("mine", RIGHT, "3", rewards={"accurate": 1.0})
    with pytest.raises(TypeError, match="rewrads"):
        compute_score("mine", RIGHT, "3", rewrads={"accuracy": 1.0})


def test_a_program_that_used_the_shared_grader_ends_by_itself():
    program = (
        "from reasonenv.adapters.trl import AccuracyReward\n"
        f"print(AccuracyReward()(completions=[{HARD!r}], solution=[{HARD_REFERENCE!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0]\n", "")


@pytest.fixture
def school(tmp_path):
    """Rows of MMK12, of which the second says where its figure stands."""
    said = ["How long is it?", "In <image 1> see B. How long is it?"]
    rows = [
        {"id": f"r{k}", "question": words, "answer": "5", "subject": "math", "image": cell(k)}
        for k, words in enumerate(said)
    ]
    return hub(tmp_path / "mmk12", "train", rows)


def test_trl_gets_conversations_whose_images_are_drawn_when_a_row_is_asked_for():
    rows = dataset("Figures-v2")
    assert len(rows) == 1_000_000
    problem = reasonenv.make("Figures-v2").get_wrapper_attr("problems")[5]
    row = rows[5]
    (image,) = row["images"]
    np.testing.assert_array_equal(np.asarray(image), problem.images[0])
    assert row["prompt"][-1]["content"][0] == {"type": "image"}
    assert (row["answer"], row["problem_id"]) == (problem.answer, problem.id)


def test_a_score_decodes_no_image(tmp_path):
    row = {"id": "r", "question": "?", "answer": "4", "subject": "math"}
    folder = hub(tmp_path / "mmk12", "train", [{**row, "image": {"bytes": b"none", "path": None}}])
    prompts = EnvPrompts("MMK12-v0", data=folder, rewards={"accuracy": 2.0})
    assert prompts.score(0, "<answer>4</answer>") == (2.0, {"accuracy": 1.0, "format": 0.0})
    assert prompts.score(0, "<answer>5</answer>") == (0.0, {"accuracy": 0.0, "format": 0.0})


def test_trl_gets_a_place_for_each_image_and_a_system_message(school):
    rows = dataset("MMK12-v0", data=school, prompt="cpgd")
    assert rows[0]["prompt"][0]["role"] == "system"
    assert [part["type"] for part in rows[0]["prompt"][1]["content"]] == ["image", "text"]
    assert [part["type"] for part in rows[1]["prompt"][1]["content"]] == ["text", "image", "text"]
    assert rows[1]["images"][0].size == (4, 3)


def test_several_images_stand_where_they_are_marked_for_both(tmp_path):
    part, told = "OE_MM_maths_en_COMP", dict.fromkeys(("context", "unit", "error", "subfield"))
    row = {"id": 1, "question": "See <image_2> and <image_1>.", "final_answer": ["2"], **told}
    row |= {"solution": ["So."], "is_multiple_answer": False, "answer_type": "Numerical"}
    row |= {f"image_{k}": cell(k) if k < 3 else None for k in range(1, 10)}
    hub(tmp_path / part, part, [row])
    options = {"split": part, "data": tmp_path, "prompt": "plain"}
    (made,) = dataset("OlympiadBench-v0", **options)
    words = [piece.get("text", "image") for piece in made["prompt"][0]["content"]]
    assert words == ["See ", "image", " and ", "image", "."]
    assert [image.getpixel((0, 0))[0] for image in made["images"]] == [2, 1]
    write("OlympiadBench-v0", tmp_path / "a.parquet", **options)
    (written,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert written["prompt"][0]["content"] == "See <image> and <image>."
    drawn = [Image.open(io.BytesIO(image["bytes"])) for image in written["images"]]
    assert [image.getpixel((0, 0))[0] for image in drawn] == [2, 1]


def test_a_data_set_for_trl_is_shuffled_cut_and_pickled_like_any_other(school):
    rows = dataset("MMK12-v0", data=school).shuffle(seed=1).select([1])
    again = pickle.loads(pickle.dumps(rows))
    assert again[0]["problem_id"] == rows[0]["problem_id"]
    assert again[0]["images"][0].tobytes() == rows[0]["images"][0].tobytes()


def test_words_alone_stay_a_text_for_trl(tmp_path):
    folder = lines(tmp_path / "gsm8k", "train.jsonl", [{"question": "1+1?", "answer": "#### 2"}])
    row = dataset("GSM8K-v0", data=folder, prompt="plain")[0]
    assert row["prompt"] == [{"role": "user", "content": "1+1?"}]
    assert (row["images"], row["options"], row["answer"]) == ([], [], "2")


def test_what_trl_is_given_is_graded_by_its_reward(school):
    rows = dataset("MMK12-v0", data=school)[:]
    reward = AccuracyReward(reference="answer", options="options")
    completions = [r"\boxed{5}", r"\boxed{6}"]
    assert reward(completions=completions, **rows) == [1.0, 0.0]


@pytest.mark.parametrize("make", [dataset, lambda id, **options: write(id, "a.parquet", **options)])
def test_an_argument_that_does_not_fit_is_told_when_it_is_given(make):
    with pytest.raises(ValueError, match="takes no argument 'leevel': did you mean 'level'"):
        make("Figures-v2", leevel=2)


def test_verl_gets_a_file_that_says_where_images_stand(school, tmp_path):
    path = tmp_path / "train.parquet"
    assert write("MMK12-v0", path, data=school, prompt="cpgd") == 2
    first, second = pq.read_table(path).to_pylist()
    assert first["data_source"] == "MMK12-v0"
    assert first["prompt"][0]["role"] == "system"
    assert first["prompt"][1]["content"] == "<image>How long is it?"
    assert second["prompt"][1]["content"] == "In <image> see B. How long is it?"
    assert Image.open(io.BytesIO(second["images"][0]["bytes"])).size == (4, 3)
    assert second["reward_model"] == {"style": "rule", "ground_truth": "5"}
    assert [p.name for p in tmp_path.glob("*.parquet*")] == ["train.parquet"]


def test_what_verl_reads_is_scored_by_its_function(tmp_path):
    path = tmp_path / "choices.parquet"
    write("Figures-v2", path, num_problems=300, level=3)
    table = pq.read_table(path)
    assert table.num_rows == 300
    for row in table.to_pylist()[::50]:
        truth = row["reward_model"]["ground_truth"]
        told = row["data_source"], rf"\boxed{{{truth}}}", truth, row["extra_info"]
        assert compute_score(*told)["score"] == 1.0
    assert any(row["extra_info"]["options"] for row in table.to_pylist())


def test_a_question_with_verls_own_mark_is_refused_and_leaves_the_old_file(tmp_path):
    rows = [{"question": "What does <image> mean in HTML?", "answer": "#### 2"}]
    folder = lines(tmp_path / "gsm8k", "train.jsonl", rows)
    path = tmp_path / "a.parquet"
    path.write_text("old")
    with pytest.raises(ValueError, match="says '<image>', which is verl's mark of an image"):
        write("GSM8K-v0", path, data=folder)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*tmp"))
