"""Constructs that an answer can repeat without end, from the tables of the grammar and the grader.

A new bracket, command, unit, separator or spelling is among them by being in its table.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from helpers.regex_steps import example, parser
from reasonenv.grading.parsing import expressions, grammar, notation, tokens
from reasonenv.grading.parsing import quantities as units
from reasonenv.grading.parsing.units import MAGNITUDES, UNITS
from reasonenv.grading.reading import formulas, letters, lines, literals, sections
from reasonenv.grading.reading import words as texts

_LRU_CACHE = type(functools.lru_cache(len))
Construct = Callable[[int], str]
"""A text of about this many characters."""

_WRAPPERS = {
    "bare": "{}",
    "raised": "2^{{{}}}",
    "root": r"\sqrt{{{}}}",
    "fraction": r"\frac{{1}}{{{}}}",
    "point": "({}, 1)",
    "equation": "x={}",
}
_POSTFIX = [
    *("'", "!", "''", "'!", "%", "%*", "^2", "^{2}", "^x", "^{\\prime}", "^{\\circ}", "_1", "_{1}")
]  # fmt: skip
_WORDS = [
    *("is ", "the answer is ", "not ", "and ", "7 and ", "7, ", "$7$ ", "so $7$ and ", "A "),
    *("A or ", "(A) ", "not A", "a ", "the cat ", "B is wrong, ", "7 is ", "三角形", "选A"),
    *("不是", "是", "because ", "when ", ", where x ", "12:30 ", "2020-01-01 "),
    *("**7** ", "7th ", "half ", "xth"),
]  # fmt: skip
_RESPONSES = [
    *(r"\boxed{7}", r"\boxed{", r"\boxed{7} and ", r"\boxed 7 ", "<answer>", "</answer>"),
    *("<|", "<think>", "</think>", "<|a|>", "answer: ", "answer ", "the answer is\n", "{", "}"),
    *("\\", "$", "\n", " ", "\t", "\u3000", "\r\n", "I hope it is correct", "答案是", "</s>"),
]  # fmt: skip


def repeated(unit: str, before: str = "", after: str = "") -> Construct:
    return lambda length: before + unit * (length // max(1, len(unit))) + after


def nested(opening: str, closing: str, core: str = "x") -> Construct:
    def build(length: int) -> str:
        levels = length // max(1, len(opening) + len(closing))
        return opening * levels + core + closing * levels

    return build


def listed(item: str, separator: str) -> Construct:
    """Different items, # in them their number."""

    def build(length: int) -> str:
        count = length // (len(item) + len(separator) + 1)
        return separator.join(item.replace("#", str(number)) for number in range(count))

    return build


def signs() -> Iterator[tuple[str, Construct]]:
    """Signs after an atom, within other atoms."""
    for name, wrapper in _WRAPPERS.items():
        opening, closing = wrapper.format("\0").split("\0")
        for sign in _POSTFIX:
            for core in ("5", "x", "(x+1)"):
                yield f"{sign} after {core} {name}", repeated(sign, opening + core, closing)
        if name != "bare":
            for sign in ("", "'", "!", "^2"):
                yield f"nested {name} {sign}", nested(opening, closing + sign)


