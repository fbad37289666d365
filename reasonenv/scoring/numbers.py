r"""Values of constant LaTeX expressions, as MathVision's official code reads them.

That code uses latex2sympy2 (https://github.com/OrangeX4/latex2sympy), which knows LaTeX alone:
a text with √, π or `sqrt(3)`, a name that is no number and \frac{1}2 have no value there, 1:2 is a
quotient, 2\frac{1}{2} a product and \log to the base 10. What has a value is read by the grader's
parser, in bounded time and memory. On all 1,540 texts of the outputs that were published with the
data the two differ in one, [700,800], and in no verdict.
"""

import re

from reasonenv.grading.numeric.evaluation import ROUGH, ExpressionEvaluator
from reasonenv.grading.numeric.exact import exact_value
from reasonenv.grading.parsing.grammar import read
from reasonenv.grading.parsing.nodes import UNKNOWN

_FUNCTIONS = "sin|cos|tan|arcsin|arccos|arctan|sinh|cosh|tanh|exp|log"
_LATEX = re.compile(
    rf"(?:[\d.,+*/^!:()\[\]{{}}_$~\s-]|(?<=\d)\\%|\\,|\\(?:[dt]?frac|[dt]?binom|sqrt|pi|cdot|times"
    rf"|div|left|right|displaystyle|q?quad|{_FUNCTIONS})(?![a-zA-Z]))+",
    re.ASCII,
)
_BRACED = r"\s*\{(?:[^{}]|\{[^{}]*\})*\}"
_WITHOUT_BRACES = re.compile(rf"\\[dt]?(?:frac|binom)(?!{_BRACED}\s*\{{)|\\sqrt(?!\s*[\[{{])|\{{,")
_PRODUCT = re.compile(r"(?<=\d)\s*(?=\\[dt]?frac)|(?<=\d)\s+(?=\d)")
_LONGEST = 1000


def value(text: str) -> float | None:
    r"""The value of a text such as `\frac{1}{2}`, `2\sqrt{3}` or `10\pi + 20`; None without one.

    It is an int where it is whole and there is no quotient: 4/2 is 2.0.
    """
    if len(text) > _LONGEST or not _LATEX.fullmatch(text) or _WITHOUT_BRACES.search(text):
        return None
    quotients = text.replace(":", "/").replace(r"\%", "/100")
    node = read(_PRODUCT.sub(r"\\cdot ", quotients)).node
    if node is None or not UNKNOWN.isdisjoint(node.kinds):
        return None
    try:
        number = exact_value(node)
        if number is None:
            number = ExpressionEvaluator(ROUGH, 0, natural=False, real=True).value(node)
        is_whole = number == int(number.real) and "/" not in quotients and "frac" not in quotients
        return int(number.real) if is_whole else float(number.real)
    except (ArithmeticError, ValueError):
        return None
