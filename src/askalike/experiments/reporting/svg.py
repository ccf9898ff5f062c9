"""Matplotlib figures as SVG inside a page: its font, its colours in light and dark, the same bytes every time."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_COLOURS = 8
"""Colours there are; a ninth system has the first one's, with another dash and marker."""
MAX_INSIDE_LEGEND, LEGEND_COLUMNS = 6, 3
"""Systems that a legend within the axes names; columns of a legend below them."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = "os^Dv*P"

INK, FAINT, GRID = "#fa0100", "#fa0101", "#fa0102"
RIGHT, WRONG = "#fa0103", "#fa0104"
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--line", RIGHT: "--right", WRONG: "--wrong"}
"""Colours that no figure has otherwise, each to become the page's variable."""


def system_colour(i: int) -> str:
    """The colour that stands for the i-th system."""
    return f"#fa00{i % N_COLOURS:02x}"


@contextmanager
def open_figure(width: float, height: float, rows: int = 1) -> Iterator[tuple["Figure", list["Axes"]]]:
    """A figure of `rows` axes, one below the other, in the page's style. Width and height are points (1/72 inch)."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, list(figure.subplots(rows, 1, squeeze=False)[:, 0])


def add_legend(figure: "Figure", axes: "Axes", place: Literal["lower right", "upper left"]) -> None:
    """Names the systems: within the axes where they are few, else below them, which makes the figure higher."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) <= MAX_INSIDE_LEGEND:
        axes.legend(loc=place)
        return
    figure.set_figheight(figure.get_figheight() + 14 * ceil(len(labels) / LEGEND_COLUMNS) / 72)
    figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS)


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


def to_inline_svg(figure: "Figure", name: str, description: str) -> str:
    """The figure as an `<svg>` element whose ids begin with `name`, described for those who do not see it."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"#fa00(\d\d)", lambda m: f"var(--s{int(m[1], 16)})", svg)
    for hex_, variable in _VARIABLES.items():
        svg = svg.replace(hex_, f"var({variable})")
    view = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg {view[0] if view else ""} role="img" aria-label="{escape(description)}">'
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)
