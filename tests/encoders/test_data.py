"""What a recipe learns from: judged negatives."""

from askalike.encoders.learning.pair_data import read_irrelevant_judgements
from askalike.store.archive import Archive
from askalike.store.feedback import is_held_out
from askalike.store.query_log import LoggedQuery, insert_feedback
from askalike.types import Judgement, Question


def test_what_people_reject_stands_against_what_they_asked(tmp_path):
    learn = [id for id in (f"q{n}" for n in range(100)) if not is_held_out(id)][:4]
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(id, id) for id in learn)
        archive.upsert([Judgement("train", "x", learn[0], 0), Judgement("test", "y", learn[0], 0)])
        asked = LoggedQuery("card", "", learn, "bm25")
        insert_feedback(archive, asked, "accept", learn[0])
        for id in learn[1:]:
            insert_feedback(archive, asked, "reject", id)
        view = archive.view()
        assert read_irrelevant_judgements(view, 2) == {"x": [learn[0]], "y": [learn[0]], "asked-1": learn[1:3]}
        assert read_irrelevant_judgements(view, 0) == {}
