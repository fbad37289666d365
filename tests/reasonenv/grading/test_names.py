r"""Names in capital letters: figures, criteria, Roman numerals, chemical formulas."""

import pytest
from helpers.verdicts import PROPERTY, accepted, correct, rows
from hypothesis import given
from hypothesis import strategies as st

SAME = {
    "criteria": [
        ("SAS", "SAS"),
        (r"\text{SAS}", "SAS"),
        ("SAS", r"\mathrm{SAS}"),
        ("(SAS)", "SAS"),
        ("**AAS**", "AAS"),
        ("S.A.S.", "SAS"),
        ("HL", "HL"),
        ("SAS congruence", "SAS"),
        ("SAS criterion", "SAS"),
        ("by SAS", "SAS"),
        ("The SAS postulate", "SAS"),
        ("SAS判定", "SAS"),
        ("判定定理是SAS", "SAS"),
        ("AAS", "AAS定理"),
    ],
    "segments": [
        ("AB", "AB"),
        ("BA", "AB"),
        (r"\overline{BA}", r"\overline{AB}"),
        ("AB", r"\overline{AB}"),
        ("segment AB", "AB"),
        ("line segment BA", r"\overline{AB}"),
        ("线段BA", "线段AB"),
        ("线段CD", "CD"),
        ("直线BA", "直线AB"),
        ("line AB", "line BA"),
        ("DC, BA", "AB, CD"),
        ("AB、CD", "AB和CD"),
        (r"\overleftrightarrow{AB}", r"\overleftrightarrow{BA}"),
        ("AB=5", "BA=5"),
        (r"AC\cdot BD", r"BD\cdot AC"),
        ("AB+CD", "CD+AB"),
        ("A'B'", "A'B'"),
        ("A_1B_1", "A_1B_1"),
    ],
    "angles": [
        (r"\angle CBA", r"\angle ABC"),
        ("∠CBA", "∠ABC"),
        ("∠ABC", r"\angle ABC"),
        ("angle ABC", "∠ABC"),
        ("角ABC", "∠CBA"),
        (r"\angle CBA = 30^\circ", "∠ABC=30°"),
        ("∠DCB, ∠ABC", "∠ABC, ∠BCD"),
        ("∠B", "∠B"),
    ],
    "polygons": [
        (r"\triangle ABC", "△ABC"),
        ("triangle ABC", "△ABC"),
        ("ABC", "△ABC"),
        ("三角形ABC", "△ABC"),
        ("ΔABC", "△ABC"),
        ("quadrilateral BCDA", "quadrilateral ABCD"),
        ("四边形ADCB", "四边形ABCD"),
        ("四边形ABCD", "ABCD"),
        ("▱ABCD", "平行四边形ABCD"),
        ("parallelogram CDAB", "parallelogram ABCD"),
        ("平行四边形ABCD", "平行四边形ABCD"),
        ("ABCD", "ABCD"),
    ],
    "rays, vectors and arcs": [
        (r"\overrightarrow{AB}", r"\overrightarrow{AB}"),
        (r"\vec{AB}", r"\overrightarrow{AB}"),
        ("向量AB", r"\overrightarrow{AB}"),
        ("ray AB", "ray AB"),
        ("射线AB", "射线AB"),
        (r"\widehat{BA}", r"\widehat{AB}"),
        (r"\overset{\frown}{AB}", r"\widehat{AB}"),
        (r"\widehat{CBA}", r"\widehat{ABC}"),
        ("弧AB", r"\widehat{AB}"),
    ],
    "Roman numerals and codes": [
        ("IV", "IV"),
        (r"\text{IV}", "IV"),
        ("II, IV", "II and IV"),
        ("IV、II", "II、IV"),
        ("XI", r"\mathrm{XI}"),
        ("TFT", "TFT"),
        ("MAKE", r"\text{MAKE}"),
        ("ACF", r"\text{ACF}"),
        ("DBCA", "DBCA"),
        ("D, B, C, A", "D,B,C,A"),
    ],
    "chemistry": [
        ("H2O", "H2O"),
        ("H_2O", "H2O"),
        ("H₂O", "H2O"),
        (r"\mathrm{H_2O}", "H2O"),
        (r"\text{H}_2\text{O}", "H_2O"),
        ("H_{2}O", "H_2O"),
        (r"\ce{H2O}", "H2O"),
        ("CO2", "CO_2"),
        ("H2SO4", r"\mathrm{H_2SO_4}"),
        ("Ca(OH)2", r"\text{Ca(OH)}_2"),
        ("NaCl", "NaCl"),
        ("CO₂和H₂O", "H2O, CO2"),
    ],
    "products": [
        ("F=ILB", "F=BIL"),
        ("P=IU", "P=UI"),
        (r"B \cdot I \cdot L", "BIL"),
        (r"\frac{BA}{CD}", r"\frac{AB}{CD}"),
        ("AB^2+AC^2=BC^2", "BC^2=AB^2+AC^2"),
        ("R=\\frac{VU}{I}", "R=\\frac{UV}{I}"),
    ],
}
DIFFERENT = {
    "criteria": [
        ("SSA", "SAS"),
        ("ASA", "AAS"),
        ("AAS", "ASA"),
        ("SAA", "AAS"),
        ("LH", "HL"),
        (r"\text{SSA}", "SAS"),
        (r"\mathrm{SSA}", r"\text{SAS}"),
        ("SSA判定", "SAS"),
        ("ASA定理", "AAS定理"),
        ("S^2A", "SAS"),
        ("by SSA", "SAS"),
        ("not SAS", "SAS"),
        ("SAS or SSA", "SAS"),
        ("SAS, ASA", "SAS"),
        ("RSH", "RHS"),
    ],
    "figures": [
        ("AC", "AB"),
        ("ACB", "ABC"),
        ("ACBD", "ABCD"),
        ("DCAB", "ABCD"),
        ("∠ACB", "∠ABC"),
        (r"\angle BAC", r"\angle ABC"),
        ("角ACB", "角ABC"),
        ("∠ABC", "△ABC"),
        ("四边形ACBD", "四边形ABCD"),
        ("quadrilateral ABDC", "quadrilateral ABCD"),
        (r"\overrightarrow{BA}", r"\overrightarrow{AB}"),
        (r"\vec{BA}", r"\vec{AB}"),
        ("向量BA", "向量AB"),
        ("ray BA", "ray AB"),
        ("射线BA", "射线AB"),
        ("直线AB", "射线AB"),
        ("segment AB", "ray AB"),
        (r"\overrightarrow{AB}", "AB"),
        (r"\widehat{ACB}", r"\widehat{ABC}"),
        (r"\overline{AC}", r"\overline{AB}"),
        ("AB, CE", "AB, CD"),
        ("AB", "AB, CD"),
        ("△DEF", "△ABC"),
        ("△BCA", "△ABC"),
        ("平行四边形ACBD", "平行四边形ABCD"),
        ("AB=CD", "AC=BD"),
    ],
    "Roman numerals and codes": [
        ("VI", "IV"),
        ("IX", "XI"),
        ("XL", "LX"),
        (r"\text{VI}", r"\text{IV}"),
        ("II, VI", "II, IV"),
        ("FT", "TF"),
        ("FTT", "TFT"),
        ("MKAE", "MAKE"),
        ("AFC", r"\text{ACF}"),
        ("ABCD", "DBCA"),
        (r"\text{qpr}", r"\text{pqr}"),
        ("YN", "NY"),
    ],
    "chemistry": [
        ("OH2", "H2O"),
        ("H2O2", "H2O"),
        ("2OH", "H2O"),
        ("2CO", "CO2"),
        ("C2O", "CO2"),
        ("HO2", "H2O"),
        ("Co2", "CO2"),
        ("H2S4O", "H2SO4"),
        ("ClNa", "NaCl"),
        ("KCl", "NaCl"),
        ("CaOH2", "Ca(OH)2"),
        ("CO", "CO2"),
        ("CO₂", "H₂O"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(SAME))
def test_the_same_names_are_correct(answer, reference):
    assert accepted(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_names_are_wrong(answer, reference):
    assert not accepted(answer, reference)


@PROPERTY
@given(st.permutations("KLMNPQ").map("".join), st.integers(3, 6), st.permutations("KLMNPQ"))
def test_a_name_of_three_letters_or_more_is_its_spelling(letters, size, order):
    name = letters[:size]
    other = "".join(letter for letter in order if letter in name)
    assert correct(other, name) == (other == name)
    assert correct(rf"\text{{{other}}}", name) == (other == name)
