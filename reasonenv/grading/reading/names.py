"""Names in capital letters: figures, criteria of congruence, Roman numerals, chemical formulas.

Names are compared as spelled: SSA is not SAS, nor VI IV, nor ACBD ABCD. A segment, a line, an arc
and an angle may be read from either end, AB is BA and ∠ABC is ∠CBA.
"""

import re
from typing import NamedTuple

from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading.words import is_prose

_KINDS = {
    "segment": r"\overline \bar segment 线段", "line": r"\overleftrightarrow line 直线",
    "ray": "ray 射线", "vector": r"\overrightarrow \vec vector 向量", "arc": r"\widehat arc 弧",
    "angle": r"\angle \measuredangle angle 角", "plane": "plane 平面",
    "triangle": r"\triangle \bigtriangleup \Delta triangle 三角形",
    "quadrilateral": "quadrilateral 四边形",
    "parallelogram": r"\parallelogram parallelogram 平行四边形 ▱",
    "rectangle": "rectangle 矩形 长方形", "rhombus": "rhombus 菱形", "trapezoid": "trapezoid 梯形",
    "square": "square 正方形", "pentagon": "pentagon 五边形", "hexagon": "hexagon 六边形",
}  # fmt: skip
_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_REVERSIBLE = frozenset(["segment", "line", "arc", "angle"])
_POLYGONS = frozenset(list(_KINDS)[8:])
# Of these the letters alone are the name as well.
_BARE = frozenset(["", "segment", "line", "triangle", "criterion"]) | _POLYGONS
_CODE = re.compile(
    r"SSS|S?AS|ASA|AAS|SAA|SSA|ASS|AAA|AA|HL|LH|RHS|RSH|HA|LA|LL|[TF]{2,}|[YN]{2,}"
    r"|(?=[IVXL]{2})L?X{0,3}(?:IX|IV|V?I{0,3})|X[LC](?:IX|IV|V?I{0,3})|LX{1,3}"
)
_CAPITALS = re.compile(r"[A-Z][^A-Z]*[A-Z]")
_VERTEX = r"[A-Z](?:_\{?[0-9a-z]{1,3}\}?)?'{0,3}"
_FIGURE = re.compile(
    rf"(?:(?:[Bb]y|[Tt]he|using|line(?= segment)|由|根据|利用) ?){{0,2}}"
    rf"(?:(?P<kind>{'|'.join(map(re.escape, sorted(_KIND, key=len, reverse=True)))}) ?)?"
    rf"\{{? ?(?P<letters>(?:{_VERTEX} ?){{1,12}})\}}? ?"
    r"(?P<remark>(?:congruence|criterion|postulate|theorem|rule|test|similarity|判定|定理|公理|全等"
    r"|相似) ?){0,2}"
)
_GAP = re.compile(r"[,;和与及]|\\text\{ ?and ?\}|\band\b")
_DOTS = re.compile(r"(?<=[A-Z])\.(?=[A-Z]|$)")
_LAYOUT = re.compile(r"\\(?:text|ce)\{|[_{} ]")
# A substance of several elements, with a number or a small letter.
_COMPOUND = re.compile(
    r"\A(?=.*(?:[a-z]|\d))(?=.*[A-Z].*[A-Z])(?:[A-Z][a-z]?\d{0,3}|\((?:[A-Z][a-z]?\d{0,3}){1,6}\)\d{0,2}){1,20}"
)


class Name(NamedTuple):
    """A name and what it names: a kind of figure, "criterion", "formula", or "" for letters."""

    kind: str
    letters: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """True if the letters are no figure and no product: SAS, IV, TFT, H2O."""
        is_listed = not self.kind and _CODE.fullmatch("".join(self.letters)) is not None
        return self.kind in ("formula", "criterion") or is_listed


def name_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on an answer to a name; None for a reference that is none."""
    references = names(reference)
    if references is None:
        return None
    answers = names(answer)
    if answers is None:
        is_code = any(each.is_code for each in references)
        return False if is_code and not is_prose(answer) else None
    if len(answers) != len(references):
        return False
    for reference_name in references:
        same = next((each for each in answers if _is_same(each, reference_name)), None)
        if same is None:
            return False
        answers.remove(same)
    return True


def names(text: str) -> list[Name] | None:
    """The names of an enumeration, one at least with several letters; None for any other text."""
    if len(text) > 200 or not _CAPITALS.search(text):
        return None
    text = _DOTS.sub("", canonical(text)).strip("() ")
    items = [_name(item.strip()) for item in _GAP.split(text)]
    readings = [each for each in items if each is not None]
    is_complete = len(readings) == len(items) and any(len(each.letters) > 1 for each in readings)
    return readings if is_complete else None


def _name(text: str) -> Name | None:
    formula = _LAYOUT.sub("", text)
    if (" " not in text or "_" in text) and _COMPOUND.fullmatch(formula):
        return Name("formula", tuple(formula))
    match = _FIGURE.fullmatch(text)
    if match is None or (not match["kind"] and " " in match["letters"].strip()):
        return None
    kind = _KIND.get(match["kind"] or "", "criterion" if match["remark"] else "")
    letters = re.findall(_VERTEX, match["letters"].replace("{", "").replace("}", ""))
    return Name(kind, tuple(letters))


def _is_same(a: Name, r: Name) -> bool:
    if a.kind != r.kind and not ("" in (a.kind, r.kind) and {a.kind, r.kind} <= _BARE):
        return False
    kind = r.kind or a.kind
    ways = [r.letters]
    if kind in _REVERSIBLE or (len(r.letters) == 2 and not kind and not r.is_code):
        ways.append(r.letters[::-1])
    return a.letters in ways
