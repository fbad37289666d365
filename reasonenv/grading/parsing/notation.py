"""Canonical notation: a formula in Unicode, LaTeX or plain text as one text."""

import re
from functools import lru_cache

from reasonenv.grading.budget import spend_on_text
from reasonenv.grading.parsing.spellings import SPELLINGS, apply_rewrites, rewrite

MAX_LENGTH = 1024
"""Characters of a formula at most; in longer texts rare spellings are not rewritten."""
# Longer texts are seldom needed twice and would take much memory.
_MAX_CACHED_LENGTH = 256
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_CIRCLED = {chr(0x2460 + k): f"({k + 1})" for k in range(20)}
_LETTERS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta",
    "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "φ": "phi", "ω": "omega",
    "Δ": "Delta", "Ω": "Omega", "\u00b5": "mu", "\u2126": "Omega",
}  # fmt: skip
_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "∞": r"\infty ", "√": r"\sqrt ", "∛": r"\sqrt[3] ",
    "×": r"\times ", "·": r"\cdot ", "∙": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ",
    "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "°": r"^{\circ}", "º": r"^{\circ}", "℃": r"^{\circ}C", "℉": r"^{\circ}F", "∪": r"\cup ",
    "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "±": r"\pm ", "∠": r"\angle ",
    "△": r"\triangle ", "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"',
    "…": r"\ldots ", "，": ",", "、": ",", "。": ".", "；": ";", "：": ":", "∶": ":", "（": "(",
    "）": ")", "【": "[", "】": "]", "｛": "{", "｝": "}", "∣": "|", "⟨": "(", "⟩": ")",
    "⊥": r"\perp ", "⟂": r"\perp ", "∥": r"\parallel ", "≌": r"\cong ", "≅": r"\cong ",
    "∽": r"\sim ", "ℝ": r"\mathbb{R}", "⁄": "/", "Ø": r"\emptyset ",
    "㎜": "mm", "㎝": "cm", "㎞": "km", "㎎": "mg", "㎏": "kg", "㎡": "m^{2}", "㎥": "m^{3}",
    "¬": r"\neg ", "∧": r"\wedge ", "∨": r"\vee ", "⇒": r"\Rightarrow ", "⇐": r"\Leftarrow ",
    "⇔": r"\iff ", "∀": r"\forall ", "∃": r"\exists ", "⊂": r"\subset ", "⊃": r"\supset ",
    "⊆": r"\subseteq ", "⊇": r"\supseteq ", "⊊": r"\subsetneq ", "⫋": r"\subsetneq ",
    "⊋": r"\supsetneq ", "⫌": r"\supsetneq ", "∉": r"\notin ",
    "\u00a0": " ", "\u200b": "", "\u2009": " ", "\u202f": " ", "\u3000": " ", "\ufeff": "",
}  # fmt: skip
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TABLE = str.maketrans(
    _FULL_WIDTH
    | _SYMBOLS
    | _CIRCLED
    | {letter: rf"\{name} " for letter, name in _LETTERS.items()}
    | {letter: "_{" + digit + "}" for letter, digit in _SUBSCRIPTS.items()}
)
# The sign applies to a whole number, \sqrt to one digit.
_ROOT = re.compile(r"√\s?(\d+(?:\.\d+)?)")
_RAISED = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")


