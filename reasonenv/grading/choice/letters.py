"""The letters that an answer chooses, in a word or in prose.

An answer is cut after each explicit correction ("no wait", "改为") and each conclusion ("so",
"所以"); its last part that claims a letter counts. In a part, what denies letters or gives a reason
is dropped, and so are letters that are names ("point A", "A = 3") or words ("A triangle"). Those
that are left are the answer if one of them is claimed: "is B", "选B", "B is right", "B. 12".
"""

import re

from reasonenv.grading.parsing.notation import canonical

MAX_LENGTH = 400
"""Characters of an answer that are read, half of them at either end."""
_BEFORE = 24  # characters of the longest statement before letters

_LETTER = r"(?<![A-Za-z0-9\\'])\(?[A-J]\)?(?![A-Za-z0-9'])"
_LETTERS = r"(?<![A-Za-z0-9\\'])\(?[A-J]{1,10}\)?(?![A-Za-z0-9'])"
_JOINT = r"(?:\s?,\s?(?:(?:and|or|nor)\s)?|\s(?:and|or|nor)\s|\s?[和与及或&/]\s?|\s)"
_GROUP = re.compile(rf"{_LETTERS}(?:{_JOINT}{_LETTERS}){{0,9}}+")

_RUN = re.compile(r"[A-J]{1,10}")
_SINGLE = re.compile(r"\(?([A-Ja-j])[).:]*(?:\s?选?项)?(?:\s(?:only|alone))?")
_SPACING = re.compile(r"\b(?:and|or)\b|[\s,;、/&.()\"和或与及]")
_LONE = re.compile(r"(?<![A-Za-z0-9_\\'+*/^=<>-])\(?[A-J]\)?(?![A-Za-z0-9_'*/^=<>+-])")
_TITLE = re.compile(
    r"^[-•]\s|^(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?:?\s|^\s*[Bb]oth\s|^(?:[故应]|所以)?选[项择]?\s?:?\s?"
    r"|^(?i:choosing|selecting|picking)\s(?=\(?[A-J]\)?\Z)"
)
_BOX = re.compile(r"\\(?:text|boxed)\s*\{([^{}]*)\}")
_LABEL = re.compile(r"(?<![A-Za-z])([A-J])\s?、(?!\s?\(?[A-J](?![A-Za-z]))")
_QUOTED = re.compile(r"\A'([^']*)'\Z")
_SPACED = re.compile(r"\(\s?([A-J])\s?\)")
_SMALL = re.compile(r"(?<![A-Za-z}])\(([a-j])\)")
_ENUMERATED = re.compile(r"(?<=[A-J)])\s?、(?=\s?\(?[A-J](?![A-Za-z]))")

