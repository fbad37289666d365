"""Episodes of several turns a second, beside GEM and SkyRL-gym on the same task.

    pip install gem-llm==0.1.0 skyrl-gym==0.4.0
    python benchmarks/episodes.py

The task is `Sum-v0` with 3 terms, played by its worked solutions: 1 to 2 calls of a calculator, and
the answer. All three pose the same 4,096 problems, drawn before, in 256 sub-environments at a time,
of which those that are over wait for the others. GEM and SkyRL-gym have the calculator and the sum
as their own classes for it, of a few lines, which compare the answer as a text; here the answer is
graded by the rules of this package, and every step has its infos. The three take turns in one
process, several rounds. Reported are episodes of a CPU second, by the median of the rounds, and how
many times as fast as each peer this package is: median, smallest and largest of the rounds.
Results go to episodes/episodes.json.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from gem.core import Env
from gem.tools.base_tool import BaseTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.vector.sync_vector_env import SyncVectorEnv
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.tools.core import ToolGroup, tool

from provenance import provenance
from reasonenv.envs import sums
from reasonenv.problem import Problem
from reasonenv.vector import ReasonVectorEnv

HERE = Path(__file__).with_suffix("")
NUM_ENVS, NUM_PROBLEMS = 256, 4096
CALL = re.compile(r"calc\((-?\d+) ([+-]) (-?\d+)\)$")
TOOLBOX = sums.tools(terms=3)


def calculate(left: str, sign: str, right: str) -> str:
    return str(int(left) + int(right) if sign == "+" else int(left) - int(right))


class GemCalculator(BaseTool):
    """GEM's form of a tool."""

    def instruction_string(self) -> str:
        """What is added to the question."""
        return TOOLBOX.instruction

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """Whether it is a call, whether that fails, the reply, and the call."""
        call = CALL.search(action)
        if call is None:
            return False, True, "", ""
        return True, False, calculate(*call.groups()), call[0]


class GemSum(Env):
    """GEM's form of an environment: it poses every NUM_ENVS-th problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems, self._number = problems, -1

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """The question of the next problem."""
        super().reset(seed)
        self._number = (self._number + 1) % len(self._problems)
        return self._problems[self._number].question, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The reward of an answer."""
        reward = float(action.strip() == self._problems[self._number].answer)
        return "", reward, True, False, {}


class SkyCalculator(ToolGroup):
    """SkyRL-gym's form of a tool."""

    def __init__(self) -> None:
        super().__init__(name="calculator")

    @tool
    def calc(self, left: str, sign: str, right: str) -> str:
        """The value."""
        return calculate(left, sign, right)


class SkySum(BaseTextEnv):
    """SkyRL-gym's form of an environment: an object for each episode."""

    def __init__(self, problem: Problem, tools: ToolGroup) -> None:
        super().__init__()
        self._problem, self.max_turns = problem, TOOLBOX.max_turns
        self.init_tool_groups([tools])

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """The reply to a call, or the reward of an answer."""
        self.turns += 1
        call = CALL.search(action)
        if call is None or self.turns >= self.max_turns:
            reward = float(action.strip() == self._problem.answer)
            return BaseTextEnvStepOutput(observations=[], reward=reward, done=True, metadata={})
        words = self._execute_tool("calculator", "calc", call.groups())
        messages = [{"role": "user", "content": words}]
        return BaseTextEnvStepOutput(observations=messages, reward=0.0, done=False, metadata={})


def ours(problems: Sequence[Problem], plans: Sequence[list[str]]) -> float:
    """The sum of rewards with this package."""
    envs = ReasonVectorEnv(problems, {"accuracy": 1.0}, tools=TOOLBOX, num_envs=NUM_ENVS)
    envs.reset(options={"indices": [*range(len(problems))]})
    total = 0.0
    for first in range(0, len(problems), NUM_ENVS):
        rest = [list(plan) for plan in plans[first : first + NUM_ENVS]]
        while any(rest):
            responses = [plan.pop(0) if plan else None for plan in rest]
            total += envs.step(responses)[1].sum()
    envs.close()
    return total


def gem(problems: Sequence[Problem], plans: Sequence[list[str]]) -> float:
    """The sum of rewards with GEM's synchronous vector environment."""

    def make(first: int) -> Callable[[], Env]:
        own = problems[first::NUM_ENVS]
        return lambda: ToolEnvWrapper(GemSum(own), [GemCalculator()], max_tool_uses=3)

    envs = SyncVectorEnv(["sum"] * NUM_ENVS, [make(first) for first in range(NUM_ENVS)])
    envs.autoreset_mode = envs.autoreset_mode.SAME_STEP
    envs.reset(seed=0)
    total = 0.0
    for first in range(0, len(problems), NUM_ENVS):
        rest = [list(plan) for plan in plans[first : first + NUM_ENVS]]
        while any(rest):
            responses = {index: plan.pop(0) for index, plan in enumerate(rest) if plan}
            total += envs.step(responses)[1].sum()
    return total


def skyrl(problems: Sequence[Problem], plans: Sequence[list[str]]) -> float:
    """The sum of rewards with SkyRL-gym, whose environments are objects, one an episode."""
    total, tools = 0.0, SkyCalculator()
    for problem, plan in zip(problems, plans, strict=True):
        env = SkySum(problem, tools)
        env.init([{"role": "user", "content": f"{problem.question}\n\n{TOOLBOX.instruction}"}])
        total += sum(env.step(response)["reward"] for response in plan)
        env.close()
    return total


def main() -> None:
    """Times the three and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    problems = sums.problems()[:NUM_PROBLEMS]
    plans = [TOOLBOX.responses(str(problem.solution)) for problem in problems]
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds + 1):
        for play in (ours, gem, skyrl):
            start = time.process_time()
            assert play(problems, plans) == NUM_PROBLEMS, f"{play.__name__} pays other rewards"
            seconds.setdefault(play.__name__, []).append(time.process_time() - start)
    seconds = {name: values[1:] for name, values in seconds.items()}  # the first warms up
    record: dict[str, Any] = {**provenance("episodes.py"), "num_problems": NUM_PROBLEMS}
    record["versions"] |= {name: metadata.version(name) for name in ("gem-llm", "skyrl-gym")}
    record["episodes_per_cpu_second"] = {
        name: round(NUM_PROBLEMS / statistics.median(values)) for name, values in seconds.items()
    }
    for peer in ("gem", "skyrl"):
        ratios = sorted(b / a for a, b in zip(seconds["ours"], seconds[peer], strict=True))
        median = statistics.median(ratios)
        record[f"times_{peer}"] = [round(x, 3) for x in (median, ratios[0], ratios[-1])]
    HERE.mkdir(exist_ok=True)
    (HERE / "episodes.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
