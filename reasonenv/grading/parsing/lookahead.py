"""Lookahead after a matrix or a name: transposition, call, inverse function."""

from reasonenv.grading.parsing.cursor import Cursor
from reasonenv.grading.parsing.tokens import Token

_OPERATORS = frozenset("PED")
_MAX_LABEL = 24
"""Tokens of a label in brackets at most."""


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


def skip_label(cursor: Cursor, name: str) -> str:
    """Consumes the brackets in P(A|B) =, T(10) = and n(A ∪ B) =; their text, "" if none are there.

    Sums count in operators of probability alone, since A(x + 1) = 5 is a product.
    """
    if not cursor.peek("("):
        return ""
    following = cursor.tokens[cursor.at : cursor.at + _MAX_LABEL]
    end = next((k for k, token in enumerate(following) if token.text == ")"), 0)
    ends = [token.text for token in following[end + 1 : end + 2]]
    if ends not in (["="], ["approx"]):
        return ""
    inside = following[1:end]
    texts = {token.text for token in inside}
    is_single = len(inside) == 1 and inside[0].kind == "name"
    is_set = not texts.isdisjoint(("cup", "cap"))
    is_other = name.isupper() and name not in "FG" and texts.isdisjoint("+-(")
    is_operator = name in _OPERATORS and "(" not in texts
    if is_single or not (is_operator or is_other or (name == "n" and is_set)):
        return ""
    cursor.at += end + 1
    return "".join(token.text for token in following[: end + 1])


def skip_inverse(cursor: Cursor) -> bool:
    """Consumes ^{-1} before a bracket, since f^{-1}(x) is no quotient; True if it was there."""
    texts = [token.text for token in cursor.tokens[cursor.at : cursor.at + 6]]
    if texts != ["^", "{", "-", "1", "}", "("]:
        return False
    cursor.at += 5
    return True
