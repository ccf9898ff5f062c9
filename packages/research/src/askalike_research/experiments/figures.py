"""Figures by Matplotlib in one style: inline SVG, and SVG and PDF files. The same data gives the same bytes."""

import importlib.util
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from askalike.plugin.commands import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NO_FIGURES = "no figures: matplotlib is not installed; pip install 'askalike[plots]'"
N_COLOURS = 8
"""Number of colours; a ninth system has the first colour, with another dash and marker."""
MAX_INSIDE_LEGEND, LEGEND_COLUMNS = 6, 3
"""Maximum number of systems in a legend inside the axes; number of columns of a legend below them."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = "os^Dv*P"
INK, FAINT, GRID = "#fa0100", "#fa0101", "#fa0102"
RIGHT, WRONG = "#fa0103", "#fa0104"
_PAGE_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--line", RIGHT: "--right", WRONG: "--wrong"}
"""Placeholder colour, not otherwise used in figures → the CSS variable of the page that replaces it."""
_FILE_COLOURS: Mapping[str, str] = {
    **dict.fromkeys((INK, FAINT), "#808080"), GRID: "#a0a0a0", RIGHT: "#009e73", WRONG: "#d55e00",
    **{
        f"#fa00{i:02x}": colour
        for i, colour in enumerate(
            ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7b6fd0")
        )
    },
}  # fmt: skip
"""Placeholder → its colour in a file: readable on white and on black, and distinguishable for colour-blind readers (the
first six colours are Okabe and Ito's)."""
_PDF_COLOUR = re.compile(rb"0\.98039\d*\s[\d.]+\s[\d.]+(?=\s(?:rg|RG))")
"""A colour that begins with 0xfa, as all placeholders do, in a PDF file."""
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "askalike",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


def can_plot() -> bool:
    """Return whether matplotlib is installed; the extra `plots` brings it."""
    return importlib.util.find_spec("matplotlib") is not None


def system_colour(i: int) -> str:
    """Return the placeholder for the colour of the i-th system."""
    return f"#fa00{i % N_COLOURS:02x}"


@contextmanager
def open_figure(width: float, height: float, rows: int = 1) -> Iterator[tuple["Figure", list["Axes"]]]:
    """Yield a figure of `rows` axes, one below the other. Width and height are in points (1/72 inch)."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, list(figure.subplots(rows, 1, squeeze=False)[:, 0])


def add_legend(figure: "Figure", axes: "Axes", place: Literal["lower right", "upper left", "best"]) -> None:
    """Add a legend of the systems: inside the axes if they are few, else below them in a taller figure."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) <= MAX_INSIDE_LEGEND:
        axes.legend(loc=place)
        return
    figure.set_figheight(figure.get_figheight() + 14 * ceil(len(labels) / LEGEND_COLUMNS) / 72)
    figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as an `<svg>` element of a page, as an SVG file and as a PDF file."""

    inline: str
    svg: str
    pdf: bytes


def render_figure(figure: "Figure", name: str, description: str) -> Drawing:
    """Return the figure in each format, with the same layout.

    name: the prefix of the ids in the inline SVG, whose font and colours are those of the page. description: for screen
    readers.
    """
    svg = _render_svg(figure)
    figure.set_layout_engine("none")
    return Drawing(_convert_to_inline(svg, name, description), _set_file_colours(svg), _render_pdf(figure))


def write_svg(figure: "Figure", path: Path) -> None:
    """Write the figure to a file, readable on light and dark backgrounds. Raises OSError."""
    write_atomically(path, _set_file_colours(_render_svg(figure)))


def _convert_to_inline(svg: str, name: str, description: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"#fa00(\d\d)", lambda m: f"var(--s{int(m[1], 16)})", svg)
    for placeholder, variable in _PAGE_VARIABLES.items():
        svg = svg.replace(placeholder, f"var({variable})")
    view = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg {view[0] if view else ""} role="img" aria-label="{escape(description)}">'
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)


def _set_file_colours(svg: str) -> str:
    for placeholder, colour in _FILE_COLOURS.items():
        svg = svg.replace(placeholder, colour)
    return svg


def _render_pdf(figure: "Figure") -> bytes:
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context({"pdf.compression": 0}):
        figure.savefig(out, format="pdf", transparent=True, metadata={"CreationDate": None, "Producer": None})
    return _PDF_COLOUR.sub(_replace_pdf_colour, out.getvalue())


def _replace_pdf_colour(match: re.Match[bytes]) -> bytes:
    """Return a placeholder's file colour in the same number of bytes, as a PDF contains byte offsets."""
    placeholder = "#" + "".join(f"{round(255 * float(number)):02x}" for number in match[0].split())
    colour = _FILE_COLOURS.get(placeholder, placeholder)
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return " ".join(f"{share:.3f}".removeprefix("0") for share in shares).encode().ljust(len(match[0]))


def _render_svg(figure: "Figure") -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return out.getvalue()
