"""The number that a response to arithmetic in words claims, by a reader of its own.

It shares nothing with the grader of `reasonenv`, whose verdicts it checks: it takes the last marked
number, else the results of equations and of a list of verbs. Numbers of the question count only as
the result of an equation. It is written for these problems alone and reads more than it should:
where it differs from the grader, the response is read by eye.
"""

import re

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905 - to be read
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905 - as above
_WORDS = {word: value for value, word in enumerate(_ONES)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, start=2)}
_WORDS |= {f"{ten}-{_ONES[one]}": _WORDS[ten] + one for ten in _TENS for one in range(1, 10)}
_WORD = re.compile(rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b", re.IGNORECASE)
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_OPEN = r"[\s$*`\"'({\[\\]*(?:boxed\{|text\{)?"
_FILLERS = (
    r"(?:\s(?:you|him|her|us|them|about|exactly|only|just|now|a|the|total|of|still|both|then|equal"
    r"|to|simply|actually|also|therefore|number|sum|product|difference|result|up|be|is|there|are"
    r"|approximately|around|roughly|answer|left))*"
)
_STATED = re.compile(
    r"\b(?:is|are|was|were|be|equals?|equal to|gets?|got|has|have|had|gives?|gave|makes?|made"
    r"|leaves?|left with|pays?|paid|earns?|costs?|needs?|becomes?|totals?|holds?|of|to|as|in|finds?"
    rf"|found|yields?|receives?|spends?|takes?|sells?){_FILLERS}\s?:?{_OPEN}{_NUMBER}",
    re.IGNORECASE,
)
_EQUATION = re.compile(rf"[=≈]{_OPEN}{_NUMBER}")
_GOES_ON = re.compile(
    r"\s*=|\s*(?:[a-z]+\s)?(?:[-+*/x×÷·]|plus|minus|times|\\times|\\cdot|multiplied|divided)\s*"
    r"[($]?\d|-[a-z]{2}",
    re.IGNORECASE,
)
_MARK = re.compile(
    rf"(?:####|answer(?:\sto[^.=\n]{{0,60}})?(?:\sis|:)|boxed\{{){_FILLERS}{_OPEN}{_NUMBER}",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\s*(so|therefore|thus|hence|in total|finally|altogether)\b", re.IGNORECASE
)


def claimed_number(question: str, response: str) -> float | None:
    """The number that a response claims; None if it claims none, or several without a conclusion.

    Args:
        question: The question, whose numbers are premises.
        response: What the model wrote.
    """
    text = _in_digits(response)
    equations = _values(_EQUATION, text)
    marks = sorted(_values(_MARK, text).items())
    if marks and not any(place > marks[-1][0] for place in equations):
        return marks[-1][1]
    premises = {float(number) for number in re.findall(_NUMBER, _in_digits(question))}
    stated = {at: value for at, value in _values(_STATED, text).items() if value not in premises}
    results = sorted((stated | equations).items())
    if not results:
        bare = re.fullmatch(rf"\W*?{_NUMBER}\W*(?:[a-z]+\W*)?", text.strip(), re.IGNORECASE)
        return float(bare[1]) if bare else None
    place, value = results[-1]
    if len({value for _, value in results}) == 1:
        return value
    sentence = max(text.rfind(". ", 0, place), text.rfind("\n", 0, place)) + 1
    return value if _CONCLUDES.match(text, sentence) else None


def _in_digits(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("−", "-"))
    return _WORD.sub(lambda match: str(_WORDS[match[1].lower()]), text)


def _values(pattern: re.Pattern[str], text: str) -> dict[int, float]:
    """Values by their places, without those that go on as a computation."""
    return {
        match.start(1): float(match[1])
        for match in pattern.finditer(text)
        if not _GOES_ON.match(text, match.end())
    }
