"""Words that multiply the number before them: hundred, lakh, tenths, 万, 折.

Sources: the spelled-out and compact numbers of the Unicode CLDR for English (with the Indian lakh
and crore) and Chinese, their abbreviations in English business prose, and words of count in the
dictionaries of Oxford (dozen, score, gross, grand) and of modern Chinese (打, 成, 折).
"""

from fractions import Fraction

_POWERS_OF_TEN = {
    "ten": 1, "hundred": 2, "thousand": 3, "lakh": 5, "lac": 5, "million": 6, "crore": 7,
    "billion": 9, "trillion": 12, "quadrillion": 15, "quintillion": 18,
}  # fmt: skip
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6,
    "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12, "sixteenth": 16,
    "twentieth": 20, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
PARTS: dict[str, int] = _PARTS | {f"{name}s": parts for name, parts in _PARTS.items()}
"""Denominators by their names, in singular and plural."""

MAGNITUDES: dict[str, Fraction] = {
    **{name: Fraction(10**power) for name, power in _POWERS_OF_TEN.items() if name != "ten"},
    **{f"{name}s": Fraction(10**power) for name, power in _POWERS_OF_TEN.items()},
    **{name: Fraction(1, parts) for name, parts in PARTS.items() if name.endswith("s")},
    "dozen": Fraction(12),
    "score": Fraction(20),
    "gross": Fraction(144),
    "grand": Fraction(1000),
    "mn": Fraction(10**6),
    "bn": Fraction(10**9),
    "tn": Fraction(10**12),
    "十": Fraction(10),
    "百": Fraction(100),
    "千": Fraction(1000),
    "万": Fraction(10**4),
    "亿": Fraction(10**8),
    "打": Fraction(12),
    "成": Fraction(1, 10),
    "折": Fraction(1, 10),
}
"""Factors by name."""
