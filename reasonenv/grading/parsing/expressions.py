r"""Grammar of expressions: sums, products, powers, numbers, functions and other atoms."""

from fractions import Fraction

from reasonenv.grading.parsing.nodes import EXPRESSIONS, Node, inverse, negative, num, product
from reasonenv.grading.parsing.tokens import Cursor, Rule, Token, Unreadable
from reasonenv.grading.parsing.units import UNITS

MAX_DIGITS = 256
"""Digits of a number at most; its power of ten has three at most."""
_MAX_PERIOD = 20
_POSTFIX = frozenset(["!", "'", "%", "^"])
_ADDED = frozenset(["+", "-", "pm", "mp"])
_MULTIPLIED = ("*", "times", "cdot")
_DIVIDED = ("/", "div")
CLOSING = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",)}
"""Closing brackets by opening one: intervals may be open on one side."""
_ACCENTS = {"overrightarrow": "vec", "widehat": "hat", "overline": "bar"}
_CONSTANTS = frozenset(["pi", "e", "i", "infty"])
_INVERTED = {
    **{name: f"arc{name}" for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: f"ar{name}" for name in ("sinh", "cosh", "tanh")},
}


def parse_sum(cursor: Cursor) -> Node:
    """Sum: product + product - product ..."""
    cursor.descend()
    terms = [_signed_product(cursor)]
    while cursor.symbol() in _ADDED:
        terms.append(_signed_product(cursor))
    cursor.depth -= 1
    return terms[0] if len(terms) == 1 else Node("add", tuple(terms))


def _signed_product(cursor: Cursor) -> Node:
    """A product with its sign, or two: x + -3."""
    sign = cursor.take().text if cursor.symbol() in _ADDED else "+"
    if sign in "+-" and cursor.peek("+", "-"):
        sign = "+" if sign == cursor.take().text else "-"
    term = parse_product(cursor)
    if sign in ("pm", "mp"):
        return Node("pm", (term, sign == "pm"))
    return term if sign == "+" else negative(term)


def parse_product(cursor: Cursor) -> Node:
    """Product: power power * power / power ..."""
    factors, depth = [parse_power(cursor)], cursor.depth
    while True:
        symbol = cursor.symbol()
        if symbol in _MULTIPLIED:
            is_cross = cursor.take().text == "times" and _is_vector(factors[-1])
            sign = cursor.skip("-")
            factor = _bare_bracket(parse_power(cursor))
            if is_cross and _is_vector(factor):
                factor = Node("fn", ("cross", (factors.pop(), factor)))
        elif symbol in _DIVIDED:
            cursor.at += 1
            sign = cursor.skip("-")
            factor = inverse(parse_power(cursor))
        elif symbol in ("bmod", "mod"):
            cursor.at += 1
            factors = [Node("fn", ("mod", (product(factors), parse_power(cursor))))]
            cursor.descend()
            continue
        elif _atom_follows(cursor):
            factors.append(_implicit(cursor, factors))
            continue
        else:
            cursor.depth = depth
            return product(factors)
        factors.append(negative(factor) if sign else factor)


def _is_vector(node: Node) -> bool:
    return node.args[0].startswith("vec ") if node.op == "sym" else "cross" in node.kinds


def _atom_follows(cursor: Cursor) -> bool:
    token = cursor.next
    if token is None or (cursor.barred and token.text == "|"):
        return False
    return _rule(cursor, token) is not None


def _bare_bracket(value: Node) -> Node:
    """The sum in square brackets: 2[x + 1]."""
    if value.op == "tuple" and value.args[0] == "[]" and len(value.args[1]) == 1:
        return value.args[1][0] if value.args[1][0].op in EXPRESSIONS else value
    return value


