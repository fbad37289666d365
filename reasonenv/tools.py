"""Tools that a response calls by its last line, `calc(12 + 30)`, and the grammar of such calls."""

import inspect
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from reasonenv.errors import UsageError
from reasonenv.pixels import rgb
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.render import Observation

Number = int | float

NO_CALLS_LEFT = "No calls are left: answer."
"""End of the reply to the last call of an episode."""
FAILED = "The tool failed."
"""Reply of a tool that raises an error, which is a fault of the tool."""
_LONGEST = 64
"""Characters of the arguments of a call."""
_TERM = re.compile(r" *(-?[0-9]{1,64}(?:\.[0-9]{1,64})?) *([-+*/]?)")
_LOGGED: set[str] = set()


class Reply(NamedTuple):
    """What a tool returns: words and images, [height, width, 3] uint8, of any kind of `pixels`."""

    words: str
    images: Sequence[Any] = ()

    @property
    def observation(self) -> Observation:
        """What the environment returns, all that is new."""
        return Observation(system="", question=self.words, images=tuple(self.images))


class Expression(NamedTuple):
    """Numbers with signs between them: 12 + 30 has the numbers (12, 30) and the signs "+"."""

    numbers: tuple[Number, ...]
    signs: str


class BadCall(Exception):  # noqa: N818 - no fault of the program
    """Raised by a tool for arguments that it does not take; its text is the reply."""


class Tool(Protocol):
    """The protocol of tools.

    A tool is called with the scene of a problem (`Problem.scene`, else its images), then with
    finite numbers as many as it has further parameters, or an `Expression` for a parameter with
    this annotation. It returns a `Reply`, the same for the same arguments, or raises `BadCall`.
    """

    @property
    def name(self) -> str:
        """Name of the tool, a word."""
        ...

    @property
    def usage(self) -> str:
        """Call and effect of the tool in a line, without a number that may be an answer."""
        ...

    def __call__(self, scene: Any, *arguments: Any, **_: Any) -> Reply:
        """The reply to a call, of positional arguments alone."""
        ...


