"""A table of text cells, and its four formats: plain text, HTML, LaTeX, CSV."""

import csv
import html
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableCell:
    """A text followed by a superscript, such as the letters of the systems that a system beats; the best is bold."""

    text: str
    mark: str = ""
    best: bool = False

    def __str__(self) -> str:
        return f"{self.text} {self.mark}".rstrip()


class ShownAsTable(ABC):
    """Shows itself as a table: as text at a prompt, as HTML in a notebook."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> "ResultTable":
        """Return the table."""

    def __repr__(self) -> str:
        return to_text(self.table()).rstrip()

    def _repr_html_(self) -> str:
        return to_html(self.table())


@dataclass(frozen=True, slots=True, repr=False)
class ResultTable(ShownAsTable):
    """Rows with one cell per column. notes: printed below the table."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | TableCell]]
    notes: tuple[str, ...] = ()

    def table(self) -> "ResultTable":
        return self


def to_text(table: ResultTable) -> str:
    """Return aligned columns, the first left-aligned, the others right-aligned."""
    rows = (table.columns, *table.rows)
    cells = ([cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row] for row in rows)
    columns = [_align(column, str.rjust if i else str.ljust) for i, column in enumerate(zip(*cells, strict=True))]
    body = ("  ".join(line).rstrip() for line in zip(*columns, strict=True))
    return "\n".join((table.title, *body, *table.notes)) + "\n"


def _align(column: Sequence[TableCell], justify: Callable[[str, int], str]) -> list[str]:
    width, marks = max(len(cell.text) for cell in column), max(len(cell.mark) for cell in column)
    return [f"{justify(cell.text, width)}{' ' if marks else ''}{cell.mark.ljust(marks)}" for cell in column]


def to_csv(table: ResultTable) -> str:
    """Return header and rows as CSV (RFC 4180), without title and notes."""
    out = io.StringIO()
    csv.writer(out).writerows([table.columns, *table.rows])
    return out.getvalue()


def to_html(table: ResultTable) -> str:
    """Return a `<table>` with its title as caption, followed by the notes as paragraphs."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    body = "\n".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table.rows)
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in table.notes)
    caption = html.escape(table.title)
    return f"<table>\n<caption>{caption}</caption>\n<tr>{head}</tr>\n{body}\n</table>\n{notes}"


def _html_cell(cell: str | TableCell) -> str:
    cell = TableCell(cell) if isinstance(cell, str) else cell
    text = f"<b>{html.escape(cell.text)}</b>" if cell.best else html.escape(cell.text)
    return f"<td>{text}<sup>{html.escape(cell.mark)}</sup></td>" if cell.mark else f"<td>{text}</td>"


def to_latex(table: ResultTable) -> str:
    """Return a `table` environment for the package booktabs; the notes follow the title in the caption."""
    caption = " ".join(f"{_latex_cell(text)}." for text in (table.title, *table.notes))
    body = "\n".join(f"{' & '.join(map(_latex_cell, row))} \\\\" for row in table.rows)
    head = f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}\n\\toprule"
    columns = f"{' & '.join(map(_latex_cell, table.columns))} \\\\\n\\midrule"
    end = "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    return f"\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n{head}\n{columns}\n{body}\n{end}"


_LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "−": r"$-$", "–": "--", "<": r"$<$", ">": r"$>$"}
)


def _latex_cell(cell: str | TableCell) -> str:
    cell = TableCell(cell) if isinstance(cell, str) else cell
    text = cell.text.translate(_LATEX_ESCAPES)
    text = rf"\textbf{{{text}}}" if cell.best else text
    return f"{text}$^{{{cell.mark}}}$" if cell.mark else text


def format_p(p: float) -> str:
    """Return a p-value with its relation sign: `= 0.031`, or `< 0.001` if three decimals would show 0."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
