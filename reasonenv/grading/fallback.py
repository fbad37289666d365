"""Comparison by math-verify, with a filter for texts that are unsafe to pass to it."""

import re

from reasonenv.grading.reading.words import is_prose

# Each of these is short to write and unbounded in the cost of evaluation.
_EXPLOSIVE = re.compile(
    r"\d\s*+[eE]\s*+(?:[+-]\s*+)?\d{4}"  # 1E1000000
    r"|\d{100}"
    r"|\^[\s{(+-]*\d{4}"  # 2^{10000000}
    r"|\^\s*(?:\{[^{}]*\^|\([^()]*\^|\w\s*\^)"  # towers
    r"|(?:\d{3}|[!)}\]])\s*!"
    r"|[\])}]\s*\^[\s{]*\d{2}"  # (x + y + z)^{1000}
    r"|matrix\}\s*\^"
)
_HARMLESS = frozenset(
    r"""frac sqrt pi cdot times div pm mp le ge ne lt gt leq geq neq in notin cup cap setminus infty
    sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log lg exp alpha beta gamma delta
    epsilon theta lambda mu nu rho sigma phi omega Delta Omega text mathbb mathrm mathbf left right
    begin end circ degree emptyset varnothing mid vert lvert rvert vec overline bar hat angle to
    dfrac tfrac boxed quad qquad displaystyle ldots cdots dots prime ell dot complement subset
    subseteq""".split()  # noqa: SIM905 - a page of quotation marks is harder to read
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_BRACKET = re.compile(r"[({\[)}\]]")
MAX_NESTING = 16
"""Levels of brackets at most."""
MAX_LENGTH = 300
"""Characters at most."""


def is_unsafe(text: str) -> bool:
    """True if a text is too long, deep, large or unusual to be passed to math-verify."""
    return (
        len(text) > MAX_LENGTH
        or not text.isprintable()
        or is_prose(text)
        or _EXPLOSIVE.search(text) is not None
        or not _HARMLESS.issuperset(_COMMAND.findall(text))
        or not _is_balanced(text)
    )


def _is_balanced(text: str) -> bool:
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "({[" else -1
        if not 0 <= depth <= MAX_NESTING:
            return False
    return depth == 0


def symbolic_verdict(answer: str, reference: str) -> tuple[bool, str]:
    """Verdict of math-verify, and its status, on a pair that `grade_by_rules` cannot decide.

    Imports sympy on first use.
    """
    if is_unsafe(answer) or is_unsafe(reference):
        return False, "unparseable"
    try:
        return _verify(answer, reference), "ok"
    except MemoryError:
        return False, "memory"
    # Its parsers raise many types of errors on text that is not mathematics.
    except Exception:
        return False, "unparseable"


def _verify(answer: str, reference: str) -> bool:
    """True if math-verify finds two answers equal; its own timeouts, by signals, are disabled.

    Only its LaTeX parser is used: the one for plain expressions calls sympy's `parse_expr`, and
    that calls Python's `eval`.
    """
    from math_verify import LatexExtractionConfig, parse, verify

    options = {
        "extraction_config": [LatexExtractionConfig(boxed_match_priority=0)],
        "parsing_timeout": 0,
        "raise_on_error": True,
    }
    gold = parse(f"\\boxed{{{_bare(reference)}}}", **options)
    prediction = parse(f"\\boxed{{{_bare(answer)}}}", **options)
    return verify(gold, prediction, timeout_seconds=0, raise_on_error=True)


def _bare(text: str) -> str:
    return text.strip().strip("$").strip()
