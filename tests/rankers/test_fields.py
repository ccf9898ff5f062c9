"""Fields of questions in vectors and hybrids, and exact titles, which come first."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.arrays import VectorPart, Vectors
from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.records import Question
from askalike.encoders import Encoder
from askalike.rankers._field_vectors import FieldEncoder
from askalike.rankers._queries_and_results import is_title
from askalike.text.words import fold_title, title_key

LETTERS = "abcdefgh"
QUESTIONS = [
    Question("long", "cab", "a bag, a cab, a bed and a face"),
    Question("short", "Cab bag!"),
    Question("phrased", "deed", "fed", rephrasings=("bag cab",)),
]


class LetterEncoder(Encoder):
    """Counts letters; counts its texts, too."""

    def __init__(self, metric="cosine"):
        self.metric, self.encoded = metric, 0

    @classmethod
    def from_settings(cls, values):
        return cls(**values)

    @property
    def fingerprint(self):
        return "letters"

    def encode_queries(self, texts):
        self.encoded += len(texts)
        counts = [[f"{t.title} {t.body}".lower().count(letter) for letter in LETTERS] for t in texts]
        return Vectors((VectorPart(np.array(counts, np.float32), self.metric),))


def cosine(one, other):
    a, b = (LetterEncoder().encode_queries([Question("", text)]).parts[0].values[0] for text in (one, other))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture
def archive(archive):
    archive.upsert(QUESTIONS)
    return archive


def test_product_of_rows_is_the_fields_mean():
    fields = FieldEncoder(LetterEncoder(), ("title", "text"), (1.0, 3.0))
    [document], [query] = (
        fields.encode_documents(QUESTIONS[:1]).parts,
        fields.encode_queries([Question("q", "a bed")]).parts,
    )
    whole = f"{QUESTIONS[0].title} {QUESTIONS[0].body}"
    expected = (cosine("a bed", "cab") + 3 * cosine("a bed", whole)) / 4
    assert float(query.values[0] @ document.values[0]) == pytest.approx(expected, rel=1e-5)


def test_body_queries_weigh_titles_less():
    fields = FieldEncoder(LetterEncoder(), ("title", "text"), (1.0, 1.0), title_factor=0.25)
    [document], [query] = (
        fields.encode_documents(QUESTIONS[:1]).parts,
        fields.encode_queries([Question("q", "a bed", "cab face")]).parts,
    )
    whole = f"{QUESTIONS[0].title} {QUESTIONS[0].body}"
    expected = (0.25 * cosine("a bed", "cab") + cosine("a bed cab face", whole)) / 1.25
    assert float(query.values[0] @ document.values[0]) == pytest.approx(expected, rel=1e-5)


def test_text_that_fields_share_is_encoded_once():
    encoder = LetterEncoder()
    FieldEncoder(encoder, ("title", "text"), (1.0, 1.0)).encode_documents(QUESTIONS)
    assert encoder.encoded == 5  # two with a body


def test_one_field_has_the_encoders_own_vectors():
    alone = FieldEncoder(LetterEncoder(), ("text",), (1.0,)).encode_documents(QUESTIONS)
    assert np.array_equal(alone.parts[0].values, LetterEncoder().encode_queries(QUESTIONS).parts[0].values)
    assert alone.parts[0].metric == "cosine"


def test_query_vector_is_the_sum_of_halves():
    fields = FieldEncoder(LetterEncoder(), ("title", "text"), (1.0, 1.0))
    queries = fields.encode_queries([Question("q", "bed")])
    [document] = fields.encode_documents([Question("d", "bag")]).parts
    merged = fields.unit_queries(queries)
    assert float(merged[0] @ document.values[0][: len(LETTERS)]) == pytest.approx(cosine("bed", "bag"), rel=1e-5)


def test_vectors_compared_by_distance_are_no_unit_vectors():
    fields = FieldEncoder(LetterEncoder("euclidean"), ("text",), (1.0,))
    assert fields.unit_queries(fields.encode_queries([Question("q", "bed")])) is None


def test_vectors_compared_by_distance_have_no_fields():
    fields = FieldEncoder(LetterEncoder("euclidean"), ("title", "text"), (1.0, 1.0))
    with pytest.raises(SettingsError, match="cosine or dot product"):
        fields.encode_documents(QUESTIONS)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("How do I undo the last commit?", True),
        ("Why is $n \\log n + (n-1)$ in O($n^2$)", True),
        ("Who (and when) first defined interval graphs?", True),
        ("e-mail and/or “Wi-Fi”: what’s the rate – 5 & 10 p.m.?", True),
        ("", True),
        ("while j <= A[i] and index == nil", False),
        ('sqlite3.OperationalError: near "(": syntax error [SQL: x=?]', False),
        ("public void add (int a);", False),
    ],
)
def test_a_line_pasted_from_code_is_no_title(typed, expected):
    assert is_title(Question("q", typed)) == expected
    assert not is_title(Question("q", typed, "a body"))


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("typed", ["bag cab", "a cab, a bed and a dee", "deed nowhere", "Cab bag fed"])
def test_question_is_found_by_title_or_text(archive, typed, prefix):
    archive.upsert([Question(f"other {n}", f"bag {word}", f"a cab {word * n}") for n, word in enumerate("bdfh", 1)])
    docids = np.arange(1, 8)

    def absolute(fields):
        ranker = rankers.create("lm_jelinek_mercer", {"fields": fields, "rephrasings": False})
        searcher = rankers.open_current(ranker, archive.view())
        return searcher.score(rankers.resolve(searcher, {"q": Question("q", typed)}, prefix), [docids]).absolute[0]

    best = np.maximum(absolute("title"), absolute("text"))
    assert best.max() > 0.3
    np.testing.assert_allclose(absolute("title,text"), best, rtol=1e-6)


@pytest.mark.parametrize("settings", [{"fields": "title,text", "field_weights": "1"}, {"field_weights": "1,2"}])
def test_weights_need_one_for_each_field(settings):
    with pytest.raises(SettingsError, match="expected one for each field"):
        rankers.create("static", settings)


@pytest.mark.parametrize("name", ["static", "lm_jelinek_mercer", "bm25", "hybrid"])
@pytest.mark.parametrize("title", ["CAB", "cab?", " cab ", "Cab…"])
def test_exact_title_ignores_case_and_punctuation(archive, name, title):
    archive.upsert([Question(f"other {n}", f"cab cab {word}", "cab " * 9) for n, word in enumerate("abcdefghijkl")])
    searcher = rankers.open_current(rankers.create(name, {"fields": "title,text"}), archive.view())
    for k in (1, 5):
        hits = rankers.rank(searcher, {"q": Question("q", title)}, k)["q"]
        assert hits[0].id == "long"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    given = rankers.rank(searcher, {"q": Question("q", title)}, 2, candidates={"q": ["other 1", "long", "short"]})["q"]
    assert given[0].id == "long"


@pytest.mark.parametrize("name", ["static", "lm_jelinek_mercer", "hybrid", "cascade", "distinct"])
def test_exact_title_beats_more_similar_questions(archive, name):
    text = "is the cab a bag on the bed"
    archive.upsert(Question(f"other {n}", f"a cab {n}", f"{text} {text}") for n in range(400))
    archive.upsert([Question("typed", "Is-the-cab?", "fed " * 900), Question("gone", "is the cab", "fed " * 900)])
    archive.delete(["gone"])
    searcher = rankers.open_current(rankers.create(name, {"fields": "title,text"}), archive.view())
    hits = rankers.rank(searcher, {"q": Question("q", "is the CAB"), "r": Question("r", "fed")}, 5)
    assert hits["q"][0].id == "typed"
    assert [hit.score for hit in hits["q"]] == sorted((hit.score for hit in hits["q"]), reverse=True)
    assert len(hits["q"]) == len({hit.id for hit in hits["q"]}) == 5
    assert not any(hit.id == "gone" for hit in hits["q"])
    one = rankers.search(searcher, {"q": Question("q", "is the cab")}, 3)
    reasons = rankers.explain_retrieved(searcher, one, [one.docids[0]])
    assert len(reasons[0]) == 3


def test_a_rephrasing_is_a_title_of_its_own(archive):
    archive.upsert(Question(f"other {n}", f"bag cab {word}", "cab bag " * 9) for n, word in enumerate("abdefgh"))
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    queries = {"phrased#1": Question("phrased#1", "bag cab"), "q": Question("q", "Bag, cab!")}
    hits = rankers.rank(searcher, queries, 5)
    assert hits["q"][0].id == "phrased"
    assert hits["phrased#1"][0].id != "phrased"  # a phrasing does not find itself


def test_exact_title_that_is_filtered_is_not_found(archive):
    archive.upsert([Question("tagged", "a cab on a bed", tags=("t",)), Question("also", "bag", "a cab", tags=("t",))])
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    hits = rankers.rank(searcher, {"q": Question("q", "cab bag")}, 5, filter=Filter(tags=("t",)))["q"]
    assert {hit.id for hit in hits} == {"tagged", "also"}
    body = rankers.rank(searcher, {"q": Question("q", "cab bag", "a bed, a face, a cab and a bag")}, 5)["q"]
    assert body[0].id == "long"  # with a body it is no title


def test_repeated_question_does_not_find_itself_by_title(archive):
    searcher = rankers.open_current(rankers.create("hybrid"), archive.view())
    assert "long" not in [hit.id for hit in rankers.rank(searcher, {"long": QUESTIONS[0]}, 5)["long"]]


def test_hybrid_searches_title_and_text_by_default():
    both, text = rankers.create("hybrid"), rankers.create("hybrid", {"fields": "text"})
    assert [part.values["fields"] for part in both.parts] == ["title,text"] * 2
    assert [part.values["fields"] for part in text.parts] == ["text"] * 2
    assert rankers.create("hybrid", both.values).values == both.values


def test_folded_titles_are_equal_but_for_case():
    assert fold_title("What’s  a B-tree?") == fold_title("what's a b tree") != fold_title("whats a btree")
    assert 0 < title_key("What’s  a B-tree?") == title_key("what's a b tree") != title_key("whats a btree")
    assert title_key("?!") == 0
