"""What a recipe learns from: pairs as they are drawn, and judged negatives."""

from collections import Counter

from askalike.core.model_folders import LearnedLabels
from askalike.core.records import EvaluationQuery, Judgement, Link, Question, Split
from askalike.labels.splits import unlearned_splits
from askalike.store.archive import Archive
from askalike.store.feedback import is_held_out
from askalike.store.query_log import LoggedQuery, insert_feedback
from askalike_learning.pair_data import collect_training_data, read_irrelevant_judgements
from askalike_learning.recipes import DataSettings, Recipe
from askalike_learning.training_run import train_recipe


def test_rejected_hits_are_negatives_of_the_query(tmp_path):
    ids = [id for id in (f"q{n}" for n in range(100)) if not is_held_out(id)][:4]
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(id, id) for id in ids)
        archive.upsert(
            [EvaluationQuery("train", Question("x", "foreign")), EvaluationQuery("test", Question(ids[1], ids[1]))]
        )
        archive.upsert([Judgement("train", "x", ids[0], 0), Judgement("test", ids[1], ids[0], 0)])
        query = LoggedQuery("card", "", ids, "bm25")
        insert_feedback(archive, query, "accept", ids[0])
        for id in ids[1:]:
            insert_feedback(archive, query, "reject", id)
        view = archive.view()
        assert read_irrelevant_judgements(view, 2) == {"train\nx": [ids[0]], ids[1]: [ids[0]], "asked-1": ids[1:3]}
        assert read_irrelevant_judgements(view, 0) == {}


def test_no_negative_is_held_out_or_too_late(tmp_path):
    """The question `a` is a query of two sets; its judgements of either would be those that measure."""
    ids = [id for id in (f"q{n}" for n in range(100)) if not is_held_out(id)][:3]
    with Archive.create(tmp_path / "judged") as archive:
        archive.upsert(Question(id, id, created_at="2020-01-01") for id in ("a", "b", *ids))
        archive.upsert(EvaluationQuery(split, Question("a", "a")) for split in ("train", "test"))
        archive.upsert(EvaluationQuery("train", Question(x, x, created_at=f"20{x}-01-01")) for x in ("18", "24"))
        archive.upsert(Judgement(split, "a", "b", 0) for split in ("train", "test"))
        archive.upsert(Judgement("train", query, document, 0) for query in ("18", "24") for document in ("a", "b"))
        insert_feedback(archive, LoggedQuery("card", "", ids, "bm25"), "accept", ids[0])
        insert_feedback(archive, LoggedQuery("card", "", ids, "bm25"), "reject", ids[1])
        of_18, of_24, of_card = {"train\n18": ["a", "b"]}, {"train\n24": ["a", "b"]}, {"asked-1": [ids[1]]}
        assert read_irrelevant_judgements(archive.training_view(()), 2) == {"a": ["b"], **of_18, **of_24, **of_card}
        held_out = {"train\n18": ["b"], "train\n24": ["b"], **of_card}
        assert read_irrelevant_judgements(archive.training_view(["test"]), 2) == held_out
        early = archive.training_view((), before="2021-01-01")
        assert read_irrelevant_judgements(early, 2) == of_18
        pairs = collect_training_data(early, DataSettings(signals=("title_body",), irrelevant=True), 10, 1).pairs
        assert {pair.query.title for pair in pairs} <= {"18"}


def test_model_records_queries_of_its_judged_negatives(tmp_path):
    """Titles with their bodies are no labels, but what is judged irrelevant to them is."""
    with Archive.create(tmp_path / "judged") as archive:
        archive.upsert(Question(f"q{n}", f"title {n}", f"body {n} of {n % 7}") for n in range(40))
        archive.upsert(EvaluationQuery("train", Question(f"q{n}", f"title {n}")) for n in range(20))
        archive.upsert(Judgement("train", f"q{n}", f"q{n + 20}", 0) for n in range(10))
        archive.upsert(Judgement("train", f"q{n}", f"q{n + 20}", 1) for n in range(10, 20))
        values = {"signals": ["title_body"], "judged": 2, "random": 1, "in_batch": False, "loss": "contrastive"}
        values |= {"epochs": 1, "min_pairs": 8, "accelerator": "cpu"}
        train_recipe(archive.training_view(()), Recipe.read("bow", values), archive.path / "models/mine")
        learned = LearnedLabels.read(archive.path / "models/mine")
        assert set() < learned.duplicates <= {f"q{n}" for n in range(10)}
        assert "train" not in unlearned_splits(learned, archive)


