"""The recipes for algorithms keep what their page says."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from agents.engines.bandit import BanditEngine, respond
from agents.rollout import Batch
from agents.testing import check_learner
from agents.training.update import Passes, update

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "recipes.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
NAMES = re.findall(r"^class (\w+)", PAGE.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def recipes():
    session = {"__name__": "recipes"}
    for code in BLOCKS:
        if "check_learner" not in code and "compute_loss" not in code:
            exec(compile(code, str(PAGE), "exec"), session)
    return SimpleNamespace(**session)


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


def batch_of(advantage, **values):
    mask = torch.ones(advantage.shape, dtype=torch.bool)
    return Batch(mask, advantage, -advantage, -advantage, **values)


def alone(part):
    """The sum over a single rank."""
    return part


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_a_right_learner_of_25_lines(recipes, name):
    (code,) = (code for code in BLOCKS if f"class {name}(" in code)
    assert len(code[code.index("@dataclass") :].splitlines()) <= 25
    check_learner(getattr(recipes, name)(), max_examples=2)


def test_an_entropy_bonus_trains_on_the_entropy_of_all_choices(recipes):
    table = tensor([[[0.3, -1.0, 0.5]], [[0.0, 2.0, 0.1]]])
    engine = BanditEngine(table)
    learner = recipes.EntropyBonus(beta=None, bonus=0.2)
    responses = respond([0, 0, 1, 1], torch.tensor([[0], [1], [2], [2]]), [1] * 4)
    metrics = update(
        learner, engine, responses, torch.ones(2, 2), Passes(minibatch_size=4, microbatch_size=3)
    )
    p = table.softmax(-1)
    entropy = -(p * p.log()).sum(-1, keepdim=True)
    expected = table + 0.2 * 0.5 * -p * (p.log() + entropy)
    torch.testing.assert_close(engine.logits.detach(), expected)
    assert metrics["train/no_signal"] == 0
    assert metrics["train/loss"] == pytest.approx(-0.2 * entropy.mean().item())


def test_only_tokens_of_high_entropy_have_an_advantage(recipes):
    entropy = tensor([[0.1, 2.0, 0.3, 0.0, 0.2], [0.7, 0.0, 1.9, 0.5, 9.0]])
    batch = batch_of(torch.full((2, 5), 3.0).double(), extras={"old_entropy": entropy})
    batch.mask[1, 4] = False
    advantage = recipes.HighEntropyTokens(share=0.33).token_advantage(batch, alone)
    assert advantage[:, :4].nonzero().tolist() == [[0, 1], [1, 0], [1, 2]]
    assert (
        recipes.HighEntropyTokens(share=1.0).token_advantage(batch, alone)[batch.mask].eq(3).all()
    )


def test_the_tokens_of_a_wrong_line_pay_for_it(recipes):
    tokens = torch.tensor([[5, 9, 6, 7, 9, 8], [5, 6, 9, 9, 7, 0]])
    texts = ("1 + 1 = 2\n1 + 1 = 3\nso 3", "2 + 2 = 5\n\n3 + 4 = 8, 1 + 1 = 1")
    batch = batch_of(torch.zeros(2, 6).double(), extras={"tokens": tokens, "texts": texts})
    advantage = recipes.StepRewards(newline=9).token_advantage(batch, alone)
    assert advantage.tolist() == [[0, 0, -0.5, -0.5, -0.5, 0], [-0.5] * 3 + [0] + [-1] * 2]


def test_a_component_counts_beside_the_standardized_accuracy(recipes):
    parts = {"accuracy": tensor([[0, 1], [1, 1]]), "overlong_penalty": tensor([[0, -1], [-1, 0]])}
    advantage = recipes.AccuracyFirst(share=0.5).advantage_from_parts(parts["accuracy"], parts)
    expected = tensor([[-1, 1], [0, 0]]) * 0.5**0.5 + tensor([[1, -1], [-1, 1]]) / 4
    torch.testing.assert_close(advantage, expected)


def test_each_token_pays_the_divergence_from_itself_on(recipes):
    batch = batch_of(tensor([[1.0, 1.0, 1.0]]), ref_log_prob=tensor([[-1.5, -1.25, -3.0]]))
    advantage = recipes.KLInReward(beta=0.5).token_advantage(batch, alone)
    assert advantage.tolist() == [[1 - 1.375, 1 - 1.125, 1 - 1.0]]


def test_short_questions_come_first(recipes):
    problems = [SimpleNamespace(question="?" * size) for size in (9, 1, 8, 2, 7, 3, 6, 4)]
    learner = recipes.ShortFirst(patience=2)
    history = [{"reward/accuracy": value} for value in (0.7, 0.1, 0.6)]
    assert learner.curriculum([], problems) == [1, 3]
    assert learner.curriculum(history, problems) == [1, 3, 5, 7]
    assert len(learner.curriculum(history * 9, problems)) == 8
