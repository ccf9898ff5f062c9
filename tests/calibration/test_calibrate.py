"""Calibration of real rankers on the bundled example, and its use."""

import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration import abstention, samples
from askalike.calibration.abstention import everyday_questions
from askalike.calibration.calibrate import CalibrationRefusedError, calibrate, calibrate_each_use
from askalike.calibration.calibration import Calibration, load_calibration
from askalike.calibration.curve_selection import _split_into_fold_masks, predict_out_of_fold
from askalike.calibration.curves import shift_balanced_prior
from askalike.calibration.reliability import measure_reliability
from askalike.calibration.samples import (
    MAX_PER_CLUSTER,
    default_split,
    draw_sample,
    rank_labelled,
)
from askalike.core import registry
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.filters import Filter
from askalike.core.records import EvaluationQuery, Judgement, Question, Split
from askalike.labels.splits import load_split
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER, riverside

QUERY = "how long may I keep a book?"
HYBRID_SETTINGS = {"parts": f"{DEFAULT_RANKER},static"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return riverside(tmp_path_factory.mktemp("calibrate") / "riverside")


@pytest.fixture(scope="module")
def report(directory):
    """The report of the default ranker, whose calibration is saved in the archive."""
    with Archive.open(directory) as archive:
        report = calibrate(archive, rankers.create(DEFAULT_RANKER), precision=0.9)
        report.calibration.save(directory)
        return report


@pytest.fixture(scope="module")
def hybrid_calibration(directory):
    """The calibration of a hybrid, saved in the archive."""
    with Archive.open(directory) as archive:
        calibration = calibrate(archive, rankers.create("hybrid", HYBRID_SETTINGS), prevalence=0.5).calibration
        calibration.save(directory)
        return calibration


def test_probabilities_are_reliable_and_have_skill(report):
    assert report.first_hits.n > 450
    assert report.first_hits.error < 0.05
    assert report.first_hits.skill_interval[0] > 0
    assert report.later_hits.error < 0.02
    assert report.sample.split == "rephrasings"


def test_no_cluster_is_both_fitted_and_measured_on(report):
    sample = report.sample
    fold_of = {}
    for cluster, fold in zip(sample.clusters, report.predictions.fold_of_query.tolist(), strict=True):
        assert fold_of.setdefault(cluster, fold) == fold
    masks = list(_split_into_fold_masks(sample, np.ones(len(sample.queries), bool), 5, 0))
    assert sum(masks).tolist() == [1] * len(sample.queries)
    assert max(np.unique(sample.clusters, return_counts=True)[1]) <= MAX_PER_CLUSTER


def test_a_split_of_random_labels_has_no_skill(directory):
    """Labels that scores cannot know: were rows predicted by curves that saw them, skill would show."""
    with Archive.open(directory) as archive:
        rows = draw_sample(archive, rankers.create(DEFAULT_RANKER))
    right = np.random.default_rng(0).random(len(rows.first_hits.relevant)) < 0.5
    blind = replace(rows, first_hits=replace(rows.first_hits, relevant=right))
    clusters = np.array(rows.clusters)[rows.first_hits.query_index].tolist()
    assert measure_reliability(predict_out_of_fold(blind).first_probabilities, right, clusters).skill < 0.02


def test_the_threshold_is_chosen_or_out_of_reach(report, directory):
    assert report.calibration.threshold.probability == report.threshold_choice.threshold
    assert report.threshold_choice.in_sample.precision.value >= 0.9
    assert (
        report.threshold_choice.cross_validated.interval[0] < 0.9 < report.threshold_choice.cross_validated.interval[1]
    )
    with Archive.open(directory) as archive:
        far = calibrate(archive, rankers.create("tfidf"), precision=0.9999)
        assert far.threshold_choice.threshold is None
        assert far.calibration.threshold is None
        for wrong in (0, 1, 1.5, -1):
            with pytest.raises(SettingsError, match="--precision"):
                calibrate(archive, rankers.create(DEFAULT_RANKER), precision=wrong)


def test_deterministic(report, directory):
    with Archive.open(directory) as archive:
        again = calibrate(archive, rankers.create(DEFAULT_RANKER), precision=0.9)
    assert again.as_dict() == report.as_dict()
    assert again.calibration == report.calibration


@pytest.mark.parametrize("ranker_fixture", ["report", "hybrid_calibration"])
def test_probabilities_ignore_k_and_never_rise(directory, ranker_fixture, request):
    request.getfixturevalue(ranker_fixture)
    name, settings = (DEFAULT_RANKER, {}) if ranker_fixture == "report" else ("hybrid", HYBRID_SETTINGS)
    with ArchiveRetriever.open(directory, name, settings) as local:
        whole = [(m.question.id, m.probability) for m in local.search(QUERY, 40, min_probability=0)]
        assert len(whole) == 40
        assert all(0 <= p <= 1 for _, p in whole)
        assert [p for _, p in whole] == sorted((p for _, p in whole), reverse=True)
        for k in (1, 2, 5, 11):
            assert [(m.question.id, m.probability) for m in local.search(QUERY, k, min_probability=0)] == whole[:k]


def test_no_hit_below_the_threshold(report, directory):
    with ArchiveRetriever.open(directory, DEFAULT_RANKER) as local:
        threshold = report.calibration.threshold.probability
        assert local.search("best pizza in Rome").hits == []
        assert all(m.probability >= threshold for m in local.search(QUERY, 40))
        assert local.search(QUERY, 40).hits == local.search(QUERY, 40, min_probability=threshold).hits
        assert local.search(QUERY, 5, min_probability=1).hits == []
        assert len(local.search(QUERY, 5, filter=Filter(("renewal",)), min_probability=0)) > 0
        with pytest.raises(SettingsError, match="between 0 and 1"):
            local.search(QUERY, min_probability=90)


@pytest.mark.parametrize("name", registry.names("similarity"))
@pytest.mark.usefixtures("report")
def test_query_without_a_known_word_has_no_hit(directory, name):
    with ArchiveRetriever.open(directory, name) as local:
        for text in ("", "???", "xyzzy plugh", "qwrtz 123456789"):
            assert local.search(text, 50).hits == [], text
            if local.calibration:
                assert local.search(text, 50, min_probability=0).hits == [], text


@pytest.mark.usefixtures("report")
def test_other_settings_or_another_ranker_are_not_calibrated(directory):
    for name, settings in (("bm25", {}), (DEFAULT_RANKER, {"lambda": 0.2})):
        with ArchiveRetriever.open(directory, name, settings) as local:
            assert local.calibration is None
            assert local.search(QUERY)[0].probability is None
            with pytest.raises(SettingsError, match="not calibrated"):
                local.search(QUERY, min_probability=0.5)


def test_a_changed_archive_or_another_one_is_refused(report, directory, tmp_path):
    moved = shutil.copytree(directory, tmp_path / "moved")
    with ArchiveRetriever.open(moved, DEFAULT_RANKER) as local:
        assert local.search(QUERY)[0].probability is not None
        few = [Question(f"new{n}", f"a question about thing {n}") for n in range(20)]
        local.archive.upsert(few)
        assert local.search(QUERY)[0].probability is not None
        local.archive.upsert(replace(q, id=f"x{q.id}") for q in few)
        assert local.search(QUERY)[0].probability is None
        assert "40 questions of 244 changed since" in local.stale_reason
        with pytest.raises(SettingsError, match="40 questions of 244 changed since"):
            local.search(QUERY, min_probability=0.5)
    report.calibration.model_copy(update={"state": report.calibration.state.model_copy(update={"change": 9**9})}).save(
        moved
    )
    with ArchiveRetriever.open(moved, DEFAULT_RANKER) as local:
        assert local.calibration is None
        assert local.stale_reason == "it belongs to another archive"


def test_unwritable_folder_is_one_clear_error(report, tmp_path):
    with pytest.raises(ArchiveError, match=r"nowhere/calibration/.*\.json: cannot be written .*permissions$"):
        report.calibration.save(tmp_path / "nowhere")


def test_a_lower_prevalence_lowers_probabilities(report, directory, tmp_path):
    """By hand: 3/4 at a prevalence of one half is 3/7 at a prevalence of one fifth."""
    assert shift_balanced_prior(np.array([0.0, 0.75, 1.0]), 0.2) == pytest.approx([0.0, 3 / 7, 1.0])
    assert shift_balanced_prior(np.array([0.3]), 1) == 1
    assert report.half_answerable.error < 0.05
    assert report.half_answerable.skill_interval[0] > 0
    assert report.half_answerable.n > 1.9 * report.first_hits.n
    moved = shutil.copytree(directory, tmp_path / "moved")
    with Archive.open(moved) as archive:
        with ArchiveRetriever(archive, rankers.create(DEFAULT_RANKER)) as local:
            full = [(m.question.id, m.probability) for m in local.search(QUERY)]
        archive = Archive.open(moved)
        report.calibration.model_copy(update={"prevalence": 0.2}).save(moved)
        with ArchiveRetriever(archive, rankers.create(DEFAULT_RANKER)) as local:
            after = [(m.question.id, m.probability) for m in local.search(QUERY)]
    assert [id for id, _ in full] == [id for id, _ in after] != []
    assert all(b > a for (_, b), (_, a) in zip(full, after, strict=True))
    with pytest.raises(SettingsError, match="--prevalence 0: expected a share"):
        calibrate(archive, rankers.create(DEFAULT_RANKER), prevalence=0)


def test_a_model_trained_anew_is_not_calibrated(report, directory):
    class Anew(type(rankers.create(DEFAULT_RANKER))):
        """The same name and settings with something learned."""

        fingerprint = "other weights"

    ranker = rankers.create(DEFAULT_RANKER)
    ranker.__class__ = Anew
    with ArchiveRetriever(Archive.open(directory), ranker) as local:
        assert local.calibration is None
        assert local.stale_reason == f"{DEFAULT_RANKER} has been trained again since"
        assert local.search(QUERY)[0].probability is None


def test_a_fingerprint_is_of_all_that_was_learned():
    static, hybrid = rankers.create("static"), rankers.create("hybrid")
    assert rankers.create(DEFAULT_RANKER).fingerprint == ""
    assert static.fingerprint
    assert hybrid.fingerprint == static.fingerprint


def test_calibrate_separate_calibrations(tmp_path):
    """One run makes both; a search takes the one for what it asks, and one alone serves both."""
    ranker = rankers.create(DEFAULT_RANKER)
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        questions = [question for _, question in archive.view().questions()]
    asked = [replace(q, id=f"asked {q.id}", title=q.rephrasings[0], rephrasings=()) for q in questions if q.rephrasings]
    with Archive.create(tmp_path / "uses") as archive:
        archive.upsert([replace(q, body="I could not find it on the page.", rephrasings=()) for q in questions])
        archive.upsert(EvaluationQuery("whole", replace(q, body="Please help.")) for q in asked)
        archive.upsert(Judgement("whole", q.id, q.id.removeprefix("asked "), 1) for q in asked)
        reports = calibrate_each_use(archive, ranker, "whole")
        assert [r.calibration.titles_only for r in reports] == [False, True]
        whole, titles = (report.calibration for report in reports)
        assert whole.has_bodies
        assert not titles.has_bodies
        titles.save(archive.path)
        assert load_calibration(archive, ranker) == load_calibration(archive, ranker, "title") == titles
        whole.save(archive.path)
        assert (load_calibration(archive, ranker), load_calibration(archive, ranker, "title")) == (whole, titles)
        engine = ArchiveRetriever(archive, ranker)
        typed, posted = (engine.search(asked[0].title, 1, body=body, min_probability=0.0)[0] for body in ("", "Please"))
        assert engine.calibration == titles
        for hit, query, calibration in (
            (typed, Question("q", asked[0].title), titles), (posted, Question("q", asked[0].title, "Please"), whole),
        ):  # fmt: skip
            judged = Split({"q": query}, {"q": {hit.question.id: 1}})
            [(features, relevant, _)] = rank_labelled(ranker, archive.view(), judged)
            assert hit.probability == pytest.approx(calibration.estimate(np.array(features))[relevant.index(True)])


def test_a_damaged_file_is_one_line(report, tmp_path):
    with Archive.open(riverside(tmp_path / "damaged")) as archive:
        path = report.calibration.save(archive.path)
        intact = path.read_text()
        for text in ("", "{", "[]", '{"format": 99}'):
            path.write_text(text)
            with pytest.raises(ArchiveError, match="askalike calibrate"):
                load_calibration(archive, rankers.create(DEFAULT_RANKER))
        for key, wrong, message in (
            ('"first_hit_curve"', '"fist"', r"fist is not a setting \(known: format, ranker, settings, fingerprint"),
            ('"columns"', '"colums"', r"colums is not a setting"),  # in one of several kinds of curves
            ('"criterion"', '"off"', r"threshold.off is not a setting \(known: probability, criterion, share\)"),
        ):
            path.write_text(intact.replace(key, wrong))
            with pytest.raises(SettingsError, match=f"askalike calibrate.*{message}"):
                load_calibration(archive, rankers.create(DEFAULT_RANKER))


def test_file_is_plain_text_with_known_keys(report, directory):
    files = (directory / "calibration").glob(f"{DEFAULT_RANKER}-*.json")
    [path] = [path for path in files if not path.name.endswith(".abstention.json")]
    values = json.loads(path.read_text())
    assert values["ranker"] == report.calibration.ranker
    assert set(values) == {
        "format", "ranker", "settings", "fingerprint", "state", "split", "has_bodies", "queries", "base_rate",
        "first_hit_curve", "later_hit_curve", "answerable_curve", "threshold", "prevalence", "quality", "titles_only",
        "is_sure",
    }  # fmt: skip
    assert set(values["threshold"]) == {"probability", "criterion", "share"}
    assert set(values["quality"]) == {"queries", "found_by_rank", "bins", "error", "chance"}
    assert Calibration.model_validate(values) == report.calibration


def test_thresholds_change_with_the_labels(report, tmp_path):
    """A third of the questions get each other's rephrasings: what was right is not."""
    with Archive.open(riverside(tmp_path / "relabelled")) as archive:
        questions = [q for _, q in archive.view().questions() if q.rephrasings][::3]
        turned = [*questions[1:], questions[0]]
        archive.upsert(replace(q, rephrasings=o.rephrasings) for q, o in zip(questions, turned, strict=True))
        moved = calibrate(archive, rankers.create(DEFAULT_RANKER), precision=0.9)
    assert moved.first_hits.base_rate < report.first_hits.base_rate - 0.1
    assert moved.first_hits.error < 0.08
    assert (
        moved.threshold_choice.threshold is None
        or moved.threshold_choice.in_sample.recall.value < report.threshold_choice.in_sample.recall.value
    )
    before, after = report.thresholds[10], moved.thresholds[10]
    assert after.coverage.value < before.coverage.value


def test_too_few_labels_say_how_many_are_needed(tmp_path, directory):
    with Archive.create(tmp_path / "few") as archive:
        archive.upsert([Question("a", "boil an egg", rephrasings=("egg boiling",)), Question("b", "boil rice")])
        for name in (None, "rephrasings"):
            with pytest.raises(ArchiveError, match="at least 20 are needed"):
                draw_sample(archive, rankers.create(DEFAULT_RANKER), name)
    with Archive.open(directory) as archive, pytest.raises(ArchiveError, match="39 labelled queries .split duplicates"):
        calibrate(archive, rankers.create(DEFAULT_RANKER), "duplicates", precision=0.9)


def test_first_hits_of_one_kind_are_less_sure(archive):
    archive.upsert(Question(f"{n:03}", f"word{n} thing", rephrasings=(f"word{n}",) * 2) for n in range(120))
    assert not draw_sample(archive, rankers.create(DEFAULT_RANKER)).is_sure


def test_few_labels_give_lower_bounds(directory):
    """Fitted on 39 labels and own titles; of other questions' rephrasings, more are right than it says."""
    with Archive.open(directory) as archive:
        ranker = rankers.create(DEFAULT_RANKER)
        calibration = calibrate(archive, ranker, "duplicates").calibration
        rows = rank_labelled(ranker, archive.view(), load_split(archive, "rephrasings"))
        first = [(calibration.estimate(np.array(f))[0], right[0]) for f, right, _ in rows if f]
    said, right = np.array(first).T
    assert not calibration.is_sure
    assert calibration.likely_from is None
    for part in np.array_split(np.argsort(said), 4):
        assert said[part].mean() < right[part].mean() + 0.05
    assert right[said >= 0.5].mean() > 0.9


def test_curves_deny_nothing_that_differs_in_function_words(hybrid_calibration, directory, monkeypatch):
    monkeypatch.setattr(Calibration, "estimate", lambda self, features: np.full(len(features), 0.1))
    with ArchiveRetriever.open(directory, "hybrid", HYBRID_SETTINGS) as engine:
        assert hybrid_calibration.likely_from == 0.5
        first, *others = engine.search("How long can we keep the tool?", 5)
        assert (first.title, first.grade, first.probability) == ("How long may I keep a tool?", "same", 0.5)
        assert {(hit.grade, hit.probability) for hit in others} == {("related", 0.1)}


def test_less_sure_calibration_leaves_grades(directory, tmp_path):
    moved = shutil.copytree(directory, tmp_path / "moved")
    with ArchiveRetriever.open(moved, "bm25") as local:
        before = [(hit.question.id, hit.grade) for hit in local.search(QUERY, 5)]
        calibrate(local.archive, local.ranker, "duplicates").calibration.save(moved)
    with ArchiveRetriever.open(moved, "bm25") as local:
        hits = local.search(QUERY, 5)
        assert [(hit.question.id, hit.grade) for hit in hits] == before
        assert all(hit.probability is not None for hit in hits)


def test_calibration_that_loses_known_titles_is_refused(directory, tmp_path, monkeypatch):
    """Its labels say that most questions' own titles ask the next question, and no slip is recognised as one."""
    monkeypatch.setattr(abstention, "has_one_slip", lambda *_: False)
    moved = shutil.copytree(directory, tmp_path / "moved")
    with Archive.open(moved) as archive:
        questions = [question for _, question in archive.view().questions()]
        turned = [q if n % 6 == 0 else questions[n - 1] for n, q in enumerate(questions)]
        for n in range(3):
            archive.upsert(EvaluationQuery("dev", Question(f"q{n}{q.id}", f"{q.title}!")) for q in questions)
            archive.upsert(Judgement("dev", f"q{n}{q.id}", o.id, 1) for q, o in zip(questions, turned, strict=True))
        with pytest.raises(CalibrationRefusedError, match=r"\d+ of 200 are called the same with it, \d+ without"):
            ranker = rankers.create(DEFAULT_RANKER, {"spelling": False})  # else slips are own titles
            calibrate(archive, ranker, max_per_cluster=1_000)


def test_own_topic_is_no_everyday_question(archive):
    """An archive of everyday questions about one topic: these are not counted as asking nothing of it."""
    rows = [row for row in everyday_questions() if row.language == "en"]
    topic = rows[0].topic
    archive.upsert(Question(f"{n}", row.text) for n, row in enumerate(rows) if row.topic == topic)
    archive.upsert(Question(f"x{n}", f"Where is room {n}?") for n in range(30))
    sample = draw_sample(archive, rankers.create(DEFAULT_RANKER))
    asked = {sample.clusters[n] for n in sample.first_wrong_hits.query_index if sample.kinds[n] == "everyday"}
    assert asked
    assert topic not in asked


def test_candidates_only_are_refused(archive):
    archive.upsert([Question("a", "boil an egg"), EvaluationQuery("dev", Question("q", "egg"))])
    archive.upsert([Judgement("dev", "q", "a", 1, 1)])
    assert default_split(archive, rankers.create("bm25")) == "dev"
    with pytest.raises(SettingsError, match="candidates only"):
        draw_sample(archive, rankers.create(DEFAULT_RANKER))


def test_titles_leave_bodies_out(archive):
    archive.upsert(Question(f"{n:03}", f"thing {n}", "with a body") for n in range(150))
    archive.upsert(
        EvaluationQuery("dev", Question(f"q{n}", f"thing {n if n % 2 else n + 1}", "and one more")) for n in range(120)
    )
    archive.upsert(Judgement("dev", f"q{n}", f"{n:03}", 1) for n in range(120))
    assert len(load_split(archive, "dev").queries) == 120
    assert draw_sample(archive, rankers.create(DEFAULT_RANKER)).has_bodies
    assert not draw_sample(archive, rankers.create(DEFAULT_RANKER), titles_only=True).has_bodies


def test_off_topic_query_has_no_duplicate(directory, hybrid_calibration):
    calibration = hybrid_calibration
    off_topic = ["best pizza in Rome", "why is the sky blue", "recompile the kernel"]
    with Archive.open(directory) as archive:
        ranker = rankers.create("hybrid", HYBRID_SETTINGS)
        queries = {f"x{n}": Question(f"x{n}", title) for n, title in enumerate(off_topic)}
        rows = list(rank_labelled(ranker, archive.view(), Split(queries, {})))
    first = [np.array(features) for features, _, _ in rows if features]
    probabilities = [calibration.estimate(features)[0] for features in first]
    assert max(probabilities) < 0.2
    again = Calibration.model_validate_json(calibration.model_dump_json())
    assert [again.estimate(features)[0] for features in first] == probabilities


@pytest.mark.usefixtures("hybrid_calibration")
def test_calibration_brings_back_no_hidden_hit(directory, tmp_path, monkeypatch):
    monkeypatch.setattr(Calibration, "estimate", lambda _, features: np.ones(len(features)))
    plain = shutil.copytree(directory, tmp_path / "plain", ignore=shutil.ignore_patterns("calibration"))
    asked = [row.text for row in everyday_questions() if row.language == "en"]
    with (
        ArchiveRetriever.open(directory, "hybrid", HYBRID_SETTINGS) as calibrated,
        ArchiveRetriever.open(plain, "hybrid", HYBRID_SETTINGS) as uncalibrated,
    ):
        found = [[{hit.id for hit in one.search(text)} for text in asked] for one in (calibrated, uncalibrated)]
    assert len(asked) > 100
    assert all(map(set.issubset, *found))


def test_an_interrupted_calibration_is_resumed_with_equal_curves(directory, report, monkeypatch):
    monkeypatch.setattr(samples, "BATCH_SIZE", 200)
    ranker, steps = rankers.create(DEFAULT_RANKER), []

    def interrupt(done, total):
        if done >= 200:
            raise KeyboardInterrupt

    with Archive.open(directory) as archive:
        with pytest.raises(KeyboardInterrupt):
            draw_sample(archive, ranker, progress=interrupt, resume=True)
        for _ in range(2):
            sample = draw_sample(archive, ranker, progress=lambda *step: steps.append(step), resume=True)
            measured = sample.select(sample.measured)
            for hits in ("first_hits", "later_hits", "first_wrong_hits"):
                found, expected = (asdict(getattr(each, hits)) for each in (measured, report.sample))
                np.testing.assert_equal(found, expected)
            n = len(sample.queries)
            assert steps == [*((done, n) for done in range(400, n, 200)), (n, n)]
