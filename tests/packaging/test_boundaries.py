import os
import subprocess
import sys

import pytest


def imported_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


SESSION = """
import reasonenv
envs = reasonenv.make("Figures-v2", num_envs=4, group_size=2)
envs.reset(seed=0)
envs.step(["1"] * 4)
import reasonenv.testing, reasonenv.check, reasonenv.envs.paper_benchmarks
from reasonenv.grading import symbolic_verdict
symbolic_verdict("x", "y")
"""


def test_reasonenv_knows_neither_torch_nor_learners():
    loaded = imported_by(SESSION)
    assert "reasonenv.envs.figures" in loaded
    assert "sympy" in loaded
    assert not loaded & {"torch", "agents", "transformers", "vllm", "deepspeed"}


@pytest.mark.parametrize(
    "heavy", ["datasets", "pyarrow", "pandas", "sympy", "math_verify", "PIL", "reasonenv.envs"]
)
def test_importing_reasonenv_is_cheap(heavy):
    assert heavy not in imported_by("import reasonenv")


def test_a_session_of_plain_answers_needs_no_algebra_and_no_data_set():
    plain = SESSION.rpartition("from reasonenv.grading")[0]
    assert not imported_by(plain) & {"sympy", "math_verify", "datasets"}
