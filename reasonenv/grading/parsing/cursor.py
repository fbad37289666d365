"""The state of the parser: a position in the tokens of an answer."""

from collections.abc import Callable, Mapping

from reasonenv.grading.budget import spend
from reasonenv.grading.parsing.nodes import Node
from reasonenv.grading.parsing.tokens import Token

MAX_DEPTH = 24
"""Levels of brackets, powers, functions and signs after an atom at most."""


class Unreadable(Exception):  # noqa: N818 - a property of a text, not a program's error
    """The text is not in the grammar."""


class Cursor:
    """A position in a list of tokens, with the context of the parser.

    Args:
        tokens: Tokens of the whole answer.
        units: True if words after a number may be its unit.
        atoms: Rules for atoms, by the text of a sign, by a command with its backslash, and by the
            kind of any other token.

    Attributes:
        at: Index of the next token.
        depth: Number of open brackets, powers and functions.
        barred: True if a bar closes an absolute value, False if it opens one.
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
        """The tokens after the next one, `count` at most."""
        return self.tokens[self.at + 1 : self.at + 1 + count]

    def peek(self, *texts: str) -> bool:
        """True if the next token is one of these signs or commands."""
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return token.text in texts and token.kind in ("sign", "command")

    def take(self) -> Token:
        """Consumes and returns the next token.

        Raises:
            Unreadable: At the end.
        """
        if self.at >= len(self.tokens):
            raise Unreadable
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, *texts: str) -> bool:
        """Consumes the next token if it is one of these signs or commands; True if it was."""
        is_next = self.peek(*texts)
        self.at += is_next
        return is_next

    def expect(self, *texts: str) -> str:
        """Consumes the next token, which must be one of these signs or commands; its text.

        Raises:
            Unreadable: It is none of them.
        """
        if not self.peek(*texts):
            raise Unreadable
        return self.take().text

    def descend(self) -> None:
        """Opens one more level.

        Raises:
            Unreadable: Too many are open.
        """
        spend(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable

    def ascend(self) -> None:
        """Closes the level that was opened last."""
        self.depth -= 1

    def within_bars(self, rule: "Callable[[Cursor], Node]", barred: bool = True) -> Node:
        """The result of a rule while a bar closes (`barred`) or opens an absolute value."""
        before, self.barred = self.barred, barred
        value = rule(self)
        self.barred = before
        return value


Rule = Callable[[Cursor, str], Node]
"""Parser of an atom after its first token, with the text of that token."""
