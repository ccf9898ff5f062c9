"""The results pages are those of the committed reports, and other pages have no figure of their own."""

import json
import re
import sys
from pathlib import Path

import pytest
import write_results

ROOT = Path(__file__).parents[3]
NEGATIVE = (ROOT / "docs" / "results" / "negative.md").read_text(encoding="utf-8")
PAPERS = (ROOT / "packages" / "learning" / "docs" / "papers.md").read_text(encoding="utf-8")
REPORTS = sorted((ROOT / "experiments" / "reports").glob("*.json"))
BENCHMARKS = {
    "background", "cluster", "cluster_faults", "fan_out", "lucene", "queue_fill", "rank", "request_time", "runtimes",
    "scale", "search", "serve", "start",
}  # fmt: skip
"""Reports of rows, each with its commit and hardware."""


def test_pages_are_those_of_the_reports(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["write_results.py", "--check"])
    assert write_results.main() == 0, capsys.readouterr()


def test_a_page_that_differs_is_noticed() -> None:
    report = json.loads((ROOT / "experiments" / "reports" / "stackfaq.json").read_text(encoding="utf-8"))
    section, page = write_results.leaderboard("stackfaq", report), write_results.PAGES / "index.md"
    assert section in page.read_text(encoding="utf-8")
    report["systems"][0]["measures"]["AP"]["mean"] += 0.01
    assert write_results.leaderboard("stackfaq", report) != section


def test_figures_of_the_readme_are_from_reports() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    held, rows = write_results.load("held-askubuntu-titles"), write_results.load("rank")
    found = {s["label"]: f"{100 * s['measures']['Success@10']['mean']:.0f}" for s in held["systems"]}
    queries = f"duplicates on Ask Ubuntu (titles, n = {held['queries']:,})"
    assert f"For {found['default with MiniLM']} of 100 {queries}" in readme
    assert f"with BM25 for {found['BM25']}" in readme
    assert f"without an encoder finds {found['default']}" in readme
    [times] = [f"{r['ratio_to_bm25s']:.2f}" for r in rows if (r["engine"], r["queries"]) == ("askalike rank", "title")]
    assert f"{times} times as many titles a second as bm25s" in readme


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


def test_negative_result_names_its_source() -> None:
    """The last line of each idea: what it was measured on; the command or script; the commits."""
    ideas = re.findall(r"^\*\*.+?(?=^\*\*|^## |\Z)", NEGATIVE, flags=re.DOTALL | re.MULTILINE)
    source = re.compile(r"\n\*Measured: [^*]+; [^*]+; [0-9a-f]{8}(, [0-9a-f]{8})*\.\*\s*\Z")
    assert len(ideas) > 30
    assert [idea.partition(".")[0] for idea in ideas if not source.search(idea)] == []


def test_negative_results_name_existing_files() -> None:
    named = re.findall(r"`((?:experiments|benchmarks)/[\w/.-]+)`", NEGATIVE)
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_papers_tables_are_from_reports() -> None:
    """Other tables are of the papers' claims, of differences and of pairs."""
    typed = re.sub(r"<!-- table: .*?<!-- end of table -->", "", PAPERS, flags=re.DOTALL)
    assert PAPERS.count("<!-- table: ") > 5
    assert not re.search(r"\[[+−]?[\d.]+, [+−]?[\d.]+\]", "".join(re.findall(r"^\|.*$", typed, flags=re.MULTILINE)))
