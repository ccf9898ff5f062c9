"""What a recipe learns from: judged negatives."""

from askalike.encoders.learning.pair_data import read_irrelevant_judgements
from askalike.store.archive import Archive
from askalike.store.feedback import is_held_out
from askalike.store.query_log import LoggedQuery, insert_feedback
from askalike.types import EvaluationQuery, Judgement, Question


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
