"""What every ranker keeps to where questions have a title, a body and an accepted answer, each a field."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from askalike import rankers
from askalike.core.records import Answer, Question
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.store import Archive
from askalike.store.editing import delete_answers
from askalike.text.words import fold_title
from random_examples import examples

FIELDS = "title,text,answer"
RECORDS = (
    Question("park", "Where can I park?", "I come by car on Sunday", accepted_answer_id="park-1"),
    Answer("park-1", "park", "Behind the library, next to the playground"),
    Question("boat", "Where can I park my boat?", "park park park: where can I park it, can I park it here?"),
    Question("bike", "Bicycles", "Where can I park? My bicycle needs a rack", accepted_answer_id="bike-1"),
    Answer("bike-1", "bike", "Where can I park? In the yard, by the gate"),
    Question("card", "Lost card", "My library card was stolen at the playground", rephrasings=("card is gone",)),
    Question("rack", "A rack?", accepted_answer_id="rack-1"),
    Answer("rack-1", "rack", "<p>Ask the <b>caretaker</b> for a key</p>", "html"),
)
QUESTIONS = [record for record in RECORDS if isinstance(record, Question)]
OTHERS = {"pretrained"}
"""These need a model."""
pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def available(name):
    if name in PACKAGED_ENCODERS and not find_package(name).is_installed:
        pytest.skip(f"needs the extra {find_package(name).extra}")
    return name


@pytest.fixture(scope="module", params=sorted(set(rankers.names()) - OTHERS))
def name(request):
    return available(request.param)


@pytest.fixture
def archive(archive):
    archive.upsert(RECORDS)
    return archive


def opened(name, archive, fields=FIELDS):
    ranker = rankers.create(name, {"fields": fields}).fit(archive.training_view(()))
    return rankers.open_current(ranker, archive.view())


def found(searcher, text, k=10, **options):
    return [hit.id for hit in rankers.rank(searcher, {"q": Question("q", text)}, k, **options)["q"]]


def best(searcher, text, *ids):
    """Return the best of some questions, which need not be similar enough to be found."""
    return rankers.rank(searcher, {"q": Question("q", text)}, 1, candidates={"q": ids})["q"][0].id


def columns(run):
    return {query: [(hit.id, hit.score) for hit in run[query]] for query in run}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_a_known_title_finds_its_question_first(name, archive, question):
    searcher = opened(name, archive)
    assert found(searcher, question.title)[0] == question.id
    assert found(searcher, question.title.lower().rstrip("?"), 1) == [question.id]


def test_a_title_half_typed_is_found(name, archive):
    assert found(opened(name, archive), "Where can I park my bo", 3, prefix=True)[0] == "boat"


def test_answer_words_count_only_if_answers_are_searched(name, archive):
    query = Question("q", "a key from the caretaker")
    whole, without = (opened(name, archive, fields) for fields in (FIELDS, "title,text"))
    assert best(whole, query.title, "rack", "bike", "card") == "rack"
    scores = [rankers.explain_ids(searcher, query, ["rack"])["rack"].score for searcher in (whole, without)]
    assert scores[0] > scores[1]
    assert "caretaker" not in str(rankers.explain_ids(without, query, ["rack"])["rack"].text)


def test_edits_and_deletions_of_each_field_are_seen(name, archive):
    searcher = opened(name, archive)
    changes = [
        ("title", [Question("card", "Zeppelin", "nothing else")]),
        ("body", [Question("card", "nothing else", "A zeppelin")]),
        ("answer", [Question("card", "nothing", accepted_answer_id="card-1"), Answer("card-1", "card", "zeppelin")]),
        ("edited answer", [Answer("card-1", "card", "nothing"), Answer("rack-1", "rack", "zeppelin")]),
    ]
    expected = {"edited answer": "rack"}
    for field, records in changes:
        archive.upsert(records)
        searcher = opened(name, archive)
        assert best(searcher, "zeppelin", "card", "rack", "boat") == expected.get(field, "card"), field
    delete_answers(archive, ["card-1", "rack-1"])
    searcher = opened(name, archive)
    run = rankers.explain_ids(searcher, Question("q", "zeppelin"), ["card", "rack"])
    assert "zeppelin" not in str([reason.text for reason in run.values()])
    archive.delete(["park"])
    assert "park" not in found(opened(name, archive), "Where can I park?")


def test_answer_belongs_to_the_question_accepting_it(name, archive):
    archive.upsert([Answer("rack-1", "park", "<p>Ask the <b>caretaker</b></p>", "html")])  # moved to another question
    searcher = opened(name, archive)
    reason = rankers.explain_ids(searcher, Question("q", "caretaker"), ["rack"])["rack"]
    assert "answer" not in reason.text


def test_shares_of_fields_add_up_to_the_score(name, archive):
    searcher, named = opened(name, archive), set()
    for text in ("where can I park", "playground", "caretaker key", "card is gone", "rack"):
        for id in found(searcher, text):
            reason = rankers.explain_ids(searcher, Question("q", text), [id])[id]
            assert sum(reason.fields.values()) == pytest.approx(reason.score, rel=1e-6, abs=1e-9)
            named |= reason.fields.keys()
    assert named == {*FIELDS.split(","), "rephrasing"}


def test_a_batch_is_its_queries_one_by_one(name, archive):
    searcher = opened(name, archive)
    queries = {f"q{n}": Question(f"q{n}", q.title, q.body) for n, q in enumerate(QUESTIONS)}
    together = columns(rankers.rank(searcher, queries, 10))
    assert together == {id: columns(rankers.rank(searcher, {id: q}, 10))[id] for id, q in queries.items()}


WORDS = st.lists(st.sampled_from(["park", "boat", "where", "library", "card"]), max_size=4).map(" ".join)
IDS = st.sampled_from("abcd")
questions = st.builds(
    Question, IDS, WORDS, WORDS, accepted_answer_id=st.sampled_from([None, "A", "B"]),
    rephrasings=st.lists(WORDS, max_size=1).map(tuple),
)  # fmt: skip
answers = st.builds(Answer, st.sampled_from("AB"), IDS, WORDS)
steps = st.lists(st.tuples(st.lists(questions | answers, max_size=4), st.sets(IDS | st.sampled_from("AB"))), min_size=1)


@pytest.fixture(scope="module")
def quick_name(name):
    if name in PACKAGED_ENCODERS:
        pytest.skip("it encodes each text of each example")
    return name


@examples(10)
@given(changes=steps, typed=WORDS)
def test_incremental_equals_rebuilt(quick_name, changes, typed):
    with tempfile.TemporaryDirectory() as folder, Archive.create(Path(folder) / "archive") as archive:
        archive._connection.execute("PRAGMA synchronous = OFF")
        ranker = rankers.create(quick_name, {"fields": FIELDS}).fit(archive.training_view(()))
        for records, gone in changes:
            archive.upsert(records)
            archive.delete([id for id in gone if id.islower()])
            delete_answers(archive, [id for id in gone if id.isupper()])
            ranker.build(archive.view())
        queries = {"q": Question("q", typed), "a": Question("a", typed, "boat")}
        kept = columns(rankers.rank(rankers.open_current(ranker, archive.view()), queries, 10))
        ranker.start_rebuild(archive.view())
        assert columns(rankers.rank(rankers.open_current(ranker, archive.view()), queries, 10)) == kept
        titles = [fold_title(title) for _, _, title in archive.view().titles()]
        if kept["q"] and fold_title(typed) in titles:
            first = archive.view().get_questions([kept["q"][0][0]])
            assert [fold_title(q.title) for q in first.values()] == [fold_title(typed)]
