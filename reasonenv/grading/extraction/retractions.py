"""What takes an answer back in a later sentence or paragraph: Hold on, I misread; 等一下."""

import re

from reasonenv.grading.extraction.sentences import NO_CHECK, sentence_spans

_START = r"(?:(?<=[.!?…。！？\n—(（])|(?<=[.!?…*]\s)|(?<=\n\n))[\s*_]{0,4}"
_SIGH = r"(?:(?:hmm+|ah|oh|but|well|um+|wait|hold on|嗯|但是?|哦|等一?[下等])[,.!…，。]{0,3}\s?)?"
# These take back what stands before them.
_RETRACTS = re.compile(
    rf"{_START}{_SIGH}(?:(?:hold on|hang on|wait\b|one moment|just a (?:moment|second|minute)"
    rf"|等一?[下等]){NO_CHECK}|oops|sorry\b"
    r"|on (?:reflection|second thoughts?)|scratch that|correction\b"
    r"|never ?mind|my mistake|my bad|i (?:mis\w{3,12}|forgot|overlooked|missed|was wrong"
    r"|made an? (?:mistake|error|slip|typo)|used the wrong"
    r"|should (?:have|re-?do|rec(?:alculate|ompute|ount|onsider|heck)))\b"
    r"|不对(?!称)|我?(?:看错|算错|弄错|搞错|写错|数错)|我(?:漏|忘)|[漏忘]了"
    r"|重新(?:算|计算|审题|考虑)|更正|纠正)",
    re.IGNORECASE,
)
# So do these in the sentence after it; in a later one they may be about another option.
_DENIES = re.compile(
    rf"{_START}{_SIGH}(?:that|this|it)(?:'s| is| was| can't be| cannot be| seems| looks)\s"
    r"(?:not (?:right|correct)|wrong|incorrect|off|a mistake)\b",
    re.IGNORECASE,
)
# These may do so: only another value that is stated after them counts.
_CHECKS = re.compile(
    rf"{_START}{_SIGH}(?:(?:let(?:'s| me| us)|to) (?:just )?(?:(?:double|re)[- ]?check|check|verify"
    r"|re\w{3,9})|in (?:fact|reality|truth)\b|actually\b|hmm+|however\b|but\b|instead\b"
    r"|(?:让我们?)?(?:再|重新)?(?:检查|验算|验证|核对|确认)|其实|实际上|事实上)",
    re.IGNORECASE,
)
# The answer by its name, or right after what takes it back: Actually, it is 14.
_STATES = re.compile(
    r"(?:\b(?:answer|(?:right|correct|actual|true|real) \w{3,8})"
    r"(?:'s| is| was| should be| must be)\b|\b(?:it|that|this) (?:should|must) be\b"
    r"|\bso (?:it|that)(?:'s| is)\b|应该?[是为]|答案[是为]|就是)[^.!?。！？\n]{0,60}\Z"
    r"|(?:\A[\s,，:：]{0,3}|所以)[是为][^\u4e00-\u9fff]{1,40}\Z"
    r"|\A[\s,，:：]{0,3}(?:it|that)(?:'s| is)\s(?:[^,，a-z]|\\[a-z]{2,6}){1,60}\Z",
    re.IGNORECASE,
)
_UNDER_CONDITION = re.compile(r"\b(?:if|unless|when|suppose)\b|如果|若|假如", re.IGNORECASE)
_THEREFORE = re.compile(
    r"[,，;；]\s?(?:and )?(?=(?:so|thus|therefore|hence)\b|所以|因此|故)", re.IGNORECASE
)
_CLAIM = re.compile(r"\d|(?<![a-zA-Z\\'])[A-J](?![a-zA-Z'])")
_DIGITS = re.compile(r"\d{1,30}(?:[.,/]\d{1,30}){0,3}")


def later_claim(text: str) -> str | None:
    """The last claim of what takes back the answer at the start of a text; None without that.

    Without another claim it is all that takes it back, which holds no answer.
    """
    retraction = _RETRACTS.search(text) or _denial(text)
    if retraction and _CLAIM.search(text, 0, retraction.start()):
        sentence = _last_sentence(text[retraction.end() :])
        return _conclusion(sentence) or sentence or text[retraction.start() :].strip()
    check = _CHECKS.search(text)
    if check is None or not _CLAIM.search(text, 0, check.start()):
        return None
    claim = _conclusion(_last_sentence(text[check.end() :]))
    if not _STATES.search(claim.rstrip(" .。!！*$)）")) or _UNDER_CONDITION.search(claim):
        return None
    values = _DIGITS.findall(text[: check.start()])
    return None if not set(values).isdisjoint(_DIGITS.findall(claim)) else claim


def _denial(text: str) -> re.Match[str] | None:
    """A denial in the second sentence of a text."""
    denial = _DENIES.search(text)
    return denial if denial and len(sentence_spans(text[: denial.start()])) == 1 else None


def _last_sentence(text: str) -> str:
    """The last sentence with a claim, "" without one."""
    spans = reversed(sentence_spans(text))
    return next(
        (text[start:end].strip() for start, end in spans if _CLAIM.search(text, start, end)), ""
    )


def _conclusion(sentence: str) -> str:
    """The last clause of a sentence, from its "so" on, "" if it has no claim."""
    clause = _THEREFORE.split(sentence)[-1].strip()
    return clause if _CLAIM.search(clause) else ""
