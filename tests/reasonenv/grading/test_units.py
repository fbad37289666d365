"""Units in every spelling, equations in sentences, and right-hand sides that lose a condition."""

import pytest
from helpers.verdicts import accepted, correct, rows

EQUAL = {
    "unit": [
        ("60km/h", "60千米每小时"),
        ("60公里/小时", r"60\text{km/h}"),
        ("5米每秒", "5 m/s"),
        (r"5\text{米每秒}", "5m/s"),
        ("10米每二次方秒", r"10\text{m/s}^2"),
        ("10米/秒²", "10 m/s^2"),
        ("9.8牛每千克", "9.8N/kg"),
        ("9.8N/kg", r"9.8\text{牛/千克}"),
        ("20平方厘米", r"20\text{cm}^2"),
        ("20cm²", "20平方厘米"),
        ("3立方米", r"3\text{m}^3"),
        ("3m³", "3立方米"),
        ("7.9千克每立方米", "7.9kg/m³"),
        ("7.9克每立方厘米", r"7.9\times10^3\text{kg/m}^3"),
        ("2安", r"2\text{A}"),
        ("2000mA", "2安"),
        ("220伏", r"220\text{V}"),
        ("0.22kV", "220伏特"),
        ("10欧", r"10\,\Omega"),
        ("10kΩ", r"10^4\Omega"),
        ("100焦", r"0.1\text{kJ}"),
        ("2kW", "2000瓦"),
        ("2千瓦", r"2000\text{W}"),
        ("1兆帕", r"10^6\text{Pa}"),
        ("101kPa", "101千帕"),
        ("5N", "5牛"),
        ("5牛顿", r"5\text{N}"),
        ("98.5 MHz", "98.5兆赫"),
        ("25毫安", "25 mA"),
        ("3毫伏", "0.003V"),
        ("5微库", "5μC"),
        ("2千焦", "2kJ"),
        ("2kW·h", r"7.2\times10^6\text{J}"),
        ("2千瓦时", "2kW·h"),
        ("0.5mol", "500mmol"),
        ("500毫摩尔", "0.5 mol"),
        ("5 kilowatts", "5 kW"),
        ("250 milliamps", "0.25 A"),
        ("12 kilojoules", "12 kJ"),
        ("3 megahertz", "3 MHz"),
        ("2 kilopascals", "2000 Pa"),
        ("10µm", "0.01mm"),
        ("5nm", r"5\times10^{-9}\text{m}"),
        ("4J/(kg·K)", "4 J/(kg·K)"),
        ("20牛·米", "20N·m"),
        ("20N·m", r"20\text{N}\cdot\text{m}"),
        ("1000kg/m3", "1000 kg/m³"),
        ("3m/s2", "3 m/s^2"),
        ("5㎡", "5平方米"),
        ("5平方公里", "5km²"),
        ("500mL", "0.5升"),
        ("300g", "0.3千克"),
        ("300克", "0.3kg"),
        ("电流为0.5A。", r"500\text{mA}"),
        ("The current is 500 mA.", "0.5 A"),
        ("the pressure is 600Pa", "600 Pa"),
        ("I=500mA", r"I=0.5\text{A}"),
        ("0.5h", "30min"),
        ("30min", r"0.5\text{h}"),
        ("5hPa", "500Pa"),
        ("2pF", r"2\times10^{-12}\text{F}"),
        ("4.7kΩ", "4700欧姆"),
        ("30cm", "0.3米"),
        ("2t", "2000kg"),
        ("2吨", "2t"),
        ("15s", "15秒"),
        ("15秒", r"15\text{s}"),
        ("37℃", "37摄氏度"),
        ("0.05Wb", "0.05韦伯"),
    ],
    "equation in a sentence": [
        ("准线方程是x=-2", "x=-2"),
        ("直线的方程为2x-y-5=0", "y=2x-5"),
        ("The circle has the equation $x^2 + y^2 = 16$.", "x^2+y^2=16"),
        ("The directrix is x = -2.", "x=-2"),
        ("所以直线方程为y=3", "y=3"),
        ("Therefore, AB = 5.", "AB=5"),
        ("所以∠A=30°", r"\angle A=30^\circ"),
        ("因此y=2x+1。", "y=2x+1"),
        ("对称轴为直线x=3", "x=3"),
        ("The line has equation y = 2x + 1", "y=2x+1"),
        ("椭圆的方程是x²/4+y²/3=1", r"\frac{x^2}{4}+\frac{y^2}{3}=1"),
        ("抛物线方程为y²=4x", "y^2=4x"),
    ],
    "solved": [
        ("xy=1", r"y=\frac1x"),
        ("x^2y=1", r"y=\frac{1}{x^2}"),
        ("2xy=3", r"y=\frac{3}{2x}"),
        ("x(y-1)=1", r"y=1+\frac1x"),
        ("y/x=2", "y=2x"),
        ("xy+1=0", r"y=-\frac1x"),
        ("x/y=2", "y=x/2"),
        ("2(y-x)=0", "y=x"),
    ],
    "inequalities": [
        ("x>1 and x<4", "(1,4)"),
        ("x>1且x<4", "1<x<4"),
        ("x<1或x>4", "x<1 or x>4"),
        ("x>2 and x>3", "x>3"),
        ("x≠1且x≠2", r"x\ne1, x\ne2"),
        ("x>0 and y>0", "x>0, y>0"),
        ("x<1 and x>4", "x<1 and x>4"),
        ("x<1, x>4", "x<1 or x>4"),
    ],
    "label": [
        ("|AB|=10", "10"),
        ("AB^2+BC^2=10", "10"),
        ("AB=10", "10"),
        ("R^2=0.9", "0.9"),
        ("2a+b=7", "7"),
        (r"AB\cdot CD=10", "10"),
    ],
    "argument": [
        (r"e^x\sin x", r"\sin x e^x"),
        (r"e^{2x}\cos x", r"\cos x e^{2x}"),
        (r"e^x\ln x", r"\ln x e^{x}"),
        (r"\sin(2x)", r"\sin 2x"),
        (r"\ln(2e^3)", r"\ln 2e^3"),
        (r"\sin(e^x)", r"\sin e^x"),
        (r"\cos(\pi x)", r"\cos\pi x"),
    ],
    "noun": [
        ("15", "15th Day"),
        ("15", "the 15th"),
        ("3", "第3天"),
        ("3 tenths", "0.3"),
        ("2 thirds", "2/3"),
        (r"3\text{ quarters}", "0.75"),
        ("0.5 cup", "0.5"),
        ("1 cup", "1"),
        ("8 eggs", "8"),
        ("6 ants", "6"),
        ("4 arms", "4"),
        ("0.5 cup", "0.5 cups"),
        ("3/4 mug", "3/4"),
    ],
}