_CUT = re.compile(
    # Corrections,
    r"(?i:\b(?:no,?\s)?wait\b|\boh,?\sno\b|(?<=[.,;…?!-])\s?no(?=,|\s\(?[A-J]\b)|\bactually\b|\bcorrection\b"
    r"|\bsorry\b|\bI mean\b|\bscratch that\b|\bon second thoughts?\b|\brather\b(?! than)"
    r"|\bmake that\b|\breconsider(?:ing)?\b|\bchanged?\s(?:it\s|my answer\s|my mind\s)?to\b)"
    r"|[哦啊噢]不|更正|纠正|改为|改选|改成|应该是|应该选|应为|(?:不|不对|错了|不是),(?=应?[该当]?[是为选])"
    # and conclusions.
    r"|(?i:\b(?:so|therefore|thus|hence|consequently)\b)|所以|因此|因而|综上|故"
)
_REASON = re.compile(
    r"(?:^|(?<=[.;]))\s?(?:because|since|as|因为|由于)[^.,;]{0,400}"
    r"|(?:\b(?:because|since|given that)\b|因为|由于|理由|原因)[^.;]{0,400}",
    re.IGNORECASE,
)
_FOLLOWERS = (
    r"(?:is|are|was|were|and|or|nor|as|because|since|but|not|has|would|should|must|can|cannot|seems"
    r"|does|fails?|gives?|satisf\w+|match\w*|only|with|works?|follows?|wrong|correct|right|then|to)"
)
_NAMES = re.compile(
    r"(?<![A-Za-z])[A-Za-z]\([A-J]\)"
    r"|\b(?i:points?|vert(?:ex|ices)|angles?|lines?|segments?|sides?|sets?|events?|matrix|matrices"
    r"|planes?|circles?|triangles?|vectors?|vitamins?|grades?|groups?|types?|class|schools?|town"
    r"|city|cities|station|village|section|chapter|appendix|from)\s"
    rf"{_LETTERS}(?:\s?(?:,|and|to)\s?{_LETTERS}){{0,5}}"
    r"|\\angle\s?[A-J]\b"
    rf"|\b(?i:between|comparing)\s{_LETTER}(?:,\s{_LETTER}){{0,3}},?\sand\s{_LETTER},\s"
    r"|(?:点|集合|角|线段|直线|边|维生素|事件|矩阵|平面|圆)[A-J]{1,4}(?![A-Za-z])"
    r"|(?<![A-Za-z])[A-J](?=[组点型级类班地城市车队校厂村港处区])"
    r"|(?<![A-Za-z0-9\\])[A-J]\s?(?:[=<>+*/^_|]|-\s?[\w(]|\\(?!text|quad|\s)[a-z]+)(?!\s?[A-J]?$)"
    r"|(?<=[<>+*/^|])\s?[A-J](?![A-Za-z])"
    rf"|(?<![A-Za-z(])A\s(?!{_FOLLOWERS}\b)[a-z]{{2,}}"
    r"|(?<![A-Za-z(])I\s(?!(?:is|are|and|or|because|since|as)\b)(?=[a-z])"
)
# Of the words after a denial, up to 40 characters are denied, with the commas of a list.
_DENIED = re.compile(
    r"(?:(?i:\b(?:not|non|never|neither|nor|nobody|no one|except|cannot"
    r"|(?:any|every|no)thing but|all but"
    r"|other than|exclud(?:e[sd]?|ing)|eliminat(?:e[sd]?|ing)|reject(?:s|ed|ing)?"
    r"|rul(?:es?|ed|ing) out|rather than|instead of)\b|n't\b)"
    r"|不是|不选|不能选|[别勿莫]选|不[要该]选|没有?选|排除|并非|而非|非|除了?)"
    r"(?:(?!\b(?:but|leaves?|leaving|left with)\b|而[是选应])"
    r"(?:[^.,;:]|,(?=\s?\(?[A-J]\)?,|\s?(?:or|nor)\s"
    r"|\s?and\s\(?[A-J]\)?(?!\s(?:is|must|has)\b)))){0,40}+"
)
_WRONG = "wrong|false|incorrect|impossible|out|eliminated|excluded|invalid|ruled out"
# After letters; after "is" only the last of a list is meant, "B, A is wrong".
_ARE_WRONG = re.compile(
    r"\s?(?:(?:all|both)\s)?(?:are|were|do|have)\b"
    rf"(?:n't|\snot|\s(?:all\s|both\s|clearly\s)?(?:{_WRONG}))[^.,;]{{0,40}}"
    r"|:?(?:选?项|[两三四]项|[两三四]个选项)?(?:的?说法)?[均都也全皆]?[是为]?(?:错|有误|不|\\times|✗|✘|×)[^.,;]{0,40}"
    r"|选?项?(?:可以?|被|应)?排除(?=[.,;]|$)"
)
_IS_WRONG = re.compile(
    r"[.:]?\s(?:ca(?:n't|nnot)\b|(?:is|was|does|has|could|should|would|must|would be|must be|seems)"
    rf"\s?(?:n't|not|clearly wrong|unlikely|{_WRONG})\b)[^.,;:]{{0,40}}"
)
_REJECTED = re.compile(
    r"\b(?:no doubt|wrong|false|incorrect|fails?|ruled out|does not|distractor|unlikely"
    r"|least likely)\b|错|不|误|除|没",
    re.I,
)
_NONE = re.compile(r"\bnone\b|都不", re.I)
_OPEN = re.compile(
    rf"{_LETTER}(?:\s?(?:\?|\bor\b|或|还是)|\s(?:if|unless|provided)\b)|(?:\b(?:or|maybe|perhaps|possibly|might|could)\b|或者?|还是"
    rf"|可能|也许)[^.,;]{{0,20}}{_LETTER}"
    r"|\b(?:maybe|perhaps|possibly|one of|any of)\b|都有可能|中的|之一"
)
_LEADING = re.compile(
    rf"({_LETTER}(?:\s?(?:,|and\b|[和与及&])\s?{_LETTER}(?=\s?(?:[,;.和与及&]|and|$))){{0,9}})"
    rf"(?:(?<=\))|\s?[.:,;、!(]|\s-\s|\s?选?项?$|选?项,|\s(?=because|since|as\b|with\b|it is\b))"
)
# Right before and right after letters that are claimed.
_STATING = re.compile(
    r"(?:[:=选择是为有项✓✔✅]|\belimination,|(?i:\b(?:answers?|is|are|be|it's|options?|choices?|choose|chose|select|pick"
    r"|but|only|graph|est|definitely|sure|clearly|leaves|leaving|left with"
    r"|(?:am|are|'m) (?:choosing|selecting|picking|going (?:with|for))"
    r"|(?<!if )(?:we|i)(?:'ll|'d| will| would)? (?:get|go (?:with|for)))\b))"
    r"\s?\"?(?:(?i:options?|choices?|both)\s|选项)?\Z"
)
_IS_RIGHT = re.compile(
    r"\s?:?(?:选?项|[两三四]项|[两三四]个选项)?(?:\s?[✓✔✅]|\s?(?:(?:is|are|seems)\s)?(?:both\s)?(?:the\s)?"
    r"(?:most\s(?:plausible|likely|appropriate|reasonable|suitable|accurate)\s)?"
    r"(?i:right|correct|true|answer|best|better(?! than)(?: choice| option| answer)?)\b"
    r"|[均都也]?是?(?:正确|对|符合|成立|满足))"
)
_MARKED = re.compile(
    r"\(([A-J])\)|(?<![A-Za-z0-9\\'])([A-J])[.:)]"
    r"|(?:\b(?:or|and|also|as well as)\s|[和或与]|,\s?)\(?([A-J])(?=[\s,.;)]|$)"
)


