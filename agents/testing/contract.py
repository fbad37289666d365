"""What every algorithm must keep, property by property; `agents.testing` is the door to it."""

from agents.testing import properties, updates

PROPERTIES = {
    "equal arguments must give equal numbers": properties.is_a_function,
    "what is outside the mask must not matter": properties.ignores_what_is_outside_the_mask,
    "the amount of padding must not matter": properties.ignores_the_amount_of_padding,
    "the side of the padding must not matter": properties.ignores_the_side_of_padding,
    "responses without tokens must do no harm": properties.survives_responses_without_tokens,
    "the order of responses in a group must not matter": properties.ignores_the_order_within_groups,
    "the order of groups must not matter": properties.ignores_the_order_of_groups,
    "a shift of the rewards must not matter": properties.ignores_a_shift_of_the_rewards,
    "groups of equal rewards must give no signal": properties.finds_no_signal_in_equal_rewards,
    "an advantage of zero must give no signal": properties.finds_no_signal_in_no_advantage,
    "log-ratios of 50 must give finite numbers": properties.survives_far_policies,
    "the gradient must be that of the loss": properties.has_the_gradient_of_its_loss,
    "microbatches must not matter": updates.ignores_microbatches,
    "the number of ranks must not matter": updates.ignores_the_number_of_ranks,
    "update must train on compute_loss": updates.trains_on_its_loss,
}
"""What is asked of a learner, in this order."""
