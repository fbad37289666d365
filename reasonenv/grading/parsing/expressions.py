"""Grammar of expressions: sums, products, powers, atoms."""

from fractions import Fraction

from reasonenv.grading.parsing.cursor import Cursor, Rule, Unreadable
from reasonenv.grading.parsing.nodes import EXPRESSIONS, Node, inverse, negative, num, product
from reasonenv.grading.parsing.numerals import number_node, parse_subscript
from reasonenv.grading.parsing.tokens import Token
from reasonenv.grading.parsing.units import UNITS

_MULTIPLIED = ("*", "times", "cdot")
_DIVIDED = ("/", "div")


def parse_sum(cursor: Cursor) -> Node:
    """Sum: product + product - product ..."""
    cursor.descend()
    terms = [_signed_product(cursor)]
    while cursor.peek("+", "-", "pm", "mp"):
        terms.append(_signed_product(cursor))
    cursor.ascend()
    return terms[0] if len(terms) == 1 else Node("add", tuple(terms))


def _signed_product(cursor: Cursor) -> Node:
    """A product with its sign, or two: x + -3."""
    sign = cursor.take().text if cursor.peek("+", "-", "pm", "mp") else "+"
    if sign in "+-" and cursor.peek("+", "-"):
        sign = "+" if sign == cursor.take().text else "-"
    term = parse_product(cursor)
    if sign in "+-":
        return term if sign == "+" else negative(term)
    return Node("pm", (term, sign == "pm"))


def parse_product(cursor: Cursor) -> Node:
    """Product: power power * power / power ..."""
    factors, depth = [parse_power(cursor)], cursor.depth
    while True:
        if cursor.peek(*_MULTIPLIED):
            is_cross = cursor.take().text == "times" and _is_vector(factors[-1])
            sign = cursor.skip("-")
            factor = parse_power(cursor)
            if is_cross and _is_vector(factor):
                factor = _cross_product(factors.pop(), factor)
        elif cursor.skip(*_DIVIDED):
            sign = cursor.skip("-")
            factor = inverse(parse_power(cursor))
        elif cursor.skip("bmod", "mod"):
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
    if node.op == "sym":
        return node.args[0].startswith("vec ")
    return "cross" in node.kinds


def _cross_product(a: Node, b: Node) -> Node:
    """The product a x b, as -(b x a) if the names are in that order."""
    if repr(a) <= repr(b):
        return Node("fn", ("cross", (a, b)))
    return negative(Node("fn", ("cross", (b, a))))


def _atom_follows(cursor: Cursor) -> bool:
    token = cursor.next
    if token is None or (cursor.barred and token.text == "|"):
        return False
    return _rule(cursor, token) is not None


def _implicit(cursor: Cursor, factors: list[Node]) -> Node:
    """A factor without a sign before it; combined with the last factor in 2 1/2 or A(2, -3)."""
    start, last = cursor.at, factors[-1]
    token = cursor.tokens[start]
    if token.kind == "number" and last.op == "num":
        return _after_number(cursor, factors)
    value = parse_power(cursor)
    is_mixed = len(factors) == 1 and _is_whole(last) and token.text == "frac" and _is_ratio(value)
    if is_mixed:
        return Node("add", (factors.pop(), value))
    if value.op == "tuple":
        return _grouped(cursor, value, factors)
    return value


def _grouped(cursor: Cursor, value: Node, factors: list[Node]) -> Node:
    """Brackets with a comma, or square ones, after a factor: A(2, -3) and 2[x + 1]."""
    brackets, members = value.args
    if len(members) == 1 and brackets == "[]" and members[0].op in EXPRESSIONS:
        return members[0]
    is_prime = factors[-1].op == "fn" and factors[-1].args[0] == "prime"
    if len(members) == 1 or not (factors[-1].op == "sym" or is_prime):
        raise Unreadable
    return labeled_point(cursor, factors.pop(), value)


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
    match cursor.ahead(2):
        case [Token(text="/"), Token(kind="number", text=below)]:
            cursor.at += 3
            fraction = product([number_node(token.text), inverse(number_node(below))])
            return Node("add", (factors.pop(), fraction))
    if _is_group(before, token):
        factors.pop()
        digits = before.text + token.text
        cursor.tokens[cursor.at] = Token("number", digits, False)
        cursor.at += 1
        return number_node(digits)
    raise Unreadable


def _is_group(before: Token, token: Token) -> bool:
    """True if two numbers are groups of the digits of one: 12 500."""
    is_first = before.text.isdecimal() and not before.text.startswith("0")
    return token.spaced and is_first and len(token.text.partition(".")[0]) == 3


