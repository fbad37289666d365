"""Worked solutions as lines and as responses."""


class Solution:
    """Lines of a worked solution."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def response(self, answer: str) -> str:
        """The lines and the answer as a whole response."""
        thinking = "\n".join(self.lines)
        return f"<think>{thinking}</think><answer>\\boxed{{{answer}}}</answer>"
