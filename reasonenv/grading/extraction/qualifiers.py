"""Words around a value that change it: closed lists of denials, comparisons and operations."""

import re

from reasonenv.grading.extraction.alternatives import by_first_letter
from reasonenv.grading.extraction.languages import is_denied
from reasonenv.grading.parsing.units import UNITS

_NEGATIONS = (
    r"not|cannot|never|neither|nor|none(?! left| remain)|no|nobody|nothing|but|except|fail(?:s|ed)?"
)
_DENIALS = (
    r"although|unless|whether|if"
    r"|wrong|incorrect|false"
    r"|ruled out|rule out|reject(?:s|ed)?|mistake|mistaken|excluded?|impossible"
    r"|eliminated?|avoid|invalid|discard(?:ed)?|disagrees?|untrue|dismiss(?:ed)?|inadmissible"
    r"|extraneous|disproved|refuted|contradict(?:s|ed)?"
    r"|hope|wish|someone|guess(?:es|ed)?|hardly|scarcely|unlikely|doubt|question"
)
_GUESSES = (
    r"maybe|perhaps|possibly|probably|might|may|could|either|otherwise|say|said|suppos(?:e[ds]?|ing)"
    r"|assum(?:e[ds]?|ing)|imagin(?:e|ing)|pretend|(?:some|other) (?:students?|people)|others|or so"
)
_COMPARISONS = (
    r"than|between|nearly|almost|at (?:least|most)|least|most|up to|(?:or|and|is|any|even) (?:more"
    r"|less|fewer|higher|lower|greater|above"
    r"|below|over|under|any|up|smaller|larger)|or any"
    r"|(?:less|more|greater|fewer|smaller|larger|half|third|quarter)(?!\s+(?:\w+\s)?\w*[a-z])"
    r"|(?:near|under|over|above|below|around|within|every|last|first|all but)(?=\s*[-$\d\\(]|\s*$)"
)
# With -th, and -ths where they are parts; "first" and "second" change no value.
_ORDINALS = (
    r"third|quarters?|thirds|(?:[a-z]{3,7}ty-)?(?:fourth|fifth|sixth|seventh|eighth|ninth)s?"
    r"|(?:ten|eleven|twelf|(?:thir|four|fif|six|seven|eigh|nine)teen|hundred|thousand|million)ths?"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)tieths?|nth"
)
_OPERATIONS = (
    r"half|twice|double|triple|times (?:as|more|less|the|that|larger|smaller|greater"
    r"|a number)"
    r"|(?<!\\)times(?=\s*[-$\d\\(]|\s*$)"
    r"|root|square of|squared|cube of|cubed|factorial|minus|negative|opposite|inverse|reciprocal"
    r"|halves|percent of|(?:below|above|under|over) zero"
    r"|reference|remainder(?=\s*$|\s*\d)|and a half|and some"
)
_LISTED = by_first_letter(
    f"{_NEGATIONS}|{_DENIALS}|{_GUESSES}|{_COMPARISONS}|{_ORDINALS}|{_OPERATIONS}"
)
_ENGLISH = re.compile(rf"\b(?:{_LISTED})\b|n't\b", re.IGNORECASE)
# A denial, unless it is part of a word such as 不同, 不等式, 非负, 无盖.
_CHINESE = re.compile(
    r"(?:\A|(?<=[\d$}]))\s*的|除了|希望|不(?!同|等式|变|重|放回|定|规则|相[等邻]|含|计|考虑)"
    r"|非(?!负|零|空)|没|无法|无从|千万别|切勿|排除|舍去|舍掉|未必|并未|错|假|否|别人|难道|吗"
    r"|如果|假[设如]|要是|倘若|可能|也许|或|大概|差不多"
    r"|(?:至[少多]|最[少多])(?!可|能|需|要|有|得|会|还|只)|超过|大于|小于|高于|低于|多于|少于"
    r"|以[上下内外]|开外|之间|接近|将近|左右|上下"
    r"|两倍|一半|平方根|根号|(?:[第比]|(?<!非)负)(?=\s*$|\s*[\d$])|(?:减去|除以|乘以|加上)(?=\s*$"
    r"|\s*[\d$])"
)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\b", re.IGNORECASE)


# Before a number, these make it a name, "step 4", or part of a description, "a factor of 4".
_LABEL = re.compile(
    r"(?:\b(?:step|fig(?:ure)?|problem|page|chapter|question|option|choice|case|grade|level|part"
    r"|section|example|equation"
    r"|theorem|lemma|item|note|table|row|column|exercise|room|route|line|number|no|day|version"
    r"|unit|lesson|return|print|let"
    r"|def|than|from|into|until|since|before|after|except|without|versus|vs|per|above|across"
    r"|against|along|amid|among|behind|below"
    r"|beneath|besides?|beyond|concerning|despite|down|during|excluding|following|inside|like"
    r"|minus|near|next|off|onto|opposite"
    r"|out|outside|over|past|plus|regarding|save|through(?:out)?|till|times|towards?|under"
    r"|underneath|unlike|upon|claim(?:s|ed)?|via|within)\.?|[a-zA-Z]\()[\s*$#\"'(]*$",
    re.IGNORECASE,
)
_OF = re.compile(
    r"(?:\b(\w{1,20})\s+)?\b(of|by|to)(?:\s(?:about|exactly|only|just))?[\s*$(]*$", re.IGNORECASE
)
# Nouns and verbs with a value of their own: "a total of 18", "grew by 18".
_MEASURES = frozenset(
    """total sum length area distance height width depth speed rate price cost average mean median
    maximum minimum value score count number profit age weight mass amount perimeter volume
    temperature probability ratio discount loss balance revenue income salary circumference
    radius diameter duration time period angle answer result savings difference increase
    decrease charge fee rent bill remainder quotient product wage pay consists gain
    increased decreased grew grow grows rose rise rises fell fall falls dropped drop drops
    reduced beat won lost exceeds exceeded increases decreases shrank shrinks declined comes
    come came amounts adds up equal reduces simplifies evaluates rounds change changed
    changes differ differs older younger taller shorter heavier lighter longer""".split()  # noqa: SIM905 - a list of words
)


