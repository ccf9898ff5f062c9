"""A point-in-time archive holds at each moment what its source held then."""

import pytest

from askalike.core.filters import Filter
from askalike.core.records import Answer, Link, Question
from askalike.store import Archive
from askalike.store.archive import PointInTimeArchive

DATES = ("2013-05-01T00:00:00", "2012-01-01T00:00:00", "2013-05-01T00:00:00", None, "2014-02-03T04:05:06")


@pytest.fixture
def source(tmp_path):
    with Archive.create(tmp_path / "source") as archive:
        archive.upsert(
            Question(f"q{n}", f"title {n}", tags=(f"tag{n}",), created_at=date, rephrasings=(f"again {n}",))
            for n, date in enumerate(DATES)
        )
        archive.upsert([Answer("a", "q1", "answer", created_at="2013-06-01T00:00:00")])
        archive.upsert([Link("q2", "q1", created_at="2013-07-01T00:00:00"), Link("q4", "q1")])
        archive.set_meta(language="en")
        yield archive


@pytest.mark.parametrize("date", ["2012-01-01T00:00:00", "2013-05-01T00:00:00", "2013-05-01T00:00:01", "2099"])
def test_it_equals_the_view_before_a_date(source, tmp_path, date):
    with PointInTimeArchive(source, tmp_path / "grown") as copy:
        for moment in ("2012-01-01T00:00:00", "2013-01-01T00:00:00", date):
            if moment <= date:
                copy.advance_to(moment)
        view = copy.archive.view()
        assert list(view.questions()) == list(source.view(before=date).questions())
        assert list(view.filtered_docids(Filter(("tag1",)))) == [n for n, q in view.questions() if q.id == "q1"]
        assert view.language == "en"


def test_answers_and_links_come_at_their_dates(source, tmp_path):
    with PointInTimeArchive(source, tmp_path / "grown") as copy:
        copy.advance_to("2013-06-01T00:00:00")
        assert copy.archive.view().get_answers_to(["q1"]) == {"q1": []}
        copy.advance_to("2013-07-01T00:00:01")
        assert [a.id for a in copy.archive.view().get_answers_to(["q1"])["q1"]] == ["a"]
        assert [(x.source, x.target) for x in copy.archive.view().links()] == [("q2", "q1")]


def test_the_source_does_not_change(source, tmp_path):
    before = list(source._connection.iterdump())
    with PointInTimeArchive(source, tmp_path / "grown") as copy:
        copy.advance_to("2099")
    assert list(source._connection.iterdump()) == before
