"""What *Quality* says of its figures, what it advises, and its charts as files."""

import shutil
from pathlib import Path

import pytest
from serving import Service

from askalike import Question, build
from askalike.calibration.calibrate import calibrate
from askalike.core.types import Link
from askalike.service.pages.advice import advise
from askalike.service.pages.quality import sum_weeks
from askalike.store import Archive
from askalike.store.query_log import DailyUse, UseEvent


@pytest.mark.parametrize("titles_only", [False, True])
def test_the_figures_say_whether_they_are_of_titles_alone(example: Path, tmp_path: Path, titles_only: bool) -> None:
    path = Path(shutil.copytree(example, tmp_path / "riverside"))
    with Archive.open(path) as archive:
        calibrate(archive, build("lm_jelinek_mercer"), titles_only=titles_only, max_queries=120).calibration.save(path)
    service = Service(path, options=("--set", "propose=0"))
    try:
        page = service.get("/a/riverside/quality").body.decode()
    finally:
        service.end()
    assert "measured on this archive’s own duplicates" in page
    assert ("By their titles alone" in page) == titles_only


def test_the_advice_is_what_the_archive_needs_most(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.command == "askalike import table FILE -o desk"
        archive.upsert([Question(str(n), f"How do I boil egg number {n}?", language="en") for n in range(110)])
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.sentence.startswith("0 of the 100 questions with a known duplicate")
        assert advice.command == "askalike dedupe desk -o clusters.csv"
        archive.upsert([Link(str(n), "0", "duplicate") for n in range(1, 102)])
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.sentence == "101 questions have a known duplicate: enough for probabilities."
        assert advice.command == "askalike calibrate desk"
        advice = advise(archive, "hybrid", False, "it is old")
        assert advice
        assert "out of date" in advice.sentence
        assert advise(archive, "hybrid", True, None) is None


def test_words_alone_are_told_of_an_encoder_at_hand(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askalike.rankers.default_name", lambda: "hybrid")
    with Archive.open(example) as archive:
        advice = advise(archive, "lm_jelinek_mercer", True, None)
    assert advice
    assert advice.command == "askalike tune riverside"


def test_use_is_summed_by_week() -> None:
    counts: dict[UseEvent, int] = {"shown": 2, "opened": 1, "accepted": 0, "posted": 0, "posted_after_opening": 0}
    weeks = sum_weeks([DailyUse(day, counts) for day in ("2026-11-20", "2026-11-22", "2026-11-23")])
    assert [(week.day, week.counts["shown"]) for week in weeks] == [("2026-11-16", 4), ("2026-11-23", 2)]


def test_charts_are_saved_as_svg_and_png(visit, service: Service) -> None:
    image = service.get("/a/riverside/quality/accuracy.svg")
    assert image.headers["content-type"] == "image/svg+xml"
    assert image.body.startswith(b'<svg xmlns="http://www.w3.org/2000/svg"')
    assert service.get("/a/riverside/quality/none.svg").status == 404
    page = visit("/a/riverside/quality")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saving:
            page.get_by_role("link", name=kind).first.click()
        assert saving.value.suggested_filename == f"accuracy.{kind.lower()}"
        assert Path(saving.value.path()).read_bytes().startswith(start)
