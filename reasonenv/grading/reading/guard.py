"""The one closed table of words that leave no answer, in English and Chinese.

Boxes need none of it. In prose a word of the table beside a claim denies it, doubts it, compares
it, takes it back or gives it to somebody else, and then there is no answer.
"""

import re

_DENIALS = (
    r"not|no|never|neither|nor|none|cannot|isn't|wasn't|doesn't|can't|aren't|don't|wrong|incorrect"
    r"|false|untrue|mistaken?|impossible|excluded?|reject(?:s|ed)?|except|instead|rather|unlike"
)
_HEDGES = (
    r"maybe|perhaps|possibly|probably|might|may|could|would|either|or|unless|if|whether|guess(?:es)?"
    r"|suppos(?:e[ds]?|ing)|assum(?:e[ds]?|ing)|let|someone|others?|another|otherwise|first|second"
    r"|third|fourth|last|each|every|hope|doubt|unlikely|not sure|unsure|given|consider"
)
_COMPARISONS = (
    r"than|least|most|between|nearly|almost|more|less|fewer|greater|larger|smaller|half|twice"
    r"|double|times|above|below|under|over|within|minus|plus|square of|root|reciprocal|opposite"
    r"|multiples?|factor(?:ial)?s?|parallel|perpendicular|tangent"
)
_REPORTS = r"say|says|said|thinks?|thought|believes?|believed|claims?|claimed|people|students?"
_OTHERS = r"his|her|your|their|he|she|they|manual|reference|previous|old|key|you|textbook"
_CHINESE = (
    r"[也又既还]是?|已知|题[目中设]|不(?!等式|同|变|重|计|含)|没|无(?!理|穷|限)|非(?!负)|除(?!以)|错|误(?!差)|假|否|别人|书上|同学|有人|以为|认为|说(?!明)"
    r"|可能|也许|或|大概|如果|假[设如]|若|设|倍|一半|至[少多]|超过|大于|小于|以[上下]|之间|左右|接近"
    r"|平方|立方|根号|倒数|相反数|阶乘|原来|[前第]一|去年"
)
_LISTED = re.compile(
    rf"\b(?:{_DENIALS}|{_HEDGES}|{_COMPARISONS}|{_REPORTS})\b|n't\b|{_CHINESE}", re.IGNORECASE
)


_OWNED = re.compile(rf"\b(?:{_OTHERS})\b|'s\s*\Z|[他她的]\Z", re.IGNORECASE)


def is_guarded(words: str) -> bool:
    """True if a word before a claim may change it."""
    return _LISTED.search(words) is not None


def is_of_others(words: str) -> bool:
    """True if the words before a marker make the answer somebody else's."""
    return is_guarded(words) or _OWNED.search(words) is not None


_TAKES_BACK = re.compile(
    r"\b(?:wait|actually|correction|scratch that|sorry|oops|hold on|hang on|never ?mind|i mean"
    r"|on (?:second thoughts?|reflection)|(?:my|a) mistake|one moment|used the wrong|recompute"
    r"|i (?:mis\w+|was wrong|forgot|take (?:it|that) back)|or rather|changed? (?:it )?to"
    r"|(?:that|this|it) is (?:wrong|not (?:right|correct)|incorrect)|just kidding|let me correct"
    r"|revised to|should (?:be|have been))\b|\bedit:|(?<=[.,;:!?…—-]\s)no\b"
    r"|更正|纠正|修正|修改|等一?[等下]|哦不|[算写说看弄搞数]错|我错|不对(?!称|应)|改[为成选]|应该?[是为选]"
    r"|应改|我是说|抱歉|错了|划掉|其实|收回",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"\b(?:also|but|however|or|alternatively|equivalently|perhaps|maybe|(?:could|might|may)"
    r" (?:also )?be|disagrees?)\b|也[可是许]|或",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:is|was) (?:also|not|wrong|incorrect|false)\b|\b(?:isn't|wasn't|not (?:right|correct|true"
    r"|so))\b|不是(?!所有)",
    re.IGNORECASE,
)
_REACH = 400
_LETTER = re.compile(r"(?<![A-Za-z])[A-J](?![A-Za-z'])")


def is_withdrawn(claim: str, rest: str) -> bool:
    """True if the text after a claim may take it back, or the line after it add another to it.

    A line may deny other letters than the one that is claimed.
    """
    rest = f". {rest[:_REACH]}"
    if _TAKES_BACK.search(rest):
        return True
    line = rest.strip().partition("\n")[0]
    if _ADDS.search(line):
        return True
    letter, other = _LETTER.findall(claim), _LETTER.search(line)
    is_of_another = len(letter) == 1 and other is not None and other[0] != letter[0]
    return not is_of_another and _DENIES.search(line) is not None


def adds(words: str) -> bool:
    """True if words add another claim to the one before them."""
    return _ADDS.search(words) is not None
