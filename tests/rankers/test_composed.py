"""Hybrids and cascades by hand; settings as a person writes them; trained models by their names."""

import numpy as np
import pytest

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.errors import InputError, SettingsError
from askalike.core.filters import Filter
from askalike.core.records import Question
from askalike.rankers import _searcher, hybrid
from askalike.rankers.lexical import LexicalSearcher
from askalike.store import Archive

TITLES = ["boil an egg", "boil rice", "boil eggs in a pot", "sticky rice", "which pot", "how hot is tea", "egg timer"]
QUERIES = {"q": Question("q", "how do I boil an egg"), "r": Question("r", "rice in a pot")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("composed") / "archive") as archive:
        archive.upsert(Question(f"{n}", title, tags=("even",)[n % 2 :]) for n, title in enumerate(TITLES))
        yield archive


def scores(ranker, archive, k=100, **options):
    run = rankers.rank(rankers.open_current(ranker, archive.view()), QUERIES, k, **options)
    return {q: {h.id: h.score for h in run[q]} for q in run}


def built(*pairs, name="hybrid"):
    return rankers.create(name, parse_assignments(pairs))


TWO = "parts=bm25,tfidf"


def absolute(searcher, query, id, **options):
    """The absolute score of one document."""
    queries = rankers.resolve(searcher, {"q": Question("q", query)}, **options)
    return searcher.score(queries, [np.array([searcher.view.docids([id])[id]])]).absolute[0][0]


@pytest.mark.parametrize("name", ["bm25", "lm_jelinek_mercer", "dfr", "static"])
def test_the_same_text_has_the_absolute_score_1(archive, name):
    searcher = rankers.open_current(rankers.create(name), archive.view())
    for number, title in enumerate(TITLES):
        assert absolute(searcher, title, str(number), prefix=False) == pytest.approx(1, abs=1e-3)


def test_absolute_scores_of_words_by_hand(archive):
    searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
    total, ttf, df = 20, {"egg": 3, "timer": 1}, {"egg": 3, "timer": 1}  # "eggs" is "egg"

    def score(term, length):
        return np.log1p(0.3 / length / (0.7 * (ttf.get(term, 0) + 1) / (total + 1)))

    idf = {term: np.log1p((7 - df.get(term, 0) + 0.5) / (df.get(term, 0) + 0.5)) for term in ("egg", "timer", "xyzzy")}
    own = score("egg", 2) + score("xyzzy", 2)
    expected = (score("egg", 2) / own + idf["egg"] / (idf["egg"] + idf["xyzzy"])) / 2
    assert absolute(searcher, "egg xyzzy", "6", prefix=False) == pytest.approx(expected, rel=1e-4)
    assert absolute(searcher, "egg tim", "6", prefix=True) == pytest.approx(1, abs=1e-3)
    assert absolute(searcher, "", "6", prefix=False) == 0


def test_absolute_score_of_a_hybrid_is_a_sum(archive):
    names = ("bm25", "lm_jelinek_mercer")
    searchers = [rankers.open_current(rankers.create(name), archive.view()) for name in names]
    mine = scores(built(f"parts={','.join(names)}"), archive)
    assert mine.keys() == QUERIES.keys()
    for query, found in mine.items():
        title = QUERIES[query].title
        expected = {id: sum(absolute(part, title, id, prefix=False) for part in searchers) / 2 for id in found}
        assert found == pytest.approx(expected)


def test_query_that_is_a_document_scores_fully(archive):
    searcher = rankers.open_current(built(), archive.view())
    for number, title in enumerate(TITLES):
        best = rankers.rank(searcher, {"q": Question("q", title)}, 1)["q"][0]
        assert (best.id, best.score) == (str(number), pytest.approx(1, abs=1e-3))
    assert rankers.rank(searcher, {"q": Question("q", "egg")}, 1, prefix=True)["q"][0].score < 1


def test_words_count_what_is_measured_beside_the_encoder(monkeypatch):
    assert built().weights == pytest.approx((0.7 / 1.7, 1 / 1.7))
    assert built("parts=lm_jelinek_mercer,bm25,static").weights == pytest.approx((0.35 / 1.7, 0.35 / 1.7, 1 / 1.7))
    assert built(TWO).weights == (0.5, 0.5)
    assert built(TWO, "weights=1,2").weights == (1, 2)


