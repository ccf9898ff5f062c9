from askalike.evaluation.tables import ResultTable, TableCell, to_csv, to_html, to_latex, to_text

TABLE = ResultTable(
    "T & <b>", ("system", "AP"), [("a_b", TableCell("0.5", "c")), ("long name", "10.25")], ("50 % done",)
)


def test_text_is_aligned_and_marks_stand_behind() -> None:
    assert to_text(TABLE) == "T & <b>\nsystem        AP\na_b          0.5 c\nlong name  10.25\n50 % done\n"


def test_csv_has_neither_title_nor_notes() -> None:
    assert to_csv(TABLE) == "system,AP\r\na_b,0.5 c\r\nlong name,10.25\r\n"


def test_html_is_escaped() -> None:
    text = to_html(TABLE)
    assert "<caption>T &amp; &lt;b&gt;</caption>" in text
    assert "<td>0.5<sup>c</sup></td>" in text
    assert text.endswith("<p>50 % done</p>\n")


def test_latex_is_escaped() -> None:
    text = to_latex(TABLE)
    assert r"\caption{T \& $<$b$>$. 50 \% done.}" in text
    assert r"a\_b & 0.5$^{c}$ \\" in text
    assert r"\begin{tabular}{lr}" in text


def test_the_best_cell_is_bold() -> None:
    table = ResultTable("T", ("system", "AP"), [("a", TableCell("0.5 ± 0.1", "c", best=True)), ("b", "0.25")])
    assert r"a & \textbf{0.5 $\pm$ 0.1}$^{c}$ \\" in to_latex(table)
    assert "<td><b>0.5 ± 0.1</b><sup>c</sup></td>" in to_html(table)
    assert to_latex(table).count("textbf") == 1
