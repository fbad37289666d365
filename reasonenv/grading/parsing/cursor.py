"""A place among the tokens of an answer, from which the grammar reads on."""

from collections.abc import Callable, Mapping

from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.parsing.tokens import Token

MAX_DEPTH = 24
"""How deep brackets, powers and functions may be nested."""


class Unreadable(Exception):  # noqa: N818 - a fact about a text, which the grammar is there to find
    """The text is no mathematics that this grammar knows."""


class Cursor:
    """A place among tokens, and all that the grammar knows about it.

    Args:
        tokens: Of the whole answer.
        units: Whether words after a number may be its unit.
        atoms: How to read what may stand for an atom: rules by the text of a sign, by that of a
            command with its backslash, and for other tokens by their kind.

    Attributes:
        at: Index of the next token.
        depth: How many brackets, powers and functions are open.
        barred: Whether a bar would close what is open, rather than open an absolute value.
    """

    __slots__ = ("at", "atoms", "barred", "depth", "tokens", "units")

    def __init__(self, tokens: list[Token], units: bool, atoms: "Mapping[str, Rule]") -> None:
        self.tokens, self.units, self.atoms = tokens, units, atoms
        self.at = self.depth = 0
        self.barred = False

    @property
    def next(self) -> Token | None:
        """The next token, None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def kind(self) -> str | None:
        """The kind of the next token, None at the end."""
        return self.tokens[self.at].kind if self.at < len(self.tokens) else None

    def ahead(self, count: int) -> list[Token]:
        """The tokens behind the next one, `count` at most."""
        return self.tokens[self.at + 1 : self.at + 1 + count]

    def peek(self, *texts: str) -> bool:
        """True if the next token is one of these signs or commands."""
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return token.text in texts and token.kind in ("sign", "command")

    def take(self) -> Token:
        """The next token, which is then behind.

        Raises:
            Unreadable: At the end.
        """
        if self.at >= len(self.tokens):
            raise Unreadable
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, *texts: str) -> bool:
        """True if the next token was one of these signs or commands, and is now behind."""
        found = self.peek(*texts)
        self.at += found
        return found

    def expect(self, *texts: str) -> str:
        """The one of these signs or commands that must stand here.

        Raises:
            Unreadable: It does not.
        """
        if not self.peek(*texts):
            raise Unreadable
        return self.take().text

    def descend(self) -> None:
        """Opens one more level.

        Raises:
            Unreadable: Too many are open.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable

    def ascend(self) -> None:
        """Closes the level that was opened last."""
        self.depth -= 1

    def within_bars(self, rule: "Callable[[Cursor], Node]", barred: bool = True) -> Node:
        """What a rule reads where a bar closes rather than opens, or the other way round."""
        before, self.barred = self.barred, barred
        value = rule(self)
        self.barred = before
        return value


Rule = Callable[[Cursor, str], Node]
"""Reads on behind the first token, whose text it is given."""
