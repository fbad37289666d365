"""Arithmetic that ends soon whatever it is asked: ValueError beyond bounds of time and memory."""

import math

_MOST_BITS = 24_000
_LARGEST = 1000


def whole(number: float) -> float:
    """The number, as an int where it is whole."""
    return int(number) if number == int(number) else number


def integer(number: float) -> int:
    """The number as an int; an error where it is not whole."""
    if number != int(number):
        raise ValueError
    return int(number)


def power(base: float, exponent: float) -> float:
    """A real power of at most some thousand digits."""
    if isinstance(base, int) and base.bit_length() * abs(exponent) > _MOST_BITS:
        raise ValueError
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


def factorial(number: float) -> int:
    """The factorial of a whole number up to 1,000."""
    if not 0 <= number <= _LARGEST:
        raise ValueError
    return math.factorial(integer(number))


def binomial(number: float, chosen: float) -> int:
    """How many ways there are to choose so many out of a whole number up to 1,000."""
    if not 0 <= number <= _LARGEST or chosen < 0:
        raise ValueError
    return math.comb(integer(number), integer(chosen))
