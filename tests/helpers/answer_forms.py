"""Random numbers and their notations."""

from fractions import Fraction

from hypothesis import strategies as st

DENOMINATORS = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 25])
VALUES = st.builds(Fraction, st.integers(-400, 400), DENOMINATORS)
CHANGES = st.sampled_from([Fraction(n, 4) for n in (-40, -8, -4, -1, 1, 3, 4, 36)])


def slash(value: Fraction) -> str:
    return str(value)


def quotient(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def expanded(value: Fraction) -> str:
    return rf"\dfrac{{{6 * value.numerator}}}{{{6 * value.denominator}}}"


def small(value: Fraction) -> str:
    return quotient(value).replace("frac", "tfrac")


def mixed(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    if not whole or not rest:
        return slash(value)
    return f"{'-' if value < 0 else ''}{whole} {rest}"


def mixed_in_latex(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    if not whole or not rest:
        return quotient(value)
    return f"{'-' if value < 0 else ''}{whole}{quotient(rest)}"


def decimal(value: Fraction) -> str:
    exact = (10**6 * value) % 1 == 0
    return f"{float(value):.6f}".rstrip("0").rstrip(".") if exact else slash(value)


FORMS = st.sampled_from([slash, quotient, expanded, small, mixed, mixed_in_latex, decimal])
