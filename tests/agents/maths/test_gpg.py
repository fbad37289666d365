import pytest
import torch

from agents.gpg import GPG


@pytest.mark.parametrize("num_prompts", [1, 2, 5, 50])
def test_the_factor_makes_up_for_all_prompts_that_teach_nothing_however_many(num_prompts):
    reward = torch.zeros(num_prompts, 2)
    reward[0, 1] = 1
    expected = torch.zeros(num_prompts, 2)
    expected[0] = num_prompts * torch.tensor([-0.5, 0.5])
    assert torch.equal(GPG().advantage(reward), expected)
