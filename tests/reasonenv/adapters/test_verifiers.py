import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import reasonenv

vf = pytest.importorskip("verifiers.v1", reason="needs verifiers")
loaders = pytest.importorskip("verifiers.v1.utils.loaders", reason="needs verifiers")
taskset = pytest.importorskip("reasonenv.adapters.taskset", reason="needs verifiers")

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "from-prime-rl.md"


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    """The module of the page, by whose name verifiers finds the taskset."""
    code = PAGE.read_text().split('```python title="my_maths.py"\n')[1].split("```")[0]
    (tmp_path / "my_maths.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def tasks(**settings):
    config = loaders.taskset_config_type("my_maths")(id="my_maths", **settings)
    made = loaders.load_taskset(config)
    assert isinstance(made, taskset.ReasonTaskset)
    return list(made)


def trace_of(*replies):
    nodes = [
        vf.MessageNode(message=message, sampled=True, parent=number - 1 if number else None)
        for number, message in enumerate(replies)
    ]
    return vf.Trace.model_construct(nodes=nodes, rewards={}, metrics={})


def scored(task, text):
    trace = trace_of(vf.AssistantMessage(content=text))
    asyncio.run(task.score(trace))
    return trace


def test_problems_are_tasks_with_images_at_their_places():
    made = tasks(env="Figures-v2", num_problems=2, options={"level": 2, "prompt": "cpgd"})
    problems = reasonenv.make("Figures-v2", level=2).get_wrapper_attr("problems")
    assert [task.data.id for task in made] == [problems[0].id, problems[1].id]
    image, *_ = made[0].data.prompt[0].content
    assert image.image_url.url.startswith("data:image/png;base64,")
    assert "<think>" in made[0].data.system_prompt
    assert made[0].key != made[1].key


def test_a_task_is_scored_after_it_has_travelled():
    (made,) = tasks(env="Figures-v2", num_problems=1, options={"rewards": {"accuracy": 2.0}})
    data = type(made.data).model_validate_json(made.data.model_dump_json())
    task = type(made)(data)
    answer = reasonenv.make("Figures-v2").get_wrapper_attr("problems")[0].answer
    trace = scored(task, f"<think>so</think><answer>{answer}</answer>")
    assert trace.reward == 2.0
    assert trace.metrics == {"accuracy": 1.0, "format": 1.0}
    assert scored(task, "no idea").reward == 0.0


def test_the_response_is_the_last_reply_with_its_reasoning():
    reply = vf.AssistantMessage(content="<answer>3</answer>", reasoning_content="so")
    assert taskset.response(trace_of(reply)) == "<think>so</think><answer>3</answer>"
    assert taskset.response(trace_of()) == ""


def test_tasks_of_reasoning_gym_go_on_to_verifiers():
    pytest.importorskip("reasoning_gym", reason="needs reasoning-gym")
    (task,) = tasks(env="reasoning_gym/gcd", split="test", num_problems=1)
    assert scored(task, "<answer>none</answer>").metrics["score"] == 0.0


def test_the_command_of_the_page_validates(tmp_path):
    command = PAGE.read_text().split("```bash\n")[1].split("```")[0].replace("\\\n", "")
    program = "from verifiers.v1.cli.validate import main; main()"
    arguments = [*shlex.split(command)[1:], "-o", str(tmp_path), "--run.name", "run"]
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        check=True,
        timeout=300,
        capture_output=True,
    )
    lines = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["valid"] for line in lines] == [True] * 3


def test_the_program_of_the_page_runs():
    code = PAGE.read_text().split('```python title="taskset.py"\n')[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["image_url"] * 2
