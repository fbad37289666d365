"""One spelling for many: the same formula in Unicode, LaTeX and plain text becomes one text."""

import re

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_CIRCLED = {chr(0x2460 + k): f"({k + 1})" for k in range(20)}
_LETTERS = dict(
    zip("αβγδεθλμπρσφωΔΩ", "alpha beta gamma delta epsilon theta lambda mu pi rho sigma phi omega"
        " Delta Omega".split(), strict=True)
)  # fmt: skip
_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "∞": r"\infty ", "√": r"\sqrt ", "∛": r"\sqrt[3] ",
    "×": r"\times ", "·": r"\cdot ", "∙": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ",
    "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "°": r"^{\circ}", "º": r"^{\circ}", "℃": r"^{\circ}C", "℉": r"^{\circ}F", "∪": r"\cup ",
    "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "±": r"\pm ", "∠": r"\angle ", "△": r"\triangle ",
    "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}",
    "⅔": r"\frac{2}{3}", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "…": r"\ldots ",
    "，": ",", "、": ",", "。": ".", "；": ";", "：": ":", "∶": ":", "（": "(", "）": ")", "【": "[",
    "】": "]", "｛": "{", "｝": "}", "∣": "|", "⟨": "(", "⟩": ")", "\u00a0": " ", "\u200b": "",
    "\u2009": " ", "\u202f": " ", "\u3000": " ", "\ufeff": "",
}  # fmt: skip
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TABLE = str.maketrans(
    _FULL_WIDTH
    | _SYMBOLS
    | _CIRCLED
    | {letter: rf"\{name} " for letter, name in _LETTERS.items()}
    | {letter: "_{" + digit + "}" for letter, digit in _SUBSCRIPTS.items()}
)
_RAISED = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")

_REWRITES = [
    (re.compile(r"(?<!\\)\\\\(?=(?:d?frac|sqrt|left|right|text|pi|times|cdot|circ|boxed)(?![a-zA-Z]))"), r"\\"),
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|rm|bf|it"
                r"|mathopen|mathclose)(?![a-zA-Z])\.?"), ""),
    (re.compile(r"\{,\}\s*|,\s*\\!\s*"), "{,}"),
    (re.compile(r"(?<!\\)\\[,:;>! ~]|~|\\q?quad|\\(?:enspace|thinspace|phantom\{[^{}]*\})"), " "),
    (re.compile(r"\^\s*\{?\s*\\(?:circ|degree)(?![a-zA-Z])\s*\}?|\*?\\degree(?![a-zA-Z])"), r"^{\\circ}"),
    (re.compile(r"\\textcircled\s*\{(\d+)\}"), r"(\1)"),
    (re.compile(r"\\(?:mathrm|textrm|operatorname|mathbf|boldsymbol|bm|mathit|textit|text|mbox|textbf"
                r"|textnormal|mathsf)\s*\{\s*([a-zA-Z])\s*\}"), r"\1"),
    (re.compile(r"\\(?:mathrm|textrm|mathbf|textbf|mathit|textit|mbox|textnormal|mathsf|hbox|textsf"
                r"|operatorname\*?)\s*\{"), r"\\text{"),
    (re.compile(r"\\text\{([^{}a-zA-Z\u0080-\uffff]*|[^{}]*[_^\\][^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:geq|geqslant|eqslantgtr)(?![a-zA-Z])|>="), r"\\ge "),
    (re.compile(r"\\(?:leq|leqslant|eqslantless)(?![a-zA-Z])|<="), r"\\le "),
    (re.compile(r"\\neq(?![a-zA-Z])|!=|=/="), r"\\ne "),
    (re.compile(r"\\lt(?![a-zA-Z])"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])"), ">"),
    (re.compile(r"\\(?:varnothing|O)(?![a-zA-Z])|\\\{\s*\\\}"), r"\\emptyset "),
    (re.compile(r"\\(?:mid|vert|lvert|rvert|Vert)(?![a-zA-Z])"), "|"),
    (re.compile(r"\\%|\bpct\b|\bper\s?cent(?:age)?\b"), "%"),
    (re.compile(r"\*\*(?!\s*[\d({\\-])|__"), ""),
    (re.compile(r"(?<=[\w)}\]])\s*\*\*\s*(?=[\d({\\-])"), "^"),
]  # fmt: skip
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def canonical(text: str) -> str:
    """The text with one way to write each symbol, font, space and delimiter; linear in its length.

    Equal texts become equal; different ones stay different in everything that carries meaning:
    letters, digits, case, order, and where words begin.
    """
    text = text.translate(_TABLE)
    text = _RAISED.sub(lambda run: "^{" + "".join(_SUPERSCRIPTS[c] for c in run[0]) + "}", text)
    text = undelimited(text)
    if not text.isalnum():
        for pattern, replacement in _REWRITES:
            text = pattern.sub(replacement, text)
    return _DOLLAR.sub("", text).strip() if len(_DOLLAR.findall(text)) % 2 == 0 else text.strip()


_DOLLAR = re.compile(r"(?<!\\)\$")


def undelimited(text: str) -> str:
    """The text without the dollars or brackets of a formula around all of it, and its full stop."""
    text = text.strip()
    while True:
        text = text.removesuffix(".").rstrip() if not text.endswith("..") else text
        for opening, closing in _DELIMITERS:
            inner = text[len(opening) : len(text) - len(closing)]
            if (
                len(text) >= len(opening) + len(closing)
                and text.startswith(opening)
                and text.endswith(closing)
                and opening not in inner
            ):
                text = inner.strip()
                break
        else:
            return text.strip()
