"""Small charts as SVG inside a page: no script, no inline style; its numbers stand in a table beside each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 12, 34
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
LETTER = 8
"""The width that a letter of a label takes, at the most."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of n, with its 95 % interval, under a label."""

    label: str
    value: float
    low: float
    high: float
    n: int


def shares(points: Sequence[Share], describe: str) -> Markup:
    """Shares from left to right, each with its interval, joined by a line."""
    places = [_x((i + 0.5) / len(points)) for i in range(len(points))]
    line = " ".join(f"{x:.1f},{_y(p.value):.1f}" for x, p in zip(places, points, strict=True))
    marks = [_whisker(x, p) for x, p in zip(places, points, strict=True)]
    every = _every([p.label for p in points])
    names = [_below(x, p.label) for x, p in list(zip(places, points, strict=True))[::every]]
    return _svg([*_grid(), Markup('<polyline class="line" points="{}"/>').format(line), *marks, *names], describe)


def reliability(bins: Sequence[Share], describe: str) -> Markup:
    """What is right against what was said to be: on the diagonal every probability is exact. A label is a number."""
    corners = (_x(0), _y(0), _x(1), _y(1))
    diagonal = Markup('<line class="ideal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(*corners)
    marks = [_whisker(_x(float(b.label)), b) for b in bins]
    names = [_below(_x(t), f"{100 * t:.0f} %") for t in TICKS]
    return _svg([*_grid(), diagonal, *marks, *names], describe)


def stacks(columns: Sequence[tuple[str, Mapping[str, int]]], kinds: Sequence[str], describe: str) -> Markup:
    """Counts of several kinds on top of each other, column by column."""
    most = max((sum(counts.values()) for _, counts in columns), default=0) or 1
    step = (WIDTH - LEFT - RIGHT) / max(len(columns), 1)
    parts = [_level(0, "0"), _level(1, str(most))]
    every = _every([label for label, _ in columns])
    for i, (label, counts) in enumerate(columns):
        below = 0
        for k, kind in enumerate(kinds):
            count = counts.get(kind, 0)
            top = _y((below + count) / most)
            size = (_x(0) + i * step + step * 0.15, top, min(step * 0.7, 40), _y(below / most) - top)
            bar = '<rect class="bar k{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
            parts += [Markup(bar.format(k, *size))] if count else []
            below += count
        if i % every == 0:
            parts.append(_below(_x(0) + i * step + min(step, 57) / 2, label))
    return _svg(parts, describe)


def _every(labels: Sequence[str]) -> int:
    """One of how many labels there is room for."""
    room = (WIDTH - LEFT - RIGHT) // (LETTER * (max(map(len, labels), default=1) + 2))
    return -(-len(labels) // max(room, 1)) or 1


def _svg(parts: Sequence[Markup], describe: str) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return opening.format(WIDTH, HEIGHT, describe) + Markup("").join(parts) + Markup("</svg>")


def _grid() -> list[Markup]:
    return [_level(t, f"{100 * t:.0f} %") for t in TICKS]


def _level(share: float, label: str) -> Markup:
    y = _y(share)
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    name = f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">'
    return Markup(line + name) + Markup("{}</text>").format(label)


def _below(x: float, label: str) -> Markup:
    return Markup(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">') + Markup("{}</text>").format(label)


def _whisker(x: float, share: Share) -> Markup:
    line = f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(share.low):.1f}" y2="{_y(share.high):.1f}"/>'
    return Markup(f'{line}<circle cx="{x:.1f}" cy="{_y(share.value):.1f}" r="4.5"/>')


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
