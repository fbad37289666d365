r"""Markers of an answer, and the text that belongs to each."""

import re

from reasonenv.grading.extraction.boxes import joined
from reasonenv.grading.extraction.retractions import later_claim
from reasonenv.grading.extraction.sentences import (
    CONCLUSION,
    NO_CHECK,
    first_claim,
    has_correction,
    sentence_spans,
    without_reason,
)
from reasonenv.grading.words.text import is_prose

# "his answer is 4" marks what another says.
_OTHERS = "".join(
    rf"(?<!{word} )"
    for word in "your his her their 's wrong other another previous old incorrect manual".split()  # noqa: SIM905 - a list of words
)
# "Tom says the answer is 4" and "it is false that the answer is 4" state nothing.
_CLAIMS = """claims claimed says said thinks thought believes believed guesses guessed false untrue
    incorrect unlikely doubtful doubt deny denies denied""".split()  # noqa: SIM905 - a list of words
_CLAIMANTS = "".join(
    rf"(?<!{verb} {that}the )"
    for verb in (*_CLAIMS, "not true", "not so", "not correct")
    for that in ("", "that ")
)
_OTHERS_ZH = "".join(
    rf"(?<!{word})" for word in ("书上的", "他的", "她的", "同学的", "书中的", "错误")
)
_SENTENCES = (
    # GSM8K few-shot, MMLU-Pro, Minerva
    rf"\b(?=answer){_OTHERS}{_CLAIMANTS}answers?\s++(?:is|are)\b",
    r"\b(?:correct|right|best)\s+(?:option|choice)\s+is\b",
    r"\bl[ae] (?:respuesta|resposta|risposta|réponse)(?: final| correcta| finale)? (?:es|é|è"
    r"|est)\b",
    r"\bantwort (?:ist|lautet)\b",
    rf"{_OTHERS_ZH}答案(?:应该?)?[是为]",
    # multiple choice of the gaokao
    r"(?:故|所以|因此|(?<!不)应)选(?:项|择)?[是为]?(?=[ \t]{0,3}[:：]?[ \t]{0,3}[$(（*]{0,2}[A-J])",
    r"答えは",
)
_HEADINGS = (
    # OpenAI's simple-evals, LaTeX and Markdown.
    rf"\b(?=answer){_OTHERS}(?:(?<!the )answers|answer)\s*+(?:\*\*|__|\}})?+\s*+[:=：]",
    r"(?:^|(?<=\n))[ \t#*_]{0,8}(?:the )?(?:final |correct |short )?answers?[ \t*_#]{0,6}(?=\n|$)",
    rf"{_OTHERS_ZH}答案\s*+(?:\*\*|__|\}})?+\s*+[:=：]",
    r"[【\[]答案[】\]]",  # GAOKAO-Bench
    r"(?:^|(?<=\n))[ \t#*_]{0,8}(?:最终|最后的?|正确)?答案[ \t*_#]{0,6}(?=\n|$)",
    r"(?<![解回问作应])答\s*+[:：]",
    r"\b(?:respuesta|resposta|risposta|réponse|antwort|ответ|jawaban"
    r"|cevap)(?: final\w?)?\s*+(?:\*\*)?\s*+[:：]",
    r"(?:정답|답|答え)\s*+[:：]",
)
_GSM8K = re.compile(
    r"(?:^|(?<=\n))[ \t*]{0,4}####[ \t]*+(?:\*\*)?(?=\\?[$€£]?\s?-?(?:[\d,]{1,30}(?:[./]\d{1,30})?"
    r"|\.\d{1,30})%?"
    r"(?: [a-z]{1,20}){0,3}\.?[ \t*]{0,9}(?=\n|$)|\$[^$\n]{1,60}\$[ \t]{0,9}(?=\n|$)"
    r"|-?[\d.,/]{1,30} or |[A-J][ \t]{0,9}(?=\n|$)|[A-Z]{2,8}[ \t\n]{0,9}\Z|\\[a-z])"
)
_MARKER = re.compile(
    rf"(?:(?P<sentence>{'|'.join(_SENTENCES)})|(?P<heading>{'|'.join(_HEADINGS)}))"
    r"(?:\s*+,?+\s*+(?:therefore|thus|hence|then|simply|just|indeed)\b,?)?(?:\*\*"
    r"|__)?+[ \t:：}]*+(?:\*\*(?=\s))?+",
    re.IGNORECASE,
)
# What explains an answer after it, in Chinese answer keys.
_EXPLANATION = re.compile(
    r"[【\[](?:解析|分析|详解|解答|点评|考点|点睛)[】\]]|(?:^|(?<=\n))\W{0,4}(?:Explanation|解析"
    r"|分析|解释)\W{0,4}[:：]"
)
_CONCLUDES = re.compile(
    rf"(?:{CONCLUSION.pattern})|\b(?:so|therefore|thus|hence|final)\b|所以|因此|故|综上|最终",
    re.IGNORECASE,
)


# "Some people say the answer is 12" marks what others say, "I think the answer is 12" does not.
_REPORTED = re.compile(
    r"\b(?:people|students?|some|many|most|others|they|everyone|everybody|someone|somebody|you)\s"
    r"(?:(?:of (?:them|us)|may|might|will|would|could|often|also)\s){0,2}(?:say|think|believe|claim"
    r"|guess|argue|assume|expect|answer|conclude|feel)s?\s(?:that\s)?the\s"
    r"(?:correct\s|right\s|final\s)?\Z",
    re.IGNORECASE,
)


