"""Small charts as inline SVG, without scripts or inline styles; a table next to each shows its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from askalike.service.pages.languages import format_percent

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 12, 34
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
FILE_STYLE = """text{font:12.5px sans-serif;fill:#57606a}.grid{stroke:#dfdacf}
.ideal{stroke:#57606a;stroke-dasharray:5 5}
.line{fill:none;stroke:#14665c;stroke-width:2;opacity:.55}.range{stroke:#14665c;stroke-width:2}circle{fill:#14665c}
.k0{fill:#1a6a3f}.k1{fill:#b4540a}.k2{fill:#6d5bb5}.k3{fill:#7a828a}"""
LETTER_WIDTH = 8
"""Maximum width of a letter of a label."""


@dataclass(frozen=True, slots=True)
class ProportionBar:
    """A share of n with its 95 % interval (low, high) and its label."""

    label: str
    value: float
    low: float
    high: float
    n: int


def proportion_chart(points: Sequence[ProportionBar], description: str) -> Markup:
    """Return a chart of shares from left to right, each with its interval, joined by a line."""
    columns = [(_x((i + 0.5) / len(points)), point) for i, point in enumerate(points)]
    line = " ".join(f"{x:.1f},{_y(p.value):.1f}" for x, p in columns)
    marks = [_whisker(x, p) for x, p in columns]
    step = _label_step([p.label for p in points])
    labels = [_x_label(x, p.label) for x, p in columns[::step]]
    return _svg([*_grid(), Markup('<polyline class="line" points="{}"/>').format(line), *marks, *labels], description)


def reliability_diagram(bins: Sequence[ProportionBar], description: str) -> Markup:
    """Return a chart of observed shares over predicted probabilities, the labels, with the diagonal of exact ones."""
    corners = (_x(0), _y(0), _x(1), _y(1))
    diagonal = Markup('<line class="ideal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(*corners)
    marks = [_whisker(_x(float(b.label)), b) for b in bins]
    labels = [_x_label(_x(t), format_percent(t)) for t in TICKS]
    return _svg([*_grid(), diagonal, *marks, *labels], description)


def stacked_bars(columns: Sequence[tuple[str, Mapping[str, int]]], kinds: Sequence[str], description: str) -> Markup:
    """Return a stacked bar chart of counts of several kinds."""
    max_total = max((sum(counts.values()) for _, counts in columns), default=0) or 1
    width = (WIDTH - LEFT - RIGHT) / max(len(columns), 1)
    parts = [_gridline(0, "0"), _gridline(1, str(max_total))]
    step = _label_step([label for label, _ in columns])
    bar_width = min(width * 0.7, 40)
    for i, (label, counts) in enumerate(columns):
        below, center = 0, _x(0) + (i + 0.5) * width
        for k, kind in enumerate(kinds):
            count = counts.get(kind, 0)
            top = _y((below + count) / max_total)
            size = (center - bar_width / 2, top, bar_width, _y(below / max_total) - top)
            bar = '<rect class="bar k{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
            parts += [Markup(bar.format(k, *size))] if count else []
            below += count
        if i % step == 0:
            parts.append(_x_label(center, label))
    return _svg(parts, description)


def as_file(chart: Markup) -> str:
    """Return a chart as an SVG file that needs no style sheet: in light colours, on white."""
    opening, content = str(chart).split(">", 1)
    opening = opening.replace(
        "<svg", f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{2 * HEIGHT}"'
    )
    return f'{opening}><style>{FILE_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{content}'


def _label_step(labels: Sequence[str]) -> int:
    """Return n such that there is room for every n-th label."""
    room = (WIDTH - LEFT - RIGHT) // (LETTER_WIDTH * (max(map(len, labels), default=1) + 2))
    return -(-len(labels) // max(room, 1)) or 1


def _svg(parts: Sequence[Markup], description: str) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return opening.format(WIDTH, HEIGHT, description) + Markup("").join(parts) + Markup("</svg>")


def _grid() -> list[Markup]:
    return [_gridline(t, format_percent(t)) for t in TICKS]


def _gridline(fraction: float, label: str) -> Markup:
    y = _y(fraction)
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    name = f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">'
    return Markup(line + name) + Markup("{}</text>").format(label)


def _x_label(x: float, label: str) -> Markup:
    return Markup(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">') + Markup("{}</text>").format(label)


def _whisker(x: float, point: ProportionBar) -> Markup:
    line = f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(point.low):.1f}" y2="{_y(point.high):.1f}"/>'
    return Markup(f'{line}<circle cx="{x:.1f}" cy="{_y(point.value):.1f}" r="4.5"/>')


def _x(fraction: float) -> float:
    return LEFT + fraction * (WIDTH - LEFT - RIGHT)


def _y(fraction: float) -> float:
    return HEIGHT - BOTTOM - fraction * (HEIGHT - BOTTOM - TOP)
