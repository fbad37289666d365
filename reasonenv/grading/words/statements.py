"""Short sentences that state a word: p是q的充要条件, 两圆外切, 选乙, ①③正确, Ben finished first.

The verbs and predicates are closed lists. A sentence that denies, doubts or compares, or that names
another candidate, states nothing, nor does one of several clauses.
"""

import re

_FONT = re.compile(r"\\text\s*\{([^{}]*)\}")
_FORMULA = re.compile(r"[0-9=^_<>+]")
_MAX_LENGTH = 120
_OPENING = re.compile(
    r"\A(?:(?:所以|因此|因而|故|综上|答|则|即)[,，:：]?|(?:so|thus|hence|therefore),?\s)+", re.I
)

_VERB = re.compile(r"(?:是|为|选择?|成|呈|属于|叫[做作]?)\Z")
_PREDICATES = [
    "外切",
    "内切",
    "相切",
    "相交",
    "相离",
    "外离",
    "内含",
    "平行",
    "垂直",
    "异面",
    "重合",
    "全等",
    "相似",
    "互补",
    "互余",
    "递增",
    "递减",
    "正确",
    "错误",
    "不成立",
    "成立",
    "不存在",
    "存在",
    "无解",
    "有解",
]
_PREDICATE = re.compile("|".join(_PREDICATES))
_ENDS = ("", "的", "关系", "的关系")
# Denials, doubts, reports, comparisons and enumerations before a word.
_UNCLEAR = re.compile(
    r"[不没非未无别否或和与及比、,，;；。?？错误假]|可能|也许|如果|若|设|说(?!法)|认为|以为|是.*[是为]"
)
_SUBJECTS = re.compile(r"(?<=[a-zA-Z圆线面数形])[和与及、](?=[a-zA-Z圆直平])|q?uad")
_OF = re.compile(r"\A[^的]{0,30}[是为][^的是为]{0,30}的\Z")
_BEST = re.compile(
    r"(?:同学|[队组班车])?(?:的[\u4e00-\u9fff]{1,4})?(?:[跑走]得)?(?:最[\u4e00-\u9fff]{1,3}|获胜|胜出"
    r"|赢(?:了|了比赛)?|先到(?:达|终点)?|[得是](?:了|到)?(?:第一名?|冠军))"
)

_YES = frozenset("yes true 是 是的 能 会 对 可以 够".split())  # noqa: SIM905 - a list of words
_NO = frozenset("no false 否 不是 不能 不会 不对 不可以 不够".split())  # noqa: SIM905 - as above
_REMARK = re.compile(
    r"(?:[,，。;；!！]|\.(?=\s+[a-zA-Z])|\s(?=because\b|since\b)|(?=因为))(.*)", re.I
)
_TAKEN_BACK = re.compile(
    r"\b(?:yes|wait|actually|but|however|maybe|perhaps|or|sorry|if|unless|except|sometimes|guess"
    r"|unsure|second thoughts?|provided|depend(?:s|ing)|as long as|only (?:for|if|when|in))\b"
    r"|\bno\b|[但或猜当]|可能|也许|是的|如果|假如|除非|有时|[仅只][有在]"
    r"|(?:[\s,，。;；]|应该?|改为)(?:是|能|会|对|可以|够)\Z",
    re.I,
)
_DENIAL = re.compile(
    r"\b(?:not|cannot|never|nor|none|neither|false|wrong|incorrect|untrue|impossible|fails?)\b|n't\b"
    r"|[不没非否错假未无]",
    re.I,
)

_NAME = re.compile(r"[A-Z][a-z]+(?:\s[A-Z][a-z]+){0,2}")
_DEED = re.compile(
    r"\s(?:is|was|has|had|won|wins|finish(?:ed|es)|came|comes|got|gets|scored|scores|ran|runs"
    r"|made|makes|paid|pays|earn(?:ed|s)|arrive[ds]|took|takes|need(?:ed|s)|weigh(?:ed|s)"
    r"|lived|lives|owns|ate|eats|read|sold|sells|bought|buys|spent|spends|saved|saves|jumped"
    r"|threw|grew|grows|received|collected|walked)\b[a-z\s]{0,60}"
)
_UNCLEAR_DEED = re.compile(
    r"\b(?:not|never|no|nor|neither|or|and|but|than|by|that|if|whether|beaten|lost|last(?!\s(?:night|week|month|year))|least|wrong"
    r"|without|except|may|might|maybe|almost|nearly|said|supposed|like|instead|false|second|third)\b"
)
_ON = re.compile(
    r"\A(?:(?:it|this|that)['’]s|(?:it|this|that|the [a-z]{2,12})\s(?:falls|fell|is|was|will be))"
    r"\s(?:on\s)?(?:an?\s)?",
    re.I,
)

