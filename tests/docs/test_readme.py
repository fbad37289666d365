import json
import re
import runpy
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def block_with(words: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return next(block for block in blocks if words in block)


def test_the_environment_session_runs(capsys):
    exec(block_with("reasonenv.make"), {})
    assert "(56, 140, 3)" in capsys.readouterr().out


def test_the_grading_session_runs(capsys):
    exec(block_with("import Grader"), {})
    assert capsys.readouterr().out.startswith("[True, True, True] Grade(correct=True")


def test_the_algorithm_has_at_most_twenty_lines_of_its_own():
    lines = block_with("class CISPO").splitlines()
    imports = [line for line in lines if line.startswith(("from ", "import "))]
    assert len([line for line in lines if line.strip()]) - len(imports) <= 20


def test_the_algorithm_trains(tmp_path, monkeypatch, tiny_folder):
    script = tmp_path / "cispo.py"
    script.write_text(block_with("class CISPO"))
    flags = {
        "model": tiny_folder,
        "num-steps": 2,
        "num-prompts": 4,
        "group-size": 4,
        "minibatch-size": 8,
        "max-response-length": 8,
        "num-test-problems": 0,
        "clip-high": 0.2,
        "output-dir": tmp_path / "run",
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    monkeypatch.setattr("sys.argv", ["cispo.py", *words])
    runpy.run_path(str(script), run_name="__main__")
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2]
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["algorithm"] == "CISPO"
    )


@pytest.mark.parametrize("name", ["train", "test"])
def test_both_commands_are_marked(name):
    assert re.search(rf"<!-- command: {name} -->\n```bash\npip install .*?\n```", README)
