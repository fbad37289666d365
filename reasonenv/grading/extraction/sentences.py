"""Sentences of an answer: their bounds, reasons, conclusions and corrections."""

import re

_SENTENCE_END = re.compile(
    r"[.!?](?=\s|\*\*|$)|[。！？；]|\n+|(?<=\S)\s(?=因此|所以|综上|Therefore\b|Thus\b|Hence\b)"
)
# Full stops of abbreviations and of the letter of a choice: "approx. 5", "A. 31".
_ABBREVIATION = re.compile(
    r"(?:^|[\s(.])(?:[A-Ja-z]|approx|no|eq|fig|e\.g|i\.e|cf|vs|dr|mr|mrs|st)$", re.IGNORECASE
)
CONCLUSION = re.compile(
    r"[\s*_#>-]{0,6}(?:so|therefore|thus|hence|finally|in total|altogether|overall|in conclusion"
    r"|consequently"
    r"|in the end|we conclude|it follows)\b|[\s*_#>-]{0,6}(?:所以|因此|故|综上|总之|于是|从而|最终"
    r"|最后|答)|[\s*_#>-]{0,6}(?:donc|ainsi|en conclusion|also ergibt|por lo tanto|por tanto"
    r"|así que)\b",
    re.IGNORECASE,
)
"""Openings of a sentence that concludes from those before it."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Bounds of the sentences of a text, one at least."""
    spans, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if end[0] == "." and _ABBREVIATION.search(text[max(start, end.start() - 8) : end.start()]):
            continue
        if text[start : end.end()].strip():
            spans.append((start, end.end()))
        start = end.end()
    if text[start:].strip() or not spans:
        spans.append((start, len(text)))
    return spans


# After "wait": let me verify, which takes nothing back.
NO_CHECK = (
    r"(?![,.，。… ]{0,3}(?:(?:let me|let's|let us|i'll|让我们?|我)\s?)?(?:just |再|来)?"
    r"(?:(?:double|re)[- ]?)?(?:check|verify|验证|验算|检查|核对))"
)
# Words that take back what was said before.
_STRONG = re.compile(
    r"(?<=[.,;:!?…—-]\s)no[,:](?=\s)|\bno[,:]? wait\b[,.:!]?(?: no\b)?"
    rf"|\bwait\b{NO_CHECK}[,.:!-]*(?:\s*no\b)?|\bcorrection\b|\bscratch that\b|\boops\b|\bsorry\b"
    r"|\bedit:|\bjust kidding\b|\bi take (?:that|it) back\b"
    r"|\bmy mistake\b|\bi made (?:a|an) (?:mistake|error)\b|\bon second thoughts?\b"
    r"|\blet me correct\b"
    r"|\bi was wrong\b|\bchanged? my mind\b"
    r"|更正|纠正|修正|等等|哦不|算错了|写错了|我错了|搞错了|不对(?!称|应)",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\bactually\b|\bi mean\b|\bor rather\b|\bshould (?:be|have been)\b|\bchanged? (?:it )?to\b"
    r"|\brevised to\b"
    r"|改为|改成|改选|应该?[是为]|应该?选|我是说|确切地说",
    re.IGNORECASE,
)
_LETTER = re.compile(r"(?<![a-zA-Z\\'])[A-J](?![a-zA-Z'])")
_WORD = re.compile(r"[a-zA-Z]{3}|[\u4e00-\u9fff]")


def has_correction(text: str) -> bool:
    """True if some words of a text take back what stands before them."""
    return _STRONG.search(text) is not None or _WEAK.search(text) is not None


def corrected(text: str) -> str:
    """The text after the last correction of a claim; the whole text without any."""
    text = text.strip()
    for pattern, has_claim in ((_STRONG, _is_statement), (_WEAK, _is_claim)):
        if not (matches := list(pattern.finditer(text))):
            continue
        last = matches[-1]
        before, after = (
            text[: last.start()],
            text[last.end() :].strip(" \t\n,.:;!?-—，。：；！？、…*"),
        )
        if has_claim(before) and has_claim(after):
            text = after
    return text


def _is_claim(text: str) -> bool:
    return any(map(str.isdigit, text)) or _LETTER.search(text) is not None


def _is_statement(text: str) -> bool:
    return _is_claim(text) or _WORD.search(text) is not None


_CLAUSE_END = re.compile(r"[.,;!?。，；！？\n]+\s*")
_STATES = re.compile(r"\b(?:is|are|was|were)\b|[是为]")


def has_statement(head: str) -> bool:
    """True if a clause before the last states something from which that does not conclude."""
    *clauses, last = _CLAUSE_END.split(head)
    return any(map(_STATES.search, clauses)) and CONCLUSION.match(last) is None


_REASON = re.compile(
    r"[,;，；]?\s?(?:\bbecause\b|\bsince\b|\bdue to\b|\bas (?=\d|[a-z] ?=)|因为|由于|理由是"
    r"|\bthanks to\b)"
    r"|[,，]\s?(?:(?:and )?not|而?不是)(?=\s?[-\d$\\])",
    re.IGNORECASE,
)


def without_reason(text: str) -> str:
    """A claim without the reason that is given for it, and without the "not 6" of 5, not 6."""
    reason = _REASON.search(text)
    return (
        text[: reason.start()].rstrip() if reason and text[: reason.start()].strip(" $*") else text
    )


_ALTERNATIVE = re.compile(
    r"\b(?:or|also|alternatively|could|maybe|might|possibly|either|perhaps|wrong|incorrect"
    r"|mistaken|in error|untrue|disagrees?|not (?:right|true|correct|so))\b|或|也可|也许|也是|错"
    r"|不对|不正确|有误",
    re.IGNORECASE,
)


def first_claim(text: str) -> str:
    """The first sentence of a text, unless a later one takes it back or adds to it."""
    spans = sentence_spans(text)
    rest = text[spans[0][1] :]
    if len(spans) > 1 and (_ALTERNATIVE.search(rest) or has_correction(text[spans[0][1] - 2 :])):
        return text.strip()
    return text[spans[0][0] : spans[0][1]].strip()
