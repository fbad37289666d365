"""Names in capital letters: figures, criteria of congruence, Roman numerals, chemical formulas.

Names are compared as spelled: SSA is not SAS, nor VI IV, nor ACBD ABCD. A segment, a line, an arc
and an angle may be read from either end, AB is BA and ∠ABC is ∠CBA, and a polygon of four vertices
or more from any of them and in either direction. Of a triangle the order counts, since it may say
which vertices correspond to those of another; of a ray and of a vector it does as well.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading.words import is_prose, is_text

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
_POLYGONS = frozenset(
    """quadrilateral parallelogram rectangle rhombus trapezoid square pentagon
    hexagon""".split()  # noqa: SIM905 - a page of quotation marks is harder to read
)
_REVERSIBLE = frozenset(["segment", "line", "arc", "angle"])
# Of these the letters alone are the name as well.
_BARE = frozenset(["", "segment", "line", "triangle", "criterion"]) | _POLYGONS
_ELEMENTS = frozenset(
    """H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se
    Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy
    Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf
    Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og""".split()  # noqa: SIM905 - IUPAC, 2016; as above
)
_CRITERIA = frozenset(
    "SSS SAS ASA AAS SAA SSA ASS AAA AA HL LH RHS RSH HA LA LL".split()  # noqa: SIM905 - as above
)

_CAPITALS = re.compile(r"[A-Z][^A-Z]*[A-Z]")
_VERTEX = re.compile(r"[A-Z](?:_\{?[0-9a-z]{1,3}\}?)?'{0,3}")
_FIGURE = re.compile(
    rf"(?:(?P<kind>{'|'.join(map(re.escape, sorted(_KIND, key=len, reverse=True)))}) ?)?"
    r"\{? ?(?P<letters>(?:[A-Z](?:_\{?[0-9a-z]{1,3}\}?)?'{0,3} ?){1,12})\}? ?"
    r"(?P<remark>(?:congruence|criterion|postulate|theorem|rule|test|similarity|判定|定理|公理|全等"
    r"|相似) ?){0,2}"
)
_GAP = re.compile(r"[,;和与及]|\\text\{ ?and ?\}|\band\b")
_LEAD = re.compile(r"(?:by|the|using|line(?= segment)|由|根据|利用) ?", re.IGNORECASE)
_DOTS = re.compile(r"(?<=[A-Z])\.(?=[A-Z]|$)")
_LAYOUT = re.compile(r"\\(?:text|ce)\{|[_{} ]")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d{0,3}|\((?:[A-Z][a-z]?\d{0,3}){1,6}\)\d{0,2}){1,20}")
_ATOM = re.compile(r"([A-Z][a-z]?)(\d*)")
_ROMAN = re.compile(
    r"(?=[IVXL]{2})L?X{0,3}(?:IX|IV|V?I{0,3})|X[LC]|X[LC](?:IX|IV|V?I{0,3})|LX{1,3}"
)
_ANSWERS = re.compile("[TF]{2,}|[YN]{2,}")
_WORD = re.compile(r"\\(?:text|mathrm) ?\{ ?([a-z]{2,20}) ?\}")
_LETTERS = re.compile(r"(?:\\(?:text|mathrm) ?\{ ?)?([a-z]{2,20}) ?\}?")
_MAX_LENGTH = 200


class Name(NamedTuple):
    """A name and what it names.

    Attributes:
        kind: A kind of figure, "criterion", "formula" of chemistry, or "" for letters alone.
        letters: The letters, with subscripts and primes.
    """

    kind: str
    letters: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """True if the letters are no figure and no product: SAS, IV, TFT, H2O."""
        text = "".join(self.letters)
        return self.kind in ("formula", "criterion") or (
            not self.kind
            and (text in _CRITERIA or bool(_ROMAN.fullmatch(text) or _ANSWERS.fullmatch(text)))
        )


def name_verdict(answer: str, reference: str) -> bool | None:
    r"""Verdict on an answer to a name, or to a word in \text; None if the reference is neither."""
    word, letters = _WORD.fullmatch(_bare(reference)), _LETTERS.fullmatch(_bare(answer))
    if word and letters:
        return None if is_text(reference) else word[1] == letters[1]
    references = names(reference)
    if references is None:
        return None
    answers = names(answer)
    if answers is None:
        is_code = any(each.is_code for each in references)
        return False if is_code and not is_prose(answer) else None
    return _same_names(answers, references)


def _bare(text: str) -> str:
    return text[:_MAX_LENGTH].strip(" $")


def names(text: str) -> list[Name] | None:
    """The names of an enumeration, one at least with several letters; None for any other text."""
    if len(text) > _MAX_LENGTH or not _CAPITALS.search(text):
        return None
    text = _DOTS.sub("", canonical(text)).strip("() ")
    items = [_name(item.strip()) for item in _GAP.split(text)]
    readings = [each for each in items if each is not None]
    is_complete = len(readings) == len(items) and any(len(each.letters) > 1 for each in readings)
    return readings if is_complete else None


def _name(text: str) -> Name | None:
    formula = _LAYOUT.sub("", text)
    if _FORMULA.fullmatch(formula) and _is_compound(formula):
        return Name("formula", tuple(formula))
    text = _LEAD.sub("", text, count=2)
    match = _FIGURE.fullmatch(text)
    if match is None or (not match["kind"] and " " in match["letters"].strip()):
        return None
    kind = _KIND[match["kind"]] if match["kind"] else "criterion" if match["remark"] else ""
    letters = tuple(
        letter.replace("{", "").replace("}", "") for letter in _VERTEX.findall(match["letters"])
    )
    return Name(kind, letters)


def _is_compound(formula: str) -> bool:
    """True for the formula of a substance of several elements, with a number or a small letter."""
    atoms = _ATOM.findall(formula)
    is_known = all(name in _ELEMENTS and count not in ("0", "1") for name, count in atoms)
    is_marked = any(count or len(name) > 1 for name, count in atoms)
    return is_known and is_marked and len(atoms) > 1


def _same_names(answers: Sequence[Name], references: Sequence[Name]) -> bool:
    """True if the names of two enumerations are the same, in any order."""
    if len(answers) != len(references):
        return False
    rest = list(answers)
    for reference in references:
        same = next((each for each in rest if _is_same(each, reference)), None)
        if same is None:
            return False
        rest.remove(same)
    return True


def _is_same(a: Name, r: Name) -> bool:
    if a.kind != r.kind and not ("" in (a.kind, r.kind) and {a.kind, r.kind} <= _BARE):
        return False
    if a.letters == r.letters:
        return True
    kind = r.kind or a.kind
    if kind in _POLYGONS and len(r.letters) > 3:
        return _is_turned(a.letters, r.letters)
    is_reversible = kind in _REVERSIBLE or (len(r.letters) == 2 and not kind and not r.is_code)
    return is_reversible and a.letters == r.letters[::-1]


def _is_turned(letters: Sequence[str], others: Sequence[str]) -> bool:
    """True if both are the vertices of one polygon, from any of them and in either direction."""
    turns = [(*way[k:], *way[:k]) for way in (others, others[::-1]) for k in range(len(others))]
    return tuple(letters) in turns
