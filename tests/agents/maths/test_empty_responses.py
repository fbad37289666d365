"""What responses without a token count for."""

import torch

from agents.reductions import constant_length, prompt_mean, sequence_mean, token_mean


def test_an_empty_response_counts_among_the_responses_but_not_among_the_tokens():
    lengths = torch.tensor([0, 2, 1, 1])
    assert sequence_mean(lengths, 2)[1:].tolist() == [1 / 8, 1 / 4, 1 / 4]
    assert constant_length(2)(lengths, 2)[1:].tolist() == [1 / 8] * 3
    assert token_mean(lengths, 2)[1:].tolist() == [1 / 4] * 3
    assert prompt_mean(lengths, 2)[1:].tolist() == [1 / 4] * 3


def test_a_group_without_tokens_counts_among_the_prompts():
    assert prompt_mean(torch.tensor([0, 0, 1, 1]), 2)[2:].tolist() == [1 / 4] * 2
