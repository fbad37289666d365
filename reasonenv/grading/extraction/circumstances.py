"""Numbers that a sentence repeats beside its claim: "56 pages in 8 days", "8 boxes hold 56 beads".

Closed lists of prepositions after a number of things, and of verbs after a subject. An amount of
money is no circumstance, "3 cards for 42 dollars", nor is the 4 of "1 in 4".
"""

import re

_NO_NOUN = r"(?!more\b|less\b|fewer\b|times\b|or\b|and\b|percent\b)"
_NOUN = rf"\s{_NO_NOUN}(?!dollars?\b|cents?\b|euros?\b)[a-z]{{3,20}}"
_PHRASE = re.compile(
    r"\b(?:in|within|among|with|into|for|over|during)\s(?:the\s|all\s|each\sof\s|these\s){0,2}"
    rf"(\d{{1,9}})(?={_NOUN}(?:[\s.,!]|\Z))"
    r"|\bto\s(?:the\s|all\s|each\sof\s|these\s){0,2}(\d{1,9})(?=\s(?:children|friends|people|kids"
    r"|students|classmates|neighbors)\b)|\bafter\s[a-z]{2,12}ing\s(?:away\s|out\s)?(\d{1,9})(?=[\s.]|\Z)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:\A|[.!?,\n]\s?)(?:(?:so|thus|therefore|hence),?\s)?(?:(?:the|all|these)\s){0,2}"
    rf"(\d{{1,9}}){_NOUN}(?:\s[a-z]{{3,20}})?(?:\s(?:would|will|can|could|must))?\s(?:costs?|holds?"
    r"|contains?|weighs?|needs?|requires?|makes?|gives?|takes?|gets?|earns?|uses?|eats?|pays?|fills?|reads?"
    r"|have)\s(?:a total of\s|exactly\s)?"
    r"(?=[$€£]?\d)",
    re.IGNORECASE,
)
_THINGS = re.compile(rf"\s{_NO_NOUN}[a-z]{{3,20}}")
_OPENING = re.compile(
    rf"((?:\A|[.!?\n])\s?(?:(?:so|thus|therefore),?\s)?)(?:in|for|over|during|after)\s(?:the\s|all\s)?"
    rf"\d{{1,9}}{_NOUN},\s(?=[A-Za-z])",
    re.IGNORECASE,
)


def without_opening(prose: str) -> str:
    """Prose without "In 8 days," at the start of a sentence."""
    return _OPENING.sub(r"\1", prose)


def circumstances(prose: str) -> set[int]:
    """Places of the numbers that state nothing if another number of the sentence does."""
    phrases = {match.start(match.lastindex or 0) for match in _PHRASE.finditer(prose)}
    return phrases | {match.start(1) for match in _SUBJECT.finditer(prose)}


def counts_things(prose: str, end: int) -> bool:
    """True if a noun follows the number that ends at a place."""
    return _THINGS.match(prose, end) is not None
