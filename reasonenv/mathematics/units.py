"""Units of measurement: what they measure, and how many base units they are."""

from fractions import Fraction

_PREFIXES = {"k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "μ": -6, "u": -6, "n": -9, "M": 6, "G": 9}

Dimension = tuple[tuple[str, int], ...]
"""Powers of base quantities, sorted by name."""


class Unit:
    """A unit, or a product of powers of units.

    Args:
        dimension: What it measures.
        factor: Base units in one of it.
    """

    __slots__ = ("dimension", "factor")

    def __init__(self, dimension: dict[str, int], factor: Fraction) -> None:
        self.dimension = {name: power for name, power in dimension.items() if power}
        self.factor = factor

    def __mul__(self, other: "Unit") -> "Unit":
        names = self.dimension.keys() | other.dimension.keys()
        total = {n: self.dimension.get(n, 0) + other.dimension.get(n, 0) for n in names}
        return Unit(total, self.factor * other.factor)

    def __pow__(self, power: int) -> "Unit":
        return Unit({n: p * power for n, p in self.dimension.items()}, self.factor**power)

    def measures_like(self, other: "Unit") -> bool:
        """Whether one can be converted to the other."""
        return self.dimension == other.dimension

    def __repr__(self) -> str:
        return f"Unit({self.dimension}, {self.factor})"


def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}

    def add(names: str, factor: str | Fraction, **dimension: int) -> None:
        for name in names.split():
            table[name] = Unit(dimension, Fraction(factor))

    for prefix, power in {"": 0, **_PREFIXES}.items():
        scale = Fraction(10) ** power
        add(f"{prefix}m", scale, length=1)
        add(f"{prefix}g", scale / 1000, mass=1)
        if prefix in ("", "m", "c", "k", "d", "μ", "u"):
            add(f"{prefix}L {prefix}l", scale / 1000, length=3)
        if prefix in ("", "m", "μ", "u", "n"):
            add(f"{prefix}s", scale, time=1)
        if prefix in ("", "k", "m", "M", "G", "μ", "u", "n"):
            add(f"{prefix}N", scale, mass=1, length=1, time=-2)
            add(f"{prefix}J", scale, mass=1, length=2, time=-2)
            add(f"{prefix}W", scale, mass=1, length=2, time=-3)
            add(f"{prefix}Pa", scale, mass=1, length=-1, time=-2)
            add(f"{prefix}Hz", scale, time=-1)
            add(f"{prefix}A", scale, current=1)
            add(f"{prefix}V", scale, mass=1, length=2, time=-3, current=-1)
            add(f"{prefix}C", scale, current=1, time=1)
            add(f"{prefix}F", scale, mass=-1, length=-2, time=4, current=2)
            add(f"{prefix}T", scale, mass=1, time=-2, current=-1)
            add(f"{prefix}eV", scale * Fraction("1.602176634e-19"), mass=1, length=2, time=-2)
            add(f"{prefix}mol", scale, amount=1)
        add(f"{prefix}Ω {prefix}ohm {prefix}ohms", scale, mass=1, length=2, time=-3, current=-2)
    add("meter meters metre metres 米", 1, length=1)
    add("centimeter centimeters centimetre centimetres 厘米", "0.01", length=1)
    add("millimeter millimeters millimetre millimetres 毫米", "0.001", length=1)
    add("kilometer kilometers kilometre kilometres 千米 公里", 1000, length=1)
    add("decimeter decimeters 分米", "0.1", length=1)
    add("inch inches in", "0.0254", length=1)
    add("ft foot feet", "0.3048", length=1)
    add("yd yard yards", "0.9144", length=1)
    add("mi mile miles", "1609.344", length=1)
    add("gram grams 克", "0.001", mass=1)
    add("kilogram kilograms kilo kilos 千克 公斤", 1, mass=1)
    add("t ton tons tonne tonnes 吨", 1000, mass=1)
    add("lb lbs pound pounds", "0.45359237", mass=1)
    add("oz ounce ounces", "0.028349523125", mass=1)
    add("sec secs second seconds 秒", 1, time=1)
    add("min mins minute minutes 分钟", 60, time=1)
    add("h hr hrs hour hours 小时", 3600, time=1)
    add("day days 天", 86400, time=1)
    add("week weeks 周 星期", 604800, time=1)
    add("month months 个月", 1, month=1)
    add("year years yr yrs 年", 12, month=1)
    add("liter liters litre litres 升", "0.001", length=3)
    add("milliliter milliliters millilitre millilitres 毫升 cc", "0.000001", length=3)
    add("hectare hectares ha 公顷", 10000, length=2)
    add("acre acres", "4046.8564224", length=2)
    add("gallon gallons", "0.003785411784", length=3)
    add("mph", "0.44704", length=1, time=-1)
    add("kph kmh", Fraction(1000, 3600), length=1, time=-1)
    add("bit bits", 1, information=1)
    add("byte bytes B", 8, information=1)
    add("dollar dollars USD $", 1, dollar=1)
    add("cent cents ¢", "0.01", dollar=1)
    add("euro euros EUR €", 1, euro=1)
    add("yuan RMB 元 块 ￥ ¥", 1, yuan=1)
    add("角", "0.1", yuan=1)
    add("£", 1, sterling=1)
    add("% percent 百分", "0.01")
    add("deg degree degrees 度", 1, angle=1)
    add("rad radian radians", 1, arc=1)
    add("K kelvin kelvins", 1, temperature=1)
    add("°C", 1, celsius=1)
    add("°F", 1, fahrenheit=1)
    return table


UNITS = _table()
"""Every unit by its names."""

_GLUED = frozenset("cm mm km dm kg ml mL ft".split())
AMBIGUOUS = frozenset(name for name in UNITS if len(name) < 3 and name.isalpha()) - _GLUED
"""Units that, without a space before them, are rather a product of quantities, as in 5h and 2mg."""
