"""The formula that the end of a sentence states after a verb: "the line is y = 2x", 解集为x>3."""

import re

from reasonenv.grading.extraction.qualifiers import has_qualifier
from reasonenv.grading.extraction.sentences import CONCLUSION, sentence_spans

_MAX_LENGTH = 400
_ENDS = " \t\n.。．!！*"
_NUMBER = r"[-−]?\d{1,20}(?:[./]\d{1,20})?"
_CHINESE_SIGNS = {
    "大于等于": ">=", "大于或等于": ">=", "不小于": ">=", "小于等于": "<=", "小于或等于": "<=",
    "不大于": "<=", "大于": ">", "小于": "<",
}  # fmt: skip
_COMPARISON = re.compile(
    r"\$?([a-zA-Z])\$?(?:\s?(?P<zh>" + "|".join(_CHINESE_SIGNS) + r")\s?|\s(?:is|must be)\s"
    r"(?P<en>less|smaller|greater|larger|more|at least|at most)(?P<than>\sthan)?"
    rf"(?P<equal>\sor\sequal\sto)?\s)(?P<value>{_NUMBER})"
)
# The text up to its last Chinese character, where those between formulas count as signs.
_BETWEEN = re.compile(r"(?<=[\d)）}\]a-zA-Z%])\s?(或者?|且|比)\s?(?=[-−\d(（\[{$a-zA-Z])")
_SIGNS = {"或": " or ", "或者": " or ", "且": " and ", "比": ":"}
_CHINESE = re.compile("[\u4e00-\u9fff]")
_STATES = re.compile(r"(?:[是为]|等于|解之?得)\Z")
_SOLVED = re.compile(r"解之?得")
_CONCLUDES = re.compile("∴|所以|因此|故")
_CONDITION = re.compile(r"当[^，,。当]{1,40}时[，,]?")
# What another says or the problem gives, in any part of the sentence.
_REPORT = re.compile(
    "错|未(?!知)|误(?!差)|说(?!明)|[认以]为|觉得|并非|有人|(?<!所)有的|原来|若|如果|假[设如]|看[成作]"
    "|题[目中][的给]"
)
_CLAIM = re.compile(r"[\d=<>≤≥]")
# Digits in names of points, angles and lines.
_NAME = re.compile(r"∠\s?\d{1,2}|[a-zA-Z]_?\d{1,2}")
_WORD = re.compile(r"(?<![\\a-zA-Z])(?!and\b|sin|cos|tan|log)[a-zA-Z]{3,}|[?？]")
_CHEMICAL = re.compile(r"(?:[A-Z][a-z]?\d{0,2}|[()]){2,12}")


def stated_formula(prose: str) -> str | None:
    """The formula at the end of prose that its last sentence states; None if it is not clear."""
    text = prose.strip(_ENDS)
    if len(text) > _MAX_LENGTH:
        return None
    return _comparison(text) or _chinese(_BETWEEN.sub(lambda match: _SIGNS[match[1]], text))


def _is_chemical(text: str) -> bool:
    """True if a text looks like the formula of a compound, H2SO4."""
    has_parts = any(map(str.isdigit, text)) or sum(map(str.isupper, text)) > 1
    return has_parts and _CHEMICAL.fullmatch(text) is not None


def _end_of_last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.end() for match in pattern.finditer(text)), default=0)


def _comparison(text: str) -> str | None:
    """A comparison in words as a formula, x is at least 7."""
    match = _COMPARISON.fullmatch(text)
    if match is None:
        return None
    if sign := match["zh"]:
        return f"{match[1]}{_CHINESE_SIGNS[sign]}{match['value']}"
    if match["en"].startswith("at") == bool(match["than"]):
        return None
    sign = {"at least": ">=", "at most": "<=", "less": "<", "smaller": "<"}.get(match["en"], ">")
    return f"{match[1]}{sign}{'=' if match['equal'] else ''}{match['value']}"


def _chinese(text: str) -> str | None:
    end = _end_of_last(_CHINESE, text)
    head, formula = text[:end], text[end:].strip(" :：$")
    if not _STATES.search(head) or not _is_formula(formula) or "$" in formula:
        return None
    if _REPORT.search(head):
        return None
    solved = len(_SOLVED.findall(head))
    if solved == 1 and _SOLVED.search(head, end - 3):
        return None if has_qualifier(_CLAUSE_SIGN.split(head)[-1]) else formula
    words = _NAME.sub("X", _CONDITION.sub("", _last_sentence(head)))
    if solved or _CLAIM.search(words) or has_qualifier(words) or is_premise(words):
        return None
    return formula


def _is_formula(text: str) -> bool:
    if not text or _WORD.search(text):
        return _is_chemical(text)
    return any(map(str.isdigit, text)) or (len(text) > 2 and any(sign in text for sign in "=<>≤≥∞"))


def _last_sentence(head: str) -> str:
    """The words before a formula from the last sign of a conclusion on; else all of them."""
    if end := _end_of_last(_CONCLUDES, head):
        return head[end:]
    start, _ = sentence_spans(head)[-1]
    return head[start:] if CONCLUSION.match(head[start:]) else head


_CLAUSE_SIGN = re.compile("[，,。；;：:∴∵\n]")
_PREMISE = re.compile(
    r"\s{0,4}(?:(?:不妨)?(?:设|令|若|已知|给[定出]|当|如果|假[设如]|题[目设中])|(?!我)[^设]{1,12}[认以]为"
    r"|(?:let|given that|consider|suppose)\b)",
    re.IGNORECASE,
)


def is_premise(words: str) -> bool:
    """True if the last clause of some words before a formula assumes or reports it."""
    return _PREMISE.match(_CLAUSE_SIGN.split(words)[-1]) is not None


SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|\n\s*\n")
"""Ends of sentences and of paragraphs."""
_CLAUSE = re.compile(
    r"\A(?:.*[\s)])?(?:(?:is|are|equals)(?:\s(?:about|approximately|exactly|given by|equal to"
    r"|(?:located\s)?at))?"
    r"|ha(?:s|ve)\s(?:the\s|an\s)?(?:equation|form|coordinates)):?\s+(\S.*)",
    re.DOTALL,
)
_OTHER_WORD = re.compile(r"(?!and|sin|cos|tan|log)[a-zA-Z]{3,}|[?$\\]|不")
_RATIO = re.compile(r"\A(\d{1,20}) to (\d{1,20})\Z")


def last_clause(prose: str) -> str | None:
    """Formula without dollars that the last sentence states; None if it states none."""
    sentence = SENTENCE_END.split(prose.strip().rstrip("."))[-1]
    match = _CLAUSE.fullmatch(sentence)
    if match is None or has_qualifier(sentence[: match.start(1)]):
        return None
    formula = match[1].strip()
    if formula.startswith("$") and formula.endswith("$"):
        formula = formula[1:-1]
    if _is_chemical(formula):
        return formula
    if ratio := _RATIO.fullmatch(formula):
        return f"{ratio[1]}:{ratio[2]}" if "ratio" in sentence else None
    if _OTHER_WORD.search(formula) or not any(map(str.isdigit, formula)):
        return None
    is_formula = formula[0] in "+-−" or any(sign in formula for sign in "([{=:^<>≤≥")
    return formula if is_formula else None
