"""Contrast of the responses in a group, by which groups are chosen for the log and the report."""

from collections.abc import Sequence


def contrast(
    accuracies: Sequence[float | None], advantages: Sequence[float | None]
) -> tuple[bool, float]:
    """Order of groups: those with mixed outcomes last, then by their largest absolute advantage.

    Args:
        accuracies: Of the responses in a group; 1 for a right one.
        advantages: None for a response that was not trained on.
    """
    mixed = len({accuracy == 1 for accuracy in accuracies}) > 1
    return mixed, max((abs(a) for a in advantages if a is not None), default=0.0)


def logged_groups(
    accuracies: Sequence[float], advantages: Sequence[float | None], size: int
) -> list[int]:
    """Positions of the first group and, of the others, the one with the most contrast.

    Args:
        accuracies: Of the responses of a rollout.
        advantages: Of the same responses.
        size: Responses in a group.
    """
    starts = range(0, len(accuracies), size)
    order = [contrast(accuracies[i : i + size], advantages[i : i + size]) for i in starts]
    return sorted({0, max(range(1, len(order)), key=order.__getitem__, default=0)})
