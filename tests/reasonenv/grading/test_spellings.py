import pytest
from helpers.verdicts import accepted, rows

EQUAL = {
    "no solution": [("no solution", r"\emptyset"), ("∅", "There is no solution"), ("无解", "∅")],
    "mixed number": [("1又1/2", "3/2"), (r"2又\frac{3}{4}", "2.75")],
    "equals": [("x等于2", "x=2")],
    "geometry": [
        ("AB⊥CD", r"AB \perp CD"),
        ("AB∥CD", r"AB \parallel CD"),
        ("AB // CD", r"AB \parallel CD"),
        ("△ABC≌△DEF", r"\triangle ABC \cong \triangle DEF"),
        ("△ABC∽△DEF", r"\triangle ABC \sim \triangle DEF"),
    ],
    "old fraction": [(r"{3 \over 4}", "3/4"), (r"3 \over 4", "3/4"), (r"\sfrac{3}{4}", "0.75")],
    "binomial": [(r"{10 \choose 3}", "120"), (r"C_{10}^{3}", "120")],
    "other names": [(r"\operatorname{tg} x", r"\tan x"), (r"\operatorname{arctg} x", r"\arctan x")],
    "emphasis": [
        (r"\underline{42}", "42"),
        (r"\color{red}{42}", "42"),
        (r"\textcolor{red}{4}", "4"),
    ],
    "damaged escapes": [
        ("1+\frac{1}{2}", "1.5"),
        ("1/2", "\frac{1}{2}"),
        ("\beta+1", r"\beta+1"),
        (r"\vec{a}", "\vec{a}"),
        ("\alpha", r"\alpha"),
    ],
    "only": [
        ("0", r"\text{only }x=0"),
        (r"3\text{ only}", "3"),
        (r"x=0\text{ only}", r"\text{only }x=0"),
        (r"\text{只有}3", "3"),
    ],
    "identity": [("f(x)=x", "f(z)=z"), ("x", "f(x)=x"), ("g(t)=t", "g(x)=x")],
    "about": [("about 7.5", "7.5"), ("approximately 7.5 kg", "7.5")],
    "times": [("3 x 10^8", r"3\times 10^8"), ("1.2 x 10^{-3}", "0.0012")],
    "recurring": [("0.333...", "1/3"), (r"0.1666\ldots", "1/6"), ("0.(3)", "1/3")],
    "base": [
        (r"4210_{\text{seven}}", "4210_7"),
        ("(4210)_7", "4210_7"),
        ("4210", "4210_7"),
        ("4210 base 7", "4210_7"),
    ],
    "real line": [("all real numbers", r"\mathbb{R}"), (r"\mathbf{R}", r"(-\infty,\infty)")],
    "empty set": [("the empty set", r"\emptyset"), ("Ø", r"\varnothing")],
    "interval": [("]1,2[", "(1,2)"), ("[1;2[", "[1,2)"), (r"(0,1)U(2,3)", r"(0,1)\cup(2,3)")],
    "or": [(r"x=1 \lor x=2", "1, 2"), (r"x<1\vee x>2", r"(-\infty,1)\cup(2,\infty)")],
    "whole k": [
        (r"x=k\pi\ (k\in\mathbb{Z})", r"x = k\pi, k \in \mathbb{Z}"),
        (r"x=n\pi, n\in\mathbb{Z}", r"x = k\pi, k \in \mathbb{Z}"),
        (r"x=\frac{\pi}{4}+k\pi", r"x=\frac{\pi}{4}+n\pi, n\in\mathbb{Z}"),
        (r"x=k\pi \text{ where } k \in Z", r"x = k\pi, k \in \mathbb{Z}"),
        (r"x = k\pi \text{ for integer } k", r"x=k\pi, k\in\mathbb{Z}"),
    ],
    "lines": [
        (r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.", "(1,2)"),
        (r"\begin{cases}x=1,\\y=2.\end{cases}", "(1,2)"),
        (r"\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}", "x=1, y=2"),
        (r"\begin{pmatrix}1\\[4pt]3\end{pmatrix}", r"\begin{pmatrix}1\\3\end{pmatrix}"),
        ("(1,2,3)^T", r"\begin{pmatrix}1\\2\\3\end{pmatrix}"),
    ],
    "ratio": [("2 to 3", "2:3"), (r"2\colon 3", "2:3")],
    "degrees": [("60^o", r"60^\circ"), (r"m\angle ABC = 60^{\circ}", r"60^\circ")],
    "unit": [
        ("5 cm2", "5 cm^2"),
        ("5 cm squared", "5 cm^2"),
        ("5 sq. cm", "5 cm^2"),
        ("4.5 μm", r"4.5\times 10^{-6} m"),
        (r"2 k\Omega", "2000 ohms"),
        ("US$5", "5 dollars"),
        ("3 hours and 30 minutes", "3.5 hours"),
    ],
}

DIFFERENT = {
    "damaged escapes": [("1+\frac{1}{3}", "1.5"), ("\beta", r"\alpha"), ("1", "\frac{1}{2}")],
    "only": [("1", r"\text{only }x=0"), ("0, 1", r"\text{only }x=0"), (r"\text{not }3", "3")],
    "identity": [
        ("f(x)=-x", "f(z)=z"),
        ("z", "f(x)=x"),
        ("f(x)=a", "f(x)=x"),
        ("g(x)=x", "f(x)=x"),
        ("f(x)=x", "f(z)=2z"),
    ],
    "no solution": [("no solution", "0"), ("x=0", "no solution"), ("x=1", "无解")],
    "mixed number": [("2又3/4", "6/4")],
    "geometry": [
        ("AB∥CD", "AB⊥CD"),
        ("AB//EF", "AB∥CD"),
        ("△ABC≌△DEF", r"\triangle ABC \sim \triangle DEF"),
        ("3//4", "3/4"),
    ],
    "old fraction": [(r"{4 \over 3}", "3/4")],
    "binomial": [(r"{10 \choose 4}", "120"), (r"C_{10}^{4}", "120")],
    "about": [("about 7.5", "7.6"), ("about 7.5", "75")],
    "times": [("3 x 10^7", r"3\times 10^8"), ("3x", "3")],
    "recurring": [("0.333...", "0.3"), ("0.666...", "1/3"), ("0.3...", "1/3")],
    "base": [
        ("4210 base 8", "4210_7"),
        ("10_2", "10"),
        (r"4210_{\text{six}}", "4210_7"),
    ],
    "real line": [
        ("all real numbers", r"(0,\infty)"),
        ("all real numbers except 0", r"\mathbb{R}"),
    ],
    "empty set": [("the empty set", "0"), ("the empty set", r"\{0\}")],
    "interval": [("]1,2]", "(1,2)"), ("[1,2[", "(1,2]")],
    "whole k": [(r"x=2k\pi\ (k\in\mathbb{Z})", r"x = k\pi, k \in \mathbb{Z}")],
    "lines": [(r"\left\{\begin{array}{l}x=2\\y=1\end{array}\right.", "(1,2)")],
    "ratio": [("3 to 2", "2:3"), ("5 to 6 cm", "5 cm")],
    "unit": [("5 cm3", "5 cm^2"), ("5 cm squared", "5 cm"), ("4.5 μm", "4.5 m")],
}


@pytest.mark.parametrize(("answer", "reference"), rows(EQUAL))
def test_rare_spellings_equal_their_common_ones(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_rare_spellings_of_another_value_are_wrong(answer, reference):
    assert not accepted(answer, reference)