def test_part_of_all_the_weight_is_that_part(archive):
    alone = rankers.open_current(rankers.create("bm25", {"fields": hybrid.HybridRanker.default_fields}), archive.view())
    retrieved = rankers.add_absolute(alone, rankers.search(alone, QUERIES, 100))
    mine = scores(built(TWO, "weights=1,0"), archive)
    assert [sorted(found.values()) for found in mine.values()] == [sorted(s.tolist()) for s in retrieved.absolute]


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_scores_move_with_neither_k_nor_candidates(archive, depth):
    ranker = built(TWO, f"depth={depth}")
    whole = scores(ranker, archive)
    for k in (1, 2, 5):
        assert scores(ranker, archive, k) == {q: dict(list(found.items())[:k]) for q, found in whole.items()}
    pool = scores(ranker, archive, candidates={q: ["4", "2", "0"] for q in QUERIES})
    assert all(whole[q][id] == score for q, found in pool.items() for id, score in found.items() if id in whole[q])


def test_scores_do_not_move_with_a_filter(archive):
    ranker = built(TWO)
    whole, even = scores(ranker, archive), scores(ranker, archive, filter=Filter(("even",)))
    assert even == {q: {id: s for id, s in found.items() if int(id) % 2 == 0} for q, found in whole.items()}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_small_pool_is_enough_while_typing(archive, monkeypatch, k):
    """The scores stay the same; a search for more than the small pool reads the whole one."""
    whole = scores(built(TWO), archive, prefix=True)
    for module in (hybrid, _searcher):
        monkeypatch.setattr(module, "TYPED_DEPTH", 2)
    depths = []
    retrieve = LexicalSearcher.retrieve
    spied = lambda self, queries, depth, allowed: depths.append(depth) or retrieve(self, queries, depth, allowed)  # noqa: E731
    monkeypatch.setattr(LexicalSearcher, "retrieve", spied)
    typed = scores(built(TWO), archive, k, prefix=True)
    assert depths == ([2, 2] if k <= 2 else [200, 200])
    assert all(whole[q][id] == score for q, found in typed.items() for id, score in found.items())
    assert all(len(found) == min(k, len(whole[q])) for q, found in typed.items())


def test_cascade_reorders_what_the_first_proposes(archive):
    first, second = (scores(rankers.create(name), archive) for name in ("bm25", "lm_dirichlet"))
    mine = scores(built("parts=bm25,lm_dirichlet", "depth=3", "lm_dirichlet.mu=50", name="cascade"), archive)
    second = scores(rankers.create("lm_dirichlet", {"mu": 50}), archive)
    assert mine.keys() == QUERIES.keys()
    for query, found in mine.items():
        proposed = list(first[query])[:3]
        assert found == {id: second[query][id] for id in second[query] if id in proposed}


def test_settings_reach_their_parts():
    ranker = built(TWO, "bm25.k1=0.9", "tfidf.idf_power=2", "fields=title", "depth=7")
    assert ranker.parts[0].similarity.k1 == 0.9
    assert ranker.parts[1].similarity.idf_power == 2
    assert {p.settings.fields for p in ranker.parts} == {"title"}
    table = rankers.create("hybrid", {"parts": ["bm25", "tfidf"], "bm25": {"k1": 0.9}, "weights": [1, 2]})
    assert table.parts[0].similarity.k1 == 0.9
    assert table.weights == (1, 2)
    nested = rankers.create(
        "cascade", parse_assignments(["parts=bm25,hybrid", "hybrid.parts=bm25,tfidf", "hybrid.bm25.k1=2"])
    )
    assert nested.parts[1].parts[0].similarity.k1 == 2


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        (["parts=bm25,nonsense"], "no ranker is called 'nonsense'"),
        ([TWO, "weights=1"], "2 parts, but 1 weight$"),
        ([TWO, "ib.c=1"], "ib is not one of parts=bm25,tfidf"),
        ([TWO, "bm25.nonsense=1"], "bm25: nonsense is not a setting"),
        ([TWO, "normalise=max"], "normalise is not a setting"),
        (["parts=bm25,bm25"], "expected each part once"),
        ([TWO, "depth=0"], "depth"),
    ],
)
def test_wrong_settings_are_one_line(pairs, problem):
    with pytest.raises(SettingsError, match=problem) as raised:
        built(*pairs)
    assert "\n" not in str(raised.value)


