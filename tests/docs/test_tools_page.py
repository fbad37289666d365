"""The page on tools: its code is as short as it says, and keeps the contract."""

import functools
import re
from pathlib import Path

import gymnasium
import pytest

import reasonenv
from reasonenv.testing import check_env

PAGE = (Path(__file__).parents[2] / "docs/howto/tools.md").read_text()


def code_with(words: str) -> str:
    blocks = re.findall(r"```python.*?\n(.*?)```", PAGE, re.DOTALL)
    return next(code for code in blocks if words in code)


@pytest.mark.parametrize(("words", "limit"), [("class Crop", 20), ("class Balance", 40)])
def test_a_tool_and_an_environment_of_ones_own_are_short(words, limit):
    lines = [line for line in code_with(words).splitlines() if line.strip()]
    assert len(lines) <= limit


def test_an_environment_of_ones_own_with_tools_keeps_the_contract(tmp_path, monkeypatch):
    (tmp_path / "coins.py").write_text(code_with("class Balance"))
    monkeypatch.syspath_prepend(tmp_path)
    check_env(functools.partial(reasonenv.make, "coins:Coins-v0", coins=6))
    envs = reasonenv.make("coins:Coins-v0", num_envs=1)
    envs.reset(seed=0)
    calls = ["weigh(1, 2)", "weigh(1.0, 3)", "weigh(0, 1)", "weigh(2, 2.0)"]
    statuses = [envs.step([call])[4]["tool_status"][0] for call in calls]
    assert statuses == ["ok", "ok", "bad_call", "bad_call"]
    envs.close()
    del reasonenv.registry["Coins-v0"]
    del gymnasium.registry["reasonenv/Coins-v0"]
