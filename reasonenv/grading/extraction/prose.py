"""The value that prose states: its only number or formula, or the one that a verb states."""

import re
from collections.abc import Sequence

from reasonenv.grading.extraction.circumstances import (
    circumstances,
    counts_things,
    without_opening,
)
from reasonenv.grading.extraction.claims import Claim, find_claims, suffix_of, values_of
from reasonenv.grading.extraction.qualifiers import (
    has_qualifier,
    is_changed_before,
    is_unsure,
    names_number,
    without_unit_powers,
)
from reasonenv.grading.extraction.sentences import CONCLUSION, sentence_spans, without_reason
from reasonenv.grading.extraction.statements import SENTENCE_END, last_clause, stated_formula
from reasonenv.grading.parsing.suffixes import next_word_changes

_PROSE = 2000
# What a sentence adds to an answer: "12, attained at x = 3", without another statement in it.
_TAIL = re.compile(
    r"(?:,?\s(?:when|where|with equality|given|with(?=\s+[a-z]\s?=)|for(?=\s+[a-z]\s?=)"
    r"|(?:which (?:(?:is|are) )?)?(?:attained|achieved|reached|obtained|occurs|occurring)"
    r"(?=\s(?:at|when|where|for|if|by|in|only|precisely|exactly|iff)\b)"
    r"|as(?=\s\$?[a-z]\$?\s(?:approaches|goes|tends|increases)))"
    # "has $12 left out of his $50", unlike "2 out of 3"
    r"|(?<=[a-z])\sout of (?:the|his|her|their|its|our|my)(?=\s\$?\d)"
    r"|(?<=left)\sout of)\b"
    r"(?:(?!\b(?:is|are|was|be|but|or|and|not|otherwise)\b)[^.;]){0,80}+\.?\s*+$"
)
_RAISED = re.compile(r"(?<=[a-z])\s?\$\s?\^\s?\{?([23])\}?\s?\$")
# What is left is not yet read, used, walked ...
_LEFT = re.compile(r"(剩[^，。\d]{0,20}\d[^，。没]{0,10})没有?[看读用修走做完卖写运吃]完?")
# Of a comparison of two the number is the difference: Ada has 5 more beads than Ben.
_OWNS = re.compile(
    r"\b(?:has|have|had|got|gets|sold|made|makes|ate|read|needs?|bought|won|ran|took|drank|spent|gave"
    r"|paid|[a-z]{2,12}ed)\s\Z"
)
_DIFFERENCE = re.compile(
    r"\A\s(?:more|fewer|less)(\s[a-z]{3,20}(?:\s[a-z]{3,20})?)\sthan\s(?:[A-Z][a-z]{1,15}"
    r"|(?:the|his|her|their|my)(?:\s[a-z]{3,15}){1,2}|her|him|them|[a-z]{2,15}s)(?:\s(?:does|did|do|has|had))?"
    r"\s?[.!]?\s*\Z"
)
_MORE = re.compile(r"\A\s(?:more|fewer|less)(?=\s(?!than|or|and)[a-z]|[.!])")
# An expression and the values of its letters, none of which is its own: a + b where a = 6, b = 6.
_INSTANCE = re.compile(
    r"[-+\d\s$(]{0,20}[a-zA-Z](?![a-zA-Z]{2})(?:[-+*/^().\d\s$]|[a-zA-Z](?![a-zA-Z]{2})){1,40}"
    r"[,，]?\s?(?:(?<=\s)(?:where|with|when|if|for|given)\s|其中|当)\s?\$?[a-zA-Z]\s?="
)
_CHECK = re.compile(
    r"[\s*(（]{0,4}(?:(?:to|let us|let's|we can|we) )?(?:check|verify|verification|note|proof)\b"
    r"|[\s*(（]{0,4}(?:验算|检验|验证|检查|注意?[:：])",
    re.IGNORECASE,
)
_NOT_ANOTHER = re.compile(
    r"(?<=[\d}$)])(?:,?\s(?:and |but )?(?:not|rather than|instead of)\s|[，,]?\s?(?:而不是|而非"
    r"|并非|不是))\$?[-−]?\d[\d,.]{0,30}\$?"
)
_NOT_BUT = re.compile(
    r"(?:\bnot\s|不是)\$?[-−]?\d[\d,.]{0,30}\$?\s?[,:;，；]?\s?(?:but\b|rather\b|it is\b|it's\b"
    r"|而是|是)",
    re.I,
)
_OR = re.compile(r"\bor\b|otherwise|\band (?:a|an|one|half|some)\b", re.IGNORECASE)
_AFTER = re.compile(r"\bor\b|\band\b|otherwise", re.IGNORECASE)
# Letters of scripts without spaces between words: Chinese, kana, Hangul.
_UNSPACED = r"\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af"
_PLAIN_BEFORE = re.compile(rf"(?:^|[\s{_UNSPACED}*(（:：=，,≈“\"\[}}])$")
_PLAIN_AFTER = re.compile(
    rf"$|[\s{_UNSPACED}.,;:!?。，；：！？)）*’'”\"\]${{^²³℃(（]|-(?![a-zA-Z])"
)
_NUMBER_WORD = re.compile(
    r"\b(?:is|equals|gets?)\s(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b(?! of)",
    re.IGNORECASE,
)
_QUESTION = re.compile("[?？]")
_BREAKS_OFF = re.compile(r"\s?[-+*/×÷=x]\s*\Z")
_SO = re.compile(
    r"[,;，；]\s?(?:and\s)?(?:(?:so|thus|therefore|hence)\b(?!\s(?:that|far|much|many))|所以|因此)"
)
_RATE = re.compile(
    r"\s{0,3}(?:(?:each|every|(?:one|an?)(?!\s(?:is|was|has|of)\b))\s|每)", re.IGNORECASE
)
_CONCLUDES = re.compile(
    r"(?:\b(?:so|therefore|thus|hence|total|altogether)\b|所以|因此|故|共)[^\d]{0,30}\Z", re.I
)
_ALTERNATIVE = re.compile(r"\bor\b", re.IGNORECASE)
_HOUR = re.compile(r"\d[点时]\Z")


