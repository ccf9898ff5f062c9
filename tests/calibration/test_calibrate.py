"""Calibration of real rankers on the bundled example, and its use."""

import json
from dataclasses import replace

import numpy as np
import pytest

from askalike import rankers, registry
from askalike.calibration.calibrate import calibrate, measure_abstention
from askalike.calibration.calibration import Calibration, load_calibration
from askalike.calibration.curve_selection import _split_into_fold_masks, predict_out_of_fold
from askalike.calibration.curves import shift_balanced_prior
from askalike.calibration.reliability import measure_reliability
from askalike.calibration.samples import (
    MAX_PER_CLUSTER,
    default_split,
    draw_sample,
    load_off_topic_queries,
    rank_with_features,
)
from askalike.engines.local import LocalEngine
from askalike.errors import ArchiveError, InputError, SettingsError
from askalike.labels.splits import load_split
from askalike.store.archive import Archive
from askalike.types import EvaluationQuery, Filter, Judgement, Question
from calibration.riverside import riverside

WORDS = "lm_jelinek_mercer"
ASKED = "how long may I keep a book?"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return riverside(tmp_path_factory.mktemp("calibrate") / "riverside")


@pytest.fixture(scope="module")
def made(desk):
    """What calibrating the default ranker gives; it is kept in the archive."""
    with Archive.open(desk) as archive:
        result = calibrate(archive, rankers.create(WORDS), precision=0.9)
        result.calibration.save(desk)
        return result


def test_probabilities_are_reliable_and_have_skill(made):
    assert made.first_hits.n > 450
    assert made.first_hits.error < 0.05
    assert made.first_hits.skill_interval[0] > 0
    assert made.later_hits.error < 0.02
    assert made.sample.split == "rephrasings"


def test_no_cluster_is_both_fitted_on_and_measured_on(made):
    rows = made.sample
    fold_of = {}
    for cluster, fold in zip(rows.clusters, made.predictions.fold_of_query.tolist(), strict=True):
        assert fold_of.setdefault(cluster, fold) == fold
    masks = list(_split_into_fold_masks(rows, np.ones(len(rows.queries), bool), 5, 0))
    assert sum(masks).tolist() == [1] * len(rows.queries)
    assert max(np.unique(rows.clusters, return_counts=True)[1]) <= MAX_PER_CLUSTER


def test_a_split_of_random_labels_has_no_skill(desk):
    """Labels that scores cannot know: were rows predicted by curves that saw them, skill would show."""
    with Archive.open(desk) as archive:
        rows = draw_sample(archive, rankers.create(WORDS))
    right = np.random.default_rng(0).random(len(rows.first_hits.relevant)) < 0.5
    blind = replace(rows, first_hits=replace(rows.first_hits, relevant=right))
    clusters = np.array(rows.clusters)[rows.first_hits.query_index].tolist()
    assert measure_reliability(predict_out_of_fold(blind).first_probabilities, right, clusters).skill < 0.02


def test_the_line_is_picked_or_out_of_reach(made, desk):
    assert made.calibration.threshold.probability == made.threshold_choice.threshold
    assert made.threshold_choice.in_sample.precision.value >= 0.9
    assert made.threshold_choice.cross_validated.interval[0] < 0.9 < made.threshold_choice.cross_validated.interval[1]
    with Archive.open(desk) as archive:
        far = calibrate(archive, rankers.create("tfidf"), precision=0.9999)
        assert far.threshold_choice.threshold is None
        assert far.calibration.threshold is None
        for wrong in (0, 1, 1.5, -1):
            with pytest.raises(SettingsError, match="--precision"):
                calibrate(archive, rankers.create(WORDS), precision=wrong)


def test_deterministic(made, desk):
    with Archive.open(desk) as archive:
        again = calibrate(archive, rankers.create(WORDS), precision=0.9)
    assert again.as_dict() == made.as_dict()
    assert again.calibration == made.calibration