_NUMBERS = "①-⑳"
_JOINTS = re.compile(r"[\s、,，和与及]")
_STATEMENTS = re.compile(rf"[{_NUMBERS}](?:[\s、,，和与及]{{0,2}}[{_NUMBERS}]){{0,19}}")
_RIGHT_ARE = re.compile(
    r"\A(?:其中|说法|命题|结论|判断|叙述|选项)*(?:正确|成立)的?(?:说法|命题|结论|判断|叙述|选项)?"
    r"的?(?:序号)?(?:是|有|为|:|：)+\Z"
)
_ARE_RIGHT = re.compile(r"[都均皆]?是?(?:正确|成立)的?(?:[,，;；]([^正成对]{1,30}))?")
_ARE_WRONG = re.compile(
    rf"\A[{_NUMBERS}、,，和与及\s]{{1,30}}[都均皆]?是?(?:错误?|不正确|不成立)的?"
)


def states(answer: str, reference: str) -> bool:
    """True if a short sentence states the word that is the reference."""
    if len(answer) > _MAX_LENGTH or _FORMULA.search(reference):
        return False
    word = _plain(reference)
    sentence = _OPENING.sub("", _plain(answer))
    if not word or len(word) >= len(sentence):
        return False
    if _STATEMENTS.fullmatch(word):
        return _states_numbers(sentence, word)
    if word.casefold() in _YES or word.casefold() in _NO:
        if _states_truth(sentence, word):
            return True
    elif word.isascii():
        return _states_name(sentence, word)
    return not word.isascii() and _states_chinese(sentence, word)


def _plain(text: str) -> str:
    text = _FONT.sub(r"\1", text).replace("充分必要", "充要").replace("非必要", "不必要")
    return text.replace("非充分", "不充分").strip(" .。!！$*\n")


def _states_chinese(sentence: str, word: str) -> bool:
    """True for 选乙, 这是正确的, 成正比例关系, 两圆外切, 乙最高."""
    if sentence.startswith(word):
        return word not in _PREDICATES and bool(_BEST.fullmatch(sentence, len(word)))
    for end in _ENDS:
        stem = sentence.removesuffix(end)
        if stem.endswith(word) and _introduces(stem.removesuffix(word), word):
            return True
    return False


def _introduces(head: str, word: str) -> bool:
    """True if the words before a word make a statement of it."""
    if _PREDICATE.search(head) or _UNCLEAR.search(_SUBJECTS.sub("", head)):
        return False
    if _VERB.search(head) or word in _PREDICATES:
        return True
    return word.endswith("条件") and _OF.match(head) is not None


def is_added(head: str) -> bool:
    """True if the words before an answer add it to another, as in p是充分条件也是."""
    return _ADDED.search(head) is not None


_ADDED = re.compile(r"[也又还][是为]\Z")


def _states_truth(sentence: str, word: str) -> bool:
    """True for "Yes, it is even.", 不能，因为和是奇数."""
    if not sentence.casefold().startswith(word.casefold()):
        return False
    remark = _REMARK.match(sentence, len(word))
    if remark is None or _TAKEN_BACK.search(remark[1]):
        return False
    return word.casefold() in _NO or _DENIAL.search(remark[1]) is None


def _states_name(sentence: str, word: str) -> bool:
    """True for "Ben finished first", and "It falls on Thursday"."""
    if not _NAME.fullmatch(word):
        return False
    if sentence.endswith(word):
        return _ON.sub("", sentence) == word
    if not sentence.startswith(word):
        return False
    deed = _DEED.fullmatch(sentence, len(word))
    return deed is not None and _UNCLEAR_DEED.search(deed[0]) is None


def _states_numbers(sentence: str, word: str) -> bool:
    """True for 正确的是③①, ①③正确, and ①③正确，②④错误."""
    group = _STATEMENTS.search(sentence)
    if group is None or _numbers(group[0]) != _numbers(word):
        return False
    head, right = sentence[: group.start()], _ARE_RIGHT.fullmatch(sentence, group.end())
    if right is None:
        return group.end() == len(sentence) and _RIGHT_ARE.match(head) is not None
    return not head and (right[1] is None or _ARE_WRONG.fullmatch(right[1]) is not None)


def _numbers(text: str) -> list[str]:
    return sorted(_JOINTS.sub("", text))