def test_irrelevant_pairs_are_learned_unless_held_out(tmp_path):
    with Archive.create(tmp_path / "judged") as archive:
        archive.upsert(Question(f"d{n}", f"document {n}") for n in range(8))
        archive.upsert(EvaluationQuery("train", Question(q, f"query {q}")) for q in ("both", "none", "held", "dev"))
        archive.upsert(Judgement("train", "both", f"d{n}", int(n == 0)) for n in range(3))
        archive.upsert(
            Judgement("train", q, f"d{n}", 0) for q, n in (("none", 3), ("held", 4), ("dev", 5), ("none", 6))
        )
        held = [Split({id: Question(f"train\n{id}", "")}, {id: {}}) for id in ("held", "dev")]
        of_d6 = Split({"x": Question("d6", "")}, {"x": {}})
        view = archive.training_view([held[0], of_d6], dev=held[1])
        data = collect_training_data(view, DataSettings(irrelevant=True), 10, 1)
        found = {(pair.query.title, pair.positive.id, pair.relevant) for pair in data.pairs}
        assert found == {("query both", f"d{n}", n == 0) for n in range(3)} | {("query none", "d3", False)}
        assert all(pair.relevant for pair in collect_training_data(view, DataSettings(), 10, 1).pairs)
        undivided = collect_training_data(archive.training_view(()), DataSettings(irrelevant=True), 10, 1)
        assert undivided.dev.qrels == {"train\nboth": {"d0": 1}}
        assert {pair.query.title for pair in undivided.pairs} == {"query none", "query held", "query dev"}


def test_pairs_are_drawn_by_query_and_by_cluster(tmp_path):
    with Archive.create(tmp_path / "cluster") as archive:
        archive.upsert(Question(f"q{n}", f"text {n}") for n in range(12))
        archive.upsert(Link(f"q{n}", f"q{m}") for n in range(10) for m in range(n))  # each with all before it
        dev = Split({"q11": Question("q11", "text 11")}, {"q11": {"q10": 1}})
        view = archive.training_view((), dev=dev)

        def draw(**settings):
            data = collect_training_data(view, DataSettings(**settings), 10, 1)
            return Counter(pair.query.id for pair in data.pairs)

        assert draw(max_pairs_per_cluster=0) == {f"q{n}": n for n in range(1, 10)}
        assert draw(max_pairs_per_cluster=0, max_pairs_per_query=2) == {"q1": 1} | {f"q{n}": 2 for n in range(2, 10)}
        assert (
            draw(max_pairs_per_cluster=5).total() == draw(max_pairs_per_cluster=5, max_pairs_per_query=1).total() == 5
        )
        assert max(draw(max_pairs_per_cluster=5, max_pairs_per_query=1).values()) == 1


def test_balanced_clusters_have_equally_many_pairs(tmp_path):
    sizes = {"a": 1, "b": 2, "c": 7, "d": 0}
    with Archive.create(tmp_path / "balanced") as archive:
        archive.upsert(Question(f"{c}{n}", f"text {c} {n}") for c, size in sizes.items() for n in range(size + 1))
        archive.upsert(Link(f"{c}{n}", f"{c}0") for c, size in sizes.items() for n in range(1, size + 1))
        dev = Split({"x": Question("x", "text")}, {"x": {"d0": 1}})
        settings = DataSettings(max_pairs_per_cluster=4, balanced=True)
        pairs = collect_training_data(archive.training_view((), dev=dev), settings, 10, 1).pairs
        queries = Counter(pair.query.id for pair in pairs)
        assert {c: sorted(n for id, n in queries.items() if id[0] == c) for c in sizes} == {
            "a": [4], "b": [2, 2], "c": [1, 1, 1, 1], "d": [],
        }  # fmt: skip
