"""LogicVista: the letters that a response chooses must be those of the key.

Officially GPT-4 extracts the letters. Here the option that a response announces counts, or of a
key with several letters its final answer. Of the 200 verdicts published for GPT-4 one differs.

Source: Yijia-Xiao/LogicVista.
"""

from collections.abc import Sequence

from reasonenv.grading import Grade
from reasonenv.scoring.benchmarks.mathverse import with_option
from reasonenv.scoring.final_answers import grade_against
from reasonenv.scoring.responses import LabeledResponse
from reasonenv.scoring.short_answers import LETTERS

TABLES = {"skill": "skill", "broad_capability": "broad_capability"}
NEEDED = ("answer",)
_NAMES = LETTERS[:8]


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The grades of the announced options, else of the final answers."""
    references = [str(case.label["answer"]) for case in cases]
    cases = [with_option(case, _NAMES) for case in cases]
    return grade_against(cases, references, [()] * len(cases))