def prose_answer(prose: str) -> str | None:
    """The formula or number that prose states, with what is enumerated with it; None if unclear.

    Of several it is the last, whose words before it state it as a value: "is 7", "we get 7", unlike
    "multiples of 7"; and no other may be stated. No word around it may change it: "not 7".

    Args:
        prose: An answer that is no formula; only the end of a long one is searched.
    """
    if _INSTANCE.match(prose):
        return None
    if formula := stated_formula(prose):
        return formula
    prose = _statements(_LEFT.sub(r"\1", _RAISED.sub(r"^\1", prose[-_PROSE:])))
    prose = without_opening(prose)
    for shorten in (_without_tail, without_reason):
        if any(map(str.isdigit, shortened := shorten(prose))):
            prose = shortened
    claims = find_claims(prose)
    if (formula := last_clause(prose)) is not None:
        return formula if len({claim.key for claim in claims if claim.is_stated}) < 2 else None
    return _only_claim(prose, claims)


def _statements(prose: str) -> str:
    """Prose without the sentences that check its claim, and without denials of other values."""
    if _CHECK.search(prose):
        spans = sentence_spans(prose)
        kept = [span for span in spans if not _CHECK.match(prose[slice(*span)])]
        prose = " ".join(prose[slice(*span)].strip() for span in kept)
    return _NOT_ANOTHER.sub("", _NOT_BUT.sub(" it is ", prose))


def _without_tail(prose: str) -> str:
    return _TAIL.sub("", prose)


def _without_difference(before: str, after: str) -> str:
    """The words after a number without the comparison whose difference it is."""
    match = _DIFFERENCE.match(after) if _OWNS.search(before[-20:]) else None
    return after if match is None else match[1]


def _only_claim(prose: str, claims: Sequence[Claim]) -> str | None:
    """The claim of prose that no word changes; None if there is none, or several."""
    begin, claims = _conclusion(prose, claims)
    is_only = len({claim.key for claim in claims}) == 1
    if not is_only and not (_num_stated(claims) == 1 and claims[-1].is_stated):
        return None
    last = claims[-1]
    before, after = prose[begin : last.start], prose[last.end :]
    if before.strip():
        after = _MORE.sub("", _without_difference(before, after))
    if is_unsure(_sentence(prose, last.start)):
        return None
    if not is_only:
        before = SENTENCE_END.split(prose[claims[-2].end : last.start])[-1]
    suffix = suffix_of(prose[last.end :])
    if next_word_changes(after.removeprefix(suffix)) or (is_only and _is_described(before, after)):
        return None
    if _BREAKS_OFF.match(after) or _QUESTION.search(after) or _NUMBER_WORD.search(prose):
        return None
    if not is_only or begin:
        after = SENTENCE_END.split(after, maxsplit=1)[0]
    after = without_unit_powers(after)
    or_another = _OR if is_only else _AFTER
    is_changed = is_changed_before(before) or has_qualifier(after) or or_another.search(after)
    return None if is_changed else last.text + suffix


