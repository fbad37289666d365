"""From the tokens of an answer to a tree.

A tree is made of `Node`s. Expressions: num, sym, const, add, mul, pow, fn, deg, pm. Answers: list,
tuple, set, union, relation, builder, matrix, ratio, quantity. `read` knows no more mathematics than
the rules by which people write it, and evaluates nothing.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from reasonenv.mathematics.notation import canonical
from reasonenv.mathematics.tokens import Token, tokens
from reasonenv.mathematics.units import UNITS, Unit

MAX_LENGTH = 1024
MAX_TOKENS = 400
MAX_DEPTH = 24

RELATIONS = {
    "=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!=", "approx": "~", "simeq": "~",
    "in": "in", "equiv": "=",
}  # fmt: skip
_OPAQUE = frozenset(["sum", "prod", "int", "lim", "gcd", "max", "min", "det"])
_ACCENTS = frozenset(
    ["vec", "overrightarrow", "hat", "bar", "widehat", "tilde", "dot", "ddot", "mathbb", "mathcal"]
)
_GEOMETRY = frozenset(["angle", "triangle", "odot", "bigtriangleup", "measuredangle", "parallelogram"])
_CLOSING = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",)}
_MATRICES = frozenset(
    ["matrix", "pmatrix", "bmatrix", "Bmatrix", "array", "vmatrix", "smallmatrix", "cases", "aligned"]
)


_FILLERS = frozenset(["unit", "units", "square units", "cubic units", "个"])
SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12, "万": 10**4, "亿": 10**8,
}  # fmt: skip


class Node(NamedTuple):
    """A tree: an operation and its arguments."""

    op: str
    args: tuple[Any, ...]


class Unreadable(Exception):
    """The text is no mathematics that this grammar knows."""


@lru_cache(maxsize=20_000)
def read(text: str, units: bool = False, grouped: bool = True) -> Node | None:
    """The tree of an answer, or None when it is prose, too long, or something unknown.

    Args:
        text: An answer as it was written.
        units: Whether letters after a number are a unit where they can be one.
        grouped: Whether 1,234 is one number, and not two.
    """
    if len(text) > MAX_LENGTH:
        return None
    found = tokens(canonical(text), units, MAX_TOKENS)
    if not found:
        return None
    if grouped:
        found = _with_groups(found)
    try:
        return _Parser(found, units).answer()
    except Unreadable:
        return None


def _with_groups(found: list[Token]) -> list[Token]:
    """The tokens with 1 , 234 joined, outside of brackets; and 0 , 5 where it is all there is."""
    joined: list[Token] = []
    depth = 0
    for token in found:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
        joined.append(token)
        if depth == 0 and token.kind == "number" and len(joined) > 2 and _is_group(*joined[-3:]):
            whole, _, group = joined[-3:]
            joined[-3:] = [Token("number", whole.text + group.text, whole.spaced)]
    if [t.text for t in joined[:2]] == ["0", ","] and len(joined) == 3 and not joined[2].spaced:
        return [Token("number", f"0.{joined[2].text}", False)]
    return joined


def _is_group(whole: Token, comma: Token, group: Token) -> bool:
    """Whether a number, a comma and a number are one: of three digits, nothing between them."""
    digits = group.text.partition(".")[0]
    return (
        whole.kind == "number"
        and comma.text == ","
        and not comma.spaced
        and not group.spaced
        and whole.text.isdecimal()
        and not whole.text.startswith("0")
        and (len(whole.text) <= 3 or len(whole.text) % 3 == 0 or len(whole.text) > 3)
        and len(digits) == 3
    )


def num(value: int | Fraction, places: int = 0) -> Node:
    """A number, written with `places` decimals."""
    return Node("num", (Fraction(value), places))


MINUS_ONE = num(-1)


class _Parser:
    """Recursive descent over tokens.

    `at` is the next one, and `barred` whether a bar would close something rather than open it.
    """

    def __init__(self, found: list[Token], units: bool) -> None:
        self.tokens, self.units = found, units
        self.at = self.depth = 0
        self.barred = False

    # --- moving through the tokens

    def peek(self, *texts: str) -> bool:
        """Whether the next token is one of these signs or commands."""
        token = self.next
        return token is not None and token.kind in ("sign", "command") and token.text in texts

    @property
    def next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def kind(self) -> str | None:
        token = self.next
        return token.kind if token else None

    def take(self) -> Token:
        if self.at >= len(self.tokens):
            raise Unreadable
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, *texts: str) -> bool:
        """Takes the next token when it is one of these."""
        found = self.peek(*texts)
        self.at += found
        return found

    def expect(self, *texts: str) -> str:
        if not self.peek(*texts):
            raise Unreadable
        return self.take().text

    def descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable

    # --- answers

    def answer(self) -> Node:
        """groups ; separated by semicolons."""
        groups = [self.items()]
        while self.skip(";"):
            groups.append(self.items())
        if self.next is not None:
            raise Unreadable
        return groups[0] if len(groups) == 1 else Node("list", tuple(groups))

    def items(self) -> Node:
        """relation , relation or relation ..."""
        items = [self.relation()]
        while self._separator():
            items.append(self.relation())
        return items[0] if len(items) == 1 else Node("list", tuple(items))

    def _separator(self) -> bool:
        if self.skip(","):
            if self.kind() == "connector":
                self.at += 1
            return True
        if self.kind() == "connector":
            self.at += 1
            return True
        return False

    def relation(self) -> Node:
        """side = side < side ..., or one side."""
        sides, ops = [self.side()], []
        while (token := self.next) is not None and token.text in RELATIONS:
            if token.kind not in ("sign", "command"):
                break
            self.at += 1
            ops.append(RELATIONS[token.text])
            sides.append(self.side())
        return Node("relation", (tuple(ops), tuple(sides))) if ops else sides[0]

    def side(self) -> Node:
        """A union of sets, a ratio, or a quantity."""
        if self.peek("=") and self.at == 0:
            self.at += 1
        if self.kind() == "word" and (title := self._title()):
            return Node("sym", (title,))
        first = self.quantity()
        if self.peek("cup"):
            parts = [first]
            while self.skip("cup"):
                parts.append(self.quantity())
            return Node("union", tuple(parts))
        if self.peek(":"):
            parts = [first]
            while self.skip(":"):
                parts.append(self.quantity())
            return Node("ratio", tuple(parts))
        return first

    def _title(self) -> str:
        """Words before an equals sign or a colon, such as "Surface area ="."""
        end = self.at
        while end < len(self.tokens) and self.tokens[end].kind == "word":
            end += 1
        if end == len(self.tokens) or self.tokens[end].text not in "=:":
            return ""
        words = [token.text.lower() for token in self.tokens[self.at : end]]
        self.at = end
        if self.tokens[end].text == ":":
            self.tokens[end] = Token("sign", "=", False)
        return " ".join(words)

    def quantity(self) -> Node:
        """sum, and what follows it: percent, unit, or words."""
        value: Node | None = None
        unit: Unit | None = None
        if self.units and self.peek("$", "€", "£", "¥", "￥"):
            unit = UNITS[self.take().text]
        elif self.peek("$"):
            self.at += 1
            unit = UNITS["$"]
        value = self.sum()
        while self.kind() == "word" and self.tokens[self.at].text.lower() in SCALES:
            value = product([value, num(SCALES[self.take().text.lower()])])
        after, words = self.unit()
        if words and any(part.op == "sym" for part in value.args if isinstance(part, Node)):
            raise Unreadable
        if value.op == "sym" and words:
            raise Unreadable
        if after is not None or unit is not None or words:
            value = Node("quantity", (value, unit or after, words))
            # 2 h 30 min
            if after is not None and not words and self.kind() == "number":
                rest = self.quantity()
                if rest.op != "quantity":
                    raise Unreadable
                return Node("compound", (value, rest))
        return value

    def unit(self) -> tuple[Unit | None, str]:
        """The unit that stands here, and the words after it or in its place."""
        unit: Unit | None = None
        words: list[str] = []
        while (token := self.next) is not None:
            if token.kind == "word" or (token.text == "%" and token.kind == "sign"):
                self.at += 1
                if not words and (factor := self._factor(token.text)) is not None:
                    unit = factor if unit is None else unit * factor
                elif token.text not in _FILLERS:
                    words.append(token.text)
            elif unit is not None and not words and self.peek("/", "cdot", "times"):
                unit = self._times(unit)
            elif token.kind == "sign" and token.text in "$€£" and unit is None:
                self.at += 1
                unit = UNITS.get(token.text) if token.text != "$" else None
            else:
                break
        return unit, " ".join(words)

    def _times(self, unit: Unit) -> Unit:
        divided = self.take().text == "/"
        token = self.take()
        if token.kind not in ("word", "name"):
            raise Unreadable
        factor = self._factor(token.text)
        if factor is None:
            raise Unreadable
        return unit * (factor**-1 if divided else factor)

    def _factor(self, word: str) -> Unit | None:
        """A unit with its power, such as cm^2, m/s, square feet."""
        word, power = word.strip(), 1
        for name, exponent in (("square ", 2), ("cubic ", 3), ("sq ", 2)):
            if word.startswith(name):
                word, power = word.removeprefix(name), exponent
        if word in ("square", "cubic", "sq") and self.kind() == "word":
            power, word = {"square": 2, "sq": 2, "cubic": 3}[word], self.take().text
        unit = compound_unit(word)
        if unit is None:
            return None
        if self.skip("^"):
            power *= self._integer()
        return unit**power

    def _integer(self) -> int:
        braced = self.skip("{")
        sign = -1 if self.skip("-") else 1
        token = self.take()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 2:
            raise Unreadable
        if braced:
            self.expect("}")
        return sign * int(token.text)

    # --- expressions

    def sum(self) -> Node:
        """product + product - product ..."""
        self.descend()
        terms = [self._signed()]
        while self.peek("+", "-", "pm", "mp"):
            terms.append(self._signed())
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def _signed(self) -> Node:
        sign = self.take().text if self.peek("+", "-", "pm", "mp") else "+"
        if self.peek("+", "-") and sign in "+-":
            sign = "+" if sign == self.take().text else "-"
        term = self.product()
        if sign == "+":
            return term
        if sign == "-":
            return negative(term)
        return Node("pm", (term, sign == "pm"))

    def product(self) -> Node:
        """power power * power / power ..."""
        factors = [self.power()]
        while True:
            if self.peek("*", "times", "cdot"):
                self.at += 1
                sign = self.skip("-")
                factor = self.power()
                factors.append(negative(factor) if sign else factor)
            elif self.peek("/", "div"):
                self.at += 1
                sign = self.skip("-")
                factor = Node("pow", (self.power(), MINUS_ONE))
                factors.append(negative(factor) if sign else factor)
            elif self.peek("bmod", "mod"):
                self.at += 1
                factors = [Node("fn", ("mod", (product(factors), self.power())))]
            elif self._factor_follows():
                factors.append(self._implicit(factors))
            else:
                return product(factors)

    def _factor_follows(self) -> bool:
        token = self.next
        if token is None:
            return False
        if token.kind in ("number", "name", "function"):
            return True
        if token.kind == "begin":
            return True
        if token.kind == "command":
            return token.text in _OPERANDS
        if token.text == "|":
            return not self.barred
        return token.kind == "sign" and token.text in "([{"

    def _implicit(self, factors: list[Node]) -> Node:
        """A factor without a sign: mixed numbers and groups of digits are none."""
        token, last = self.tokens[self.at], factors[-1]
        if token.kind == "number":
            if last.op == "num" and self.tokens[self.at - 1].kind == "number":
                return self._after_number(factors, token)
            if last.op == "num":
                raise Unreadable
        value = self.power()
        whole = last.op == "num" and len(factors) == 1 and _is_whole(last)
        if whole and token.text == "frac" and _is_fraction(value):
            factors.pop()
            return Node("add", (last, value))
        if value.op == "tuple" and last.op == "sym":
            factors.pop()  # A(2, -3) is the point
        return value

    def _after_number(self, factors: list[Node], token: Token) -> Node:
        """12 500 is one number and 2 1/2 is a mixed one; 2 3 is neither."""
        before = self.tokens[self.at - 1]
        after = self.tokens[self.at + 1 : self.at + 3]
        if len(after) == 2 and after[0].text == "/" and after[1].kind == "number":
            self.at += 3
            below = Node("pow", (_number(after[1].text), MINUS_ONE))
            return Node("add", (factors.pop(), product([_number(token.text), below])))
        digits = before.text.replace(" ", "")
        if token.spaced and digits.isdecimal() and len(token.text.partition(".")[0]) == 3:
            self.at += 1
            joined = before.text + token.text
            factors.pop()
            self.tokens[self.at - 1] = Token("number", joined, False)
            return _number(joined)
        raise Unreadable

    def power(self) -> Node:
        """atom ^ power, and what else stands behind an atom."""
        base = self.atom()
        while True:
            if self.skip("!"):
                base = Node("fn", ("factorial", (base,)))
            elif self.peek("'"):
                base = Node("fn", ("prime", (base,)))
                self.at += 1
            elif self.peek("%") and self._in_formula():
                self.at += 1
                base = product([base, num(Fraction(1, 100))])
            elif self.skip("^"):
                base = self._raised(base)
            else:
                return base

    def _in_formula(self) -> bool:
        """Whether a percent sign stands inside of a formula, and not after all of it."""
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        return following is not None and following.text in ("+", "-", "*", "times", "cdot", "^")

    def _raised(self, base: Node) -> Node:
        if self.peek("{") and self.at + 2 < len(self.tokens):
            inner, closing = self.tokens[self.at + 1 : self.at + 3]
            if inner.text == "circ" and closing.text == "}":
                self.at += 3
                if self.kind() == "name" and (scale := self.tokens[self.at].text) in "CF":
                    self.at += 1
                    return Node("quantity", (base, UNITS[f"°{scale}"], ""))
                return Node("deg", (base,))
            if inner.text in ("prime", "'") and closing.text == "}":
                self.at += 3
                return Node("fn", ("prime", (base,)))
        sign = self.skip("-")
        exponent = self.braced() if self.peek("{") else self._script()
        if base.op == "sym" and self.skip("_"):
            base = Node("sym", (f"{base.args[0]}_{self.subscript()}",))
        return Node("pow", (base, negative(exponent) if sign else exponent))

    def _script(self) -> Node:
        return self.power() if self.peek("sqrt", "frac", "(") else self.atom()

    def braced(self) -> Node:
        """{ sum }"""
        self.descend()
        self.expect("{")
        value = self.sum()
        self.expect("}")
        self.depth -= 1
        return value

    def argument(self) -> Node:
        """{ sum }, or the one digit or letter that LaTeX takes without braces."""
        if self.peek("{"):
            return self.braced()
        token = self.next
        if token is not None and token.kind == "number" and len(token.text) > 1:
            self.tokens[self.at] = Token("number", token.text[1:], False)
            return _number(token.text[0])
        return self.atom()

    def atom(self) -> Node:
        """A number, a name, a function with its argument, or a bracket."""
        self.descend()
        token = self.take()
        if token.kind == "number":
            value = self._repeating(token)
        elif token.kind == "name":
            value = self.name(token.text)
        elif token.kind == "function":
            value = self.function(token.text)
        elif token.kind == "begin":
            value = self.matrix(token.text)
        elif token.kind == "command":
            value = self.command(token.text)
        elif token.kind == "sign" and token.text in "([{":
            value = self.bracket(token.text)
        elif token.kind == "sign" and token.text == "|":
            value = Node("fn", ("abs", (self._barred(self.sum),)))
            self.expect("|")
        else:
            raise Unreadable
        self.depth -= 1
        return value

    def _barred(self, part: Callable[[], Node]) -> Node:
        """What stands before a closing bar."""
        before, self.barred = self.barred, True
        value = part()
        self.barred = before
        return value

    def _repeating(self, token: Token) -> Node:
        """A number, with the digits under \\overline or \\dot that repeat for ever."""
        if "." in token.text and self.peek("overline", "dot"):
            return self._recurring(token.text)
        value = _number(token.text)
        if self.peek("_"):
            self.at += 1
            return Node("sym", (f"{token.text}_{self.subscript()}",))
        return value

    def _recurring(self, text: str) -> Node:
        digits = ""
        while self.skip("overline", "dot"):
            digits += self.subscript()
        if not digits.isdecimal() or len(digits) > 20:
            raise Unreadable
        places = len(text.partition(".")[2])
        period = Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)
        return num(_number(text + "0").args[0] + period)

    def name(self, name: str) -> Node:
        """A letter with its subscript; a call when it is a function's usual name."""
        if name in ("pi", "e", "i", "infty"):
            if not self.peek("_"):
                return Node("const", (name,))
        if self.skip("_"):
            name = f"{name}_{self.subscript()}"
        if name[0] in "fghFGP" and self.peek("("):
            self.at += 1
            arguments = self.items()
            self.expect(")")
            values = arguments.args if arguments.op == "list" else (arguments,)
            return Node("call", (name, values))
        return Node("sym", (name,))

    def subscript(self) -> str:
        """A subscript as it is written."""
        if not self.skip("{"):
            return self.take().text
        parts: list[str] = []
        depth = 1
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            parts.append(token.text)
        return "".join(parts[:-1])

    def function(self, name: str) -> Node:
        """sin x, sin^2 x, log_2 8, sqrt[3]{x}."""
        if name == "sqrt":
            return self.root()
        base: tuple[Node, ...] = ()
        power: Node | None = None
        while self.peek("_", "^"):
            if self.take().text == "_":
                base = (self.braced() if self.peek("{") else self.argument(),)
            else:
                power = self.braced() if self.peek("{") else self.argument()
        value = Node("fn", (name, (self._operand(), *base)))
        if power == MINUS_ONE and name in ("sin", "cos", "tan"):
            return Node("fn", (f"arc{name}", value.args[1]))
        return value if power is None else Node("pow", (value, power))

    def _operand(self) -> Node:
        """What a function without brackets takes: the product up to the next function or sign."""
        if self.peek("(", "["):
            self.descend()
            opening = self.take().text
            value = self.sum()
            self.expect(*_CLOSING[opening])
            self.depth -= 1
            return value
        if self.peek("{"):
            return self.braced()
        factors = [self.power()]
        while self.kind() in ("number", "name") or self.peek("frac", "sqrt"):
            factors.append(self.power())
        if self.skip("/", "div"):
            factors.append(Node("pow", (self.power(), MINUS_ONE)))
        return product(factors)

    def root(self) -> Node:
        degree = num(2)
        if self.skip("["):
            degree = self.sum()
            self.expect("]")
        if self.peek("("):
            self.at += 1
            value = self.sum()
            self.expect(")")
        else:
            value = self.argument()
        return Node("fn", ("root", (value, degree)))

    def command(self, name: str) -> Node:  # noqa: C901, PLR0911 - one line for each command
        """What a command stands for."""
        if name == "frac":
            above, below = self.argument(), self.argument()
            return product([above, Node("pow", (below, MINUS_ONE))])
        if name in ("binom", "dbinom", "tbinom"):
            return Node("fn", ("binomial", (self.argument(), self.argument())))
        if name in ("emptyset",):
            return Node("set", ())
        if name == "{":
            return self.set()
        if name in ("lfloor", "lceil"):
            value = self.sum()
            self.expect(name.replace("l", "r", 1))
            return Node("fn", (name[1:], (value,)))
        if name == "overline":
            return self.overline()
        if name in _ACCENTS:
            return Node("sym", (f"{name} {self.subscript()}",))
        if name in _GEOMETRY:
            return Node("sym", (f"{name} {self._capitals()}",))
        if name in _OPAQUE:
            return self.opaque(name)
        if name in ("ldots", "cdots", "dots"):
            return Node("sym", ("...",))
        if name == "boxed":
            return self.braced()
        raise Unreadable

    def overline(self) -> Node:
        name = self.subscript()
        return Node("sym", (f"overline {name}",))

    def _capitals(self) -> str:
        letters: list[str] = []
        while self.kind() in ("name", "number"):
            letters.append(self.take().text)
        if not letters:
            raise Unreadable
        return "".join(letters)

    def opaque(self, name: str) -> Node:
        """A sum, an integral or a limit: compared by its parts, never carried out."""
        parts: list[Node] = []
        while self.peek("_", "^"):
            self.at += 1
            if self.skip("{"):
                inner = self.relation()
                self.expect("}")
            else:
                inner = self.argument()
            parts += inner.args[1] if inner.op == "relation" else [inner]
        return Node("opaque", (name, (*parts, self.product())))

    def bracket(self, opening: str) -> Node:
        """( sum ), a point, an interval, or { a set }."""
        if opening == "{" and self.skip("}"):
            return Node("set", ())
        inner = self._barred(self.items) if opening == "{" else self.items()
        if opening == "{" and self.skip("|"):
            return self._builder(inner, "}")
        closing = self.expect(*_CLOSING[opening])
        if opening == "{":
            return Node("set", inner.args) if inner.op == "list" else inner
        if inner.op == "list":
            return Node("tuple", (opening + closing, inner.args))
        return inner if opening + closing == "()" else Node("tuple", (opening + closing, (inner,)))

    def set(self) -> Node:
        r"""\{ a, b \} or \{ x | condition \}."""
        inner = self._barred(self.items)
        if self.skip("|"):
            return self._builder(inner, "}")
        self.expect("}")
        return Node("set", inner.args if inner.op == "list" else (inner,))

    def _builder(self, variable: Node, closing: str) -> Node:
        before, self.barred = self.barred, False
        condition = self.items()
        self.barred = before
        self.expect(closing)
        return Node("builder", (variable, condition))

    def matrix(self, environment: str) -> Node:
        if environment not in _MATRICES:
            raise Unreadable
        if environment == "array" and self.peek("{"):
            self.subscript_group()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while self.kind() != "end":
            if self.skip("\\"):
                rows.append(tuple(row))
                row = []
            elif not self.skip("&"):
                row.append(self.items())
        self.at += 1
        if row:
            rows.append(tuple(row))
        if environment in ("cases", "aligned"):
            return Node("list", tuple(item for row in rows for item in row))
        if environment == "vmatrix":
            return Node("fn", ("det", tuple(rows)))
        return Node("matrix", tuple(rows))

    def subscript_group(self) -> None:
        self.expect("{")
        while not self.skip("}"):
            self.take()