def names_number(before: str) -> bool:
    """True if the words just before a number make it a name or a part of a description."""
    if _LABEL.search(before[-40:]):
        return True
    match = _OF.search(before[-60:])
    return match is not None and (match[1] or "").lower() not in _MEASURES


_UNSURE = re.compile(
    r"[\s*]{0,4}(?:(?:so|but|and|then),?\s)?(?:maybe|perhaps|possibly|probably|unless|suppose|assume"
    r"|if(?!\s(?:you|we)\s(?:add|subtract|multiply|divide)\b)"
    r"|let(?:'s|\sus)?\s(?:denote|call|say|assume|suppose|[a-z]\b)"
    r"|(?!(?:so|this|that|it|i|we)\b)[a-z]{2,15}\s(?:says?|said|claim(?:s|ed)|thinks?|thought"
    r"|believes?|believed|guess(?:es|ed)))\b",
    re.IGNORECASE,
)


def is_unsure(sentence: str) -> bool:
    """True if a sentence opens as a guess, a condition, an assumption or the report of another."""
    return _UNSURE.match(sentence) is not None


def has_qualifier(words: str) -> bool:
    """True if words around an answer change its value."""
    return (
        _ENGLISH.search(words) is not None
        or (not words.isascii() and _CHINESE.search(words) is not None)
        or _ORDINAL.search(words) is not None
        or is_denied(words)
    )


_VERB = re.compile(
    r"\b(?:is|are|was|were|equals|has|have|had|costs?|weighs?|measures?|contains?|holds?|takes|took)\b"
)
_SUBJECT = re.compile(
    r"\s{0,4}(?:(?:so|thus|hence|therefore|then|finally),?\s)?"
    r"(?:the|its|his|her|their|our|this|each|all)\s",
    re.IGNORECASE,
)
# Subjects whose denials say what is counted: the number of students who did not pass.
_COUNTED = re.compile(
    rf"{_SUBJECT.pattern}(?:[a-z]{{2,15}}\s){{0,2}}(?:(?:number|amount|fraction|percent(?:age)?"
    r"|proportion|share)\sof|(?:probability|chance|likelihood)\s(?:of|that))\s",
    re.IGNORECASE,
)
_NEGATED = re.compile(rf"\b(?:{_NEGATIONS})\b|n't\b", re.IGNORECASE)
_DOUBTED = re.compile(
    rf"\b(?:{by_first_letter(f'{_DENIALS}|{_GUESSES}|{_OPERATIONS}')}|(?:{_ORDINALS}) of)\b",
    re.IGNORECASE,
)


_RELATIVE = re.compile(r"\b(?:who|that|which)\b")
_BEFORE_NEGATION = re.compile(rf"{_RELATIVE.pattern}[^,]*\Z|\bof\s\Z")


def _is_negated(subject: str) -> bool:
    """True for a negation of the value, not of what is counted: those who did not pass."""
    negation = _NEGATED.search(subject)
    if negation is None:
        return False
    before = subject[: negation.start()]
    return _COUNTED.match(subject) is None or _BEFORE_NEGATION.search(before) is None


def is_changed_before(words: str) -> bool:
    """True if the words before a value change it.

    Of a subject with an article, which ends at the verb, neither comparisons nor ordinals do, "the
    difference between them is", "the third angle is", nor do denials in a clause of what it
    counts, "the number of those who did not pass is".
    """
    verbs = list(_VERB.finditer(words))
    if not verbs or not words.isascii() or not _SUBJECT.match(words):
        return has_qualifier(words)
    has_clause = len(verbs) > 1 and _RELATIVE.search(words, 0, verbs[0].start())
    verb = verbs[1 if has_clause else 0]
    subject, predicate = words[: verb.end()], words[verb.start() :]
    return (
        has_qualifier(predicate)
        or _DOUBTED.search(subject) is not None
        or is_denied(subject)
        or _is_negated(subject)
    )


_UNIT_POWER = re.compile(r"(?<![a-zA-Z])([a-zA-Z]{1,20})\s(?:squared|cubed)(?![a-zA-Z])")


def without_unit_powers(words: str) -> str:
    """Words without the power of a unit, cm squared."""
    return _UNIT_POWER.sub(lambda match: match[1] if match[1] in UNITS else match[0], words)


_FORMULAS = re.compile(r"\$[^$]*\$")
_PAYLOAD = re.compile(r"\\(?:text[a-z]*|mbox|mathrm)\s*\{([^{}]*)\}")


def words_around(answer: str) -> str:
    r"""The words of an answer outside of its formulas, and those in the \text of a formula."""
    payloads = [payload for payload in _PAYLOAD.findall(answer) if "=" not in payload]
    words = " ; ".join([_PAYLOAD.sub(" 0 ", _FORMULAS.sub(" 0 ", answer)), *payloads])
    return without_unit_powers(words)