def marked_answer(text: str) -> tuple[str | None, str]:
    """The text after the last marker that is not empty, or None; and what stands before it.

    Without an answer that is the whole text up to the markers at its end, which are empty.
    """
    matches = [match for match in _MARKER.finditer(text) if not _is_reported(text, match.start())]
    if "####" in text:
        matches = sorted([*matches, *_GSM8K.finditer(text)], key=lambda match: match.start())
    end = len(text)
    for index in reversed(range(len(matches))):
        match = matches[index]
        if answer := _payload(text[match.end() : end], match):
            first = _first_of_line(matches, index, text)
            if first < index:
                answer = _payload(text[matches[first].end() : end], None)
            return answer, text
        end = match.start()
    return None, text[:end] if end == len(text) else _before_sentence(text[:end])


def _is_reported(text: str, start: int) -> bool:
    """True if a marker at a place is part of what others say."""
    return _REPORTED.search(text, max(0, start - 80), start) is not None


def _before_sentence(text: str) -> str:
    """The text without the sentence, or the line, that breaks off at its end."""
    head, _, line = text.rpartition("\n")
    return head + line[: sentence_spans(line)[-1][0]]


def _first_of_line(matches: list[re.Match[str]], index: int, text: str) -> int:
    """Index of the first marker that states an answer beside this one, neither concluding."""
    while index:
        before, match = matches[index - 1], matches[index]
        between = text[before.end() : match.start()]
        if (
            before.lastgroup != match.lastgroup
            or "\n" in between.strip()
            or "\n" in between
            or not any(map(str.isalnum, between))
            or _CONCLUDES.search(between)
            or has_correction(between)
        ):
            break
        index -= 1
    return index


def _payload(text: str, marker: re.Match[str] | None) -> str:
    """The answer that follows a marker, "" if none does."""
    if explanation := _EXPLANATION.search(text):
        text = text[: explanation.start()]
    text = text.lstrip(" \t\r\n*_:：") if not text.lstrip().startswith("**") else text.lstrip()
    text = _DOTS.sub("", text)
    if not any(map(str.isalnum, text[:40])) and not any(map(str.isalnum, text)):
        return "" if "\\" not in text and "∅" not in text else text.strip()
    answer = numbered_parts(text) or _block(text)
    if (claim := later_claim(text)) is not None:
        return claim
    if marker is None or "\n" in answer:
        return answer
    rest = text[len(answer) :].lstrip(" .。*\n")
    if rest and _CORRECTS.match(rest):
        return f"{answer} {rest}"
    if marker.lastgroup == "sentence" or not is_prose(first_claim(answer)):
        answer = first_claim(answer)
    answer = _without_remark_in_brackets(without_reason(answer))
    if answer.count("$") % 2 and answer.endswith("$"):
        answer = answer[:-1].rstrip()
    return answer[:-1].rstrip() if answer.endswith((".", "。", "．")) else answer


_DOTS = re.compile(r"\A(?:\.{2,}|…)+\s*")
_CORRECTS = re.compile(
    rf"\W{{0,4}}(?:(?:no,? )?wait\b{NO_CHECK}|(?:correction|actually|sorry|oops|edit(?=:)|更正|纠正"
    r"|等等|不对)\b)",
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"(?<=[\w}$*%])\s+[(（](?=[^()（）]*[a-zA-Z]{3})(?=[^()（）]*\d)(?![^()（）]*\b(?:mod|or|about"
    r"|approximately|sure))[^()（）]{3,120}[)）]"
)


def _without_remark_in_brackets(text: str) -> str:
    return _BRACKET.sub("", text)


# Lines that end in a colon at most, before the line of the answer.
_MAX_HEADINGS = 8


def _block(text: str) -> str:
    """The first line, or all lines of the formula that starts there or follows a colon."""
    headings: list[str] = []
    while (formula := _formula_block(text)) is None:
        line, _, rest = text.partition("\n")
        is_heading = line.rstrip().endswith((":", "：")) and rest.strip()
        if not is_heading or len(headings) == _MAX_HEADINGS:
            return "\n".join([*headings, line.strip()])
        headings.append(line)
        text = rest.lstrip()
    return "\n".join([*headings, formula])


def _formula_block(text: str) -> str | None:
    """The lines of the formula that a text starts with, and what follows it on the last of them."""
    for opening, closing in (("\\[", "\\]"), ("$$", "$$"), ("\\(", "\\)")):
        if text.startswith(opening) and (end := text.find(closing, len(opening))) >= 0:
            tail = text[end + len(closing) :].partition("\n")[0]
            return text[: end + len(closing)] + (tail if any(map(str.isalnum, tail)) else "")
    return None


_LABEL = re.compile(
    r"(?:^|(?<=[\n;；，,、。]))[ \t*]{0,4}[(（](?:\d|[a-h]|i{1,3}|iv|v)[)）][ \t*:：.]*"
)


def numbered_parts(text: str) -> str | None:
    """Answers to the numbered parts of a question as a list; None if the text has no such parts."""
    if not _LABEL.match(text):
        return None
    paragraph = text.partition("\n\n")[0]
    parts = [part.strip(" \t\n;；，,、。.*") for part in _LABEL.split(paragraph)]
    return joined(parts) if len(parts) > 2 else None
