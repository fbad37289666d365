"""Dropout, which has no place in a policy: each forward pass would be of another one.

Models drop values in train mode only, but gradient checkpointing needs that mode.
"""

import re
from typing import Any

from torch import nn

_NAMES = re.compile(r"drop|jitter")
"""Within the names of probabilities in modules and configurations, such as attention_dropout,
resid_pdrop, layerdrop, drop_path_rate, and of the noise on the router of a mixture of experts."""


def remove_dropout(model: nn.Module) -> None:
    """Sets the probability of dropout to 0, of values, attention, layers and all else, for good."""
    parts: list[Any] = list(model.modules())
    parts += [config for part in parts if (config := getattr(part, "config", None)) is not None]
    for part in parts:
        names = ("p",) if isinstance(part, nn.modules.dropout._DropoutNd) else ()
        for name, value in list(vars(part).items()):
            if isinstance(value, float) and (name in names or _NAMES.search(name)):
                setattr(part, name, 0.0)
