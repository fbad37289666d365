r"""Extraction of the final answer from a response. Linear in its length; never from the reasoning.

Rules, in order:

- Only the last `<answer>` section counts; without one, the text after `</think>`. Of more than
  20,000 characters only a box among the last ones counts.
- In that section the last `\boxed{}` is the answer. Boxes that stand in one enumeration, "\boxed{1}
  and \boxed{2}", are one answer with two parts, so that candidates cannot be listed.
- Without a box it is the text after the last "the answer is" or "Answer:".
- Without that it is the whole section, or the last line if there was no `<answer>`.
- In prose, `prose_answer` takes the last formula, or the last number if there is none, with all
  that is enumerated with it: "7 or 8" is not 8.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from reasonenv.grading.parsing.suffixes import next_word_changes
from reasonenv.grading.parsing.units import UNITS

_PHRASE = re.compile(
    r"(?:\banswers?\s++(?:is|are)\b|\banswer\s*+(?:\*\*)?+\s*+[:=：]|答案[是为：:])"
    r"(?:\*\*)?+[ \t:：]*+",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\boxed\s+(\S+)")
_MARKUP = re.compile(r"<\|[^|<>]{1,40}\|>?|I hope (?:it|this) is correct\.?|\|eot_id\|>|</?s>")


_MAX_LENGTH = 20_000


def final_answer(response: str) -> str | None:
    """The final answer as written, or None; by the rules above."""
    text, tagged = answer_section(response)
    is_long = len(text) > _MAX_LENGTH
    text = _MARKUP.sub("", text[-_MAX_LENGTH:])
    boxes = last_boxes(text)
    if boxes or is_long:
        return _joined(boxes)
    phrases = list(_PHRASE.finditer(text))
    if phrases and (rest := _first_line(text[phrases[-1].end() :])):
        return rest
    lines = text.strip() if tagged else text.strip().rpartition("\n")[2]
    return lines.strip() or None


def solution_answer(reference: str) -> str:
    """The answer in a reference: the box of a worked solution, the whole of any other text."""
    if "\\boxed" in reference or "\\fbox" in reference or "answer is" in reference:
        return _parsed_solution(reference)
    return reference


@lru_cache(maxsize=1024)
def _parsed_solution(text: str) -> str:
    return final_answer(_ADJACENT.sub("}, ", text)) or text


_ADJACENT = re.compile(r"\}(?=\s*\\boxed)")


def answer_section(response: str) -> tuple[str, bool]:
    """The part of a response that may hold the answer, and True if it has an <answer> tag."""
    start = response.rfind("<answer>")
    text = response if start < 0 else response[start + len("<answer>") :].partition("</answer>")[0]
    text = text.rpartition("</think>")[2].partition("<think>")[0]
    return text, start >= 0


def last_boxes(text: str) -> list[str]:
    r"""Contents of the last \boxed{} and of those before it in the same enumeration, in order."""
    spans: list[tuple[int, int, int]] = []
    limit = len(text)
    for match in reversed(list(_BOX.finditer(text))):
        end = _closing_brace(text, match.end(), limit)
        if end is None:
            # A box that never closes is inside no other; a search past it for each of 10^5
            # openings would take quadratic time.
            limit = match.start()
            continue
        if spans and not joins_answers(text[end + 1 : spans[0][0]]):
            break
        spans.insert(0, (match.start(), match.end(), end))
        limit = match.start()
    if spans:
        return [text[start:end] for _, start, end in spans]
    bare = _BARE_BOX.search(text)
    return [bare.group(1)] if bare else []


_CONNECTOR = re.compile(r"[,;、，；]|\b(?:and|or)\b|和|或|及")
_BREAK = re.compile(
    r"[.。!?？:\n\d=是为得]|因此|所以|\b(?:no|not|wait|actually|then|but|instead|so|thus|hence|therefore|which|is)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\\\(|\\\)|\\q?quad|\\text|[${}\\]|[a-zA-Z](?:_\{?\w\}?)?\s*=|\(\w\)")


def joins_answers(gap: str) -> bool:
    """True if the text between two answers makes them two parts of one."""
    if len(gap) > 60:
        return False
    words = _NAMES.sub(" ", gap)
    return _CONNECTOR.search(words) is not None and _BREAK.search(words) is None


def _joined(parts: Sequence[str]) -> str | None:
    return ", ".join(part.strip() for part in parts if part.strip()) or None


def _closing_brace(text: str, start: int, limit: int) -> int | None:
    """Index before `limit` of the brace that closes the one just before `start`; None if none."""
    depth = 1
    for match in _BRACE.finditer(text, start, limit):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return match.start()
    return None


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0].strip()
    return line[:-1].rstrip() if line.endswith((".", "。")) else line


_FORMULA = re.compile(
    r"\$\$([^$]+)\$\$|\$([^$\n]+)\$|\\\(((?:(?!\\\().){1,300}?)\\\)|\\\[((?:(?!\\\[).){1,300}?)\\\]",
    re.DOTALL,
)
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_NUMBER = re.compile(
    r"(?<![a-zA-Z0-9_.&^*/\\{])[-−]?[$€£]?\d[\d,]{0,30}(?:\.\d{1,30})?(?:\s?/\s?\d{1,20})?"
    r"(?:\s?(?:%|°|percent|pct|degrees?))?"
)
_QUALIFIER = re.compile(
    r"\b(?:not|cannot|never|neither|nor|none|no|but|except|although|unless|whether|if|wrong"
    r"|incorrect|false|less|more|least|most|greater|fewer|smaller|larger|than|between|near|nearly"
    r"|almost|under|over|above|below|half|third|quarter|twice|double|triple|(?<!\\)times|root"
    r"|square of|squared|cube of|cubed|factorial|minus|negative|opposite|inverse|reciprocal"
    r"|reference|say|said|maybe|perhaps|either|all|every|up to|hardly|scarcely|unlikely|doubt"
    r"|question|[a-z]+(?:fth|[nxv]th|ndredth|ghth|nth)s?|halves|thirds|quarters)\b|n't\b|不(?!同|相[同等])|非(?![负零空])",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\bor\b|\band\b|otherwise|或", re.IGNORECASE)
# What may stand right before an answer: a word that says what something is, or nothing.
_COPULA = re.compile(
    r"(?:^|[:=：]|[是为有得即共]|\b(?:is|are|be|was|equals?|that|therefore|thus|hence|so|then|finally"
    r"|answer|gets?|gives?|gave|have|has|had|find|found|obtain|exactly|simply|just|only|yields?"
    r"|takes?|took|paid|pays?|spent|needs?|costs?|earns?|makes?|measures?|weighs?|contains?|totals?|requires?|est|ist"
    r"|es|は|(?:increase|decrease|grow|rise|fall)s?\sby))(?:\s(?:a|an|the|just|only|exactly|about|approximately|roughly"
    r"|around))?[\s*$(\[},≈]*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?。！？](?=\s|$)|\n\s*\n")
_PROSE = 2000
# What a sentence adds to an answer: "12, attained at x = 3", without another statement in it.
_TAIL = re.compile(
    r",?\s(?:when|where|attained|achieved|with equality)\b"
    r"(?:(?!\b(?:is|are|was|be|but|or|and|not|otherwise)\b)[^.;]){0,80}+\.?\s*+$"
)
_CLAUSE = re.compile(
    r"\A(?:.*[\s)])?(?:is|are|equals)(?:\s(?:about|approximately|exactly|given by|equal to))?:?"
    r"\s+(\S.*)",
    re.DOTALL,
)
_WORD = re.compile(r"(?!and|sin|cos|tan|log)[a-zA-Z]{3,}|[?$\\]|不")
_RAISED = re.compile(r"(?<=[a-z])\s?\$\s?\^\s?\{?([23])\}?\s?\$")
_UNIT = re.compile(
    r"\s?((?:square |cubic |sq )?([a-zA-Zμ°]{1,12})(?:\^\{?[23]\}?|[²³])?"
    r"(?:(?:/| per )[a-z]{1,7}(?:\^\{?2\}?|²)?)?)(?![a-zA-Z])"
)


def prose_answer(prose: str) -> str | None:
    """The last formula or number of prose, with all that is enumerated with it; None if unclear.

    The words before it must state it as a value, "is 7", "we get 7", "x = 7", unlike "multiples of
    7"; and no word around it may change it: "not 7", "7 squared", "8, although many would say 7".

    Args:
        prose: An answer that is no formula; only the end of a long one is searched.
    """
    prose = _RAISED.sub(r"^\1", prose[-_PROSE:])
    if (shortened := _TAIL.sub("", prose)) != prose and any(map(str.isdigit, shortened)):
        prose = shortened
    if (formula := _last_clause(prose)) is not None:
        return formula
    bold = [match for match in _BOLD.finditer(prose) if any(map(str.isdigit, match[1]))]
    formulas = bold[-1:] or list(_FORMULA.finditer(prose))
    numbers = [] if bold else _NUMBER.finditer(_FORMULA.sub(_blank, prose))
    return _last_enumeration(prose, sorted([*formulas, *numbers], key=lambda match: match.start()))


def _last_clause(prose: str) -> str | None:
    """Formula without dollars that the last sentence states; None if it states none."""
    sentence = _SENTENCE.split(prose.strip().rstrip("."))[-1]
    match = _CLAUSE.fullmatch(sentence)
    if match is None or has_qualifier(sentence[: match.start(1)]) or _WORD.search(match[1]):
        return None
    is_formula = any(sign in match[1] for sign in "([{=:^") and any(map(str.isdigit, match[1]))
    return match[1] if is_formula else None


def _unit(after: str) -> str:
    """The unit after a number in prose, "" if there is none."""
    match = _UNIT.match(after)
    return f" {match[1]}" if match and match[2] in UNITS and match[2] not in ("in", "a") else ""


def has_qualifier(words: str) -> bool:
    """True if words around an answer change its value."""
    return _QUALIFIER.search(words) is not None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _last_enumeration(prose: str, matches: Sequence[re.Match[str]]) -> str | None:
    """The last match, with those before it in the same enumeration."""
    if not matches:
        return None
    first = len(matches) - 1
    while first and joins_answers(prose[matches[first - 1].end() : matches[first].start()]):
        first -= 1
    before = _SENTENCE.split(prose[: matches[first].start()])[-1]
    after = _SENTENCE.split(prose[matches[-1].end() :], maxsplit=1)[0]
    if prose[matches[-1].end() :].lstrip()[:1] in ("?", "？"):
        return None
    between = _SENTENCE.split(
        prose[matches[first - 1].end() if first else 0 : matches[first].start()]
    )
    if has_qualifier(between[-1]) or has_qualifier(after) or _AFTER.search(after):
        return None
    if next_word_changes(after):
        return None
    if not _COPULA.search(before) and not matches[first][0].startswith("**"):
        return None
    unit = _unit(prose[matches[-1].end() :])
    return (_joined([_inner(match) for match in matches[first:]]) or "") + unit


def _inner(match: re.Match[str]) -> str:
    inner = next((group for group in match.groups() if group), match[0])
    return inner.strip(" .:,")