DIFFERENT = {
    "unit": [
        ("600千米/时", "60km/h"),
        ("60m/s", r"60\text{km/h}"),
        ("60km", r"60\text{km/h}"),
        ("60千米", "60千米/时"),
        ("5mA", r"0.5\text{A}"),
        ("500MA", r"0.5\text{A}"),
        ("500mV", r"0.5\text{A}"),
        ("600N", r"600\text{Pa}"),
        ("600kPa", r"600\text{Pa}"),
        ("1kg/cm³", r"1.0\times10^3\text{kg/m}^3"),
        ("1g/cm²", r"1.0\times10^3\text{kg/m}^3"),
        ("20平方米", r"20\text{cm}^2"),
        ("20立方厘米", "20平方厘米"),
        ("20cm", "20平方厘米"),
        ("2毫安", r"2\text{A}"),
        ("10欧", r"10\text{V}"),
        ("100焦", r"100\text{W}"),
        ("2千瓦", "2千瓦时"),
        ("2kW", "2kW·h"),
        ("1兆帕", "1千帕"),
        ("5牛", "5千克"),
        ("98.5 kHz", "98.5兆赫"),
        ("5微库", "5毫库"),
        ("500mol", "500mmol"),
        ("3 millihertz", "3 MHz"),
        ("10mm", "10µm"),
        ("20N", "20N·m"),
        ("20N/m", "20N·m"),
        ("10米每秒", "10m/s²"),
        ("10m", "10s"),
        ("10g", r"10\text{kg}"),
        ("5h", r"5\text{min}"),
        ("30s", "0.5h"),
        ("5 kilowatts", "5 kJ"),
        ("电流为0.5mA。", r"0.5\text{A}"),
        ("2t", "2kg"),
        ("37℃", "37度角"),
        ("5米每秒", "5秒每米"),
        ("9.8千克每牛", "9.8牛每千克"),
        ("I=500mA", r"U=0.5\text{A}"),
    ],
    "equation in a sentence": [
        ("准线方程是y=-2", "x=-2"),
        ("直线方程为y=3", "x=3"),
        ("对称轴是y=3", "x=3"),
        ("The line is y = 3.", "x = 3"),
        ("So CD = 5.", "AB=5"),
        ("所以∠B=30°", r"\angle A=30^\circ"),
        ("渐近线是x=2y", "y=2x"),
        ("不是x=3", "x=3"),
        ("圆的方程为x²+y²=4", "x^2+y^2=16"),
        ("焦点在x=-2上，准线方程是y=-2", "x=-2"),
        ("The slope is m=2", "y=2"),
    ],
    "solved": [
        ("x(y-x^2)=0", "y=x^2"),
        ("xy=x^2", "y=x"),
        ("x^2y=x", "y=1/x"),
        ("(x+1)(y-2)=0", "y=2"),
        ("(x-1)(y-x)=0", "y=x"),
        ("xy=x", "y=1"),
        ("x(y-3x-1)=0", "y=3x+1"),
        ("x^2(y-x)=0", "y=x"),
    ],
    "inequalities": [
        ("x<1 and x>4", "x<1 or x>4"),
        ("x<1且x>4", "x<1或x>4"),
        (r"x<1\text{ and }x>4", r"(-\infty,1)\cup(4,\infty)"),
        ("x≤-2且x≥2", "x≤-2或x≥2"),
        ("x<0 and x>0", r"x\ne 0"),
        ("x>1 or x<4", "1<x<4"),
    ],
    "label": [
        ("AB²=10", "10"),
        ("AB^2=10", "10"),
        ("x^2=10", "10"),
        ("AC^3=8", "8"),
        ("r^2=9", "9"),
        ("BC^2=25", "25"),
    ],
    "argument": [
        (r"\sin(xe^x)", r"\sin x e^x"),
        (r"\cos(x e^{2x})", r"\cos x e^{2x}"),
    ],
    "noun": [
        ("14", "15th Day"),
        ("15", "5th"),
        ("3 tenths", "3"),
        ("2 thirds", "3/2"),
        ("3 hundredths", "0.3"),
        ("3 tenth", "3"),
        ("8 cup", "9"),
        ("4 bad", "4"),
        ("5 not", "5"),
        ("8 eggs", "9"),
        ("4 zorp", "4"),
        ("4 pct", "0.4"),
        ("2 out of 3", "2"),
        ("3 tens", "3"),
    ],
}

