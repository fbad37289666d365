r"""Rewrites of rare, old and non-LaTeX spellings into the notation of the grammar.

`notation` applies them in this order, after its own.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_INTEGERS = r"\\in \\mathbb{Z}"
_IN_INTEGERS = r"\\in\s*(?:\\mathbb\s*\{?\s*[ZN]\s*\}?|Z(?![a-zA-Z]))"
_UNIT = r"(?:[kcmd]?m|in|ft|yd|km)"
_NUMERALS = {
    word: str(base)
    for base, word in enumerate("two three four five six seven eight nine ten".split(), start=2)  # noqa: SIM905
}
# Letters after sums of money: $15k, $2M.
_THOUSANDS = (
    r"(\$\s?\d[\d,]{0,20}(?:\.\d{1,9})?)\s?(?:\\text\s?\{\s?)?([kKmMbB])\}?(?![\w^(\\{=+*/-])"
)
_SCALES = {"k": "thousand", "m": "million", "b": "billion"}
_POWERS = {"squared": "2", "cubed": "3"}


class Rewrite(NamedTuple):
    """A pattern and its replacement; only texts that contain the needle are searched."""

    needle: str
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def rewrite(
    needle: str, pattern: str, replacement: str | Callable[[re.Match[str]], str]
) -> Rewrite:
    """The rewrite of a pattern in all texts that contain the needle."""
    return Rewrite(needle, re.compile(pattern), replacement)


def apply_rewrites(rules: Sequence[Rewrite], text: str) -> str:
    """The text after all rewrites in order; each takes linear time."""
    for needle, pattern, replacement in rules:
        if needle in text:
            text = pattern.sub(replacement, text)
    return text


def _with_power(match: re.Match[str]) -> str:
    """The m^3 of kg/m3, and the s^2 of m/s2."""
    return f"{match[1] or match[3]}^{match[2] or match[4]}"


SPELLINGS = [
    # Whole texts, and prefixes of them.
    rewrite("\\text", r"^\\text\{([^{}]*)\}$", r"\1"),
    rewrite(
        "",
        r"^\(?(?:[Aa]bout|[Aa]pproximately|[Aa]pprox\.|[Rr]oughly|[Aa]round)\s+(?=[$\\]?[\d.])",
        r"\\approx ",
    ),
    rewrite(
        "real",
        r"^(?:\\text\{)?\s*(?:the set of )?(?:[Aa]ll|any) real(?: number)?s?\s*\}?$",
        r"\\mathbb{R}",
    ),
    rewrite("R", r"^\s*R\s*$", r"\\mathbb{R}"),
    rewrite("et", r"^(?:\\text\{)?\s*(?:[Tt]he )?(?:[Ee]mpty|[Nn]ull) set\s*\}?$", r"\\emptyset "),
    rewrite(
        "olution",
        r"^(?:\\text\{)?\s*(?:[Tt]here (?:is|are) )?[Nn]o solutions?\s*\}?$",
        r"\\emptyset ",
    ),
    rewrite("无解", r"^(?:方程|不等式)?(?:组)?无解$", r"\\emptyset "),
    # Numbered statements, ①③, are no product.
    rewrite("(", r"^\(\d\)(?:\s*\(\d\))+$", lambda match: match[0].replace(")", "),").rstrip(",")),
    rewrite("to", r"^(\d+)\s*(?:to|\\text\{\s*to\s*\})\s*(\d+)$", r"\1:\2"),
    rewrite("比", r"^(\d+) ?比 ?(\d+)$", r"\1:\2"),
    # Old and short commands, and functions by their other names.
    rewrite("\\over", r"\{([^{}]*)\\over(?![a-zA-Z])([^{}]*)\}", r"\\frac{\1}{\2}"),
    rewrite("\\over", r"^([^{}\\=]*)\\over(?![a-zA-Z])([^{}\\=]*)$", r"\\frac{\1}{\2}"),
    rewrite("\\choose", r"\{([^{}]*)\\choose(?![a-zA-Z])([^{}]*)\}", r"\\binom{\1}{\2}"),
    rewrite("C", r"(?<![a-zA-Z])C_\{?(\d{1,4})\}?\^\{?(\d{1,4})\}?(?!\d)", r"\\binom{\1}{\2}"),
    rewrite("frac", r"\\(?:nice|s|x)frac(?![a-zA-Z])|(?<![\\a-zA-Z])frac(?=\{)", r"\\frac"),
    rewrite("brace", r"\\([lr])brace(?![a-zA-Z])", lambda match: "\\" + "{}"[match[1] == "r"]),
    rewrite("\\colon", r"\\colon(?![a-zA-Z])", ":"),
    rewrite("\\backslash", r"\\backslash(?![a-zA-Z])", r"\\setminus "),
    rewrite("tg", r"\\text\{(arc|)(co?|)tg\}", lambda match: _tangent(*match.groups())),
    rewrite("tg", r"\\(arc|)(co?|)tg(?![a-zA-Z])", lambda match: _tangent(*match.groups())),
    rewrite("//", r"(?<=[A-Z])\s*//\s*(?=[A-Z])", r"\\parallel "),
    rewrite("等于", "等于", "="),
    rewrite("又", r"(?<=\d)\s*又\s*(?=\\frac|\d)", " "),
    rewrite("每", r"^每(小时|分钟|秒)\s*(\d.*\D)$", r"\2/\1"),
    rewrite("cbrt", r"\bcbrt\s*\(", r"\\sqrt[3]("),
    rewrite("\\triangle", r"(?<![a-zA-Z\\])S ?\\triangle ?([A-Z]{3})", r"S_{\\triangle \1}"),
    rewrite("\\frown", r"\\over(?:set|arc)\s*\{\s*\\frown\s*\}\s*(?=\{)", r"\\widehat"),
    rewrite("\\under", r"\\underline\s*\{([^{}]*)\}", r"\1"),
    rewrite("color", r"\\(?:text)?color\s*\{[a-z]+\}\s*", ""),
    # Sets of numbers.
    rewrite("\\text", r"\\text\{([RZNQC])\}", r"\\mathbb{\1}"),
    rewrite("\\in", r"\\in\s*([RZNQ])(?![a-zA-Z_])", r"\\in \\mathbb{\1}"),
    rewrite("\\mathbb", r"(\\mathbb\s*\{?R\}?)\s*-\s*(?=\\\{)", r"\1\\setminus "),
    rewrite("U", r"(?<=[)\]])\s*U\s*(?=[(\[])", r" \\cup "),
    rewrite("[", r"\]([^][(),;]+[,;][^][(),;]+)\[", r"(\1)"),
    rewrite("[", r"\[([^][(),;]+[,;][^][(),;]+)\[", r"[\1)"),
    rewrite("]", r"\]([^][(),;]+[,;][^][(),;]+)\]", r"(\1]"),
    # Integer parameters of a family of solutions.
    rewrite("\\in", rf",?\s*\(\s*([a-z]\s*{_IN_INTEGERS})\s*\)", r", \1"),
    rewrite(
        "\\in",
        rf",?\s*(?:\\text\{{)?\s*,?\s*(?:where|for|with)\s*\}}?\s*([a-z]\s*{_IN_INTEGERS})",
        r", \1",
    ),
    rewrite(
        "integer",
        r",?\s*(?:\\text\{)?\s*,?\s*(?:where|with|for)\s*\}?\s*([a-z])\s*(?:\\text\{)?\s*is "
        r"(?:an|any) integer\s*\}?$",
        rf", \1 {_INTEGERS}",
    ),
    rewrite(
        "integer",
        r",?\s*(?:\\text\{)?\s*,?\s*for\s*(?:any |all |some )?integers?\s*\}?\s*([a-z])$",
        rf", \1 {_INTEGERS}",
    ),
    rewrite("整数", r"[,;]?\s*\(?\s*(?:其中)?([a-z])\s*[为是]整数\)?$", rf", \1 {_INTEGERS}"),
    # Lines and columns.
    rewrite("&", r"&\s*(?=[=<>]|\\[lgn]e(?![a-zA-Z]))|(?<==)\s*&", ""),
    rewrite("&", r",\s*&|&\s*,", "&"),
    rewrite("&", r"&\s*(?:\\text\{\s*(?:if|for|when)\s*\}|if |for |when )\s*", "&"),
    rewrite("\\\\", r"[,;]\s*\\\\", r"\\\\"),
    rewrite("\\\\[", r"\\\\\[[\d.]+\s*(?:pt|em|ex|mm)\]", r"\\\\"),
    rewrite("\\end", r"[.,;]\s*\\end(?=\{)", r"\\end"),
    rewrite(
        "array",
        r"\\\{\s*\\begin\{array\}\s*\{[lcr@{}|]*\}((?:(?!\\end|\\\{\s*\\begin).)*)\\end\{array\}(?!\s*\\\})",
        r"\\begin{cases}\1\\end{cases}",
    ),
    rewrite("^", r"\(([^(),]*,[^()]*)\)\s*\^\s*\{?\s*(?:T|\\top|t)\s*\}?(?![a-zA-Z])", r"(\1)"),
    rewrite("^", r"\[([^][,]*,[^][]*)\]\s*\^\s*\{?\s*(?:T|\\top|t)\s*\}?(?![a-zA-Z])", r"(\1)"),
    # Numbers: powers of ten, decimals that go on, and bases.
    rewrite("x", r"(?<=\d)\s*x\s*(?=10\s*(?:\^|\*\*))", r"\\times "),
    rewrite(".", r"(?<=\d\.)\((\d{1,20})\)", r"\\overline{\1}"),
    rewrite(".", r"(\d\.\d{0,6}?)(\d{1,6}?)\2{2,20}(?:\.\.\.+|\\l?dots)", r"\1\\overline{\2}"),
    rewrite(".", r"(?<=\.\d)(\d+)(?:\.\.\.+|\\l?dots(?![a-zA-Z]))", r"\1"),
    rewrite(
        "_",
        r"(?<=\d)_\{?\s*\\text\{\s*([a-z]+)\s*\}\s*\}?",
        lambda match: "_{" + _NUMERALS.get(match[1], match[1]) + "}",
    ),
    rewrite("_", r"\((\d+)\)_|(?<=\d)_\{\((\d+)\)\}", lambda match: _with_base(*match.groups())),
    rewrite("base", r"(?<=\d)\s*(?:\\text\{)?\s*\(?base[-\s]*\}?\s*(\d+)\s*[)}]?$", r"_{\1}"),
    # Angles, money and units.
    rewrite("\\circ", r"(?<=\d)\s*\\circ(?![a-zA-Z])", r"^{\\circ}"),
    rewrite("^", r"(?<=\d)\^(?:o|\{o\})(?![a-zA-Z])", r"^{\\circ}"),
    rewrite("\\circ", r"([/(]|\\cdot)\s*(?:\{\s*\})?\s*\^\{\\circ\}\s*C(?![a-zA-Z])", r"\1 degC"),
    rewrite(
        "degree",
        r"(?<=\d)\s*(?:\\text\{)?\s*degrees?\s+([CcFf])(?:elsius|ahrenheit)\s*\}?$",
        lambda match: "^{\\circ}" + match[1].upper(),
    ),
    rewrite("prime", r"\^\s*\{?\s*\\prime\s*\\prime\s*\}?", "''"),
    rewrite("prime", r"\^\s*(?:\{\s*\\prime\s*\}|\\prime(?![a-zA-Z]))", "'"),
    rewrite("d", r"\\frac\{d([a-z])\}\{d[a-z]\}(?=\s*=)", r"\1'"),
    rewrite("d", r"(?<![a-z])d([a-z])/d[a-z](?=\s*=)", r"\1'"),
    rewrite(
        "\\text",
        r",?\s*\\text\{,?\s*for (?:all|any|every|some constant|real)(?: real)?\s*\}\s*[a-zA-Z]$",
        "",
    ),
    rewrite(".", r"(?<=,)\s*\.\.\.\s*(?=,)", r"\\ldots "),
    rewrite("\\angle", r"(?<![a-zA-Z\\])m\s*\\angle(?![a-zA-Z])", r"\\angle"),
    rewrite("US", r"(?<![a-zA-Z])US(?:D\s*|\\?\$\s*)(?=\d)", "$"),
    rewrite("$", _THOUSANDS, lambda match: f"{match[1]} {_SCALES[match[2].lower()]}"),
    rewrite("Rs", r"(?<![a-zA-Z])Rs\.?\s*(?=\d)", "₹"),
    rewrite("sq.", r"(?<![a-zA-Z])sq\.\s*(?=[a-z])", "sq "),
    rewrite("m", rf"(?<=[\d\s}}])({_UNIT})([23])(?![\w.])", r"\1^\2"),
    rewrite("/", r"(?<=[gNJW]/)(c?m)([23])(?![\w.])|(?<=m/)(s)(2)(?![\w.])", _with_power),
    rewrite("ed", r"(?<=[a-z])\s+(squared|cubed)(?![a-z])", lambda match: f"^{_POWERS[match[1]]}"),
    rewrite("\\mu", r"(?<=\d)\s*\\mu\s*(?:\\text\{\s*)?([msgLFCAVWNJT])(?![a-zA-Z])\}?", r" u\1"),
    rewrite("\\Omega", r"(?<=\d)\s*([kMmGun]?)\s*\\Omega(?![a-zA-Z])", r" \1ohm"),
    rewrite(
        "and",
        r"(?<=[a-z])(\}?),?\s*(?:and|\\text\{\s*and\s*\})\s*(?=\d+\s*(?:\\text\{\s*)?"
        r"(?:min|sec|inch|cents?(?![a-z])))",
        r"\1 ",
    ),
]


def _tangent(inverse: str, prefix: str) -> str:
    """The tangent or the cotangent, or its inverse."""
    return f"\\{inverse}{'cot' if prefix else 'tan'} "


def _with_base(number: str | None, base: str | None) -> str:
    """A number and the start of its base, or its base without brackets."""
    return f"{number}_" if number else f"_{{{base}}}"