def _num_stated(claims: Sequence[Claim]) -> int:
    """Number of different values that are stated."""
    return len({claim.key for claim in claims if claim.is_stated})


def _sentence(prose: str, place: int) -> str:
    """The sentence of a place in prose."""
    return next((prose[start:end] for start, end in sentence_spans(prose) if place < end), prose)


def _is_described(before: str, after: str) -> bool:
    """True if the only number of a sentence is no value: a name, an alternative, part of a sign."""
    return (
        names_number(before)
        or _ALTERNATIVE.search(before) is not None
        or _HOUR.search(before) is not None
        or not (_PLAIN_BEFORE.search(before) and _PLAIN_AFTER.match(after))
    )


def _concluding_clause(prose: str, start: int, claims: Sequence[Claim]) -> int:
    """Where the clause begins that concludes from the rest of the last sentence; 0 without one.

    The rest may hold a rate, "each box holds 12 eggs, so", but no other statement.

    Args:
        prose: The whole of it.
        start: Where its last sentence begins.
        claims: All claims.
    """
    place = max((so.end() for so in _SO.finditer(prose, start)), default=0)
    premises = [claim for claim in claims if start <= claim.start < place]
    is_open = _RATE.match(prose, start) or not any(claim.is_stated for claim in premises)
    is_concluding = bool(premises) and any(claim.start >= place for claim in claims)
    return place if is_concluding and is_open else 0


def _conclusion(prose: str, claims: Sequence[Claim]) -> tuple[int, Sequence[Claim]]:
    """The claims that count: the only bold one, or those of a last sentence that concludes.

    Returns:
        Where the sentence of these claims begins, 0 if all claims count, and the claims.
    """
    bold = [claim for claim in claims if prose.startswith("**", claim.start)]
    start, end = sentence_spans(prose)[-1]
    if bold and len({claim.key for claim in bold}) == 1:
        spans = [span for span in sentence_spans(prose) if span[0] <= bold[-1].start]
        return spans[-1][0], bold[-1:]
    last = [claim for claim in claims if start <= claim.start < end]
    begin = 0
    if start and last and CONCLUSION.match(prose[start:end]):
        begin, claims = start, last
    if place := _concluding_clause(prose, start, claims):
        begin, claims = place, [claim for claim in claims if claim.start >= place]
    claims = _without_circumstances(prose, claims)
    rest = _without_premises(prose, claims)
    return (claims[-2].end, rest) if len(rest) < len(claims) else (begin, rest)


def _without_circumstances(prose: str, claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims without the numbers that a sentence repeats beside the only one of things."""
    if len(claims) < 2 or (claims[-1].is_stated and _num_stated(claims) == 1):
        return claims
    places = circumstances(prose)
    rest = [each for each in claims if each.start not in places or not each.text.isdecimal()]
    if len({claim.key for claim in rest}) != 1:
        return claims
    text = prose[rest[0].start : rest[0].end]
    has_unit = counts_things(prose, rest[0].end) or suffix_of(prose[rest[0].end :]) != ""
    is_amount = "=" in text or text[0] in "$€£" or has_unit
    return rest if is_amount else claims


def _without_premises(prose: str, claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims without those from which a conclusion computes the last one."""
    if len(claims) < 2:
        return claims
    last = claims[-1]
    chain = prose[last.start : last.end]
    if "=" not in chain:
        return claims
    members = values_of(chain)
    if not _CONCLUDES.search(prose[max(0, last.start - 40) : last.start]):
        # All operands are given before, and nothing else: 4 for each of 9 is 4 x 9 = 36.
        operands: set[object] = set().union(*(values_of(claim.text) for claim in claims[:-1]))
        if operands != values_of(chain.rpartition("=")[0]) or has_qualifier(prose[: last.start]):
            return claims
    return [
        *(claim for claim in claims[:-1] if not members.issuperset(values_of(claim.text))),
        last,
    ]
