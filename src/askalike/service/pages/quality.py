"""*Quality*: how good and how reliable the deployed ranker is, how it is used and judged, and what it needs next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

from fastapi import APIRouter, HTTPException, Request, Response
from markupsafe import Markup

from askalike.calibration.samples import MIN_QUERIES
from askalike.core import registry
from askalike.encoders.static import PACKAGED_LANGUAGES
from askalike.evaluation.intervals import BinomialProportion
from askalike.service.pages.auth import UserArchive
from askalike.service.pages.languages import (
    choose_language,
    format_number,
    format_percent,
    format_short_day,
    mark,
    translate,
    use_language,
)
from askalike.service.pages.rendering import render_page
from askalike.service.served_archive import ServedArchive
from askalike.store import Archive
from askalike.store.contents import count_untuned
from askalike.store.deployments import get_archive_encoder, serving_history
from askalike.store.encoding_progress import EncodingProgress, read_encoding
from askalike.store.labels import count_labelled
from askalike.store.query_log import DailyUse, daily_use, sum_use, weekly_verdicts

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
        below = 0
        center = _x(0) + (i + 0.5) * width
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


router = APIRouter()
MAX_WEEKS, USE_DAYS = 26, 30
WeeklyVerdicts = tuple[str, dict[str, int]]
VERDICT_LABELS = {
    "accept": mark("this answers it"),
    "reject": mark("not the same"),
    "none_of_these": mark("none of these"),
    "posted_anyway": mark("posted anyway"),
}
USE_LABELS = {"not_asked": mark("read instead of asking"), "posted": mark("asked anyway"), "other": mark("neither")}
"""The outcome of a page view with similar questions."""


@router.get("/a/{archive}/quality")
async def get_quality(archive: UserArchive, request: Request) -> Response:
    """Show the report."""
    return render_page(request, "quality.html", **await _load_report(archive, request))


@router.get("/a/{archive}/quality/{name}.svg")
async def get_chart(archive: UserArchive, request: Request, name: str) -> Response:
    """Return a chart of the page as an image of its own."""
    report = await _load_report(archive, request)
    if name not in report["figures"]:
        raise HTTPException(404, f"no chart {name!r}; there are: {', '.join(report['figures'])}")
    headers = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return Response(as_file(report["figures"][name]), headers=headers, media_type="image/svg+xml")


async def _load_report(archive: ServedArchive, request: Request) -> dict[str, Any]:
    use_language(choose_language(request, archive.language))
    calibration, stale_reason = await archive.run_on_retriever(
        lambda retriever: (retriever.calibration, retriever.stale_reason)
    )
    measured = calibration.quality if calibration else None
    bars: dict[str, list[ProportionBar]] = {}
    if measured:
        counts, n = measured.found_by_rank, measured.queries
        bars["accuracies"] = [_to_proportion(str(k), count, n) for k, count in enumerate(counts, 1)]
        bars["bins"] = [_to_proportion(f"{p:.4f}", round(right * n), n) for p, right, n in measured.bins]
    model = archive.model
    is_calibrated = calibration is not None
    report = await archive.run_on_store(lambda store: _load_stored(store, model, is_calibrated, stale_reason))
    figures = _draw(bars, report["use_weeks"], report["weeks"])
    about = {"calibration": calibration, "stale_reason": stale_reason, "measured": measured}
    return report | about | {"bars": bars, "figures": figures, "verdicts": VERDICT_LABELS, "outcomes": USE_LABELS}


def _load_stored(archive: Archive, ranker: str, is_calibrated: bool, stale_reason: str | None) -> dict[str, Any]:
    days = daily_use(archive, 7 * MAX_WEEKS)
    encoding = _find_encoding(archive)
    return {
        "encoding": encoding,
        "n_labelled": count_labelled(archive),
        "advice": None if encoding else advise(archive, ranker, is_calibrated, stale_reason),
        "weeks": fill_weeks(weekly_verdicts(archive, MAX_WEEKS))[-MAX_WEEKS:],
        "served": serving_history(archive),
        "use_days": days[-USE_DAYS:],
        "use_total": sum_use(days[-USE_DAYS:]),
        "use_weeks": sum_weeks(days),
    }


def _draw(
    bars: Mapping[str, Sequence[ProportionBar]],
    use: Sequence[DailyUse],
    verdicts: Sequence[WeeklyVerdicts],
) -> dict[str, Markup]:
    figures: dict[str, Markup] = {}
    if bars:
        shares = bars["accuracies"]
        values = {"k": len(shares), "low": format_percent(shares[0].value), "high": format_percent(shares[-1].value)}
        described = translate("Accuracy at k from 1 to %(k)s: from %(low)s to %(high)s") % values
        figures["accuracy"] = proportion_chart(shares, described)
        described = translate("Share of first hits that are right, by their probability, in %(n)s bins")
        figures["reliability"] = reliability_diagram(bars["bins"], described % {"n": len(bars["bins"])})
    if use:
        columns = [(format_short_day(week.day), _outcomes(week)) for week in use]
        described = translate("Outcomes of views with similar questions, by week")
        figures["usage"] = stacked_bars(columns, list(USE_LABELS), described)
    if verdicts:
        weeks = [(format_short_day(monday), counts) for monday, counts in verdicts]
        figures["feedback"] = stacked_bars(weeks, list(VERDICT_LABELS), translate("Feedback by week"))
    return figures


def sum_weeks(days: Sequence[DailyUse]) -> list[DailyUse]:
    """Return the sums of each week, by the date of its Monday."""
    weeks: dict[str, list[DailyUse]] = {}
    for each in days:
        day = date.fromisoformat(each.day)
        weeks.setdefault((day - timedelta(days=day.weekday())).isoformat(), []).append(each)
    return [replace(sum_use(own), day=monday) for monday, own in weeks.items()]


def _find_encoding(archive: Archive) -> tuple[str, EncodingProgress] | None:
    encoder = get_archive_encoder(archive)
    progress = read_encoding(archive.path, encoder.name) if encoder else None
    return (encoder.name, progress) if encoder and progress else None


def fill_weeks(weeks: Sequence[WeeklyVerdicts]) -> list[WeeklyVerdicts]:
    """Return the weeks, by the dates of their Mondays, with the weeks between them that have no verdicts."""
    counts = dict(weeks)
    if not weeks:
        return []
    first, last = (date.fromisoformat(monday) for monday in (weeks[0][0], weeks[-1][0]))
    mondays = [(first + timedelta(days=n)).isoformat() for n in range(0, (last - first).days + 1, 7)]
    return [(monday, counts.get(monday, dict.fromkeys(VERDICT_LABELS, 0))) for monday in mondays]


def _outcomes(use: DailyUse) -> dict[str, int]:
    """Return the number of views in which somebody read instead of asking, asked anyway, or did neither."""
    posted = use.counts["posted"]
    return {"not_asked": use.not_asked, "posted": posted, "other": max(0, use.counts["shown"] - use.not_asked - posted)}


def _to_proportion(label: str, count: int, n: int) -> ProportionBar:
    share = BinomialProportion(count, n)
    return ProportionBar(label, share.value, *share.interval, n)


class Advice(NamedTuple):
    """A sentence with its numbers, and the command for it; "" where it is done in the queue."""

    message: str
    command: str
    numbers: Mapping[str, int] = {}

    @property
    def sentence(self) -> str:
        """The sentence in the language of the page."""
        return translate(self.message) % {name: format_number(n) for name, n in self.numbers.items()}


def advise(archive: Archive, ranker: str, is_calibrated: bool, stale_reason: str | None) -> Advice | None:
    """Return what an archive needs most; None if it needs nothing. ranker: the name of the active one."""
    view = archive.view()
    folder = archive.path.name
    if not len(view):
        return Advice(mark("The archive is empty: import questions."), f"askalike import table FILE -o {folder}")
    has_encoder = get_archive_encoder(archive) is not None
    if ranker in registry.names("similarity"):
        return Advice(
            mark("An encoder is at hand, but search compares words alone: try whether it is better."),
            f"askalike tune {folder}",
        )
    if not has_encoder and view.language not in (None, *PACKAGED_LANGUAGES):
        return Advice(
            mark("The packaged word vectors do not know the archive’s language: choose an encoder that does."),
            f"askalike encoder use {folder} MODEL",
        )
    if untuned := count_untuned(view):
        sentence = mark("%(n)s known duplicates: another ranker would probably find more (on one site 14 more of 100).")
        return Advice(sentence, f"askalike tune {folder}", {"n": untuned})
    if is_calibrated:
        return None
    if stale_reason:
        return Advice(mark("The calibration is out of date: make it again."), f"askalike calibrate {folder}")
    if (n := count_labelled(archive)) >= MIN_QUERIES:
        sentence = mark("%(n)s known duplicates: enough for probabilities.")
        return Advice(sentence, f"askalike calibrate {folder}", {"n": n})
    sentence = mark("%(n)s of the %(needed)s known duplicates that probabilities need: decide in the queue.")
    return Advice(sentence, "", {"n": n, "needed": MIN_QUERIES})