def parse_power(cursor: Cursor) -> Node:
    """Power: atom ^ exponent, and the postfix signs !, ' and %."""
    base, depth = parse_atom(cursor), cursor.depth
    while cursor.peek("!", "'", "%", "^") and (raised := _with_sign(cursor, base)) is not None:
        # One more level of the tree, as of brackets.
        cursor.descend()
        base = raised
    cursor.depth = depth
    return base


def _with_sign(cursor: Cursor, base: Node) -> Node | None:
    """The base with the exponent or the sign that follows it; None if none does."""
    if cursor.skip("!"):
        return Node("fn", ("factorial", (base,)))
    if cursor.skip("'"):
        return Node("fn", ("prime", (base,)))
    if cursor.peek("%") and _goes_on(cursor):
        cursor.at += 1
        return product([base, num(Fraction(1, 100))])
    return _raised(cursor, base) if cursor.skip("^") else None


def _goes_on(cursor: Cursor) -> bool:
    """True if a percent sign is inside a formula, not at its end."""
    following = cursor.ahead(1)
    return bool(following) and following[0].text in ("+", "-", "*", "times", "cdot", "^")


def _raised(cursor: Cursor, base: Node) -> Node:
    match cursor.tokens[cursor.at : cursor.at + 3]:
        case [Token(text="{"), Token(text="circ"), Token(text="}")]:
            cursor.at += 3
            return _degrees(cursor, base)
        case [Token(text="{"), Token(text="prime" | "'"), Token(text="}")]:
            cursor.at += 3
            return Node("fn", ("prime", (base,)))
    sign = cursor.skip("-")
    exponent = _exponent(cursor)
    if base.op == "sym" and cursor.skip("_"):  # x^2_1 is x_1^2
        base = Node("sym", (f"{base.args[0]}_{parse_subscript(cursor)}",))
    return Node("pow", (base, negative(exponent) if sign else exponent))


def _degrees(cursor: Cursor, base: Node) -> Node:
    """An angle, or a temperature if a C or an F follows."""
    token = cursor.next
    if token is not None and token.kind in ("name", "word") and token.text in ("C", "F"):
        cursor.at += 1
        return Node("quantity", (base, UNITS[f"°{token.text}"], ""))
    return Node("deg", (_with_minutes(cursor, base),))


def _with_minutes(cursor: Cursor, degrees: Node) -> Node:
    """30° with minutes and seconds after it, in degrees."""
    terms = [degrees]
    for marks, parts in (("'", 60), ("''", 3600), ('"', 3600)):
        after = [token.text for token in cursor.ahead(len(marks))]
        ends = cursor.ahead(len(marks) + 1)[len(marks) :]
        if cursor.kind() == "number" and after == list(marks) and [t.text for t in ends] != ["'"]:
            terms.append(product([number_node(cursor.take().text), num(Fraction(1, parts))]))
            cursor.at += len(marks)
    return terms[0] if len(terms) == 1 else Node("add", tuple(terms))


def _exponent(cursor: Cursor) -> Node:
    if cursor.peek("{"):
        return parse_braced(cursor)
    return parse_power(cursor) if cursor.peek("sqrt", "frac", "(") else parse_atom(cursor)


def parse_braced(cursor: Cursor) -> Node:
    """{ sum }."""
    cursor.descend()
    cursor.expect("{")
    value = parse_sum(cursor)
    cursor.expect("}")
    cursor.ascend()
    return value


def parse_argument(cursor: Cursor) -> Node:
    """{ sum }, or the one digit or letter that LaTeX takes without braces."""
    if cursor.peek("{"):
        return parse_braced(cursor)
    token = cursor.next
    if token is not None and token.kind == "number" and len(token.text) > 1:
        digit, rest = token.text[0], token.text[1:]
        cursor.tokens[cursor.at] = Token("number", rest, False)
        return number_node(digit)
    return parse_atom(cursor)


def parse_atom(cursor: Cursor) -> Node:
    """A number, a name, a function with its argument, or a bracket."""
    cursor.descend()
    token = cursor.take()
    rule = _rule(cursor, token)
    if rule is None:
        raise Unreadable
    value = rule(cursor, token.text)
    cursor.ascend()
    return value


def _rule(cursor: Cursor, token: Token) -> Rule | None:
    """The rule for the atom that begins with a token; None if there is none."""
    if token.kind == "sign":
        return cursor.atoms.get(token.text)
    return cursor.atoms.get(f"\\{token.text}" if token.kind == "command" else token.kind)


def _is_whole(node: Node) -> bool:
    return node.op == "num" and node.args[1] == 0 and node.args[0].denominator == 1


def _is_ratio(node: Node) -> bool:
    """True if a node is one number over another."""
    if node.op != "mul" or len(node.args) != 2:
        return False
    above, below = node.args
    return above.op == "num" and below.op == "pow" and below.args[0].op == "num"
