"""Units of measurement: dimensions and conversion factors."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

_PREFIXES = {
    "-": 0, "k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "μ": -6, "u": -6, "n": -9, "p": -12,
    "M": 6, "G": 9, "T": 12,
}  # fmt: skip
# The prefixes of the SI by name, and in Chinese (GB 3100); each stands before units of one script.
_PREFIX_NAMES = {
    "kilo": "k", "mega": "M", "giga": "G", "milli": "m", "micro": "μ", "nano": "n", "pico": "p",
}  # fmt: skip
_CHINESE_PREFIXES = {"千": "k", "兆": "M", "吉": "G", "毫": "m", "微": "μ", "纳": "n", "皮": "p"}
_MAX_BITS = 4096


class ExtremeUnit(ArithmeticError):  # noqa: N818 - a property of a text, not a program's error
    """The size of a unit has too many digits, as of cm^99 cm^99 cm^99 ..."""


class Unit:
    """A unit, or a product of powers of units.

    Args:
        dimension: Powers of base quantities.
        factor: Size in base units.

    Raises:
        ExtremeUnit: The size has more than 4096 bits.
    """

    __slots__ = ("dimension", "factor")

    def __init__(self, dimension: Mapping[str, int], factor: Fraction) -> None:
        self.dimension = {name: power for name, power in dimension.items() if power}
        self.factor = factor
        if self._num_bits() > _MAX_BITS:
            raise ExtremeUnit

    def _num_bits(self) -> int:
        return max(self.factor.numerator.bit_length(), self.factor.denominator.bit_length())

    def __mul__(self, other: "Unit") -> "Unit":
        total = Counter(self.dimension)
        total.update(other.dimension)
        return Unit(total, self.factor * other.factor)

    def __pow__(self, power: int) -> "Unit":
        if self._num_bits() * abs(power) > _MAX_BITS:
            raise ExtremeUnit
        return Unit({n: p * power for n, p in self.dimension.items()}, self.factor**power)

    def is_convertible_to(self, other: "Unit") -> bool:
        """True if both have the same dimension."""
        return self.dimension == other.dimension

    def __repr__(self) -> str:
        return f"Unit({self.dimension}, {self.factor})"


def _scaled(prefixes: str, names: str, factor: str, **dimension: int) -> dict[str, Unit]:
    """Units with prefixes; "-" is none."""
    powers = {prefix: _PREFIXES[prefix] for prefix in prefixes.split()}
    return {
        f"{prefix.strip('-')}{name}": Unit(dimension, Fraction(factor) * Fraction(10) ** power)
        for prefix, power in powers.items()
        for name in names.split()
    }


def _named(names: str, factor: str, **dimension: int) -> dict[str, Unit]:
    """One unit under several names."""
    return dict.fromkeys(names.split(), Unit(dimension, Fraction(factor)))


_ALL = " ".join(_PREFIXES)
_SOME = "- k m M G μ u n p"

_CHINESE_LENGTHS = {
    "毫米": "0.001",
    "厘米": "0.01",
    "分米": "0.1",
    "米": "1",
    "千米": "1000",
    "公里": "1000",
}
_CHINESE_SIZES = {
    f"{word}{name}": Unit({"length": power}, Fraction(factor) ** power)
    for word, power in (("平方", 2), ("立方", 3))
    for name, factor in _CHINESE_LENGTHS.items()
}

UNITS = {
    **_CHINESE_SIZES,
    **_named("平方秒 二次方秒", "1", time=2),
    **_scaled(_ALL, "m", "1", length=1),
    **_scaled(_ALL, "g", "0.001", mass=1),
    **_scaled("- k d c m μ u", "L l", "0.001", length=3),
    **_scaled("- m μ u n", "s", "1", time=1),
    **_scaled(_SOME, "N", "1", mass=1, length=1, time=-2),
    **_scaled(_SOME, "J", "1", mass=1, length=2, time=-2),
    **_scaled(_SOME, "W", "1", mass=1, length=2, time=-3),
    **_scaled(f"{_SOME} h", "Pa", "1", mass=1, length=-1, time=-2),
    **_scaled(_SOME, "Hz", "1", time=-1),
    **_scaled(_SOME, "A", "1", current=1),
    **_scaled(_SOME, "V", "1", mass=1, length=2, time=-3, current=-1),
    **_scaled(_SOME, "C", "1", current=1, time=1),
    **_scaled(_SOME, "F", "1", mass=-1, length=-2, time=4, current=2),
    **_scaled(_SOME, "T", "1", mass=1, time=-2, current=-1),
    **_scaled("- m μ u", "Wb", "1", mass=1, length=2, time=-2, current=-1),
    **_scaled("- k", "cal", "4.184", mass=1, length=2, time=-2),
    **_named("atm", "101325", mass=1, length=-1, time=-2),
    **_scaled(_SOME, "eV", "1.602176634e-19", mass=1, length=2, time=-2),
    **_scaled(_SOME, "mol", "1", amount=1),
    **_scaled(_ALL, "Ω ohm ohms", "1", mass=1, length=2, time=-3, current=-2),
    **_named("centimeter centimeters centimetre centimetres 厘米", "0.01", length=1),
    **_named("公里", "1000", length=1),
    **_named("decimeter decimeters 分米", "0.1", length=1),
    **_named("inch inches in", "0.0254", length=1),
    **_named("ft foot feet", "0.3048", length=1),
    **_named("yd yard yards", "0.9144", length=1),
    **_named("mi mile miles", "1609.344", length=1),
    **_named("kilo kilos 公斤", "1", mass=1),
    **_named("t ton tons tonne tonnes 吨", "1000", mass=1),
    **_named("lb lbs pound pounds", "0.45359237", mass=1),
    **_named("oz ounce ounces", "0.028349523125", mass=1),
    **_named("sec secs", "1", time=1),
    **_named("min mins minute minutes 分钟", "60", time=1),
    **_named("h hr hrs hour hours 小时 时", "3600", time=1),
    **_named("day days 天", "86400", time=1),
    **_named("week weeks 周 星期", "604800", time=1),
    **_named("month months 个月", "1", month=1),
    **_named("year years yr yrs 年", "12", month=1),
    **_named("cc", "0.000001", length=3),
    **_named("hectare hectares ha 公顷", "10000", length=2),
    **_named("acre acres", "4046.8564224", length=2),
    **_named("海里 nmi", "1852", length=1),
    **_named("光年 ly", "9460730472580800", length=1),
    **_named("gallon gallons gal gals", "0.003785411784", length=3),
    **_named("quart quarts qt qts", "0.000946352946", length=3),
    **_named("tablespoon tablespoons tbsp", "0.00001478676478125", length=3),
    **_named("teaspoon teaspoons tsp", "0.00000492892159375", length=3),
    **_named("mph", "0.44704", length=1, time=-1),
    **_named("kph kmh", "5/18", length=1, time=-1),
    **_named("bit bits", "1", information=1),
    **_named("byte bytes B", "8", information=1),
    **_named("dollar dollars USD $ 美元 美金", "1", dollar=1),
    **_named("cent cents ¢ 美分", "0.01", dollar=1),
    **_named("euro euros EUR € 欧元", "1", euro=1),
    **_named("yuan RMB 元 块 人民币 ￥ ¥", "1", yuan=1),
    **_named("角", "0.1", yuan=1),
    **_named("£ 英镑", "1", sterling=1),
    **_named("yen JPY 日元", "1", yen=1),
    **_named("won KRW 韩元", "1", won=1),
    **_named("baht THB 泰铢", "1", baht=1),
    **_named("港元 港币 HKD", "1", hongkong=1),
    **_named("₹ rupee rupees", "1", rupee=1),
    **_scaled(_SOME, "Wh", "3600", mass=1, length=2, time=-2),
    **_named("% percent 百分点 个百分点", "0.01"),
    **_named("‰ permille", "0.001"),
    **_named("carat carats 克拉", "0.0002", mass=1),
    **_named("deg degree degrees 度", "1", angle=1),
    **_named("rad radian radians 弧度", "1", arc=1),
    **_named("K kelvin kelvins", "1", temperature=1),
    **_named("°C degC 摄氏度", "1", celsius=1),
    **_named("°F", "1", fahrenheit=1),
}
"""All units by name; of two with the same name the later one."""
_NAMES = {
    "m": "meter meters metre metres 米",
    "g": "gram grams 克",
    "L": "liter liters litre litres 升",
    "s": "second seconds 秒",
    "N": "newton newtons 牛 牛顿",
    "J": "joule joules 焦 焦耳",
    "W": "watt watts 瓦 瓦特",
    "Pa": "pascal pascals 帕 帕斯卡",
    "Hz": "hertz 赫 赫兹",
    "A": "amp amps ampere amperes 安 安培",
    "V": "volt volts 伏 伏特",
    "C": "coulomb coulombs 库 库仑",
    "F": "farad farads 法拉",
    "T": "tesla teslas 特斯拉",
    "Wb": "weber webers 韦伯",
    "mol": "mole moles 摩尔",
    "cal": "calorie calories 卡路里",
    "eV": "电子伏 电子伏特",
    "ohm": "欧 欧姆",
    "Wh": "瓦时",
}


def _spelled_out() -> Iterator[tuple[str, Unit]]:
    """Units by their names in words, with prefixes of the same script: kilowatt, 千瓦."""
    for symbol, names in _NAMES.items():
        for name in names.split():
            yield name, UNITS[symbol]
            for word, prefix in (_PREFIX_NAMES if name.isascii() else _CHINESE_PREFIXES).items():
                if f"{prefix}{symbol}" in UNITS:
                    yield f"{word}{name}", UNITS[f"{prefix}{symbol}"]


UNITS |= dict(_spelled_out())

_GLUED = frozenset(["cm", "mm", "km", "dm", "kg", "ml", "mL", "ft"])
AMBIGUOUS = frozenset(name for name in UNITS if len(name) < 3 and name.isalpha()) - _GLUED
"""Units that without a space before them count as a product of symbols, as in 5h and 2mg."""


def compound_unit(text: str) -> Unit | None:
    """The unit of a text such as "cm", "km/h" or "千克每立方米"; None if any part is no unit."""
    first, *others = map(_power_of_unit, text.replace(" per ", "/").replace("每", "/").split("/"))
    if first is None:
        return None
    total = first
    for other in others:
        if other is None:
            return None
        total *= other**-1
    return total


def _power_of_unit(text: str) -> Unit | None:
    name, _, power = text.strip().partition("^")
    unit = UNITS.get(name) or (UNITS.get(name.lower()) if len(name) > 1 else None)
    power = power.strip("{} ")
    if unit is None or not power:
        return unit
    if len(power) > 2 or not power.removeprefix("-").isdecimal():
        return None
    return unit ** int(power)
