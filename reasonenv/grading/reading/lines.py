"""The answer of a text without a box: what follows its last marker, its last line, or its value.

A sentence that carries out one computation states its result. On request the only number or formula
of a sentence counts too, unless a word of the guard stands beside it: a guess, which training does
without; benchmarks of models that answer in prose may ask for it.
"""

import re

from reasonenv.grading.parsing.units import MAGNITUDES, UNITS, changes_value
from reasonenv.grading.reading.words import adds, is_guarded, is_of_others, is_withdrawn

_NOUN = r"(?:answers?|solution|result|(?:correct|right|best) (?:option|choice))"
# In the languages of the benchmarks; each ends where the answer begins.
_STATING = (
    rf"\b{_NOUN}"
    r"(?: to [^.\n]{1,60}| for [^.\n]{1,40})?\s++(?:is|are)\b(?! not\b)"
    r"|\bl[ae] (?:respuesta|resposta|risposta|réponse)(?: final| correcta| finale)? (?:es|é|è"
    r"|est)\b"
    r"|\bantwort (?:ist|lautet)\b|答案(?:应该?)?[是为选]|答えは"
    r"|(?:故|所以|因此|应)选(?:项|择)?[是为]?(?=[ \t]{0,3}[:：]?[ \t]{0,3}[$(（*]{0,2}[A-J])"
)
_HEADINGS = (
    r"\banswer\s*+(?:\*\*|__|\})?\s*+[:=：]"
    r"|(?:^|(?<=\n))[ \t#*_]{0,8}(?:the )?(?:final |correct |short )?answers?[ \t*_#]{0,6}(?=\n|$)"
    r"|[【\[]答案[】\]]|答案\s*+(?:\*\*|__|\})?\s*+[:=：]|(?<![解回问作应])答\s*+[:：]"
    r"|(?:^|(?<=\n))[ \t#*_]{0,8}(?:最终|最后的?|正确)?答案[ \t*_#]{0,6}(?=\n|$)"
    r"|\b(?:respuesta|resposta|risposta|réponse|antwort|ответ|jawaban|cevap)"
    r"(?: final\w?)?\s*+(?:\*\*)?\s*+[:：]"
    r"|(?:정답|답|答え)\s*+[:：]|(?:^|(?<=\n))[ \t*]{0,4}####(?!#)"
)
_MARKER = re.compile(
    rf"(?:(?P<sentence>{_STATING})|(?P<heading>{_HEADINGS}))"
    r"(?:\s*+,?+\s*+(?:therefore|thus|hence|then|simply|just|indeed)\b,?)?(?:\*\*|__)?[ \t:：}]*+"
    r"(?:\*\*(?=\s))?",
    re.IGNORECASE,
)


# One of these stands in each marker.
_STEMS = (
    *("answer", "solution", "result", "option", "choice", "respuesta", "resposta", "risposta"),
    *("réponse", "antwort", "ответ", "jawaban", "cevap", "答", "选", "답", "####"),
)


def marked_claim(text: str, start: int = 0) -> str | None:
    """What follows the last marker that is not empty, None without one, "" where it is no claim."""
    folded = text.lower()
    first = min((at for stem in _STEMS if (at := folded.find(stem, start)) >= 0), default=None)
    if first is None:
        return None
    first = text.rfind("\n", start, first) + 1 if len(folded) == len(text) else 0
    end = len(text)
    for marker in reversed(list(_MARKER.finditer(text, max(start, first)))):
        payload = text[marker.end() : end]
        if any(map(str.isalnum, payload)) or "\\" in payload or "∅" in payload:
            line = text[max(start, marker.start() - 80) : marker.start()].rpartition("\n")[2]
            clause = _CLAUSE_END.split(line)[-1]
            if is_of_others(clause) or _is_second(line):
                return ""
            return _claim(payload, marker.lastgroup == "sentence")
        end = marker.start()
    return None


