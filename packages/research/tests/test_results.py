"""The results pages are those of the committed reports, and other pages have no figure of their own."""

import json
import re
import sys
from pathlib import Path

import pytest
import write_results

ROOT = Path(__file__).parents[3]
LEADING_POINT = re.compile(r"(?<![\d.])\.(?=\d)")
LOGS = [ROOT / "experiments" / "LOG.md", *sorted((ROOT / "experiments" / "log").glob("*.md"))]
LOG = LEADING_POINT.sub("0.", "\n".join(path.read_text(encoding="utf-8") for path in LOGS))
NEGATIVE = (ROOT / "docs" / "results" / "negative.md").read_text(encoding="utf-8")
PAPERS = LEADING_POINT.sub("0.", (ROOT / "docs" / "papers.md").read_text(encoding="utf-8"))
REPORTS = sorted((ROOT / "experiments" / "reports").glob("*.json"))
BENCHMARKS = {"cluster", "cluster_faults", "fan_out", "lucene", "rank", "runtimes", "scale", "search", "serve", "start"}
"""Reports of rows, each with its commit and hardware."""
SMALL = 20
"""Whole numbers below it may be counts in a sentence."""


def test_pages_are_those_of_the_reports(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["write_results.py", "--check"])
    assert write_results.main() == 0, capsys.readouterr()


def test_a_page_that_differs_is_noticed() -> None:
    report = json.loads((ROOT / "experiments" / "reports" / "stackfaq.json").read_text(encoding="utf-8"))
    page = write_results.leaderboard("stackfaq", report)
    assert page == (ROOT / "docs" / "results" / "stackfaq.md").read_text(encoding="utf-8")
    report["systems"][0]["measures"]["AP"]["mean"] += 0.01
    assert write_results.leaderboard("stackfaq", report) != page


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_report_says_its_origin_and_holds_no_text(path: Path) -> None:
    report = json.loads(path.read_text(encoding="utf-8"))
    rows = report if isinstance(report, list) else [report]
    of_benchmark = path.stem in BENCHMARKS
    needed = {"commit", "hardware"} if of_benchmark else {"commit", "data", "hardware", "command"}
    origins = rows if of_benchmark else [row["provenance"] for row in rows]
    assert all(needed <= origin.keys() for origin in origins)
    assert not any(origin["commit"].endswith("-dirty") for origin in origins)
    assert not re.search(r'"(differing|samples|findings)"', path.read_text(encoding="utf-8"))


def find_figures(text: str) -> set[str]:
    figures = {figure.rstrip(".,") for figure in re.findall(r"\d[\d.,]*", text)}
    return {figure for figure in figures if not (figure.isdigit() and int(figure) <= SMALL)}


def stands_in_the_log(figure: str) -> bool:
    spellings = f"{re.escape(figure)}|{re.escape(figure.replace(',', ''))}"
    return bool(re.search(rf"(?<![\d.])({spellings})(?!\d)", LOG))


def test_figures_of_negative_results_stand_in_the_log() -> None:
    figures = find_figures(re.sub(r"\]\([^)]*\)|BM25|RM3|MiniLM|nDCG@10|SemEval-2016", "", NEGATIVE))
    assert len(figures) > 40
    assert sorted(figure for figure in figures if not stands_in_the_log(figure)) == []


def test_papers_has_tables_of_measurements_from_reports_alone() -> None:
    """Other tables are of the papers' claims, of differences and of pairs; figures in sentences stand in the log."""
    typed = re.sub(r"<!-- table: .*?<!-- end of table -->", "", PAPERS, flags=re.DOTALL)
    assert PAPERS.count("<!-- table: ") > 5
    assert not re.search(r"\[[+−]?[\d.]+, [+−]?[\d.]+\]", "".join(re.findall(r"^\|.*$", typed, flags=re.MULTILINE)))
    prose = re.sub(r"^[|#].*$|`[^`]*`", "", typed, flags=re.MULTILINE)
    figures = find_figures(re.sub(r"BM25|RM3|SemEval-2016|\b20\d\d\b|\]\([^)]*\)", "", prose))
    assert sorted(figure for figure in figures if not stands_in_the_log(figure)) == []


def test_sections_that_papers_names_are_there() -> None:
    titles = [line.partition(" · ")[2] for line in LOG.splitlines() if line.startswith("## ")]
    named = re.findall(r"(?:\(log,| and) “([^”]+)”", " ".join(PAPERS.split()))
    assert len(named) > 5
    assert [name for name in named if not any(title.startswith(name) for title in titles)] == []


def test_superseded_section_names_what_supersedes_it() -> None:
    titles: list[str] = []
    marks = 0
    for line in LOG.splitlines():
        if line.startswith("## "):
            titles.append(line.partition(" · ")[2])
        elif line.startswith("*") and "uperseded" in line:
            marks += 1
            for name in re.findall("“([^”]+ [^”]+)”", line):
                assert any(title.startswith(name) for title in titles[:-1]), line
    assert marks > 15