@pytest.mark.usefixtures("made")
def test_probabilities_do_not_change_with_k_and_fall(desk):
    with LocalEngine.open(desk, WORDS) as local:
        whole = [(m.question.id, m.probability) for m in local.search(ASKED, 40, min_probability=0)]
        assert len(whole) == 40
        assert all(0 <= p <= 1 for _, p in whole)
        assert [p for _, p in whole] == sorted((p for _, p in whole), reverse=True)
        for k in (1, 2, 5, 11):
            assert [(m.question.id, m.probability) for m in local.search(ASKED, k, min_probability=0)] == whole[:k]


def test_nothing_below_the_line(made, desk):
    with LocalEngine.open(desk, WORDS) as local:
        line = made.calibration.threshold.probability
        assert local.search("best pizza in Rome") == []
        assert all(m.probability >= line for m in local.search(ASKED, 40))
        assert local.search(ASKED, 40) == local.search(ASKED, 40, min_probability=line)
        assert local.search(ASKED, 5, min_probability=1) == []
        assert len(local.search(ASKED, 5, filter=Filter(("renewal",)), min_probability=0)) > 0
        with pytest.raises(SettingsError, match="0 (to|and) 1"):
            local.search(ASKED, min_probability=90)


@pytest.mark.parametrize("name", registry.names("similarity"))
@pytest.mark.parametrize("text", ["", "???", "xyzzy plugh", "qwrtz 123456789"])
@pytest.mark.usefixtures("made")
def test_a_query_without_anything_known_finds_nothing(desk, name, text):
    with LocalEngine.open(desk, name) as local:
        assert local.search(text, 50) == []
        if local.calibration:
            assert local.search(text, 50, min_probability=0) == []


@pytest.mark.usefixtures("made")
def test_other_settings_or_another_ranker_are_not_calibrated(desk):
    for name, settings in (("bm25", {}), (WORDS, {"lambda": 0.2})):
        with LocalEngine.open(desk, name, settings) as local:
            assert local.calibration is None
            assert local.search(ASKED)[0].probability is None
            with pytest.raises(SettingsError, match="not calibrated"):
                local.search(ASKED, min_probability=0.5)


def test_a_changed_archive_or_another_one_is_refused(made, desk, tmp_path):
    moved = riverside(tmp_path / "moved")
    with Archive.open(moved) as archive:
        kept = calibrate(archive, rankers.create(WORDS)).calibration
        kept.save(moved)
    with LocalEngine.open(moved, WORDS) as local:
        assert local.search(ASKED)[0].probability is not None
        few = [Question(f"new{n}", f"a question about thing {n}") for n in range(20)]
        local.archive.upsert(few)
        assert local.search(ASKED)[0].probability is not None
        local.archive.upsert(replace(q, id=f"x{q.id}") for q in few)
        assert local.search(ASKED)[0].probability is None
        assert "40 questions were added" in local.stale_reason
        with pytest.raises(SettingsError, match="40 questions were added"):
            local.search(ASKED, min_probability=0.5)
    made.calibration.model_copy(update={"state": made.calibration.state.model_copy(update={"change": 9**9})}).save(
        moved
    )
    with LocalEngine.open(moved, WORDS) as local:
        assert local.calibration is None
        assert local.stale_reason == "it was made on another archive"


def test_where_fewer_questions_were_asked_before_less_is_told(made, tmp_path):
    """By hand: what was asked before with 3/4 where half was, was so with 3/7 where a fifth was."""
    assert shift_balanced_prior(np.array([0.0, 0.75, 1.0]), 0.2) == pytest.approx([0.0, 3 / 7, 1.0])
    assert shift_balanced_prior(np.array([0.3]), 1) == 1
    assert made.half_answerable.error < 0.05
    assert made.half_answerable.skill_interval[0] > 0
    assert made.half_answerable.n > 1.9 * made.first_hits.n
    moved = riverside(tmp_path / "moved")
    with Archive.open(moved) as archive:
        kept = calibrate(archive, rankers.create(WORDS), precision=0.9)
        kept.calibration.save(moved)
        with LocalEngine(archive, rankers.create(WORDS)) as local:
            full = [(m.question.id, m.probability) for m in local.search(ASKED)]
        archive = Archive.open(moved)
        kept.calibration.model_copy(update={"prevalence": 0.2}).save(moved)
        with LocalEngine(archive, rankers.create(WORDS)) as local:
            after = [(m.question.id, m.probability) for m in local.search(ASKED)]
    assert [id for id, _ in full] == [id for id, _ in after] != []
    assert all(b > a for (_, b), (_, a) in zip(full, after, strict=True))
    with pytest.raises(SettingsError, match="--prevalence 0: expected a share"):
        calibrate(archive, rankers.create(WORDS), prevalence=0)


