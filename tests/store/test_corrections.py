"""What people correct stays through imports until the source has another text, and every change is in the history.

Point 12 of the operator's first day.
"""

import csv
from dataclasses import replace

import pytest

from askalike.core.records import Answer, Question
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.changes import get_revisions
from askalike.store.editing import put_records
from askalike.store.keys import create_key

ROWS = {"a": ("How long do I boil an eg?", "Five minuts."), "b": ("May I bring a dog?", "Yes.")}
FIRST = ("How long do I boil an eg?", "How long do I boil an egg?")


@pytest.fixture
def source(tmp_path):
    """Import the rows from the same file into the same archive; returns the summary of the import."""

    def import_rows(rows=ROWS, **options):
        with open(tmp_path / "faq.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "question", "answer"])
            writer.writerows((id, *texts) for id, texts in rows.items())
        return import_archive("table", [tmp_path / "faq.csv"], tmp_path / "faq", **options)

    import_rows()
    return import_rows


@pytest.fixture
def archive(source, tmp_path):
    with Archive.open(tmp_path / "faq") as archive:
        yield archive


def question(archive, id="a") -> Question:
    return archive.view().get_questions([id])[id]


def answer(archive, id="a") -> Answer:
    return archive.view().get_answers_to([id])[id][0]


def correct(archive, editor="", **texts) -> None:
    put_records(archive, [replace(question(archive), **texts)], editor)


def history(archive):
    return [
        (r.edited_by, r.record_type, {f: tuple(c) for f, c in r.changes.items()}) for r in get_revisions(archive, "a")
    ]


def test_correction_stays_while_the_source_does(archive, source):
    correct(archive, title=FIRST[1], tags=("eggs",), rephrasings=("Boiling eggs",))
    summary = source()
    changed = question(archive)
    assert (changed.title, changed.tags, changed.rephrasings) == (FIRST[1], ("eggs",), ("Boiling eggs",))
    assert summary.changes["questions"] == {"added": 0, "updated": 0, "unchanged": 2, "removed": 0}
    assert summary.notes == {"questions that keep what was corrected here, as the source says what it said then": 1}
    assert len(history(archive)) == 1


def test_other_fields_of_a_correction_follow_the_source(archive, source):
    put_records(archive, [replace(answer(archive), body="Five minutes.")])
    source({**ROWS, "a": (FIRST[1], ROWS["a"][1])}, yes=True)
    assert (question(archive).title, answer(archive).body) == (FIRST[1], "Five minutes.")


def test_new_source_text_replaces_a_correction_with_history(archive, source):
    correct(archive, title=FIRST[1])
    rows = {**ROWS, "a": ("How long do I boil an egg, and how hard?", ROWS["a"][1])}
    lost = {"questions that lose what was corrected here to the source's new text (their history has it)": 1}
    assert source(rows, dry_run=True).notes == lost
    assert question(archive).title == FIRST[1]
    assert source(rows, yes=True).notes == lost
    assert question(archive).title == rows["a"][0]
    assert history(archive) == [
        ("import from faq", "questions", {"title": (FIRST[1], rows["a"][0])}),
        ("operator", "questions", {"title": FIRST}),
    ]
    assert source(rows).notes == {}


def test_source_taking_a_correction_over_loses_nothing(archive, source):
    correct(archive, title=FIRST[1])
    rows = {**ROWS, "a": (FIRST[1], ROWS["a"][1])}
    assert source(rows, yes=True).notes == {}
    source({**ROWS, "a": ("Boiled eggs", ROWS["a"][1])}, yes=True)
    assert question(archive).title == "Boiled eggs"
    assert len(history(archive)) == 1


def test_a_correction_that_is_taken_back_is_none(archive, source):
    correct(archive, title=FIRST[1])
    correct(archive, title=FIRST[0])
    assert source({**ROWS, "a": ("Boiled eggs", ROWS["a"][1])}, yes=True).notes == {}
    assert [list(changes) for _, _, changes in history(archive)] == [["title"], ["title"]]


def test_history_names_the_keys_note(archive):
    ids = [create_key(archive, "write", note).split("_")[1] for note in ("Zoë", "")]
    for id, title in zip(ids, ("One", "Two"), strict=True):
        correct(archive, id, title=title)
    put_records(archive, [replace(answer(archive), body="Six.")])
    assert [by for by, *_ in history(archive)] == ["operator", ids[1], "Zoë"]
    correct(archive, title="Two")
    correct(archive, votes=3)
    assert len(history(archive)) == 3


def test_what_is_deleted_has_no_history(archive, source):
    correct(archive, title=FIRST[1])
    put_records(archive, [replace(answer(archive), body="Six.")])
    archive.delete(["a"])
    source()
    assert (question(archive).title, history(archive)) == (FIRST[0], [])