def _is_second(line: str) -> bool:
    """True if a marker adds its answer to another of the same sentence: answer = 3 | answer = 4."""
    first = _MARKER.search(line)
    between = _ARTICLE.sub("", line[first.end() :]) if first else ""
    if not any(map(str.isalnum, between)) or is_guarded(between):
        return False
    return adds(between) or not _CONCLUDES.search(between)


_ARTICLE = re.compile(r"\b(?:the|my|final|correct)\b", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"[.!?]\s|[。！？；]|\b(?:so|therefore|thus|hence|final)\b|所以|因此|故|综上|最终",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.!?。！？\n,，;；>]")
_EXPLANATION = re.compile(
    r"[【\[](?:解析|分析|详解|解答|点评|考点|点睛)[】\]]|(?:^|(?<=\n))\W{0,4}(?:Explanation|解析"
    r"|分析|解释)\W{0,4}[:：]"
)
_REASON = re.compile(
    r"[,;，；]?\s?(?:\bbecause\b|\bsince\b|\bdue to\b|\bas (?=\d|[a-z] ?=)|因为|由于|理由是)"
    r"|[,，]\s?(?:(?:and )?not|而?不是)(?=\s?[-\d$\\])",
    re.IGNORECASE,
)


def _claim(payload: str, is_sentence: bool) -> str:
    """The answer at the start of a payload: a formula of its own, or the first sentence."""
    if explanation := _EXPLANATION.search(payload):
        payload = payload[: explanation.start()]
    payload = _DOTS.sub("", payload.lstrip(" \t\r\n_:：").removeprefix("** "))
    if parts := numbered_parts(payload):
        return parts
    claim = _formula(payload) or _first_sentence(payload)
    rest = payload[len(claim) :].lstrip(" .。*\n")
    if is_withdrawn(claim, rest):
        return ""
    if is_sentence:
        claim = _REASON.split(claim, maxsplit=1)[0]
    return bare(claim)


_DOTS = re.compile(r"\A(?:\.{2,}|…)+\s*")
_FORMULAS = (("\\[", "\\]"), ("$$", "$$"), ("\\(", "\\)"))


def _formula(text: str) -> str | None:
    """The formula on lines of its own that a text starts with, or after a line with a colon."""
    line, _, rest = text.partition("\n")
    if line.rstrip().endswith((":", "：")) and rest.strip():
        text = rest.lstrip()
    for opening, closing in _FORMULAS:
        if text.startswith(opening) and (end := text.find(closing, len(opening))) >= 0:
            tail = text[end + len(closing) :].partition("\n")[0]
            return None if any(map(str.isalnum, tail)) else text[: end + len(closing)]
    return None


# A sign of joy ends a sentence, a factorial does not: "42! That is it." but "5! = 120".
_SENTENCE_END = re.compile(
    r"\.(?=\s|\*\*|$)|[!?](?=\s*\Z|[ \t]*\n|\*\*|\s+[A-Z][a-z])|[。！？；]|\n+"
)
# Full stops of abbreviations and of the letter of a choice: "approx. 5", "A. 31".
_ABBREVIATION = re.compile(
    r"(?:^|[\s(.])(?:[A-Ja-z]|approx|no|eq|fig|e\.g|i\.e|cf|vs|dr|mr|mrs|st)$", re.IGNORECASE
)
# The letter of a choice, where a sentence of its own follows it: "B. Note that A is ...".
_REMARK = re.compile(
    r"\s{1,9}[*(（]{0,4}(?:[A-Z][a-z]+\s+(?:[A-J]|that|you|is|are|was)\b|(?:This|It|We|Since|Because)\b"
    r"|[A-J]\s(?:is|and|are)\b)|\s{0,9}[（(]"
)


def _first_sentence(text: str) -> str:
    """The first sentence of a text, of which a line is the most."""
    for end in _SENTENCE_END.finditer(text):
        before = text[: end.start()]
        if not before.strip():
            continue
        is_abbreviated = end[0] == "." and _ABBREVIATION.search(before[-8:])
        if not is_abbreviated or _REMARK.match(text, end.end()):
            return before
    return text