def plain_choice(answer: str) -> str:
    """An answer to a multiple choice without fonts, boxes and decoration, and not too long."""
    text = _LABEL.sub(r"\1. ", _ENUMERATED.sub("和", _ends(answer)))
    text = re.sub(r"\s+", " ", _BOX.sub(r"\1", canonical(text)).replace("**", ""))
    text = _SMALL.sub(lambda match: match[0].upper(), _SPACED.sub(r"(\1)", text))
    text = _QUOTED.sub(r"\1", text)
    return _TITLE.sub("", text.strip(' $."`'))


def answer_letters(answer: str) -> frozenset[str] | None:
    r"""The letters that an answer chooses, as in "C", "(c)", "C. 12 cm", "option C" or "A, C".

    Empty if it leaves them open, "A or B", or takes them back; None if it names none.
    """
    text = plain_choice(answer).strip(' $."`[]{}<>\\「」')
    if single := _SINGLE.fullmatch(text):
        return frozenset(single[1].upper())
    bare = _SPACING.sub("", text)
    if _RUN.fullmatch(bare) and (text == bare or _LONE.search(text)):
        return frozenset() if _OPEN.search(text) else frozenset(bare)
    denied: set[str] = set()
    for part in reversed(_CUT.split(text)):
        letters, refusals, is_rejected = _claims(part.strip(" ,.;:"))
        denied |= refusals
        if letters is not None:
            return letters - denied
        if is_rejected and not refusals:
            return frozenset()
    return frozenset() if denied else None