def test_a_model_trained_anew_is_not_calibrated(made, desk):
    class Anew(type(rankers.create(WORDS))):
        """The same name and settings with something learned."""

        fingerprint = "other weights"

    ranker = rankers.create(WORDS)
    ranker.__class__ = Anew
    with LocalEngine(Archive.open(desk), ranker) as local:
        assert local.calibration is None
        assert local.stale_reason == f"{WORDS} has learned something else since"
        assert local.search(ASKED)[0].probability is None


def test_a_fingerprint_is_of_all_that_was_learned():
    pytest.importorskip("wordllama")
    static, hybrid = rankers.create("static"), rankers.create("hybrid")
    assert rankers.create(WORDS).fingerprint == ""
    assert static.fingerprint
    assert hybrid.fingerprint == static.fingerprint


def test_a_damaged_file_is_one_line(made, tmp_path):
    with Archive.open(riverside(tmp_path / "damaged")) as archive:
        path = made.calibration.save(archive.path)
        intact = path.read_text()
        for text in ("", "{", "[]", '{"format": 99}'):
            path.write_text(text)
            with pytest.raises(ArchiveError, match="askalike calibrate"):
                load_calibration(archive, rankers.create(WORDS))
        for key, wrong, message in (
            ('"first"', '"fist"', r"fist is not a setting \(known: format, ranker, settings, weights"),
            ('"of"', '"off"', r"line.off is not a setting \(known: probability, of, share\)"),
        ):
            path.write_text(intact.replace(key, wrong))
            with pytest.raises(SettingsError, match=f"askalike calibrate.*{message}"):
                load_calibration(archive, rankers.create(WORDS))


def test_the_file_is_plain_text_with_the_keys_of_its_format(made, desk):
    [path] = (desk / "calibration").glob("*.json")
    values = json.loads(path.read_text())
    assert values["ranker"] == made.calibration.ranker
    assert set(values) == {
        "format", "ranker", "settings", "weights", "state", "split", "bodies", "queries", "base_rate", "first", "later",
        "known", "line", "prevalence", "measured",
    }  # fmt: skip
    assert set(values["line"]) == {"probability", "of", "share"}
    assert set(values["measured"]) == {"queries", "found", "bins", "error", "chance"}
    assert Calibration.model_validate(values) == made.calibration


def test_thresholds_move_when_labels_change(made, tmp_path):
    """A third of the questions get each other's rephrasings: what was right is not."""
    with Archive.open(riverside(tmp_path / "relabelled")) as archive:
        questions = [q for _, q in archive.view().questions() if q.rephrasings][::3]
        turned = [*questions[1:], questions[0]]
        archive.upsert(replace(q, rephrasings=o.rephrasings) for q, o in zip(questions, turned, strict=True))
        moved = calibrate(archive, rankers.create(WORDS), precision=0.9)
    assert moved.first_hits.base_rate < made.first_hits.base_rate - 0.1
    assert moved.first_hits.error < 0.08
    assert (
        moved.threshold_choice.threshold is None
        or moved.threshold_choice.in_sample.recall.value < made.threshold_choice.in_sample.recall.value
    )
    before, after = made.thresholds[10], moved.thresholds[10]
    assert after.coverage.value < before.coverage.value


def test_too_few_labels_say_how_many_are_needed(tmp_path, desk):
    with Archive.create(tmp_path / "few") as archive:
        archive.upsert([Question("a", "boil an egg", rephrasings=("egg boiling",)), Question("b", "boil rice")])
        for name in (None, "rephrasings"):
            with pytest.raises(ArchiveError, match="at least 100 labelled queries"):
                draw_sample(archive, rankers.create(WORDS), name)
    with Archive.open(desk) as archive, pytest.raises(ArchiveError, match="39 labelled queries .split duplicates"):
        calibrate(archive, rankers.create(WORDS), "duplicates")


