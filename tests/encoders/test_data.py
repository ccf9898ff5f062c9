"""What a recipe learns from: judged negatives."""

from askalike.archive.asked import Asked, judge
from askalike.archive.feedback import held_out
from askalike.archive.store import Archive
from askalike.encoders._data import judged_irrelevant
from askalike.types import Judgement, Question


def test_what_people_reject_stands_against_what_they_asked(tmp_path):
    learn = [id for id in (f"q{n}" for n in range(100)) if not held_out(id)][:4]
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(id, id) for id in learn)
        archive.upsert([Judgement("train", "x", learn[0], 0), Judgement("test", "y", learn[0], 0)])
        asked = Asked("card", "", learn, "bm25")
        judge(archive, asked, "accept", learn[0])
        for id in learn[1:]:
            judge(archive, asked, "reject", id)
        view = archive.view()
        assert judged_irrelevant(view, 2) == {"x": [learn[0]], "y": [learn[0]], "asked-1": learn[1:3]}
        assert judged_irrelevant(view, 0) == {}
