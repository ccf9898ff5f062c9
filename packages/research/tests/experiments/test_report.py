import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outcomes import TWO, outcome_of

from askalike.core.records import Question
from askalike.store.archive import Archive
from askalike_research.experiments import cards, report
from askalike_research.experiments.cards import collect_ranks
from askalike_research.experiments.outcome import ExperimentResult
from askalike_research.experiments.report import select_pairs, write_report
from calibration.riverside import riverside

HOSTILE = """<script>alert("x")</script><img src=x onerror='a()'> & "quoted" </details>"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = riverside(tmp_path_factory.mktemp("report") / "riverside")
    with Archive.open(directory) as archive:
        archive.upsert([Question("unanswered", "Is there a chess club?", language="en")])  # what `check` finds
    return directory


@pytest.fixture(scope="module")
def outcome(desk: Path) -> ExperimentResult:
    seeds = [("tfidf", {}), ("bm25", {"b": 0.1}), ("dfr", {})]
    paper = {"bm25": {"Accuracy@1": 0.5}, "chance": {"AP": 0.6}, "absent": {"AP": 0.1}}
    more = {"paper": paper, "known_differences": ["another <year>"]}
    return outcome_of(desk, desk.parent, {**TWO, "chance": seeds}, queries=80, **more)


@pytest.fixture(scope="module")
def html(outcome: ExperimentResult) -> str:
    return write_report(outcome).read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Every tag that is opened, all ids, and whether what is opened is closed."""

    VOID = ("meta", "link", "input", "br", "img", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


def test_page_is_well_formed_and_offline(html: str) -> None:
    tags = Tags(html)
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    linked = [v for _, attrs in tags.seen for name, v in attrs.items() if name in ("src", "href", "xlink:href") and v]
    assert all(link.startswith(("#", "data:")) for link in linked)
    assert {link[1:] for link in linked if link.startswith("#")} <= set(tags.ids)
    assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest", html)


def test_it_holds_what_a_report_must(html: str, outcome: ExperimentResult) -> None:
    best = report.headline_rows(outcome)[report.order_systems(outcome)[0]]
    for text in (f"{best.values[0].mean:.4f}", "Accuracy@k", "The typing curve", "query by query", "n = 80 queries",
                 "Scores of duplicates and others", "Differences we know of", "another &lt;year&gt;", "ule trec_eval",
                 "Twenty queries", "askalike experiment", "wall time s", "± ",
                 f"1 of {len(outcome.findings)}"):  # fmt: skip
        assert text in html, text
    assert html.count("<svg") == 2 + 2 + 1
    assert "var(--s0)" in html
    assert "#fa0" not in html
    assert "prefers-color-scheme: dark" in html
    assert html.count('<details class="card"') == 80


@pytest.fixture(scope="module")
def written(outcome: ExperimentResult) -> Path:
    return write_report(outcome)


def test_the_same_outcome_gives_the_same_bytes(outcome: ExperimentResult, html: str, written: Path) -> None:
    assert written == outcome.folder / "report.html"
    assert written.read_text(encoding="utf-8") == html
    assert not list(outcome.folder.glob(".report*"))


def test_texts_of_the_archive_are_escaped(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "archive") as archive:
        archive.set_meta(language="en")
        archive.upsert([Question("a", f"egg {HOSTILE}", f"<p>{HOSTILE}</p>", "html", rephrasings=(f"egg? {HOSTILE}",))])
    html = write_report(outcome_of(tmp_path / "archive", tmp_path, title=HOSTILE)).read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "<img" not in html
    assert Tags(html).open == []


def test_one_system_without_anything_optional(desk: Path, tmp_path: Path) -> None:
    outcome = outcome_of(desk, tmp_path, {"bm25": [("bm25", {})]}, queries=5, typing={}, findings=(), provenance={})
    html = write_report(outcome).read_text(encoding="utf-8")
    assert "not run" in html
    assert "The typing curve" not in html
    assert "query by query" not in html
    assert Tags(html).open == []


def test_an_archive_that_is_gone_leaves_ids(outcome: ExperimentResult, tmp_path: Path, without_figures: None) -> None:
    html = write_report(replace(outcome, archive=tmp_path / "gone", folder=tmp_path)).read_text(encoding="utf-8")
    assert re.search(r"</b>r\d{3}</li>", html)


def test_browser_is_limited_and_says_so(
    outcome: ExperimentResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_figures: None
) -> None:
    monkeypatch.setattr(cards, "MAX_QUERIES", 7)
    html = write_report(replace(outcome, folder=tmp_path)).read_text(encoding="utf-8")
    assert html.count('<details class="card"') == 7
    assert "7 of 80 queries" in html
    systems = collect_ranks(outcome)
    ranks = [{s.first_ranks[q] for s in systems} for q in cards.select_contrasting_queries(systems)]
    assert all(len(of_query) > 1 for of_query in ranks)


def test_the_paper_beside_ours(outcome: ExperimentResult) -> None:
    rows = report.compare_with_paper(outcome)
    assert [(b.label, b.measure, b.paper) for b in rows] == [("bm25", "Success@1", 0.5), ("chance", "AP", 0.6)]
    assert rows[0].baseline == "–"
    assert rows[0].difference == pytest.approx(rows[0].ours - 0.5)
    assert "(p " in rows[1].baseline
    assert rows[1].sd is not None


def test_pairs_are_the_best_two_and_the_first() -> None:
    assert select_pairs([2, 1, 0]) == [(1, 2), (0, 1), (0, 2)]
    assert select_pairs([0]) == []
    assert len(select_pairs(list(range(12)))) == report.MAX_PAIRS


def test_plots_are_imported_only_for_a_report() -> None:
    script = (
        "import sys, askalike_research.experiments.report, askalike_research.comparing.comparison;print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"matplotlib", "jinja2"} & set(loaded)


def test_without_matplotlib_the_page_says_what_to_install(outcome, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "can_plot", lambda: False)
    html = write_report(replace(outcome, folder=tmp_path)).read_text(encoding="utf-8")
    assert "no figures: matplotlib is not installed; pip install &#39;askalike[plots]&#39;" in html
    assert not [*(tmp_path / "figures").iterdir()]


def test_figures_are_files_for_a_paper_too(outcome, written, tmp_path):
    folder = written.parent / "figures"
    names = {path.name for path in folder.iterdir()}
    assert {"accuracy.svg", "accuracy.pdf", "scatter0.pdf", "scores.svg"} <= names
    svg, pdf = (folder / "accuracy.svg").read_text(), (folder / "accuracy.pdf").read_bytes()
    assert svg.startswith("<?xml")
    assert "#fa0" not in svg
    assert pdf.startswith(b"%PDF")
    assert b"0.98039" not in pdf
    write_report(replace(outcome, folder=tmp_path))
    assert (tmp_path / "figures/accuracy.pdf").read_bytes() == pdf


def test_scatters_are_drawn_against_a_system_of_choice(outcome, tmp_path):
    assert select_pairs([2, 1, 0], reference=2) == [(1, 2), (0, 2)]
    last = outcome.systems[-1].label
    write_report(replace(outcome, folder=tmp_path, baseline=last))
    scatters = [path.read_text() for path in sorted((tmp_path / "figures").glob("scatter*.svg"))]
    assert scatters
    assert all(last in svg for svg in scatters[1:])


def test_histograms_say_what_they_count(monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[str] = []
    render = report.render_figure

    def keep_titles(figure: Any, name: str, description: str) -> Any:
        titles.extend(axes.get_title(loc="left") for axes in figure.axes)
        return render(figure, name, description)

    monkeypatch.setattr(report, "render_figure", keep_titles)
    report.plot_score_histograms({"bm25": (np.arange(3.0), np.arange(1_200.0))})
    assert titles == ["bm25: 3 duplicates, 1,200 best others"]
