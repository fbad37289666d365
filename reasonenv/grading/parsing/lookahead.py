"""Lookahead after a matrix or a name: transposition, call, inverse function."""

from reasonenv.grading.parsing.cursor import Cursor
from reasonenv.grading.parsing.tokens import Token


def skip_transpose(cursor: Cursor) -> bool:
    """Consumes the exponent T of a transposed matrix; True if there was one."""
    texts = [token.text for token in cursor.tokens[cursor.at : cursor.at + 4]]
    for exponent in (["^", "T"], ["^", "top"], ["^", "{", "T", "}"], ["^", "{", "top", "}"]):
        if texts[: len(exponent)] == exponent:
            cursor.at += len(exponent)
            return True
    return False


def is_call_ahead(cursor: Cursor) -> bool:
    """True before (0), since y(0) is no product with 0, and before (x) =."""
    match cursor.tokens[cursor.at : cursor.at + 4]:
        case [Token(text="("), Token(text="0"), Token(text=")"), *_]:
            return True
        case [Token(text="("), Token(kind="name"), Token(text=")"), Token(text="=")]:
            return True
    return False


def skip_inverse(cursor: Cursor) -> bool:
    """Consumes ^{-1} before a bracket, since f^{-1}(x) is no quotient; True if it was there."""
    texts = [token.text for token in cursor.tokens[cursor.at : cursor.at + 6]]
    if texts != ["^", "{", "-", "1", "}", "("]:
        return False
    cursor.at += 5
    return True