def _implicit(cursor: Cursor, factors: list[Node]) -> Node:
    """A factor without a sign before it; combined with the last factor in 2 1/2 or A(2, -3)."""
    last, token = factors[-1], cursor.tokens[cursor.at]
    if token.kind == "number" and last.op == "num":
        return _after_number(cursor, factors)
    value = _bare_bracket(parse_power(cursor))
    if token.text == "frac" and len(factors) == 1 and _is_mixed(last, value):
        return Node("add", (factors.pop(), value))
    if value.op != "tuple":
        return value
    is_prime = last.op == "fn" and last.args[0] == "prime"
    if len(value.args[1]) == 1 or not (last.op == "sym" or is_prime):
        raise Unreadable
    return labeled_point(cursor, factors.pop(), value)


def _is_mixed(whole: Node, fraction: Node) -> bool:
    """True for a whole number before one number over another: 2 1/2."""
    match whole, fraction:
        case Node(op="num", args=(value, 0)), Node(op="mul", args=(Node(op="num"), below)):
            return value.denominator == 1 and below.op == "pow" and below.args[0].op == "num"
    return False


def labeled_point(cursor: Cursor, name: Node, value: Node) -> Node:
    """A(2, -3) as A = (2, -3), unless an equation follows: P(A, B) = 0.4."""
    is_label = name.op != "sym" or (name.args[0][:1].isupper() and len(name.args[0]) < 4)
    if cursor.peek("=", "approx") or not is_label:
        return value
    return Node("relation", (("=",), (name, value)))


def _after_number(cursor: Cursor, factors: list[Node]) -> Node:
    """12 500 as one number and 2 1/2 as a mixed one; 2 3 is unreadable."""
    before, token = cursor.tokens[cursor.at - 1 : cursor.at + 1]
    if before.kind != "number":
        raise Unreadable
    match cursor.tokens[cursor.at + 1 : cursor.at + 3]:
        case [Token(text="/"), Token(kind="number", text=below)]:
            cursor.at += 3
            fraction = product([number_node(token.text), inverse(number_node(below))])
            return Node("add", (factors.pop(), fraction))
    is_first = before.text.isdecimal() and not before.text.startswith("0")
    if not (token.spaced and is_first and len(token.text.partition(".")[0]) == 3):
        raise Unreadable
    factors.pop()
    digits = before.text + token.text
    cursor.tokens[cursor.at] = Token("number", digits, False)
    cursor.at += 1
    return number_node(digits)


def parse_power(cursor: Cursor) -> Node:
    """Power: atom ^ exponent, and the postfix signs !, ' and %."""
    base, depth = parse_atom(cursor), cursor.depth
    while cursor.symbol() in _POSTFIX and (raised := _with_sign(cursor, base)) is not None:
        cursor.descend()  # One more level of the tree, as of brackets.
        base = raised
    cursor.depth = depth
    return base


def _with_sign(cursor: Cursor, base: Node) -> Node | None:
    """The base with the exponent or the sign that follows it; None if none does."""
    if cursor.skip("!"):
        return Node("fn", ("factorial", (base,)))
    if cursor.skip("'"):
        return Node("fn", ("prime", (base,)))
    if cursor.peek("%"):  # inside a formula, not at its end
        if cursor.texts(2)[1:] in (["+"], ["-"], ["*"], ["times"], ["cdot"], ["^"]):
            cursor.at += 1
            return product([base, num(Fraction(1, 100))])
        return None
    cursor.at += 1
    return _raised(cursor, base)


def _raised(cursor: Cursor, base: Node) -> Node:
    if cursor.texts(3) == ["{", "circ", "}"]:
        cursor.at += 3
        return _degrees(cursor, base)
    sign = cursor.skip("-")
    if cursor.peek("{"):
        exponent = parse_braced(cursor)
    else:
        exponent = (parse_power if cursor.peek("sqrt", "frac", "(") else parse_atom)(cursor)
    return Node("pow", (base, negative(exponent) if sign else exponent))