def test_values_are_settings_as_they_are_typed():
    values = built(TWO, "bm25.k1=0.9", "fields=title").values
    assert values["parts"] == ("bm25", "tfidf")
    assert (values["bm25.k1"], values["bm25.fields"], values["tfidf.fields"]) == (0.9, "title", "title")
    nested = rankers.create("cascade", parse_assignments(["parts=bm25,hybrid", "hybrid.parts=bm25,tfidf"]))
    assert rankers.create("cascade", nested.values).values == nested.values


def test_weights_to_try_begin_equal_without_repeats():
    [grid] = built(TWO).grids
    assert grid == {"weights": [(1, 1), (1, 2), (1, 4), (2, 1), (4, 1)]}


def test_it_knows_what_its_parts_know(monkeypatch):
    ranker = built(TWO)
    assert ranker.trained_until is None
    monkeypatch.setattr(type(ranker.parts[1]), "trained_until", "2020-01-01")
    assert ranker.trained_until == "2020-01-01"


def test_a_cascade_has_two_parts():
    with pytest.raises(SettingsError, match="expected a part that proposes"):
        built("parts=bm25", name="cascade")


def test_models_go_by_their_names(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")

    def model(name):
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        (folder / "model.toml").write_text('encoder = "static"\n[static]\nwords = 50\n', encoding="utf-8")
        vectors = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
        tensors = {"vectors": vectors, "weights": np.ones(50, np.float32)}
        safetensors.save_file(tensors, folder / "static.safetensors")

    with Archive.create(tmp_path) as archive:
        model("mine")
        model("bm25")
        archive.upsert(Question(f"{n}", title) for n, title in enumerate(TITLES))
        ranker = rankers.create("mine", {"fields": "title"}, tmp_path)
        assert ranker.name == "mine"
        assert next(iter(scores(ranker, archive)["q"])) == "0"
        both = rankers.create("hybrid", {"parts": "tfidf,mine"}, tmp_path)
        assert next(iter(scores(both, archive)["q"])) == "0"
    assert rankers.trained_model_names(tmp_path) == ("bm25", "mine")
    with pytest.raises(SettingsError, match="built-in"):
        rankers.create("bm25", None, tmp_path)
    with pytest.raises(SettingsError, match="mine"):
        rankers.create("other", None, tmp_path)
    with pytest.raises(SettingsError, match="fixed"):
        rankers.create("mine", {"lower_case": True}, tmp_path)
    (tmp_path / "models" / "mine" / "model.toml").write_text('encoder = "nonsense"', encoding="utf-8")
    with pytest.raises((InputError, SettingsError), match="a model of the encoder 'nonsense'; install the package"):
        rankers.create("mine", None, tmp_path)


@pytest.mark.parametrize("name", ["bm25", "hybrid", "static", "../x", "", "A b"])
def test_names_that_are_taken_or_none_are_refused(name):
    with pytest.raises(SettingsError):
        rankers.check_model_name(name)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ({1: Question("1", "fast ssh")}, "query 1: an id is 1; expected a string, such as '1'"),
        ({"1": Question(1, "fast ssh")}, "query '1': an id is 1; expected a string, such as '1'"),
        ({"1": Question(None, "fast ssh")}, "query '1': an id is None; expected a string, such as 'None'"),
        ({"q": "fast ssh"}, "query 'q': expected a Question, got 'fast ssh'; write Question('q', TITLE)"),
        (["fast ssh"], "queries: expected a mapping of ids to questions, got a list; `identify_queries` makes one"),
    ],
)
def test_queries_of_wrong_types_are_one_line(archive, queries, message):
    searcher = rankers.open_current(rankers.create("bm25"), archive.view())
    with pytest.raises(InputError) as error:
        rankers.rank(searcher, queries, 3)
    assert str(error.value) == message