_END = "(?![a-zA-Z])"  # of a command
# Not words: mathematical signs, or no letter at all.
_FORMULA = re.compile(r"[_^\\]|\A[^a-zA-Z\u0080-\uffff]*\Z")
_FONTS = "mathrm|textrm|mathbf|mathit|textit|mbox|textbf|textnormal|mathsf"
_BOLD = "mathbf|boldsymbol|bm"
_REWRITES = [
    # Backslashes that were escaped once too often.
    rewrite(
        "\\\\",
        rf"(?<!\\)\\\\(?=(?:d?frac|sqrt|left|right|text|pi|times|cdot|circ|boxed){_END})",
        r"\\",
    ),
    # Fractions, and commands that only change sizes.
    rewrite("frac", rf"\\[dtc]frac{_END}", r"\\frac"),
    rewrite(
        "\\",
        r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|rm|bf|it|mathopen"
        rf"|mathclose){_END}\.?",
        "",
    ),
    # Lines and gaps before the next equation.
    rewrite(
        "=",
        r"(?<![,;&\\\s])(?<!quad)[^\S\n]*+(?:\n|\\q?quad)(?:\s|\\q?quad)*+"
        r"(?=[a-zA-Z](?:_\{?\w++\}?)?\s*+=)",
        ", ",
    ),
    rewrite("\\q", r"(?<=[\d)}\]])\s*+(?:\\q?quad\s*+)++(?=[-\d(\[]|\\(?:frac|sqrt|pi)\b)", ", "),
    rewrite("\n", r"(?<=\d)[ \t\n]{0,9}\n[ \t\n]{0,9}(?=-?\d)", ", "),
    # Spaces, and the commas between groups of digits.
    rewrite(",", r"\{,\}\s*|,\s*\\!\s*", "{,}"),
    rewrite(
        "",
        r"(?<!\\)\\[,:;>! ~]|(?<!~)~(?!~)|\\q?quad|\\(?:enspace|thinspace|phantom\{[^{}]*\})",
        " ",
    ),
    # Degrees.
    rewrite(
        "\\",
        rf"\^\s*+(?:\{{\s*+)?\\(?:circ|degree){_END}\s*\}}?|\*?\\degree{_END}",
        r"^{\\circ}",
    ),
    # Vectors in bold, where a product of numbers would be another.
    rewrite(
        "\\times",
        rf"\\(?:{_BOLD})\{{([a-zA-Z])\}}\s?\\times\s?\\(?:{_BOLD})\{{([a-zA-Z])\}}",
        r"\\vec{\1}\\times\\vec{\2}",
    ),
    # Fonts: one letter is a symbol, several are a word, and anything else is a formula.
    rewrite("\\textcircled", r"\\textcircled\s*\{(\d+)\}", r"(\1)"),
    rewrite(
        "\\",
        rf"\\(?:{_FONTS}|operatorname|boldsymbol|bm|text)\s*\{{\s*([a-zA-Z])\s*\}}",
        r" \1",
    ),
    rewrite("\\", rf"\\(?:{_FONTS}|hbox|textsf|operatorname\*?)\s*\{{", r"\\text{"),
    rewrite(
        "\\text",
        r"\\text\{((?:[^{}]++|\{[^{}]*\})*)\}",
        lambda match: match[1] if _FORMULA.search(match[1]) else match[0],
    ),
    rewrite("\\text", r"\\text\{\s*(?:only|exactly|precisely|仅|只有)\s*\}", " "),
    # Relations, sets and bars.
    rewrite("", rf"\\(?:geq|geqslant|eqslantgtr){_END}|>=", r"\\ge "),
    rewrite("", rf"\\(?:leq|leqslant|eqslantless){_END}|<=", r"\\le "),
    rewrite("", rf"\\neq{_END}|!=|=/=", r"\\ne "),
    rewrite("\\lang", rf"\\langle{_END}", "("),
    rewrite("\\rang", rf"\\rangle{_END}", ")"),
    rewrite("\\lt", rf"\\lt{_END}", "<"),
    rewrite("\\gt", rf"\\gt{_END}", ">"),
    rewrite("\\", rf"\\(?:varnothing|O){_END}|\\\{{\s*\\\}}", r"\\emptyset "),
    rewrite("\\", rf"\\(?:mid|vert|lvert|rvert|Vert){_END}", "|"),
    # Percent signs, and asterisks: bold ones, underlined blanks, and powers.
    rewrite("", r"\\%|\bpct\b|\bper\s?cent(?:age)?\b", "%"),
    rewrite("**", r"(?<![\w)}\]*])\*\*([^*]{1,200})\*\*(?![\w(\\{*])", r"\1"),
    rewrite("", r"\*\*(?!\s*[\d({\\-])|__", ""),
    rewrite("**", r"(?<=[\w)}\]])\s*\*\*\s*(?=[\d({\\-])", "^"),
]
_GAPS = re.compile(r"\s{2,}")
# Escapes of a string that should have stayed commands: \frac, \beta, \vec, \alpha.
_ESCAPES = str.maketrans({"\f": r"\f", "\b": r"\b", "\v": r"\v", "\a": r"\a"})
# Only what holds one of these is rewritten at all.
_REWRITTEN = re.compile(r"\\|\n|\{,\}|~|[<>!]=|=/=|\*\*|__|\bpct\b|\bper\s?cent")
# Of a heading, of code, and of what is all in italics.
_MARKDOWN = re.compile(r"^\s*#{1,6}\s+|^\s*`+|(?<!`)`+\s*$|^\s*\*(?=[^*]+\*\s*$)|(?<=[^*\s])\*\s*$")
_DOLLAR = re.compile(r"(?<!\\)\$")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def canonical(text: str) -> str:
    """The text with one notation for each symbol, font, space and delimiter, in linear time.

    Everything that carries meaning is preserved: letters, digits, case, order, word boundaries.
    """
    spend_on_text(text)
    return (_canonical if len(text) > _MAX_CACHED_LENGTH else _cached_canonical)(text)


def _canonical(text: str) -> str:
    if not text.isprintable():
        text = text.translate(_ESCAPES)
    if not text.isascii():
        text = _ROOT.sub(r"\\sqrt{\1}", text)
        text = _RAISED.sub(_lowered, text.translate(_TABLE))
    text = undelimited(_MARKDOWN.sub("", text))
    if _REWRITTEN.search(text):
        text = apply_rewrites(_REWRITES, text)
    if "$" in text and len(_DOLLAR.findall(text)) % 2 == 0:
        text = _DOLLAR.sub("", text)
    if len(text) > MAX_LENGTH or (text.isascii() and text.isalnum() and len(text) > 1):
        return text.strip()
    return apply_rewrites(SPELLINGS, _GAPS.sub(" ", text.strip())).strip()


_cached_canonical = lru_cache(maxsize=8192)(_canonical)


def _lowered(run: re.Match[str]) -> str:
    """Raised digits and signs as an exponent."""
    return "^{" + "".join(_SUPERSCRIPTS[character] for character in run[0]) + "}"


def undelimited(text: str) -> str:
    """The text without the dollars or brackets of a formula around all of it, and its full stop."""
    text = text.strip()
    while True:
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
        inner = _inner(text) if text.startswith(("$", "\\")) else None
        if inner is None:
            return text
        text = inner.strip()


def _inner(text: str) -> str | None:
    """The text between the delimiters of a formula; None if the formula is not the whole text."""
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : len(text) - len(closing)]
        if (
            len(text) >= len(opening) + len(closing)
            and text.startswith(opening)
            and text.endswith(closing)
            and opening not in inner
        ):
            return inner
    return None
