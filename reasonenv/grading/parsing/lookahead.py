"""What stands behind a matrix or a name, and tells what they are."""

from reasonenv.grading.parsing.cursor import Cursor
from reasonenv.grading.parsing.tokens import Token


def skip_transpose(cursor: Cursor) -> bool:
    """True if a T follows, by which a matrix is transposed."""
    texts = [token.text for token in cursor.tokens[cursor.at : cursor.at + 4]]
    for raised in (["^", "T"], ["^", "top"], ["^", "{", "T", "}"], ["^", "{", "top", "}"]):
        if texts[: len(raised)] == raised:
            cursor.at += len(raised)
            return True
    return False


def is_call_ahead(cursor: Cursor) -> bool:
    """True if (0) follows, for y(0) is no product, which would be 0; or (x) =."""
    match cursor.tokens[cursor.at : cursor.at + 4]:
        case [Token(text="("), Token(text="0"), Token(text=")"), *_]:
            return True
        case [Token(text="("), Token(kind="name"), Token(text=")"), Token(text="=")]:
            return True
    return False


def skip_inverse(cursor: Cursor) -> bool:
    """True if ^{-1}( followed, and only the bracket does now: f^{-1}(x) is no quotient."""
    texts = [token.text for token in cursor.tokens[cursor.at : cursor.at + 6]]
    if texts != ["^", "{", "-", "1", "}", "("]:
        return False
    cursor.at += 5
    return True