def _degrees(cursor: Cursor, base: Node) -> Node:
    """An angle with its minutes and seconds, or a temperature if a C or an F follows."""
    token = cursor.next
    if token is not None and token.kind in ("name", "word") and token.text in ("C", "F"):
        cursor.at += 1
        return Node("quantity", (base, UNITS[f"°{token.text}"], ""))
    terms = [base]
    for marks, parts in ((["'"], 60), (["'", "'"], 3600), (['"'], 3600)):
        count = len(marks)
        _, *after = cursor.texts(count + 2) or [""]
        if cursor.kind() == "number" and after[:count] == marks and after[count:] != ["'"]:
            terms.append(product([number_node(cursor.take().text), num(Fraction(1, parts))]))
            cursor.at += count
    return Node("deg", (terms[0] if len(terms) == 1 else Node("add", tuple(terms)),))


def parse_braced(cursor: Cursor) -> Node:
    """{ sum }."""
    cursor.descend()
    cursor.expect("{")
    value = parse_sum(cursor)
    cursor.expect("}")
    cursor.depth -= 1
    return value


def parse_argument(cursor: Cursor) -> Node:
    """{ sum }, or the one digit or letter that LaTeX takes without braces."""
    if cursor.peek("{"):
        return parse_braced(cursor)
    token = cursor.next
    if token is not None and token.kind == "number" and len(token.text) > 1:
        cursor.tokens[cursor.at] = Token("number", token.text[1:], False)
        return number_node(token.text[0])
    return parse_atom(cursor)


def parse_atom(cursor: Cursor) -> Node:
    """A number, a name, a function with its argument, or a bracket."""
    cursor.descend()
    token = cursor.take()
    rule = _rule(cursor, token)
    if rule is None:
        raise Unreadable
    value = rule(cursor, token.text)
    cursor.depth -= 1
    return value


def _rule(cursor: Cursor, token: Token) -> Rule | None:
    kind, text, _ = token
    if kind == "sign":
        return cursor.atoms.get(text)
    return cursor.atoms.get(f"\\{text}" if kind == "command" else kind)


def parse_subscript(cursor: Cursor) -> str:
    """A subscript as written."""
    if not cursor.skip("{"):
        return cursor.take().text
    texts: list[str] = []
    depth = 1
    while depth:
        text = cursor.take().text
        depth += {"{": 1, "}": -1}.get(text, 0)
        texts.append(text)
    return "".join(texts[:-1])


def _literal(cursor: Cursor, text: str) -> Node:
    r"""A number, with its base as a subscript or the digits under \overline that repeat."""
    if "." not in text or not cursor.peek("overline", "dot", "bar"):
        value = number_node(text)
        return Node("sym", (f"{text}_{parse_subscript(cursor)}",)) if cursor.skip("_") else value
    period = ""
    while cursor.skip("overline", "dot", "bar"):
        period += parse_subscript(cursor)
    if not period.isdecimal() or len(period) > _MAX_PERIOD:
        raise Unreadable
    places = len(text.partition(".")[2])
    repeated = Fraction(int(period), (10 ** len(period) - 1) * 10**places)
    return num(number_node(text + "0").args[0] + repeated)


def number_node(text: str) -> Node:
    """The number of a text of digits, with an optional decimal point and power of ten.

    Raises:
        Unreadable: The text is no number, or has too many digits.
    """
    if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return Node("num", (Fraction(int(text)), 0))
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = whole + decimals
    if not digits.isdecimal() or len(mantissa) > MAX_DIGITS or len(exponent.strip("+-")) > 3:
        raise Unreadable
    value = Fraction(int(digits), 10 ** len(decimals))
    if exponent:
        value *= Fraction(10) ** int(exponent)
    return Node("num", (value, len(decimals)))


def parse_letter(cursor: Cursor, name: str) -> Node:
    """A constant, or a letter with its subscript."""
    if name in _CONSTANTS and not cursor.peek("_"):
        return Node("const", (name,))
    return Node("sym", (f"{name}_{parse_subscript(cursor)}" if cursor.skip("_") else name,))


