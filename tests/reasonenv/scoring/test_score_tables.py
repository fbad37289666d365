import pytest

from reasonenv.scoring.tables import Table, interval_text, table_lines

TABLE = Table(
    ["name", "accuracy", "95 %"],
    [["Mine_a|b-v0", "41.2%", "-0.1 to 0.5"], ["  inner", "8%", "-"]],
    "Results & more",
    ["first note.", "x^2 < 3"],
)


def test_text_is_aligned_with_its_notes_below():
    assert list(TABLE.text()) == [
        "Results & more",
        "name         accuracy         95 %",
        "Mine_a|b-v0     41.2%  -0.1 to 0.5",
        "  inner            8%            -",
        "  first note.",
        "  x^2 < 3",
    ]


def test_markdown_escapes_what_it_would_read_as_its_own():
    assert list(TABLE.markdown()) == [
        "Results & more",
        "",
        "| name | accuracy | 95 % |",
        "|---|--:|--:|",
        "| Mine\\_a\\|b-v0 | 41.2% | -0.1 to 0.5 |",
        "| inner | 8% | - |",
        "",
        "- first note.",
        "- x^2 \\< 3",
    ]


def test_latex_is_a_table_of_booktabs_with_a_caption():
    assert list(TABLE.latex()) == [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        "\\caption{Results \\& more. first note. x\\textasciicircum{}2 \\textless{} 3.}",
        "\\begin{tabular}{lrr}",
        "\\toprule",
        "name & accuracy & 95 \\% \\\\",
        "\\midrule",
        "Mine\\_a\\textbar{}b-v0 & 41.2\\% & $-$0.1 to 0.5 \\\\",
        "\\quad inner & 8\\% & - \\\\",
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]


@pytest.mark.parametrize("text", ["\\", "{", "}", "$", "&", "#", "^", "_", "~", "%", "a\nb", "\\&"])
def test_no_cell_breaks_a_row(text):
    table = Table(["a", "b"], [[text, text]])
    (row,) = [line for line in table.latex() if line.endswith("\\\\") and "a & b" not in line]
    bare = row.removesuffix(" \\\\").replace("\\textbackslash{}", "").replace("\\&", "")
    assert bare.count("&") == 1
    assert all(bare[k - 1] == "\\" for k, c in enumerate(bare) if c in "%$#_" and k)
    assert len(list(table.markdown())) == 3


def test_tables_have_an_empty_line_between_them():
    table = Table(["a"], [["1"]])
    assert list(table_lines([table, table], "text")) == ["a", "1", "", "a", "1"]


def test_an_interval_is_a_text_or_a_dash():
    assert interval_text([0.1, 0.25], ".1%") == "10.0% to 25.0%"
    assert interval_text([]) == interval_text(None) == "-"
