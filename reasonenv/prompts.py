"""The instruction around a question: what the environment says besides the problem itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Instruction:
    """How a question is put to the model.

    Args:
        system: The system text; empty for none.
        template: The user's words, in which `{question}` stands for the question.
    """

    system: str = ""
    template: str = "{question}"

    def user(self, question: str) -> str:
        """The user's words. Braces in the question, as LaTeX has them, mean nothing here."""
        return self.template.replace("{question}", question, 1)


# Table 3 of the CPGD paper (arXiv:2505.12504), with its grammar mended.
_CPGD = (
    "Solve the question. The user asks a question, and you solve it. You first think about the "
    "reasoning process in your mind and then provide the user with the answer. The answer is in "
    "latex format and wrapped in $...$. The final answer must be wrapped using the \\boxed{} "
    "command. The reasoning process and the answer are enclosed within <think> </think> and "
    "<answer> </answer> tags, respectively, i.e., <think>Since $1+1=2$, so the answer is 2. "
    "</think><answer>The answer is $\\boxed{2}$ </answer>, which means that the final answer "
    "of your output should start with <answer> and end with </answer>."
)

# The prompt of DAPO (arXiv:2503.14476), for which the answer stands alone on the last line.
_DAPO = (
    "Solve the following math problem step by step. The last line of your response should be of "
    "the form Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n"
    '{question}\n\nRemember to put your answer on its own line after "Answer:".'
)

PROMPTS: dict[str, Instruction] = {
    "cpgd": Instruction(system=_CPGD),
    "dapo": Instruction(template=_DAPO),
    "plain": Instruction(),
}


def instruction(name: str) -> Instruction:
    """The instruction called `name`, or an error that names them all."""
    if name not in PROMPTS:
        raise ValueError(f"no prompt is called {name!r}: there are {', '.join(PROMPTS)}")
    return PROMPTS[name]