_OPERANDS = (
    frozenset(["frac", "binom", "dbinom", "tbinom", "lfloor", "lceil", "overline", "boxed", "emptyset"])
    | _OPAQUE
    | _ACCENTS
    | _GEOMETRY
    | frozenset(["{", "ldots", "cdots", "dots"])
)


def product(factors: list[Node]) -> Node:
    """Their product; one factor is itself."""
    return factors[0] if len(factors) == 1 else Node("mul", tuple(factors))


def negative(node: Node) -> Node:
    """-node, a number where it is one."""
    if node.op == "num":
        return Node("num", (-node.args[0], node.args[1]))
    if node.op == "quantity":
        return Node("quantity", (negative(node.args[0]), *node.args[1:]))
    return Node("mul", (MINUS_ONE, node))


def compound_unit(text: str) -> Unit | None:
    """A unit as words: "cm", "km/h", "m/s^2"."""
    total: Unit | None = None
    for index, part in enumerate(text.replace(" per ", "/").split("/")):
        name, _, power = part.strip().partition("^")
        unit = UNITS.get(name) or UNITS.get(name.lower()) if len(name) > 1 else UNITS.get(name)
        power = power.strip("{} ")
        if unit is None or (power and not power.removeprefix("-").isdecimal()) or len(power) > 2:
            return None
        unit **= int(power or 1)
        total = unit if total is None else total * (unit**-1 if index else unit)
    return total


def _number(text: str) -> Node:
    mantissa, _, exponent = text.lower().partition("e")
    mantissa = mantissa.replace(",", "")
    if len(mantissa) > 256 or len(exponent.strip("+-")) > 3:
        raise Unreadable
    places = len(mantissa.partition(".")[2])
    value = Fraction(mantissa.removesuffix(".")) * Fraction(10) ** int(exponent or 0)
    return Node("num", (value, places))


def _is_whole(node: Node) -> bool:
    return node.args[1] == 0 and node.args[0].denominator == 1


def _is_fraction(node: Node) -> bool:
    """Whether a tree is one whole number over another."""
    if node.op != "mul" or len(node.args) != 2:
        return False
    above, below = node.args
    return above.op == "num" and below.op == "pow" and below.args[0].op == "num"
