"""Five small data sets, one for each kind of source, as archives."""

from pathlib import Path

from imported import Importing

from askalike.labels.splits import load_split

DATA = Path(__file__).parents[1] / "data"


def test_stackexchange_dump_with_html_latex_and_duplicates(imported: Importing) -> None:
    done = imported("stackexchange", DATA / "bakery.stackexchange.com", language=None)
    assert (done.summary.questions, done.summary.answers, done.summary.duplicate_links) == (6, 5, 2)
    assert done.questions["3"].title == r"How much water gives $h = \frac{w}{f}$ of 0.75?"
    assert done.questions["3"].accepted_answer_id == "13"
    assert done.questions["2"].author == "Jo Øst"
    assert done.questions["1"].body.startswith("<p>Mine dies within <strong>a week</strong>.")
    assert load_split(done.archive, "duplicates").qrels == {"2": {"1": 1}, "6": {"5": 1}}


def test_beir_folder_with_graded_qrels(imported: Importing) -> None:
    done = imported("beir", DATA / "allotment-beir")
    assert len(done.questions) == 6
    test = load_split(done.archive, "test")
    assert next(iter(test.queries.values())).title == "slugs eat my lettuce"
    assert test.qrels["q1"] == {"d1": 2, "d0": 0}


def test_semeval_threads_with_grades(imported: Importing) -> None:
    done = imported("semeval", DATA / "expats-test.xml")
    assert (done.summary.questions, done.summary.answers) == (4, 4)
    test = load_split(done.archive, "test")
    assert [sorted(grades.values()) for grades in test.qrels.values()] == [[0, 2], [0, 1]]
    assert done.rows("SELECT DISTINCT label FROM answers") == [("Good",)]


def test_faq_json_with_rephrasings(imported: Importing) -> None:
    done = imported("table", DATA / "library-faq.json", records="root.qapair")
    assert [len(question.rephrasings) for question in done.questions.values()] == [2, 2, 2]  # "no" is none
    assert len(load_split(done.archive, "rephrasings").queries) == 6


def test_german_csv_with_dates_day_first(imported: Importing) -> None:
    columns = {"question": "Frage", "answer": "Antwort", "category": "Thema", "created_at": "Datum"}
    done = imported("table", DATA / "schwimmbad.csv", language=None, **columns)
    pool = list(done.questions.values())
    assert [question.created_at for question in pool] == [
        "2023-03-12T00:00:00", "2023-03-31T00:00:00", "2023-04-01T00:00:00",
    ]  # fmt: skip
    assert {question.language or done.archive.view().language for question in pool} == {"de"}
