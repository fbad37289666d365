"""Finds the final answer in a response. Linear in its length, and never inside the reasoning."""

import re

_PHRASE = re.compile(
    r"(?:\banswers?\s+(?:is|are)\b|\banswer\s*(?:\*\*)?\s*[:=：]|答案[是为：:])(?:\*\*)?[ \t:：]*",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\f?boxed\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s+(\S+)")


def final_answer(response: str) -> str | None:
    r"""The final answer as it is written, or None.

    Looked for in the last <answer> section; where there is none, after the reasoning. There, the
    last balanced \boxed{} wins, then what follows the last "the answer is" or "Answer:", then
    the section as a whole, or its last line when there was no <answer>.
    """
    text, tagged = section(response)
    box = last_box(text)
    if box is not None:
        return box.strip() or None
    phrases = list(_PHRASE.finditer(text))
    if phrases and (rest := _first_line(text[phrases[-1].end() :])):
        return rest
    lines = text.strip() if tagged else text.strip().rpartition("\n")[2]
    return lines.strip() or None


def section(response: str) -> tuple[str, bool]:
    """The part of a response that may hold the answer, and whether it was marked as <answer>."""
    start = response.rfind("<answer>")
    if start >= 0:
        text = response[start + len("<answer>") :]
        return text.partition("</answer>")[0], True
    return response.rpartition("</think>")[2], False


def last_box(text: str) -> str | None:
    r"""Contents of the last \boxed{} whose braces close, or None."""
    limit = len(text)
    for match in reversed(list(_BOX.finditer(text))):
        end = _closing_brace(text, match.end(), limit)
        if end is not None:
            return text[match.end() : end]
        # No box holds one that never closes; and to look beyond it for each of 10^5 openings
        # would take quadratic time.
        limit = match.start()
    bare = _BARE_BOX.search(text)
    return bare.group(1) if bare else None


def _closing_brace(text: str, start: int, limit: int) -> int | None:
    """Where, before `limit`, the brace closes that was opened just before `start`."""
    depth = 1
    for match in _BRACE.finditer(text, start, limit):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return match.start()
    return None


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0].strip()
    return line[:-1].rstrip() if line.endswith((".", "。")) else line


_UNICODE = {
    "−": "-", "–": "-", "π": "\\pi", "∞": "\\infty", "√": "\\sqrt", "×": "\\times", "÷": "\\div",
    "≤": "\\le", "≥": "\\ge", "≠": "\\ne", "°": "", "²": "^{2}", "³": "^{3}", "∪": "\\cup",
}  # fmt: skip
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_TABLE = str.maketrans(_UNICODE) | _FULL_WIDTH | {ord("，"): ",", ord("、"): ",", ord("。"): "."}

_REWRITES = [
    (re.compile(r"\\[dt]frac"), r"\\frac"),
    (re.compile(r"\\(?:left|right|displaystyle)(?![a-zA-Z])|\\[!,;:]|\\q?quad|\*\*"), ""),
    (re.compile(r"\\ |~"), " "),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|boxed)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\^\s*(?:\\circ|\{\s*\\circ\s*\})| degrees?$"), ""),
]
_DELIMITERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))


def normal(answer: str) -> str:
    """An answer without what only changes its looks: delimiters, spacing, fonts, degree signs.

    Two answers with one normal form are equal; two forms say nothing.
    """
    text = answer.translate(_TABLE).strip().removesuffix(".").rstrip()
    for opening, closing in _DELIMITERS:
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening):
            text = text[len(opening) : -len(closing)].strip().removesuffix(".")
    if any(mark in text for mark in "\\*~{ "):
        for pattern, replacement in _REWRITES:
            text = pattern.sub(replacement, text)
    # The space of "2 1/2" makes the number; every other one is decoration.
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", text.strip())