def _function(cursor: Cursor, name: str) -> Node:
    r"""Sin x, \sin^2 x, \log_2 8, \sqrt[3]{x}."""
    if name == "sqrt":
        return _root(cursor)
    base: tuple[Node, ...] = ()
    exponent: Node | None = None
    while cursor.peek("_", "^"):
        if cursor.take().text == "_":
            base = (parse_argument(cursor),)
        else:
            exponent = parse_argument(cursor)
    inner = (_operand(cursor), *base)
    if exponent == num(-1) and name in _INVERTED:
        return Node("fn", (_INVERTED[name], inner))
    value = Node("fn", (name, inner))
    return value if exponent is None else Node("pow", (value, exponent))


def _operand(cursor: Cursor) -> Node:
    """Operand of a function: a bracket, or the product up to the next function, e^ or sign."""
    if cursor.peek("(", "["):
        cursor.descend()
        opening = cursor.take().text
        value = parse_sum(cursor)
        cursor.expect(*CLOSING[opening])
        cursor.depth -= 1
        return value
    if cursor.peek("{"):
        return parse_braced(cursor)
    factors = [parse_power(cursor)]
    while cursor.kind() in ("number", "name") or cursor.peek("frac", "sqrt"):
        # \sin x e^x is a product, the argument of \ln 2 e^x is one.
        if cursor.texts(2) == ["e", "^"] and not all(factor.op == "num" for factor in factors):
            break
        factors.append(parse_power(cursor))
    if cursor.skip("/", "div"):
        factors.append(inverse(parse_power(cursor)))
    return product(factors)


def _root(cursor: Cursor) -> Node:
    degree = num(2)
    if cursor.skip("["):
        degree = parse_sum(cursor)
        cursor.expect("]")
    value = parse_argument(cursor) if not cursor.peek("(") else _operand(cursor)
    return Node("fn", ("root", (value, degree)))


def _within_bars(cursor: Cursor, name: str) -> Node:
    r"""|x|, \lfloor x \rfloor and \lceil x \rceil."""
    value = cursor.within_bars(parse_sum) if name == "|" else parse_sum(cursor)
    cursor.expect("|" if name == "|" else f"r{name[1:]}")
    return Node("fn", ("abs" if name == "|" else name[1:], (value,)))


def _figure(cursor: Cursor, name: str) -> Node:
    """An angle or a triangle by the letters of its points."""
    letters = ""
    while cursor.kind() in ("name", "number"):
        letters += cursor.take().text
    if not letters:
        raise Unreadable
    if name in ("angle", "measuredangle") and len(letters) == 3:
        letters = min(letters, letters[::-1])
    return Node("sym", (f"{name} {letters}",))


_RULES: dict[str, Rule] = {
    "frac": lambda cursor, _: product([parse_argument(cursor), inverse(parse_argument(cursor))]),
    "emptyset": lambda cursor, _: Node("set", ()),
    "boxed": lambda cursor, _: parse_braced(cursor),
    "binom dbinom tbinom": lambda cursor, _: Node(
        "fn", ("binomial", (parse_argument(cursor), parse_argument(cursor)))
    ),
    "neg lnot": lambda cursor, _: Node("not", (parse_power(cursor),)),
    "lfloor lceil": _within_bars,
    "vec overrightarrow overline hat bar widehat tilde dot ddot mathbb mathcal": (
        lambda cursor, name: Node("sym", (f"{_ACCENTS.get(name, name)} {parse_subscript(cursor)}",))
    ),
    "angle triangle odot bigtriangleup measuredangle parallelogram": _figure,
    "ldots cdots dots": lambda cursor, _: Node("sym", ("...",)),
}
ATOMS: dict[str, Rule] = {
    **{f"\\{name}": rule for names, rule in _RULES.items() for name in names.split()},
    "number": _literal,
    "function": _function,
    "|": _within_bars,
}
"""Rules for atoms that contain only expressions."""