class Turn(NamedTuple):
    """What the environment makes of a response: an answer, or a call with its reply."""

    tool: str = ""
    """Name of the tool; empty for an answer."""
    status: str = ""
    """"ok", "bad_call" or "failed"; empty for an answer, and for a call when none is left."""
    reply: Reply | None = None
    """None where the response ends the episode."""

    def graded(self, response: str) -> str:
        """The text to grade at the end of an episode: that of a call is empty, no answer."""
        return "" if self.tool else response


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """The tools of an environment, with ceilings of an episode and of each reply.

    Args:
        tools: With different names.
        max_calls: Calls of an episode, at least 1, bad ones counted.
        max_characters: Of the words of a reply.
        max_images: Of a reply.
        max_pixels: Width times height of an image of a reply.
    """

    tools: Sequence[Tool]
    max_calls: int = 4
    max_characters: int = 200
    max_images: int = 0
    max_pixels: int = 0

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        if not names or len({*names}) < len(names) or not all(map(str.isidentifier, names)):
            raise UsageError(f"tools are called {', '.join(names)!r}: give words that differ")
        if not isinstance(self.max_calls, int) or self.max_calls < 1:
            raise UsageError(f"max_calls is {self.max_calls!r}: give a whole number of at least 1")
        for tool in self.tools:
            if (size := len(self._words(_no_call(tool), True))) > self.max_characters:
                raise UsageError(
                    f"the usage of {tool.name} makes a reply of {size} characters: shorten it, or "
                    f"raise max_characters={self.max_characters}"
                )

    @cached_property
    def _by_name(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def _parameters(self) -> Mapping[str, Sequence[bool]]:
        """For each parameter of each tool after the scene: True if it takes an expression."""
        return {tool.name: _takes_expressions(tool) for tool in self.tools}

    @property
    def max_turns(self) -> int:
        """Responses of an episode at most: all calls and the answer."""
        return self.max_calls + 1

    @property
    def instruction(self) -> str:
        """What a question says about the tools."""
        calls = "call" if self.max_calls == 1 else "calls"
        first = f"At most {self.max_calls} {calls}, each the last line of a response:"
        return "\n".join([first, *(tool.usage for tool in self.tools)])

    def call(self, response: str) -> tuple[Tool, str] | None:
        """The tool that the last line of a response calls, and the text after the parenthesis.

        Thinking is no part of the response. None for an answer.
        """
        words = response.rpartition("</think>")[2]
        line = words.rstrip().rpartition("\n")[2]
        name, parenthesis, text = line.partition("(")
        tool = self._by_name.get(name.strip())
        return (tool, text) if tool and parenthesis and "<think>" not in words else None

    def turn(self, problem: Problem, response: str, num_calls: int) -> Turn:
        """The turn of a response.

        Args:
            problem: Its scene is what the tools see.
            response: Any text.
            num_calls: Earlier calls of the episode.
        """
        if (call := self.call(response)) is None:
            return Turn()
        tool, text = call
        if num_calls >= self.max_calls:
            return Turn(tool.name)
        status, reply = self._reply(tool, text, problem)
        words = self._words(reply.words, num_calls + 1 == self.max_calls)
        return Turn(tool.name, status, Reply(words, reply.images))

    def responses(self, solution: str) -> list[str]:
        """The responses of an episode: a worked solution, divided after each line that calls."""
        responses, lines = [], []
        for line in solution.split("\n"):
            lines.append(line)
            if self.call("\n".join(lines)) is not None:
                responses.append("\n".join(lines))
                lines = []
        return [*responses, "\n".join(lines)]

    def _reply(self, tool: Tool, text: str, problem: Problem) -> tuple[str, Reply]:
        scene = problem.images if problem.scene is None else problem.scene
        try:
            arguments = _arguments(text, self._parameters[tool.name])
            if arguments is None:
                raise BadCall(_no_call(tool))
            return "ok", self._bounded(tool(scene, *arguments))
        except BadCall as error:
            return "bad_call", Reply(str(error)[: self.max_characters - len(NO_CALLS_LEFT) - 1])
        except Exception:  # of a tool, which may be a user's; it costs one reply, not the run
            if tool.name not in _LOGGED:
                _LOGGED.add(tool.name)
                line = "tool %s failed at %r of problem %s; later failures are counted alone"
                logging.getLogger("reasonenv").exception(line, tool.name, text, problem.id)
            return "failed", Reply(FAILED)

    def _bounded(self, reply: Reply) -> Reply:
        """The reply with read-only images. Raises ValueError if it exceeds the ceilings."""
        images = tuple(rgb(image).view() for image in reply.images)
        for image in images:
            image.flags.writeable = False
        size = len(self._words(reply.words, True))
        pixels = max((image.shape[0] * image.shape[1] for image in images), default=0)
        ceilings = self.max_characters, self.max_images, self.max_pixels
        sizes = size, len(images), pixels
        if any(value > most for value, most in zip(sizes, ceilings, strict=True)):
            raise ValueError(
                f"a reply of {size} characters and {len(images)} images of up to {pixels} pixels "
                f"exceeds the ceilings {ceilings}"
            )
        return Reply(reply.words, images)

    def _words(self, words: str, is_last: bool) -> str:
        return "\n".join(filter(None, [words, NO_CALLS_LEFT])) if is_last else words


@dataclass(frozen=True)
class WithTools:
    """A prompt with the tools' instruction below the question."""

    prompt: PromptTemplate
    tools: Toolbox

    def ask(self, problem: Problem) -> tuple[str, str]:
        """The system text, and the user text with the instruction."""
        system, user = self.prompt.ask(problem)
        return system, f"{user}\n\n{self.tools.instruction}"


def _no_call(tool: Tool) -> str:
    return f"This is no call: {tool.usage}"


def _takes_expressions(tool: Tool) -> list[bool]:
    _, *parameters = inspect.signature(tool).parameters.values()
    return [parameter.annotation in (Expression, "Expression") for parameter in parameters]


def _arguments(text: str, takes_expressions: Sequence[bool]) -> list[Number | Expression] | None:
    """The arguments, of which a parenthesis closes the text; None where they do not fit."""
    if len(text) > _LONGEST or not text.endswith(")"):
        return None
    parts = text[:-1].split(",") if text[:-1].strip(" ") else []
    if len(parts) != len(takes_expressions):
        return None
    arguments: list[Number | Expression] = []
    for part, takes_expression in zip(parts, takes_expressions, strict=True):
        expression = _expression(part)
        if expression is None or (expression.signs and not takes_expression):
            return None
        arguments.append(expression if takes_expression else expression.numbers[0])
    return arguments


def _expression(text: str) -> Expression | None:
    """The numbers of a text and the signs between them; None for any other text."""
    numbers, signs, end = [], "", 0
    while (term := _TERM.match(text, end)) and len(signs) == len(numbers):
        number, sign = term.groups()
        numbers.append(float(number) if "." in number else int(number))
        signs, end = signs + sign, term.end()
    is_whole = end == len(text) and len(signs) < len(numbers)
    return Expression((*numbers,), signs) if is_whole else None
