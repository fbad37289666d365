"""Words after a number: magnitudes multiply it, counters and nouns leave it, others change it.

A counter or a unit may have any noun after it, 7个苹果, and an English noun stands in the plural,
7 apples; remarks say nothing about the value. Operators, comparisons, denials and alternatives
change it wherever they stand. Anything else is unknown: for all we know it changes the value.
"""

import re
from fractions import Fraction


def _listed(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


_POWERS_OF_TEN = {
    "ten": 1, "hundred": 2, "thousand": 3, "lakh": 5, "lac": 5, "million": 6, "crore": 7,
    "billion": 9, "trillion": 12, "quadrillion": 15, "quintillion": 18,
}  # fmt: skip
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6,
    "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12, "sixteenth": 16,
    "twentieth": 20, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
PARTS: dict[str, int] = _PARTS | {f"{name}s": parts for name, parts in _PARTS.items()}
"""Denominators by their names, in singular and plural."""
MAGNITUDES: dict[str, Fraction] = {
    **{name: Fraction(10**power) for name, power in _POWERS_OF_TEN.items() if name != "ten"},
    **{f"{name}s": Fraction(10**power) for name, power in _POWERS_OF_TEN.items()},
    **{name: Fraction(1, parts) for name, parts in PARTS.items() if name.endswith("s")},
    **{name: Fraction(number) for name, number in {
        "dozen": 12, "score": 20, "gross": 144, "grand": 1000, "mn": 10**6, "bn": 10**9,
        "tn": 10**12, "十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8, "打": 12,
    }.items()},
    **dict.fromkeys("成折", Fraction(1, 10)),
}  # fmt: skip
"""Factors by name, after the compact numbers of the Unicode CLDR and the words of count of
dictionaries."""

_COUNTERS = _listed(
    """个 名 位 人 口 只 条 头 匹 张 把 根 支 枝 本 册 页 篇 章 节 首 句 字 行 段 件 套 双 对 副
    组 批 群 排 列 块 片 颗 粒 滴 棵 株 朵 束 座 栋 幢 层 间 户 家 所 辆 艘 架 台 部 班 杯 瓶
    碗 盘 盒 箱 袋 包 桶 罐 壶 篮 筐 道 题 问 项 种 类 样 款 级 阶 维 次 回 遍 趟 场 局 轮 步
    门 科 份 幅 封 则 处 点 面 边 岁 届 期 号 分 元 角 倍 枚 串 堆 顶 尊 盏 扇 床 发 人次 车次
    票 胎 卷 集 圈 格 挂 捆 扎 桌 席 棒 团 盆 缸 瓣 撮 丝 缕 阵 股 线 篓 垛 畦 斤 两 亩 里 尺
    寸 丈 顷 世纪 年级 年 月 日 天 周 刻 单位 平方单位 立方单位 整数 解 学生 同学 男生 女生
    小朋友 同学们 老师 厘 毫 件次"""
)
# Any of these changes the value, wherever it stands after the number.
_CHANGING_CHINESE = re.compile(
    # operators
    r"\A的|的(?:平方|立方|倒数|相反数|绝对值|负数|补数|阶乘|算术平方根|因数|倍数|对数|导数|余数|和|差|积|商)"
    r"|\A(?:平方|立方)(?!米|厘米|分米|毫米|千米|公里|单位)|次方(?!程)|次幂|\A[边角]?形|\A面体|\A[一二三四]次|\A次(?=函数|方程|多项|不等|曲线|项)"
    r"|\A开方|(?<!十)进制|\A位数|\A整除|倍[多少的]|之[和差积商]|[与和]某|分之|半(?!径|圆|球|轴|周)|[乘除加减](?![法数号仑客])"
    # comparisons
    r"|以[上下内外前后]|之[上下内外前后间中]|开外|至少|至多|最[多少大小高低]|不[足到止]|[超多少大小高低]于"
    r"|超过|左右|上下|前后|出头|余(?![数弦角切])|几(?!何)|多(?![边项面])|\A来|起\Z|约(?!数)|近"
    # denials
    r"|不(?!同|相[同等]|重[复叠]|为零|等[于的])|非(?!负|零|空|正)|错|误(?!差)|假(?!分)|否|无(?!理|限|穷)|没"
    r"|未(?!知)|除外|才怪|排除"
    # alternatives
    r"|或|还是|可能|其[他它]|[其之]?中的?[一某]|等等|任[意何]"
)
_CHANGING_ENGLISH = _listed(
    # operators
    """squared cubed half halved doubled tripled quadrupled double triple factorial
    power times plus minus over divided multiplied reciprocal inverse negative
    opposite remainder logarithm modulo mod base binary ternary octal hexadecimal hex percentile
    ish""",
    # comparisons
    """more less fewer greater larger smaller bigger higher lower least most max maximum min
    minimum above below under beyond exceeding within upward upwards downward downwards onward
    onwards up ranging between approximately approx about around roughly nearly almost than
    inclusive exclusive versus vs""",
    # denials
    """not no non never none neither nor wrong incorrect false untrue invalid rejected excluded
    except excluding without but isn isnt wasn wasnt aren arent cannot impossible discarded
    extraneous mistaken error""",
    # alternatives, conditions and doubt
    """or and either else otherwise other others any some maybe perhaps possibly probably
    potentially likely unlikely might may could should would if unless when where whether although
    though depending depends guess guesses guessing sometimes instead alternatively additional
    besides such thus hence mil mill mills myriad myriads couple dozens lots""",
    "is are was were be been am does do did has have had",
)
_PREPOSITIONS = _listed(
    """in on at of for from to by with per as into onto among during out off across along towards
    """
)
_REMARKS = _listed(
    """total totally altogether overall in all exactly precisely only just each apiece left
    remaining away apart long tall high wide deep thick old final answer unit units
    correct rounded respectively people men women children feet teeth mice geese sheep fish deer
    oxen dice series species aircraft vertices indices matrices axes bases foci radii loci maxima
    minima data phenomena criteria formulae mph rpm ppm ppb db bpm fps psi amu au knots per cent
    positive the a an its their his her"""
)
_WORD = re.compile(r"[a-z]+")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_OTHER_SCRIPT = re.compile("[\u0400-\u2bff\u3040-\u30ff\uac00-\ud7af]")


def changes_value(words: str) -> bool:
    """True if words after a number change its value: 7 squared, 7以上, 7 is wrong, 7 or 8."""
    if any(map(str.isdigit, words)):
        return True
    if _CHINESE.search(words) and _CHANGING_CHINESE.search(_joined(words)):
        return True
    return not _CHANGING_ENGLISH.isdisjoint(_WORD.findall(words.casefold()))


def leaves_value(words: str, follows_unit: bool, is_one: bool) -> bool:
    """True if words after a number are known to leave its value.

    Args:
        words: The words, without the unit.
        follows_unit: True if a unit or a magnitude stands before them.
        is_one: True after 1 and proper fractions, where nouns stand in the singular.
    """
    if changes_value(words) or _OTHER_SCRIPT.search(words):
        return False
    if _CHINESE.search(words):
        return follows_unit or _counter(_joined(words)) != ""
    names = _WORD.findall(words.casefold())
    if names == ["off"]:
        return follows_unit  # 20% off
    if not names or names[-1] in _PREPOSITIONS:
        return not names
    head = next((k for k, name in enumerate(names) if name in _PREPOSITIONS), len(names))
    return (
        follows_unit
        or is_one
        or names[0] in _REMARKS
        or any(name in _REMARKS or _is_plural(name) for name in names[:head])
    )


def same_counted(words: str, others: str) -> bool:
    """True if two texts after numbers name the same things, apart from counters and spaces."""
    return _noun(words) == _noun(others)


def _noun(words: str) -> str:
    text = _joined(words).casefold()
    return text.removeprefix(_counter(text))


def _joined(words: str) -> str:
    return "".join(words.split()).strip("()（）,，.。 ")


def _is_plural(name: str) -> bool:
    return name.endswith("s") and not name.endswith(("ss", "us", "is"))


def _counter(text: str) -> str:
    return next((text[:size] for size in (4, 3, 2, 1) if text[:size] in _COUNTERS), "")