def bare(text: str) -> str:
    """A claim without the signs around it: blanks, bold type, the full stop."""
    text = text.replace("**", "").strip(" \t\r\n*_").rstrip(" .。．\n*")
    if text.startswith("__"):
        text = text.strip("_ ")
    return text[:-1].rstrip() if text.count("$") % 2 and text.endswith("$") else text


_LABEL = re.compile(
    r"(?:^|(?<=[\n;；，,、。]))[ \t*]{0,4}[(（](?:\d|[a-h]|i{1,3}|iv|v)[)）][ \t*:：.]*"
)


def numbered_parts(text: str) -> str | None:
    """Answers to the numbered parts of a question as a list; None if the text has no such parts."""
    if not _LABEL.match(text):
        return None
    paragraph = text.partition("\n\n")[0]
    parts = [part.strip(" \t\n;；，,、。.*") for part in _LABEL.split(paragraph)]
    return ", ".join(part for part in parts if part) if len(parts) > 2 else None


def last_line(text: str) -> str:
    """The last line, or the formula on lines of its own that ends the text."""
    text = text.strip()
    for opening, closing in _FORMULAS:
        if text.endswith(closing):
            start = text.rfind(opening, 0, len(text) - len(closing))
            if start >= 0:
                return text[start:]
    before, _, line = text.rpartition("\n")
    previous = before.rstrip().rpartition("\n")[2]
    if before and not _HAS_WORDS.search(previous):
        return text  # a list of values
    return bare(_CHECK.sub("", line.lstrip("#>• \t")))


_CHECK = re.compile(r"(?<=[.。])\s?(?:Check|Verify|Verification|验算|检验)[:：].*")
_HAS_WORDS = re.compile(r"[a-zA-Z]{2}|[\u4e00-\u9fff]{2}|=")
# A subject and its verb before a claim: The area is 12; 面积是12.
_SUBJECT = re.compile(
    r"\A([^.!?。！？\d\\$=<>]{0,120}?)"
    r"(?:\b(?:is|are|was|were|equals?|gives?|makes?|made|has|have|had|costs?|weighs?|measures?"
    r"|contains?|holds?|takes|gets?|got|needs?|earns?|pays?|paid|saves?|spent|sold|reads?|left"
    r"|remains?|ends at|comes to|totals|becomes)(?:\sequal to\b|\sexactly\b|\sa total of\b)?:?\s+"
    r"|(?<=[a-z]{3}\s)=\s*|[是为得有了共要剩花用：:]|等于)(?=[^.!?。！？]*\Z|[-+$\\(]?[\d$\\])"
)
# A computation before its value: 3 + 6 equals 9.
_COMPUTATION = re.compile(
    r"[-+*/×·÷−(\d][-+*/×·÷−()\d., $\\]{0,60}?\s(?:equals?|is|are|makes?|gives?)(?:\sequal to)?\s"
    r"(?=[-$\\(]?[\d$\\])"
)
_WORDS = re.compile(r"[a-zA-Z]{2}|[\u4e00-\u9fff]")
_NAME = re.compile(r"\$([a-zA-Z]{1,8}(?:\([a-z]\))?)\$(?=\s[a-z])")
_TOTAL = re.compile(r",?\s(?:altogether|in total|in all)\Z")
_CONCLUSION = re.compile(
    r"\A(?:so|therefore|thus|hence|finally|then|in total|altogether|we find that"
    r"|所以|因此|故|综上|因而|则)[,，\s]*",
    re.IGNORECASE,
)


