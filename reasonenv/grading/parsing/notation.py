"""Canonical notation: a formula in Unicode, LaTeX or plain text as one text."""

import re
from collections.abc import Callable
from functools import lru_cache

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
    "textcircled": "", "neq": r"\ne", "langle": "(", "rangle": ")", "lt": "<", "gt": ">", "degree": r"^{\circ}",
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

Replacement = str | Callable[[re.Match[str]], str]
_Z = r"\\in \\mathbb{Z}"
_IN_Z = r"\\in\s*(?:\\mathbb\s*\{?\s*[ZN]\s*\}?|Z(?![a-zA-Z]))"
_NUMERALS = {
    word: str(base)
    for base, word in enumerate("two three four five six seven eight nine ten".split(), start=2)  # noqa: SIM905
}
_SCALES = {"k": "thousand", "m": "million", "b": "billion"}
_NAME = r"[a-zA-Z](?:_\{?\w+\}?)?"
_OF_ALL = r",?\s*(?:\\text\{{)?\s*,?\s*(?:{0})\s*\}}?\s*"
_ROWS: list[tuple[str, str, Replacement]] = [
    # Each row: a needle without which the text is not searched, a pattern, its replacement.
    ("\\\\", r"(?<!\\)\\\\(?=(?:d?frac|sqrt|left|right|text|pi|times|cdot|circ|boxed)(?![a-zA-Z]))", r"\\"),
    # Lines and gaps before the next equation, or between numbers.
    ("=", rf"(?<![,;&\\\s])(?<!quad)[^\S\n]*+(?:\n|\\q?quad)(?:\s|\\q?quad)*+(?={_NAME}\s*+=)", ", "),
    ("\\q", r"(?<=[\d)}\]])\s*+(?:\\q?quad\s*+)++(?=[-\d(\[]|\\(?:frac|sqrt|pi)\b)", ", "),
    ("\n", r"(?<=\d)[ \t\n]{0,9}\n[ \t\n]{0,9}(?=-?\d)", ", "),
    (",", r"\{,\}\s*|,\s*\\!\s*", "{,}"),
    ("\\circ", r"\^\s*+(?:\{\s*+)?\\circ(?![a-zA-Z])\s*\}?", r"^{\\circ}"),
    ("\\times", r"\\(?:mathbf|boldsymbol|bm)\{([a-zA-Z])\}\s?\\times\s?\\(?:mathbf|boldsymbol|bm)\{([a-zA-Z])\}", r"\\vec{\1}\\times\\vec{\2}"),
    ("\\", r"\\(?:left|right)\s*\.", ""), ("=", r">=|⩾", r"\\ge "), ("=", r"<=", r"\\le "), ("=", r"!=|=/=", r"\\ne "),
    ("", r"\\%|\bpct\b|\bper\s?cent(?:age)?\b", "%"),
    ("**", r"(?<![\w)}\]*])\*\*([^*]{1,200})\*\*(?![\w(\\{*])", r"\1"),
    ("quad", r"\\q?quad", " "), ("*", r"\*\*(?!\s*[\d({\\-])", ""), ("_", r"__", ""),
    ("**", r"(?<=[\w)}\]])\s*\*\*\s*(?=[\d({\\-])", "^"),
]  # fmt: skip
_RARE: list[tuple[str, str, Replacement]] = [
    ("\\text", r"^\\text\{([^{}]*)\}$", r"\1"), ("R", r"^\s*R\s*$", r"\\mathbb{R}"),
    ("", r"^\(?(?:[Aa]bout|[Aa]pproximately|[Aa]pprox\.|[Rr]oughly|[Aa]round)\s+(?=[$\\]?[\d.])", r"\\approx "),
    # The exact value counts, and not the rounded one after it.
    ("", r"(?<=[^\\\s])\s?\$?[,，]?\s?[(（]?\s?\$?(?:\\text\{\s?)?(?:or\s)?(?:about|approximately|approx\.?|roughly|约|≈|\\approx)(?:\s?\})?\s?(\$?\d[\d.,]*)(?:\s?[a-zA-Z%]{1,12}(?:\^\{?[23]\}?)?)?\s?[)）]?\$?\s?$", r" \\approx \1"),
    ("(", r"^\(\d\)(?:\s*\(\d\))+$", lambda m: m[0].replace(")", "),").rstrip(",")),
    ("to", r"^(\d+)\s*(?:to|\\text\{\s*to\s*\})\s*(\d+)$", r"\1:\2"), ("比", r"^(\d+) ?比 ?(\d+)$", r"\1:\2"),
    # Old and short commands.
    ("\\over", r"\{([^{}]*)\\over(?![a-zA-Z])([^{}]*)\}", r"\\frac{\1}{\2}"),
    ("\\over", r"^([^{}\\=]*)\\over(?![a-zA-Z])([^{}\\=]*)$", r"\\frac{\1}{\2}"),
    ("\\choose", r"\{([^{}]*)\\choose(?![a-zA-Z])([^{}]*)\}", r"\\binom{\1}{\2}"),
    ("C", r"(?<![a-zA-Z])C_\{?(\d{1,4})\}?\^\{?(\d{1,4})\}?(?!\d)", r"\\binom{\1}{\2}"),
    ("frac{", r"(?<![\\a-zA-Z])frac(?=\{)", r"\\frac"),
    ("\\frac", r"(?<=\d)\s*\\frac\s*\{\s*\\text\{([^{}]+)\}\s*\}\s*\{\s*(?:\\text\{([^{}]+)\}|([a-zA-Z]))\s*\}", lambda m: f" \\text{{{m[1]}/{m[2] or m[3]}}}"),
    ("\\frac", r"(?<=\d)\s*\\frac\s*\{\s*([a-zA-Z])\s*\}\s*\{\s*\\text\{([^{}]+)\}\s*\}", r" \\text{\1/\2}"),
    ("tg", r"\\text\{(arc|)(co?|)tg\}", lambda m: f"\\{m[1]}{'cot' if m[2] else 'tan'} "),
    ("//", r"(?<=[A-Z])\s*//\s*(?=[A-Z])", r"\\parallel "), ("等于", "等于", "="),
    ("又", r"(?<=\d)\s*又\s*(?=\\frac|\d)", " "), ("每", r"^每(小时|分钟|秒)\s*(\d.*\D)$", r"\2/\1"),
    ("cbrt", r"\bcbrt\s*\(", r"\\sqrt[3]("),
    ("\\triangle", r"(?<![a-zA-Z\\])S ?\\triangle ?([A-Z]{3})", r"S_{\\triangle \1}"),
    ("\\frown", r"\\over(?:set|arc)\s*\{\s*\\frown\s*\}\s*(?=\{)", r"\\widehat"),
    ("\\under", r"\\underline\s*\{([^{}]*)\}", r"\1"), ("color", r"\\(?:text)?color\s*\{[a-z]+\}\s*", ""),
    # Congruences.
    ("mod", r"\\pmod\s*(?:\{([^{}]*)\}|(\d+))|[,\s]*\(\s*(?:\\text\{\s*mod\s*\}|\\?b?mod)\s*([^()]*)\)", lambda m: f" \\pmod{{{m[1] or m[2] or m[3]}}}"),
    # Sets of numbers, and intervals with brackets turned outwards.
    ("\\text", r"\\text\{([RZNQC])\}", r"\\mathbb{\1}"), ("\\in", r"\\in\s*([RZNQ])(?![a-zA-Z_])", r"\\in \\mathbb{\1}"),
    ("\\mathbb", r"(\\mathbb\s*\{?R\}?)\s*-\s*(?=\\\{)", r"\1\\setminus "), ("U", r"(?<=[)\]])\s*U\s*(?=[(\[])", r" \\cup "),
    ("[", r"\]([^][(),;]+[,;][^][(),;]+)\[", r"(\1)"), ("[", r"\[([^][(),;]+[,;][^][(),;]+)\[", r"[\1)"),
    ("]", r"\]([^][(),;]+[,;][^][(),;]+)\]", r"(\1]"),
    # What a name is: integers stay as a condition, all else says nothing.
    ("\\in", rf",?\s*\(\s*([a-z]\s*{_IN_Z})\s*\)", r", \1"),
    ("\\in", _OF_ALL.format("where|for|with") + rf"([a-z]\s*{_IN_Z})", r", \1"),
    ("integer", _OF_ALL.format("where|with|for") + r"([a-z])\s*(?:\\text\{)?\s*is (?:an|any) integer\s*\}?$", rf", \1 {_Z}"),
    ("integer", r",?\s*(?:\\text\{)?\s*,?\s*for\s*(?:any |all |some )?integers?\s*\}?\s*([a-z])$", rf", \1 {_Z}"),
    ("整数", r"[,;]?\s*\(?\s*(?:其中)?([a-z])\s*[为是]整数\)?$", rf", \1 {_Z}"),
    ("", _OF_ALL.format("for (?:all|any|every|each)|where|with|其中|for some constant") + r"(?:real |positive |natural |whole )?(?:numbers? |integers? )?\}?\s*[a-zA-Z](?:\s*,\s*[a-zA-Z])*(?:\s*(?:\\in\s*\\mathbb\s*\{?\w\}?|(?:\\[gl]e|[<>])\s*-?\d+|(?:\\text\{)?\s*(?:is|are|为|是)\s?(?:an? |any )?(?:arbitrary |real |positive |任意)*(?:constants?|numbers?|reals?|real|positive|integers?|常数|实数)\s*\}?))?$", ""),
    ("", r"(?<=\S)\s?[(（](?:where )?[a-zA-Z]\s?(?:为|是|is an? |is any |is the )(?:任意|arbitrary )?(?:constant(?: of integration)?|integer|real number|常数|整数|实数)[)）]$", ""),
    # Lines and columns.
    ("&", r"&\s*(?=[=<>]|\\[lgn]e(?![a-zA-Z]))|(?<==)\s*&", ""), ("&", r",\s*&|&\s*,", "&"),
    ("&", r"&\s*(?:\\text\{\s*(?:if|for|when)\s*\}|if |for |when )\s*", "&"), ("\\\\", r"[,;]\s*\\\\", r"\\\\"),
    ("\\\\[", r"\\\\\[[\d.]+\s*(?:pt|em|ex|mm)\]", r"\\\\"), ("\\end", r"[.,;]\s*\\end(?=\{)", r"\\end"),
    ("array", r"\\\{\s*\\begin\{array\}\s*\{[lcr@{}|]*\}((?:(?!\\end|\\\{\s*\\begin).)*)\\end\{array\}(?!\s*\\\})", r"\\begin{cases}\1\\end{cases}"),
    ("^", r"([(\[])([^][(),]*,[^][()]*)([)\]])\s*\^\s*\{?\s*(?:T|\\top|t)\s*\}?(?![a-zA-Z])", r"\1\2\3"),
    # Numbers: powers of ten, decimals that go on, and bases.
    ("x", r"(?<=\d)\s*x\s*(?=10\s*(?:\^|\*\*))", r"\\times "), (".", r"(?<=\d\.)\((\d{1,20})\)", r"\\overline{\1}"),
    (".", r"(\d\.\d{0,6}?)(\d{1,6}?)\2{2,20}(?:\.\.\.+|\\l?dots)", r"\1\\overline{\2}"),
    (".", r"(?<=\.\d)(\d+)(?:\.\.\.+|\\l?dots(?![a-zA-Z]))", r"\1"),
    ("_", r"(?<=\d)_\{?\s*\\text\{\s*([a-z]+)\s*\}\s*\}?", lambda m: "_{" + _NUMERALS.get(m[1], m[1]) + "}"),
    ("_", r"\((\d+)\)_|(?<=\d)_\{\((\d+)\)\}", lambda m: f"{m[1]}_" if m[1] else f"_{{{m[2]}}}"),
    ("base", r"(?<=\d)\s*(?:\\text\{)?\s*\(?base[-\s]*\}?\s*(\d+)\s*[)}]?$", r"_{\1}"),
    # Angles, derivatives, money and units.
    ("\\circ", r"(?<=\d)\s*\\circ(?![a-zA-Z])", r"^{\\circ}"), ("^", r"(?<=\d)\^(?:o|\{o\})(?![a-zA-Z])", r"^{\\circ}"),
    ("\\circ", r"([/(]|\\cdot)\s*(?:\{\s*\})?\s*\^\{\\circ\}\s*C(?![a-zA-Z])", r"\1 degC"),
    ("degree", r"(?<=\d)\s*(?:\\text\{)?\s*degrees?\s+([CcFf])(?:elsius|ahrenheit)\s*\}?$", lambda m: "^{\\circ}" + m[1].upper()),
    ("prime", r"\^\s*\{?\s*\\prime\s*\\prime\s*\}?", "''"), ("prime", r"\^\s*(?:\{\s*\\prime\s*\}|\\prime(?![a-zA-Z]))", "'"),
    ("d", r"\\frac\{d([a-z])\}\{d[a-z]\}(?=\s*=)|(?<![a-z])d([a-z])/d[a-z](?=\s*=)", lambda m: f"{m[1] or m[2]}'"),
    (".", r"(?<=,)\s*\.\.\.\s*(?=,)", r"\\ldots "), ("\\angle", r"(?<![a-zA-Z\\])m\s*\\angle(?![a-zA-Z])", r"\\angle"),
    ("US", r"(?<![a-zA-Z])US(?:D\s*|\\?\$\s*)(?=\d)", "$"),
    ("$", r"(\$\s?\d[\d,]{0,20}(?:\.\d{1,9})?)\s?(?:\\text\s?\{\s?)?([kKmMbB])\}?(?![\w^(\\{=+*/-])", lambda m: f"{m[1]} {_SCALES[m[2].lower()]}"),
    ("Rs", r"(?<![a-zA-Z])Rs\.?\s*(?=\d)", "₹"), ("sq.", r"(?<![a-zA-Z])sq\.\s*(?=[a-z])", "sq "),
    ("m", r"(?<=[\d\s}])((?:[kcmd]?m|in|ft|yd|km))([23])(?![\w.])", r"\1^\2"),
    ("/", r"(?<=[gNJW]/)(c?m)([23])(?![\w.])|(?<=m/)(s)(2)(?![\w.])", lambda m: f"{m[1] or m[3]}^{m[2] or m[4]}"),
    ("ed", r"(?<=[a-z])\s+(squared|cubed)(?![a-z])", lambda m: f"^{2 if m[1] == 'squared' else 3}"),
    ("\\mu", r"(?<=\d)\s*\\mu\s*(?:\\text\{\s*)?([msgLFCAVWNJT])(?![a-zA-Z])\}?", r" u\1"),
    ("\\Omega", r"(?<=\d)\s*([kMmGun]?)\s*\\Omega(?![a-zA-Z])", r" \1ohm"),
    ("and", r"\\text\{([^{}]*?),?\s+and\s*\}", r"\\text{\1} and "),
    ("and", r"(?<=[a-z])(\}?),?\s*(?:and|\\text\{\s*and\s*\})\s*(?=\d+\s*(?:\\text\{\s*)?(?:min|sec|inch|cents?(?![a-z])))", r"\1 "),
]  # fmt: skip


def _compiled(rows: list[tuple[str, str, Replacement]]) -> list[tuple[str, re.Pattern[str], Replacement]]:
    return [(needle, re.compile(pattern), replacement) for needle, pattern, replacement in rows]


_REWRITES, _SPELLINGS = _compiled(_ROWS), _compiled(_RARE)
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


def _rewritten(text: str, rows: list[tuple[str, re.Pattern[str], Replacement]]) -> str:
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
