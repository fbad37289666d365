"""Canonical notation: a formula in Unicode, LaTeX or plain text as one text."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from reasonenv.grading.budget import spend_on_text

MAX_LENGTH = 1024
"""Characters of a formula at most; in longer texts rare spellings are not rewritten."""
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta",
    "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "φ": "phi", "ω": "omega",
    "Δ": "Delta", "Ω": "Omega", "\u00b5": "mu", "\u2126": "Omega", "∞": "infty", "√": "sqrt",
    "×": "times", "·": "cdot", "∙": "cdot", "⋅": "cdot", "÷": "div", "≤": "le", "≥": "ge",
    "⩽": "le", "⩾": "ge", "≠": "ne", "≈": "approx", "≡": "equiv", "∪": "cup", "∩": "cap",
    "∈": "in", "∉": "notin", "∅": "emptyset", "Ø": "emptyset", "±": "pm", "∠": "angle",
    "△": "triangle", "…": "ldots", "⊥": "perp", "⟂": "perp", "∥": "parallel", "≌": "cong",
    "≅": "cong", "∽": "sim", "¬": "neg", "∧": "wedge", "∨": "vee", "⇒": "Rightarrow",
    "⇐": "Leftarrow", "⇔": "iff", "∀": "forall", "∃": "exists", "⊂": "subset", "⊃": "supset",
    "⊆": "subseteq", "⊇": "supseteq", "⊊": "subsetneq", "⫋": "subsetneq", "⊋": "supsetneq",
    "⫌": "supsetneq",
}  # fmt: skip
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "∛": r"\sqrt[3] ", "°": r"^{\circ}", "º": r"^{\circ}",
    "℃": r"^{\circ}C", "℉": r"^{\circ}F", "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "′": "'", "’": "'", "‘": "'",
    "“": '"', "”": '"', "，": ",", "、": ",", "。": ".", "；": ";", "：": ":", "∶": ":", "（": "(",
    "）": ")", "【": "[", "】": "]", "｛": "{", "｝": "}", "∣": "|", "⟨": "(", "⟩": ")",
    "ℝ": r"\mathbb{R}", "⁄": "/", "㎜": "mm", "㎝": "cm", "㎞": "km", "㎎": "mg", "㎏": "kg",
    "㎡": "m^{2}", "㎥": "m^{3}", "\u00a0": " ", "\u200b": "", "\u2009": " ", "\u202f": " ",
    "\u3000": " ", "\ufeff": "",
}  # fmt: skip
_TABLE = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | _SIGNS
    | {chr(0x2460 + k): f"({k + 1})" for k in range(20)}
    | {letter: rf"\{name} " for letter, name in _GREEK.items()}
    | {letter: "_{" + digit + "}" for letter, digit in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
)
# The sign applies to a whole number, \sqrt to one digit.
_ROOT = re.compile(r"√\s?(\d+(?:\.\d+)?)")
_RAISED = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
# Escapes of a string that should have stayed commands: \frac, \beta, \vec, \alpha.
_ESCAPES = str.maketrans({"\f": r"\f", "\b": r"\b", "\v": r"\v", "\a": r"\a"})

_FONTS = """mathrm textrm mathbf mathit textit mbox textbf textnormal mathsf hbox textsf
    operatorname boldsymbol bm pmb emph texttt mathtt textsc""".split()  # noqa: SIM905 - to be read
_COMMANDS = {
    **dict.fromkeys(
        """left right big Big bigg Bigg bigl bigr bigm Bigl Bigr Bigm biggl biggr biggm Biggl Biggr
        Biggm displaystyle textstyle scriptstyle limits nolimits rm bf it mathopen mathclose large
        Large LARGE huge Huge small tiny normalsize boldmath unboldmath bfseries itshape
        """.split(),  # noqa: SIM905 - as above
        "",
    ),
    **dict.fromkeys(["quad", "qquad", "enspace", "thinspace"], " "),
    **dict.fromkeys(["dfrac", "tfrac", "cfrac", "nicefrac", "sfrac", "xfrac"], r"\frac"),
    **dict.fromkeys(["geq", "geqslant", "eqslantgtr"], r"\ge"),
    **dict.fromkeys(["leq", "leqslant", "eqslantless"], r"\le"),
    **dict.fromkeys(["mid", "vert", "lvert", "rvert", "Vert"], "|"),
    **dict.fromkeys(["varnothing", "O"], r"\emptyset"),
    **dict.fromkeys(_FONTS, r"\text"),
    "textcircled": "", "neq": r"\ne", "langle": "(", "rangle": ")", "lt": "<", "gt": ">",
    "degree": r"^{\circ}",
    "colon": ":", "backslash": r"\setminus", "lbrace": r"\{", "rbrace": r"\}", "tg": r"\tan",
    "ctg": r"\cot", "cotg": r"\cot", "arctg": r"\arctan", "arcctg": r"\arccot",
}  # fmt: skip
"""Commands by another name: of size, of fonts, of spaces, and old ones."""
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_GAP = re.compile(r"(?<!\\)\\[,:;>! ~]|(?<!~)~(?!~)|\\phantom\{[^{}]*\}")
_TEXT = re.compile(r"\\text\s*\{((?:[^{}]++|\{[^{}]*\})*)\}")
# Not words: mathematical signs, or no letter at all.
_FORMULA = re.compile(r"[_^\\]|\A[^a-zA-Z\u0080-\uffff]*\Z")
_ONLY = frozenset(["only", "exactly", "precisely", "仅", "只有"])

_NUMERALS: Sequence[str] = "zero one two three four five six seven eight nine ten".split()  # noqa: SIM905 - as above
_SCALES = {"k": "thousand", "m": "million", "b": "billion"}
_FUNCTIONS: dict[str, Callable[[re.Match[str]], str]] = {
    "items": lambda m: m[0].replace(")", "),").rstrip(","),
    "unit": lambda m: f" \\text{{{m[1]}/{m[2] or m[3]}}}",
    "tangent": lambda m: f"\\{m[1]}{'cot' if m[2] else 'tan'} ",
    "modulus": lambda m: f" \\pmod{{{m[1] or m[2] or m[3]}}}",
    "numeral": lambda m: f"_{{{_NUMERALS.index(m[1]) if m[1] in _NUMERALS else m[1]}}}",
    "base": lambda m: f"{m[1]}_" if m[1] else f"_{{{m[2]}}}",
    "temperature": lambda m: "^{\\circ}" + m[1].upper(),
    "derivative": lambda m: f"{m[1] or m[2]}'",
    "money": lambda m: f"{m[1]} {_SCALES[m[2].lower()]}",
    "power": lambda m: f"{m[1] or m[3]}^{m[2] or m[4]}",
    "squared": lambda m: f"^{2 if m[1] == 'squared' else 3}",
}
"""Replacements in `spellings.tsv` by name."""
_Rows = list[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]]


def _rows(stage: str) -> _Rows:
    """The rewrites of a stage: needle, pattern and replacement."""
    lines = Path(__file__).with_name("spellings.tsv").read_text("utf-8").splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    return [
        ("" if needle == "-" else needle.replace("\\n", "\n"), re.compile(pattern),
         _FUNCTIONS[replacement[1:]] if replacement.startswith("@") else replacement)
        for name, needle, pattern, replacement in table
        if name == stage
    ]  # fmt: skip


_REWRITES, _SPELLINGS = _rows("before"), _rows("after")
_MARKDOWN = re.compile(r"^\s*#{1,6}\s+|^\s*`+|(?<!`)`+\s*$|^\s*\*(?=[^*]+\*\s*$)|(?<=[^*\s])\*\s*$")
_DOLLAR = re.compile(r"(?<!\\)\$")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_SPACES = re.compile(r"\s{2,}")
# Of plain numbers and short products nothing is rewritten.
_PLAIN = re.compile(r"[\d ,.+/()-]*")
# Longer texts are seldom needed twice and would take much memory.
_MAX_CACHED = 256


def canonical(text: str) -> str:
    """The text in one notation for every sign, command, space and delimiter, in linear time.

    Everything that carries meaning is preserved: letters, digits, case, order, word boundaries.
    """
    spend_on_text(text)
    return (_canonical if len(text) > _MAX_CACHED else _cached)(text)


def _canonical(text: str) -> str:
    if not text.isprintable():
        text = text.translate(_ESCAPES)
    if not text.isascii():
        text = _ROOT.sub(r"\\sqrt{\1}", text)
        text = _RAISED.sub(_lowered, text.translate(_TABLE))
    text = undelimited(_MARKDOWN.sub("", text))
    if text.isascii() and (text.isalnum() and len(text) > 1):
        return text
    text = _rewritten(text, _REWRITES)
    if "\\" in text or "~" in text:
        text = _COMMAND.sub(_renamed, text)
        text = _TEXT.sub(_font, _GAP.sub(" ", text))
    if "$" in text and len(_DOLLAR.findall(text)) % 2 == 0:
        text = _DOLLAR.sub("", text)
    if len(text) > MAX_LENGTH:
        return text.strip()
    return _rewritten(_SPACES.sub(" ", text.strip()), _SPELLINGS).strip()


_cached = lru_cache(maxsize=8192)(_canonical)


def _rewritten(text: str, rows: _Rows) -> str:
    for needle, pattern, replacement in rows:
        if needle in text:
            text = pattern.sub(replacement, text)
    return text


def _lowered(run: re.Match[str]) -> str:
    return "^{" + "".join(_SUPERSCRIPTS[character] for character in run[0]) + "}"


def _renamed(command: re.Match[str]) -> str:
    """A command by its usual name."""
    return _COMMANDS.get(command[1], command[0])


def _font(match: re.Match[str]) -> str:
    """One letter is a symbol, several are a word, and anything else is a formula."""
    inner = match[1].strip()
    if len(inner) == 1 and inner.isascii() and inner.isalpha():
        return f" {inner}"
    if not inner or inner in _ONLY:
        return " "
    return match[1] if inner and _FORMULA.search(inner) else f"\\text{{{match[1]}}}"


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
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : len(text) - len(closing)]
        is_whole = len(text) >= len(opening) + len(closing) and opening not in inner
        if is_whole and text.startswith(opening) and text.endswith(closing):
            return inner
    return None