PREFIXES = {"k": 1000, "M": 10**6, "m": 0.001, "": 1}
CHINESE = {"k": "千", "M": "兆", "m": "毫", "": ""}
SYMBOLS = {"A": "安培", "V": "伏特", "W": "瓦", "J": "焦耳", "Pa": "帕", "Hz": "赫兹"}


@pytest.mark.parametrize(("answer", "reference"), rows(EQUAL))
def test_spellings_of_one_quantity_or_statement_are_correct(answer, reference):
    assert accepted(answer, reference)
    assert correct(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_quantities_and_statements_are_wrong(answer, reference):
    assert not accepted(answer, reference)
    assert not correct(answer, reference)


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes_of_either_script_are_the_same_and_others_differ(prefix, symbol):
    reference = rf"7\text{{{prefix}{symbol}}}"
    for other in PREFIXES:
        for answer in (f"7{other}{symbol}", f"7{CHINESE[other]}{SYMBOLS[symbol]}"):
            assert correct(answer, reference) == (other == prefix)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_units_of_other_quantities_are_wrong(symbol):
    for other in SYMBOLS.keys() - {symbol}:
        assert not correct(f"7{other}", rf"7\text{{{symbol}}}")
        assert not correct(f"7{SYMBOLS[other]}", f"7{SYMBOLS[symbol]}")