def test_first_hits_of_one_kind_are_refused(tmp_path):
    with Archive.create(tmp_path / "easy") as archive:
        archive.upsert(Question(f"{n:03}", f"word{n} thing", rephrasings=(f"word{n}",) * 2) for n in range(120))
        with pytest.raises(ArchiveError, match="at least 10 of each kind"):
            draw_sample(archive, rankers.create(WORDS))


def test_candidates_only_are_refused(tmp_path):
    with Archive.create(tmp_path / "pools") as archive:
        archive.upsert([Question("a", "boil an egg"), EvaluationQuery("dev", Question("q", "egg"))])
        archive.upsert([Judgement("dev", "q", "a", 1, 1)])
        assert default_split(archive) == "dev"
        with pytest.raises(SettingsError, match="candidates only"):
            draw_sample(archive, rankers.create(WORDS))


def test_titles_leave_bodies_out(tmp_path):
    with Archive.create(tmp_path / "bodies") as archive:
        archive.upsert(Question(f"{n:03}", f"thing {n}", "with a body") for n in range(150))
        archive.upsert(
            EvaluationQuery("dev", Question(f"q{n}", f"thing {n if n % 2 else n + 1}", "and one more"))
            for n in range(120)
        )
        archive.upsert(Judgement("dev", f"q{n}", f"{n:03}", 1) for n in range(120))
        assert len(load_split(archive, "dev").queries) == 120
        assert draw_sample(archive, rankers.create(WORDS)).has_bodies
        assert not draw_sample(archive, rankers.create(WORDS), titles_only=True).has_bodies


def test_abstention_on_off_topic_queries(made, desk, tmp_path):
    strange = [Question(str(n), f"how does the {word} of a planet {n} work") for n, word in enumerate(["orbit"] * 50)]
    with Archive.open(desk) as archive:
        curve = measure_abstention(archive, rankers.create(WORDS), made, strange)
    assert curve.query_count == 50
    assert curve.target_point.abstained.value >= 0.9
    assert curve.target_point.retained.value >= 0.5
    shares = [point.abstained.value for point in curve.points]
    assert shares == sorted(shares)
    kept = [point.retained.value for point in curve.points]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 1
    assert 0 < curve.threshold.probability <= 1


def test_what_is_less_like_its_hit_than_all_else_was_not_asked_before(desk):
    """A hybrid's best hit has nearly the same score whatever is asked; how alike its vectors are has not."""
    pytest.importorskip("wordllama", reason="needs the extra vectors")
    strange = ["best pizza in Rome", "why is the sky blue", "compile a kernel module"]
    with Archive.open(desk) as archive:
        ranker = rankers.create("hybrid", {"parts": "lm_jelinek_mercer,static"})
        calibration = calibrate(archive, ranker, prevalence=0.5).calibration
        rows = list(
            rank_with_features(ranker, archive.view(), {f"x{n}": Question(f"x{n}", t) for n, t in enumerate(strange)})
        )
    first = [features for _, hits, features in rows if hits]
    told = [calibration.estimate(features)[0] for features in first]
    by_the_rest = calibration.model_copy(update={"answerable_curve": calibration.answerable_curve.curves[0]})
    assert all(ours <= by_the_rest.estimate(features)[0] for ours, features in zip(told, first, strict=True))
    assert told[-1] < by_the_rest.estimate(first[-1])[0] / 2
    again = Calibration.model_validate_json(calibration.model_dump_json())
    assert [again.estimate(features)[0] for features in first] == told


def test_off_topic_queries_come_from_a_file_or_an_archive(desk, tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps({"id": n, "title": f"number {n}"}) + "\n" for n in range(30)))
    assert len(load_off_topic_queries(path)) == 30
    assert len(load_off_topic_queries(path, 7)) == 7
    assert load_off_topic_queries(path, 7) == load_off_topic_queries(path, 7) != load_off_topic_queries(path, 7, seed=1)
    assert len(load_off_topic_queries(desk, 50)) == 50
    with pytest.raises(InputError):
        load_off_topic_queries(tmp_path / "nowhere")
    with pytest.raises(ArchiveError):
        load_off_topic_queries(tmp_path)
