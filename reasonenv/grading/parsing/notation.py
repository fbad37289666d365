"""Canonical notation: a formula in Unicode, LaTeX or plain text as one text."""

import re
from collections.abc import Callable
from functools import lru_cache

from reasonenv.grading.budget import spend_on_text
from reasonenv.grading.parsing import rows
from reasonenv.grading.parsing.units import NUMERALS

MAX_LENGTH = 1024
"""Characters of a formula at most; in longer texts rare spellings are not rewritten."""
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"
_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789+-n")
_SIGNS = {
    sign: f"{name} " if name[0] == "\\" and name[1:].isalpha() else name
    for signs, name in rows("signs.tsv")
    for sign in signs.split()
}
_TABLE = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | _SIGNS
    | {chr(0x2460 + k): f"({k + 1})" for k in range(20)}
    | dict.fromkeys("\u00a0\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u200b\ufeff", "")
    | {letter: "_{" + digit + "}" for letter, digit in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
)
# The sign applies to a whole number, \sqrt to one digit.
_ROOT = re.compile(r"√\s?(\d+(?:\.\d+)?)")
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")
# Escapes of a string that should have stayed commands: \frac, \beta, \vec, \alpha.
_ESCAPES = str.maketrans({"\f": r"\f", "\b": r"\b", "\v": r"\v", "\a": r"\a"})

_COMMANDS = {
    name: "" if usual == "-" else usual
    for names, usual in rows("commands.tsv")
    for name in names.split()
}
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_GAP = re.compile(
    r"(?<!\\)\\[,:;>! ~]|(?<!~)~(?!~)|\\phantom\{[^{}]*\}"
    r"|\\(?:q?quad|enspace|thinspace)(?![a-zA-Z])"
)
_TEXT = re.compile(r"\\text\s*\{((?:[^{}]++|\{[^{}]*\})*)\}")
# Not words: mathematical signs, or no letter at all.
_FORMULA = re.compile(r"[_^\\]|\A[^a-zA-Z\u0080-\uffff]*\Z")
_ONLY = frozenset(["only", "exactly", "precisely", "仅", "只有"])

_SCALES = {"k": "thousand", "m": "million", "b": "billion"}
_FUNCTIONS: dict[str, Callable[[re.Match[str]], str]] = {
    "items": lambda m: m[0].replace(")", "),").rstrip(","),
    "unit": lambda m: f" \\text{{{m[1]}/{m[2] or m[3]}}}",
    "tangent": lambda m: f"\\{m[1]}{'cot' if m[2] else 'tan'} ",
    "modulus": lambda m: f" \\pmod{{{m[1] or m[2] or m[3]}}}",
    "numeral": lambda m: f"_{{{NUMERALS.get(m[1], m[1])}}}",
    "base": lambda m: f"{m[1]}_" if m[1] else f"_{{{m[2]}}}",
    "temperature": lambda m: "^{\\circ}" + m[1].upper(),
    "derivative": lambda m: f"{m[1] or m[2]}'",
    "money": lambda m: f"{m[1]} {_SCALES[m[2].lower()]}",
    "power": lambda m: f"{m[1] or m[3]}^{m[2] or m[4]}",
    "squared": lambda m: f"^{2 if m[1] == 'squared' else 3}",
}
"""Replacements in `spellings.tsv` by name."""
_Rows = list[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]]


def _rewrites(stage: str) -> _Rows:
    return [
        ("" if needle == "-" else needle.replace("\\n", "\n"), re.compile(pattern),
         _FUNCTIONS[replacement[1:]] if replacement.startswith("@") else replacement)
        for name, needle, pattern, replacement in rows("spellings.tsv")
        if name == stage
    ]  # fmt: skip


_REWRITES, _SPELLINGS = _rewrites("before"), _rewrites("after")
# Of texts without a command most need not be looked for.
_PLAIN_SPELLINGS = [each for each in _SPELLINGS if "\\" not in each[0]]
_MARKDOWN = re.compile(r"^\s*#{1,6}\s+|^\s*`+|(?<!`)`+\s*$|^\s*\*(?=[^*]+\*\s*$)|(?<=[^*\s])\*\s*$")
_DOLLAR = re.compile(r"(?<!\\)\$")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_SPACES = re.compile(r"\s{2,}")
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
        text = _RAISED.sub(lambda run: f"^{{{run[0].translate(_DIGITS)}}}", text.translate(_TABLE))
    text = undelimited(_MARKDOWN.sub("", text))
    if text.isascii() and (text.isalnum() and len(text) > 1):
        return text
    text = _rewritten(text, _REWRITES)
    if "\\" in text or "~" in text:
        text = _COMMAND.sub(lambda command: _COMMANDS.get(command[1], command[0]), text)
        text = _TEXT.sub(_font, _GAP.sub(" ", text))
    if "$" in text and len(_DOLLAR.findall(text)) % 2 == 0:
        text = _DOLLAR.sub("", text)
    if len(text) > MAX_LENGTH:
        return text.strip()
    spellings = _SPELLINGS if "\\" in text else _PLAIN_SPELLINGS
    return _rewritten(_SPACES.sub(" ", text.strip()), spellings).strip()


_cached = lru_cache(maxsize=8192)(_canonical)


def _rewritten(text: str, rewrites: _Rows) -> str:
    for needle, pattern, replacement in rewrites:
        if needle in text:
            text = pattern.sub(replacement, text)
    return text


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
        if not text.startswith(("$", "\\")):
            return text
        for opening, closing in _DELIMITERS:
            inner = text[len(opening) : len(text) - len(closing)]
            is_whole = len(text) >= len(opening) + len(closing) and opening not in inner
            if is_whole and text.startswith(opening) and text.endswith(closing):
                text = inner.strip()
                break
        else:
            return text
