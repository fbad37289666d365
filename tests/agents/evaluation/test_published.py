import pytest

from agents.evaluation.published import published
from reasonenv.registration import registry

TABLES = [table for paper in published().values() for table in paper.tables]
# What a value may be a multiple of: problems times samples.
COUNTED = {"AIME24": 960, "AIME25": 960, "AMC23": 1280, "Minerva": 272, "Olympiad": 674}


def test_every_table_is_there_with_its_rows():
    sizes = {(t.paper, t.name): (len(t.rows), len(t.columns)) for t in TABLES}
    assert sizes == {
        ("arXiv:2505.12504", "Table 1"): (13, 7),
        ("arXiv:2505.12504", "Table 2"): (8, 7),
        ("arXiv:2505.17508", "Table 3"): (6, 6),
        ("arXiv:2505.17508", "Table 5"): (8, 6),
        ("arXiv:2505.17508", "Table 6"): (6, 4),
        ("arXiv:2505.17508", "Table 7"): (8, 4),
        ("arXiv:2505.17508", "Table 8"): (12, 6),
    }
    for table in TABLES:
        assert {len(values) for values in table.rows.values()} == {len(table.columns)}
        assert all(row is None or row in table.rows for row, _ in table.misprints)
        assert all(column in table.columns for _, column in table.misprints)


def test_the_overall_of_every_row_follows_from_its_scores():
    first, second = published()["cpgd"].tables
    base = first.rows["Qwen2.5-VL-7B"]
    for values in (*first.rows.values(), *second.rows.values()):
        *scores, overall = values
        mean = sum(x / b for x, b in zip(scores, base, strict=False)) / 6
        assert abs(mean - overall) <= 0.00501


def test_the_two_tables_of_cpgd_agree():
    first, second = published()["cpgd"].tables
    assert first.rows["CPGD (STD weight)"] == second.rows["CPGD (STD weight)"]
    assert first.rows["CPGD (clip-filter-like)"] == second.rows["clip-filter-like weight"]


def test_the_gains_that_the_text_of_cpgd_claims_follow():
    rows = published()["cpgd"].tables[0].rows
    ours, base = rows["CPGD (STD weight)"], rows["Qwen2.5-VL-7B"]
    assert [round(100 * (ours[k] / base[k] - 1), 1) for k in (0, 2, 5)] == [8.5, 11.4, 21.8]


@pytest.mark.parametrize("table", published()["rpg"].tables, ids=lambda table: table.name)
def test_last_is_not_above_best_but_for_the_misprint(table):
    for row, values in table.rows.items():
        for k in range(0, len(values), 2):
            assert table.columns[k].endswith("Last")
            assert table.columns[k + 1] == table.columns[k].replace("Last", "Best")
            assert (values[k] > values[k + 1]) == table.is_misprint(row, k)


@pytest.mark.parametrize("table", published()["rpg"].tables, ids=lambda table: table.name)
def test_values_are_numbers_of_right_answers_but_for_last_digits(table):
    odd = []
    for row, values in table.rows.items():
        for column, value in zip(table.columns, values, strict=True):
            total = COUNTED[column.split()[0]]
            distance = abs(round(value * total) / total - value)
            assert distance < 0.00015
            odd += [(row, column)] if distance > 0.0000501 else []
    assert len(odd) == {"Table 3": 2, "Table 5": 1, "Table 7": 3}.get(table.name, 0)


def test_the_claims_of_rpg_over_dapo_follow():
    third = published()["rpg"].tables[0]
    last = third.columns.index("AIME25 Last")
    gain = third.rows["RPG-REINFORCE-URKL"][last] - third.rows["DAPO"][last]
    assert round(100 * gain, 1) == 6.0
    assert round(third.rows["RPG-REINFORCE-URKL"][last + 1], 2) == 0.52


def test_columns_are_environments():
    envs = {env for table in TABLES for env in table.envs if env}
    assert len(envs) == 10
    assert "MMK12-v0" in envs & set(registry)


def result(accuracy, **changed):
    """The result of an environment as an evaluation writes it."""
    facts = {"num_problems": 10, "split_size": 2000, "num_left_out": 0, "truncated": 0.125}
    own = {"accuracy": accuracy, "interval": [accuracy / 2, accuracy], "temperature": 0.5}
    return {"official": None, **own, **facts, **changed}


def lines_of(table):
    return [" ".join(line.split()) for line in table.text()]


def test_a_comparison_has_the_columns_of_the_result():
    first = published()["cpgd"].tables[0]
    lines = lines_of(first.comparison({"MMK12-v0": result(0.536), "Figures-v2": result(1.0)}))
    assert lines[0].startswith("Table 1 of arXiv:2505.12504: ")
    assert lines[1:3] == ["MMK12", "this model 53.6"]
    assert lines[-1] == "CPGD (STD weight) 65.3"
    assert len(lines) == 3 + 4 + 13
    assert first.comparison({"Figures-v2": result(1.0)}) is None


def test_ten_problems_do_not_stand_beside_a_papers_thousand_without_a_word():
    first = published()["cpgd"].tables[0]
    few = {"MMK12-v0": result(0.5, num_left_out=3), "MathVista-v0": result(0.25, split_size=10)}
    few["MathVista-v0"]["official"] = {"accuracy": 0.2, "interval": [0.1, 0.4]}
    assert lines_of(first.comparison(few))[2:8] == [
        "this model 20.0 50.0",
        "95 % 10.0 to 40.0 25.0 to 50.0",
        "problems 10 10 of 2,000",
        "left out 0 3",
        "temperature 0.5 0.5",
        "cut 12.5% 12.5%",
    ]


def test_a_misprint_is_marked_and_explained():
    lines = lines_of(published()["rpg"].tables[0].comparison({"AIME25-v0": result(1 / 3)}))
    assert lines[2] == "this model 0.3333 0.3333"
    assert "95 % 0.1667 to 0.3333 0.1667 to 0.3333" in lines
    (marked,) = [line for line in lines if line.startswith("RPG-URKL")]
    assert marked == "RPG-URKL 0.5261* 0.4938*"
    assert lines[-2].startswith("* RPG-URKL, AIME25 Last: 0.5261 is above its own Best")


def test_overall_is_compared_where_all_six_are_there():
    first = published()["cpgd"].tables[0]
    grpo = dict(zip(first.envs, first.rows["GRPO"], strict=True))
    results = {env: result(value / 100) for env, value in grpo.items() if env}
    lines = lines_of(first.comparison(results))
    assert lines[2] == "this model 70.3 51.4 25.9 18.5 67.4 65.1 1.06"
    assert lines[1].split()[-1] == "Overall"
    del results["WeMath-v0"]
    assert lines[1].split()[-1] not in lines_of(first.comparison(results))[1]


def test_the_notes_of_a_paper_are_printed_below():
    tables = published()["rpg"].comparison({"AMC23-v0": result(0.5)})
    assert [table.title.split(" of ")[0] for table in tables] == ["Table 3", "Table 5", "Table 8"]
    notes = published()["rpg"].notes
    assert tuple(tables[-1].notes[-len(notes) :]) == notes
    assert notes[0].startswith("accuracy as the mean of 32 samples")
    assert published()["rpg"].comparison({"MMK12-v0": result(0.5)}) == []