def predicate(text: str) -> str | None:
    """What a sentence states of its subject; None for no sentence, or one with guarded words."""
    is_concluded = _CONCLUSION.match(text) is not None
    text = _TOTAL.sub("", _CONCLUSION.sub("", _NAME.sub(r"\1", text)))
    if computation := _COMPUTATION.match(text):
        return text[computation.end() :].strip()
    match = _SUBJECT.match(text)
    if match is None:
        return text if is_concluded and not _WORDS.match(text) else None
    statement = text[match.end() :].strip()
    return None if is_guarded(match[1]) or statement.startswith("not ") else statement


_VALUE = re.compile(
    r"\$[^$]{1,120}\$|\\\([^()]{1,120}\\\)"
    r"|[-−]?[$€£¥]?(?<![\w.,/])\d{1,20}(?:,\d{3})*(?:\.\d{1,20})?(?:/\d{1,20})?%?"
)
# One computation that is carried out: 7 + 8 = 15; 7 + 8, which equals 15; 3 times 4 is 12.
_COMPUTED = re.compile(
    r"(?:^|(?<=[a-zA-Z]{2} )|(?<=[,:;] ))\d{1,9}(?: ?(?:[-+*/×÷−x]|times|plus|minus) ?\d{1,9}){1,3}"
    r"(?:,? which)? ?(?:=|equals|is(?: equal to)?) ?(?P<value>\d{1,20}(?:\.\d{1,20})?)"
    r"(?![\w/%^!]|\.\d)"
)
_RESULT = re.compile(r"\d{1,20}(?:\.\d{1,20})?")
_NUMBER = re.compile(r"\d")
_CONCLUDING = re.compile(r"(?:so|therefore|thus|hence|then)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_UNIT = re.compile(r"\s?([a-zA-Z]+|[\u4e00-\u9fff]{1,2})")
_NUMBERED = re.compile(r"(?:step|part|problem|question|case|figure|page|room|grade|第)\s?\Z", re.I)
_MAX_SENTENCE = 400


def computed_value(line: str) -> str | None:
    """The result of the only computation of a sentence that is a line, or concludes one."""
    *earlier, last = [part for part in _SENTENCE.split(line[-_MAX_SENTENCE:]) if part.strip()] or [
        ""
    ]
    matches = list(_COMPUTED.finditer(last))
    if len(matches) != 1 or _NUMBER.search(last, matches[0].end()):
        return None
    before = last[: matches[0].start()]
    if is_guarded(before) or "=" in before or (earlier and not _CONCLUDING.match(last)):
        return None
    return _stated(last, list(_RESULT.finditer(last, matches[0].start("value"))))


def stated_value(text: str) -> str | None:
    """The only value of the last sentence with one; None without one, or with several."""
    for sentence in reversed(_SENTENCE.split(text[-_MAX_SENTENCE:])):
        values = list(_VALUE.finditer(sentence.replace("**", "")))
        if values:
            return _stated(sentence.replace("**", ""), values)
    return None


def _stated(sentence: str, values: list[re.Match[str]]) -> str | None:
    value = values[-1]
    before, after = sentence[: value.start()], sentence[value.end() :]
    if len({each[0] for each in values}) > 1 or is_guarded(before) or is_guarded(after):
        return None
    if _NUMBERED.search(before) or changes_value(after.strip().partition(" ")[0]):
        return None
    word = _UNIT.match(after)
    is_unit = word is not None and (word[1] in UNITS or word[1].lower() in MAGNITUDES)
    return value[0] + (word[0] if word is not None and is_unit else "")


# At the end of a line: bold, or a display formula.
_EMPHASIZED = re.compile(r"(?:\*\*([^*\n]{1,80})\*\*|\\\[([^\n]{1,200})\\\])[.。]?\Z")


def emphasized(text: str) -> str | None:
    """The only bold text or display formula of the last line, which ends with it."""
    line = text.rpartition("\n")[2][-_MAX_SENTENCE:]
    match = _EMPHASIZED.search(line)
    if match is None or line.count("**") > 2 or not match.start():
        return None
    before = _SENTENCE.split(line[: match.start()])[-1]
    return None if is_of_others(before) or adds(before) else match[1] or match[2]
