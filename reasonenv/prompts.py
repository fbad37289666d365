"""Prompts: the instruction around a question.

    cpgd       the system text of the CPGD paper's Table 3, and the question
    mm_eureka  the system text of its evaluation scripts, and the benchmark's own prompt
    official   the benchmark's own prompt, where it has one
    dapo, boxed, plain
    NAME:user  the prompt of that name with its system text in front of the user text, "cpgd:user",
               for a chat template that takes no system message

An image stands at its mark in the question, `<image 1>` for the first; before the text without
a mark.
"""

from dataclasses import dataclass
from typing import Protocol

from reasonenv.errors import UsageError
from reasonenv.problem import Problem


class PromptTemplate(Protocol):
    """The protocol of prompts: an instruction around the question of a problem."""

    def ask(self, problem: Problem) -> tuple[str, str]:
        """The system text and the user text of a problem."""
        ...


@dataclass(frozen=True)
class Instruction:
    """A prompt of a system text and a template of the user text.

    Args:
        system: The system text; empty for none.
        template: The user text, in which `{question}` stands for the question.
        own: True to take `Problem.query`, where there is one, as the user text.
    """

    system: str = ""
    template: str = "{question}"
    own: bool = False

    def user(self, question: str) -> str:
        """The user text; braces in the question, as in LaTeX, stay as they are."""
        return self.template.replace("{question}", question, 1)

    def ask(self, problem: Problem) -> tuple[str, str]:
        """The system text and the user text of a problem."""
        if self.own and problem.query is not None:
            return self.system, problem.query
        return self.system, self.user(problem.question)


@dataclass(frozen=True)
class InUserText:
    """A prompt whose system text stands in front of its user text."""

    prompt: PromptTemplate

    def ask(self, problem: Problem) -> tuple[str, str]:
        """No system text, and both texts, with an empty line between them."""
        return "", "\n\n".join(filter(None, self.prompt.ask(problem)))


# Table 3 of the CPGD paper (arXiv:2505.12504), with its grammar corrected.
_CPGD = (
    "Solve the question. The user asks a question, and you solve it. You first think about the "
    "reasoning process in your mind and then provide the user with the answer. The answer is in "
    "latex format and wrapped in $...$. The final answer must be wrapped using the \\boxed{} "
    "command. The reasoning process and the answer are enclosed within <think> </think> and "
    "<answer> </answer> tags, respectively, i.e., <think>Since $1+1=2$, so the answer is 2. "
    "</think><answer>The answer is $\\boxed{2}$ </answer>, which means that the final answer "
    "of your output should start with <answer> and end with </answer>."
)

# The system text of the evaluation scripts released with MM-EUREKA and CPGD, in other words: the
# same request without a think block (eval/*/evaluate_*.py of ModalMinds/MM-EUREKA, "32B").
_MM_EUREKA = (
    "Solve the question. The user asks a question, and you solve it. You first think about the "
    "reasoning process in your mind and then provide the user with the answer. The answer is in "
    "latex format and wrapped in $...$. The final answer must be wrapped using the \\boxed{} "
    "command. The answer should be enclosed within <answer> </answer> tags, i.e., Since $1+1=2$, "
    "so the answer is $2$. <answer>The answer is $\\boxed{2}$ </answer>, which means that the "
    "final answer of your output should start with <answer> and end with </answer>."
)

# The usual prompt of models of mathematics, Qwen2.5-Math among them.
_BOXED = "{question}\n\nPlease reason step by step, and put your final answer within \\boxed{}."

# The prompt of DAPO (arXiv:2503.14476): the answer stands alone on the last line.
_DAPO = (
    "Solve the following math problem step by step. The last line of your response should be of "
    "the form Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n"
    '{question}\n\nRemember to put your answer on its own line after "Answer:".'
)

PROMPTS: dict[str, Instruction] = {
    "cpgd": Instruction(system=_CPGD),
    "dapo": Instruction(template=_DAPO),
    "plain": Instruction(),
    "boxed": Instruction(template=_BOXED),
    "official": Instruction(own=True),
    "mm_eureka": Instruction(system=_MM_EUREKA, own=True),
}


def find_prompt(name: str | PromptTemplate) -> PromptTemplate:
    """The prompt of a name; a prompt itself is returned.

    Raises:
        UsageError: For an unknown name.
    """
    if not isinstance(name, str):
        return name
    known, _, role = name.partition(":")
    if known not in PROMPTS or name not in (known, f"{known}:user"):
        raise UsageError(f"no prompt is called {name!r}: there are {', '.join(PROMPTS)}")
    return InUserText(PROMPTS[known]) if role else PROMPTS[known]
