"""What a ratio of policies is a ratio of: a token, or the response that it stands in."""

from collections.abc import Callable

from agents.rollout import Mask, PerToken

Level = Callable[[PerToken, Mask], PerToken]
"""Log-probabilities of tokens and the mask, to those that a loss looks at."""


def per_token(log_prob: PerToken, mask: Mask) -> PerToken:
    """Each token is an action, ln π(y_i | x, y_<i): what every released code does.

    On policy the gradients of the tokens add up to that of the response. Off policy a token's ratio
    leaves out how likely the tokens before it are, so the gradient of the reward is biased, and
    that of a reverse divergence; a forward one splits into tokens exactly.
    """
    return log_prob


def per_response(log_prob: PerToken, mask: Mask) -> PerToken:
    """The response is the action, Σ_i ln π(y_i | x, y_<i) at each token: the level of the theory.

    Each token then has the loss of its whole response: `sequence_mean` gives their mean. The ratio
    of a response of hundreds of tokens is soon 0 or huge, so clip it.
    """
    return log_prob.where(mask, 0.0).sum(-1, keepdim=True).expand_as(log_prob)