def atoms() -> Iterator[tuple[str, Construct]]:
    """Atoms and functions, brackets and bars."""
    for atom in sorted({*grammar._ATOMS, *map("\\{}".format, [*tokens.FUNCTIONS, *tokens._GREEK])}):
        unit = f"{atom} " if atom.startswith("\\") else atom
        yield f"atom {atom}", repeated(unit, "", "x")
        yield f"atom after {atom}", repeated(f"1{unit}x", "2")
        yield f"atom nested {atom}", nested(f"{unit}{{1}}{{", "}")
        yield f"atom called {atom}", nested(f"{unit}(x+", ")'")
        yield f"atom index {atom}", nested(f"{unit}_{{1}}^{{", "}x")
    for opening, closing in [(o, c) for o, each in expressions.CLOSING.items() for c in each]:
        yield f"bracket {opening}{closing}", nested(opening, closing)
        yield f"bracket pair {opening}{closing}", nested(f"{opening}1,", closing)
        yield f"bracket sign {opening}{closing}", nested(opening, f"{closing}'^2")
        yield f"bracket open {opening}", repeated(opening, "1")
    for relation in ("<5", ">5", r"\ne 5", "=5"):
        yield (
            f"absolute {relation}",
            lambda n, r=relation: "|" * (n // 2) + "x" + "|" * (n // 2) + r,
        )


def environments() -> Iterator[tuple[str, Construct]]:
    """Matrices, systems and determinants: open, nested, with many rows or columns."""
    for name in sorted(grammar._MATRICES | grammar._SYSTEMS | {"vmatrix"}):
        begin, end = rf"\begin{{{name}}}", rf"\end{{{name}}}"
        yield f"environment {name}", nested(f"{begin}1&", end)
        yield f"environment open {name}", repeated(begin)
        yield f"environment rows {name}", repeated(r"1&2\\", begin, end)
        yield f"environment columns {name}", repeated("1&", begin, end)


def collections() -> Iterator[tuple[str, Construct]]:
    """Separators and relations between equal and different items."""
    relations = [r if len(r) == 1 else f"\\{r} " for r in [*grammar._RELATIONS, *grammar._JOINED]]
    commands = (r"\\", r"\pm ", r"\bmod ", r"\cdot ")
    separators = [*commands, *(",", ";", "&", "+", "-", "*", "/", " ", "\n")]
    for sign in sorted({*separators, *relations, *(f" {word} " for word in tokens._CONNECTORS)}):
        yield f"separator {sign}", repeated(sign)
        for item in ("x", "#", r"\sin #", "x=#", "x<#", "(#,x)"):
            yield f"separated {sign} {item}", listed(item, sign)


def measurements() -> Iterator[tuple[str, Construct]]:
    """Units, money, scales and words."""
    samples = sorted({id(unit): name for name, unit in UNITS.items()}.values())
    for name in [*samples[::4], *units._MONEY, *units._FILLERS, *units._POWERS]:
        yield f"unit {name}", repeated(f"{name} ", "5 ")
        yield f"unit glued {name}", repeated(name, "5")
        yield f"unit power {name}", repeated(f"{name}^99 ", "5 ")
    for name in samples[::8]:
        yield f"unit compound {name}", repeated(f"5 {name} ")
        yield f"unit over {name}", repeated(f"/{name}^99", "5 m")
        yield f"unit in text {name}", repeated(rf"\text{{{name}}}^{{99}}", "5 ")
    for name in MAGNITUDES:
        yield f"scale {name}", repeated(f"{name} ", "5 ")
        yield f"scale unit {name}", repeated(f"{name} ", "5 ", "cm")


def numerals() -> Iterator[tuple[str, Construct]]:
    """Digits, and small texts whose value has many."""
    for before in ("", "0.", "1e", "-", "2^", r"\frac{1}{2}", "√", "0.3\\overline{"):
        yield f"digits {before}", repeated("7", before)
    steps = (",777", " 777", "{,}777", "e9", ".7", "/7", "!", "^9", "^{9}", "*9^{999}", "+2000!")
    for unit in steps:
        yield f"number {unit}", repeated(unit, "7")
    powers = ("#^{2000}", "1/#^{2000}", r"\frac{7^{999}}{#}")
    for item in (*powers, r"\binom{2999}{1#}", "#.5!", "2999!/#"):
        yield f"sum of {item}", listed(item, "+")
        yield f"list of {item}", listed(item, ",")
    yield "tower", nested("2^{", "}", "2")
    yield "heavy floor", nested(r"\lfloor 2000!+", r"\rfloor ")


def markers() -> Iterator[tuple[str, Construct]]:
    """Spellings, symbols, delimiters and spaces, each by an example of its pattern."""
    patterns = [pattern for _, pattern, _ in (*notation._REWRITES, *notation._SPELLINGS)]
    for module in (notation, formulas, letters, lines, literals, sections, texts):
        patterns += [value for value in vars(module).values() if isinstance(value, re.Pattern)]
    for pattern in {pattern.pattern: pattern for pattern in patterns}.values():
        unit = example(parser.parse(pattern.pattern, pattern.flags), pattern.flags)
        yield f"example {unit}", repeated(unit)
        yield f"part of example {unit}", repeated(unit[:-1] or unit, "1 ")
        yield f"example before = {unit}", repeated(unit, "1", "!=x=2")
    symbols = {*notation._SIGNS, *notation._SUPERSCRIPTS, *"①０＋（", *" \t\n`#*_~.\\{}$%&^\"'"}
    for symbol in sorted(symbols):
        yield f"symbol {symbol!r}", repeated(symbol)
        yield f"symbol after 1 {symbol!r}", repeated(f"1{symbol}")
        yield f"symbol before = {symbol!r}", repeated(symbol, "1^", "!=x=2")
    for opening, closing in notation._DELIMITERS:
        yield f"delimiter {opening}", nested(opening, closing, "7")
        yield f"delimiter in prose {opening}", nested(f"we get {opening}", closing, "7")


def words() -> Iterator[tuple[str, Construct]]:
    for word in _WORDS:
        yield f"word {word}", repeated(word)
        yield f"word after words {word}", repeated(word, "the total of cats is ", " 7")


def responses() -> Iterator[tuple[str, Construct]]:
    """Marks around the answer of a response."""
    for mark in _RESPONSES:
        yield f"response {mark!r}", repeated(mark)
        yield f"response with a box {mark!r}", repeated(mark, r"\boxed{7}")
        yield f"response in a box {mark!r}", repeated(mark, r"\boxed{7", "}")


KINDS = {
    "signs": signs,
    "atoms": atoms,
    "environments": environments,
    "collections": collections,
    "quantities": measurements,
    "numerals": numerals,
    "markers": markers,
    "words": words,
    "responses": responses,
}
"""Constructs by kind; those of `responses` are whole responses, all others answers."""


def response(kind: str, text: str) -> str:
    """A response with a construct as its answer."""
    return text if kind == "responses" else f"<answer>{text}</answer>"


def clear_caches() -> None:
    """Clears all caches of the grader."""
    for cache in _CACHES:
        cache.cache_clear()


def _find_caches() -> Iterator[Any]:
    """The caches among the names of the grader's modules, and within its decorated functions."""
    for name, module in sys.modules.items():
        if name.startswith("reasonenv.grading"):
            for value in vars(module).values():
                cells = getattr(value, "__closure__", None) or ()
                values = (value, *(cell.cell_contents for cell in cells))
                yield from (each for each in values if type(each) is _LRU_CACHE)


_CACHES = {id(cache): cache for cache in _find_caches()}.values()
