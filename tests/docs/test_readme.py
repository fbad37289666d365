import json
import re
import runpy
from pathlib import Path

import pytest
from helpers import hub_rows

README = (Path(__file__).parents[2] / "README.md").read_text()


def block_with(words: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return next(block for block in blocks if words in block)


def test_the_readme_is_read_in_two_minutes():
    assert len(README.splitlines()) <= 130


def test_the_environment_session_runs_on_files_in_the_format_of_its_data_set(
    capsys, monkeypatch, tmp_path
):
    rows = [
        {
            "id": str(number),
            "question": f"What is {number} + 3?",
            "answer": str(number + 3),
            "subject": "math",
            "image": hub_rows.cell(number, size=(84, 56)),
        }
        for number in (2, 12)
    ]
    hub_rows.hub(tmp_path / "mmk12", "train", rows)
    monkeypatch.setenv("REASONENV_DATA", str(tmp_path))
    session = {}
    exec(block_with("reasonenv.make"), session)
    assert "(56, 84, 3)" in capsys.readouterr().out
    assert sorted(session["rewards"].tolist()) == [0.5] * 8 + [1.5] * 8
    assert set(session["infos"]["reference"]) == {"5", "15"}


def test_the_environment_session_has_eight_lines():
    lines = block_with("reasonenv.make").splitlines()
    assert len([line for line in lines if line.strip()]) == 8


def test_the_grading_session_runs(capsys):
    exec(block_with("import Grader"), {})
    assert capsys.readouterr().out.startswith("[True, True, True] right: '150 cm'")


def test_the_algorithm_has_at_most_twenty_lines_of_its_own():
    lines = block_with("class CISPO").splitlines()
    imports = [line for line in lines if line.startswith(("from ", "import "))]
    assert len([line for line in lines if line.strip()]) - len(imports) <= 20


def test_the_algorithm_trains(tmp_path, monkeypatch, tiny_folder):
    from helpers.tiny_runs import SMALL, flags, numbers

    script = tmp_path / "cispo.py"
    script.write_text(block_with("class CISPO"))
    own = {"model": tiny_folder, "output_dir": tmp_path / "run", "clip_high": 0.2}
    monkeypatch.setattr("sys.argv", ["cispo.py", *flags(**SMALL | own | {"num_steps": 2})])
    runpy.run_path(str(script), run_name="__main__")
    assert [row["step"] for row in numbers(tmp_path / "run")] == [1, 2]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["settings"]["algorithm"] == "CISPO"


@pytest.mark.parametrize("name", ["train", "test"])
def test_both_commands_are_marked(name):
    assert re.search(rf"<!-- command: {name} -->\n```bash\npip install .*?\n```", README)
