"""Objects of JSON, in which a key comes once."""

from collections import Counter
from typing import Any


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, as `object_pairs_hook` of a decoder; ValueError for a repetition.

    JSON leaves open which of several values of a key counts.
    """
    if len(values := dict(pairs)) < len(pairs):
        ((key, count),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.40} comes {count} times")
    return values