# The only wrong one of several statements, for which a question may ask; not "C is wrong".
_WRONG_ONE = re.compile(
    r"(?:[^A-J不没非]{0,40}(?:错误|不正确|不对|不成立|有误)的(?:说法|命题|结论|判断|叙述|一项)?[是为]:?"
    r"|(?i:the\s(?:only\s)?(?:wrong|incorrect|false|untrue|invalid)\s(?:statement|claim|conclusion"
    r"|assertion|proposition|one|equation|description)\sis:?"
    r"|the\s(?:only\s)?(?:statement|claim|conclusion|assertion|proposition|one)\s(?:that|which)\sis"
    r"\s(?:not\s(?:true|correct|right|valid)|wrong|incorrect|false)\sis:?))"
    rf"\s?(?:选项|(?i:option|statement)\s)?({_LETTER})\s?(?:选?项)?"
)


def _claims(part: str) -> tuple[frozenset[str] | None, set[str], bool]:
    """The letters claimed in a part, those denied, and True if it rejects something unnamed."""
    if wrong := _WRONG_ONE.fullmatch(part):
        return frozenset(_capitals(wrong[1])), set(), False
    affirmed, denied = _split_denied(_NAMES.sub(" ", _REASON.sub(" ", part)))
    *others, last = affirmed.split(";")
    is_about_letters = any(re.search(_LETTER, other) for other in others)
    if is_about_letters and _REJECTED.search(affirmed) and not any(map(_stated, others)):
        affirmed = last  # B is tempting, but its sign is wrong; C is right
    if _REJECTED.search(affirmed):
        return None, denied, True
    letters = {letter for claim in _stated(affirmed) for letter in _capitals(claim)}
    if not letters:
        return None, denied, _NONE.search(affirmed) is not None
    if _OPEN.search(affirmed):
        return frozenset(), denied, False
    marked = {letter for groups in _MARKED.findall(affirmed) for letter in groups if letter}
    return frozenset(letters | marked), denied, False


def _split_denied(text: str) -> tuple[str, set[str]]:
    """The text without the parts that deny letters, and those letters."""
    denied, parts, end = set[str](), [], 0
    for group in _GROUP.finditer(text):
        start = group.start()
        wrong = _ARE_WRONG.match(text, group.end())
        if wrong is None and (wrong := _IS_WRONG.match(text, group.end())):
            start += group[0].rfind(",") + 1
        if wrong is not None and start >= end:
            denied.update(_capitals(text[start : group.end()]))
            parts.append(text[end:start])
            end = wrong.end()
    text = " ".join([*parts, text[end:]])
    denied.update(letter for match in _DENIED.finditer(text) for letter in _capitals(match[0]))
    return _DENIED.sub(" ", text).strip(), denied


def _stated(text: str) -> list[str]:
    """Letters that a text begins with, or that it states to be the answer."""
    leading = _LEADING.match(text)
    groups = [
        group[0]
        for group in _GROUP.finditer(text)
        if _STATING.search(text, max(0, group.start() - _BEFORE), group.start())
        or _IS_RIGHT.match(text, group.end())
    ]
    return [leading[1], *groups] if leading else groups


def _capitals(text: str) -> list[str]:
    return [c for run in re.findall(r"(?<![A-Za-z])[A-J]{1,10}(?![A-Za-z])", text) for c in run]


def _ends(text: str) -> str:
    """A long text without its middle."""
    half = MAX_LENGTH // 2
    return text if len(text) <= MAX_LENGTH else f"{text[:half]} {text[-half:]}"
