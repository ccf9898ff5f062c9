"""A backtest asks each question at its own time, and counts what a bot would have said."""

import csv
import json
from dataclasses import replace

import pytest

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.records import Link, Question
from askalike.store import Archive
from askalike_research.replay import backtest as module
from askalike_research.replay.backtest import backtest
from askalike_research.replay.backtest_report import to_report, write_backtest
from askalike_research.replay.judging import draw_comments, estimate_right, read_judged


def dated(id: str, title: str, day: int, month: int = 1) -> Question:
    return Question(id, title, created_at=f"2020-{month:02}-{day:02}T00:00:00")


@pytest.fixture
def desk(tmp_path):
    """`again` asks what `reset` did; `lost` too, in other words; `late` is like `again`, but is asked after it."""
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(
            [
                dated("reset", "reset my forgotten password", 1),
                dated("hours", "library opening hours on sunday", 2),
                dated("again", "forgotten password how to reset", 3),
                dated("lost", "cannot log in any more", 4),
                dated("late", "forgotten password how to reset it", 5),
                dated("printer", "sunday printer paper jam", 5),
            ]
        )
        archive.upsert([Link("again", "reset"), Link("lost", "reset")])
        yield archive


def run(archive, **options):
    return backtest(archive, rankers.create("bm25", {}, archive), **options)


def test_only_older_questions_are_suggested(desk):
    result = run(desk, last=4, thresholds=(0.01,))
    suggested = {asked.question.id: {s.question.id for s in asked.suggestions} for asked in result.questions}
    assert suggested["again"] == {"reset"}
    assert "printer" not in suggested["late"]
    assert (result.older, result.period) == (2, ("2020-01-03", "2020-01-05"))


def test_comment_naming_the_cluster_is_right(desk):
    result = run(desk, last=4, thresholds=(0.01, 0.99))
    low, high = result.outcomes
    assert (low.comments, low.right.count, low.found.count, low.found.n, low.missed) == (3, 1, 1, 2, 1)
    assert (high.comments, high.missed) == (0, 2)
    assert [asked.question.id for asked in result.examples("missed")] == ["lost", "again"]


def test_comments_by_grade_need_no_threshold(desk):
    result = run(desk, last=4, calibrates=False)
    same = {asked.question.id for asked in result.questions if asked.kind(None) in ("right", "unconfirmed")}
    assert {"again"} <= same < {"again", "late", "lost", "printer"}
    assert (result.same.comments, result.same.right.count, result.same.threshold) == (len(same), 1, None)
    assert "\nsame " in to_report(result)


def test_known_duplicates_show_their_original_then(desk):
    late = next(a for a in run(desk, last=2).questions if a.question.id == "late")
    assert [s.question.id for s in late.suggestions][:1] == ["again"]  # nobody had linked it: links have no dates here
    desk.upsert([Link("again", "reset", created_at="2020-01-03T12:00:00")])
    late = next(a for a in run(desk, last=2).questions if a.question.id == "late")
    assert [s.question.id for s in late.suggestions][:1] == ["reset"]


def test_window_in_weeks_ends_with_the_latest_question(desk):
    desk.upsert([dated("far", "a new question about the printer", 25)])
    assert [asked.question.id for asked in run(desk, weeks=1).questions] == ["far"]
    assert len(run(desk, weeks=3).questions) == 4


def test_the_oldest_question_is_not_asked(desk):
    assert run(desk, last=99).questions[0].question.id == "hours"


def test_archives_without_dates_are_refused(archive):
    archive.upsert([Question("a", "one"), Question("b", "two")])
    with pytest.raises(ArchiveError, match="no question has a date"):
        run(archive)


def test_archives_of_one_moment_are_refused(archive):
    archive.upsert([dated("a", "one", 1), dated("b", "two", 1)])
    with pytest.raises(ArchiveError, match="all 2 questions are of the same moment"):
        run(archive)


def test_a_precision_outside_its_range_is_refused(desk):
    with pytest.raises(SettingsError, match="--precision 1.5"):
        run(desk, precision=1.5)
    with pytest.raises(SettingsError, match="exclude each other"):
        run(desk, precision=0.5, guarantee=0.5)


def test_without_thresholds_shares_of_the_questions_get_comments(tmp_path):
    with Archive.create(tmp_path / "many") as archive:
        archive.upsert(
            dated(f"q{n}", f"word{n} word{n + 1} word{n + 2} common", n % 28 + 1, n // 28 + 1) for n in range(200)
        )
        result = run(archive, last=100)
    assert len(result.thresholds) <= 3
    assert result.outcomes[0].comments >= result.outcomes[-1].comments


def test_a_calibration_knows_only_older_labels(desk, monkeypatch):
    seen = []

    def too_few(archive, ranker, split, **options):
        seen.append((sorted(q.id for _, q in archive.view().questions()), options))
        raise ArchiveError("too few")

    monkeypatch.setattr(module, "calibrate", too_few)
    result = run(desk, last=4, guarantee=0.8)
    [(ids, options)] = seen
    assert ids == ["hours", "reset"]
    assert (options["precision"], options["guarantee"]) == (None, 0.8)
    assert (result.scale, result.guaranteed) == ("similarity", None)


def test_sample_is_drawn_from_bands_without_confirmed_ones():
    comments = [(f"low{n}", [0.3]) for n in range(500)] + [(f"high{n}", [0.9, 0.3]) for n in range(12)]
    drawn = draw_comments([*comments, ("none", [0.1])], [0.2, 0.8])
    assert len(drawn) == len(set(drawn)) == 30
    assert sum(id.startswith("high") for id in drawn) == 12
    assert "none" not in drawn


def test_estimate_weighs_bands_by_their_size():
    comments = [(f"low{n}", [0.3]) for n in range(90)] + [(f"high{n}", [0.9]) for n in range(10)]
    judged = {f"low{n}": 0 for n in range(10)} | {f"high{n}": 1 for n in range(10)}
    both = estimate_right(0, comments, judged, 0.2, [0.2, 0.8])
    assert both.value == pytest.approx(0.1)
    assert 0.1 <= both.low < 0.12 < both.high < 0.35
    high = estimate_right(10, comments[90:], judged, 0.8, [0.2, 0.8])
    assert (high.value, high.low, high.high, high.judged) == (1.0, 1.0, 1.0, 10)
    assert estimate_right(0, comments, {"low1": 1}, 0.2, [0.2, 0.8]) is None


def test_judgement_counts_where_its_suggestion_is_shown():
    comments = [("a", [0.9, 0.5])]
    assert estimate_right(0, comments, {"a": 2}, 0.4, [0.4, 0.8]).value == 1.0
    assert estimate_right(0, comments, {"a": 2}, 0.8, [0.4, 0.8]).value == 0.0


def test_folder_has_page_json_and_sample(desk, tmp_path):
    desk.upsert([replace(dated("again", "<b>forgotten</b> password how to reset", 3), url="javascript:alert(1)")])
    result = run(desk, last=4, thresholds=(0.01, 0.5))
    page, record, sample = write_backtest(result, tmp_path / "out")
    html = page.read_text()
    assert "&lt;b&gt;forgotten" in html
    assert "<b>forgotten" not in html
    assert 'href="javascript' not in html
    assert "http" not in html.replace('lang="en"', "")
    told = json.loads(record.read_text())
    assert [t["comments"] for t in told["thresholds"]] == [o.comments for o in result.outcomes]
    rows = list(csv.DictReader(sample.read_text("utf-8-sig").splitlines()))
    assert {row["question_id"] for row in rows} == {"late", "printer"}
    with pytest.raises(InputError, match="nothing is judged yet"):
        read_judged(sample)
    sample.write_text(sample.read_text("utf-8-sig").replace("late,,", "late,1,").replace("printer,,", "printer,0,"))
    again = run(desk, last=4, thresholds=(0.01, 0.5), judged=read_judged(sample))
    assert again.outcomes[0].estimate.value == pytest.approx(2 / 3)
    assert "2 judged" in to_report(again)
    write_backtest(again, tmp_path / "out")
    assert "late,1," in sample.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n", "no column question_id or right"), ("question_id,right\nq,yes\n", "line 2: right is 'yes'")],
)
def test_a_wrong_sample_is_one_clear_error(tmp_path, text, message):
    path = tmp_path / "sample.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_judged(path)


def test_report_names_the_original_of_a_right_comment(desk):
    text = to_report(run(desk, last=4, thresholds=(0.01,)))
    assert "2 of 4 had been asked before" in text
    assert "forgotten password how to reset\n    " in text
    assert "reset my forgotten password" in text
