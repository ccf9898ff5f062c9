"""Archives of several groups, each ranked within itself, and runs of other systems."""

import json
import shutil

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.calibration.reliability import GroupAverages, measure_reliability
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Link, Question
from askalike.evaluation.evaluate import evaluate
from askalike.labels.splits import load_split
from askalike.measuring import RankingTask, evaluate_ranker
from askalike.store import Archive
from askalike.tuning.trials import Trial, TrialEvaluator
from askalike_research.comparing.comparison import compare_runs
from askalike_research.comparing.run_sources import load_judgements, parse_sources
from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.run import run_experiment
from planted import plant

pytestmark = pytest.mark.usefixtures("without_figures")

MEASURES = ("RR", "Success@1")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Two groups of 60 pairs without a common word; in x, 20 more pairs that have words in common."""
    path = plant(tmp_path_factory.mktemp("groups") / "archive", groups=("x", "y"))
    with Archive.open(path) as archive:
        archive.upsert(Question(f"x/e{n}", f"easy number{n // 2}") for n in range(40))
        archive.upsert(Link(f"x/e{n}", f"x/e{n - 1}") for n in range(1, 40, 2))
    return path


@pytest.fixture
def toml(archive, tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text(
        f'archive = "{archive}"\nsplit = "duplicates"\nmeasures = ["RR", "Success@1"]\n'
        '[[system]]\nranker = "bm25"\n[[system]]\nranker = "tfidf"\n'
    )
    return path


def test_saved_hits_of_groups_give_the_same_values(archive):
    with Archive.open(archive) as opened:
        first = evaluate_ranker(opened, rankers.create("bm25"), "duplicates", MEASURES, resume=True)
        steps = []
        again = evaluate_ranker(
            opened, rankers.create("bm25"), "duplicates", MEASURES, progress=lambda *s: steps.append(s), resume=True
        )
    assert (again.means, again.as_evaluation().values, steps) == (first.means, first.as_evaluation().values, [])
    assert len(list((archive / "index").glob("evaluate-bm25-*.jsonl"))) == len(first.groups) == 2


def test_each_group_counts_the_same_everywhere(archive, toml, tmp_path):
    outcome = run_experiment(read_experiment(toml), tmp_path / "out")
    with Archive.open(archive) as opened:
        macro = evaluate_ranker(opened, rankers.create("bm25"), "duplicates", MEASURES)
        labels = load_split(opened, "duplicates")
        with TrialEvaluator(RankingTask(opened), {"dev": labels}, MEASURES) as evaluator:
            (values,) = evaluator.evaluate_trials([Trial("bm25")])
    system = outcome.systems[0]
    sizes = {name: group.n for name, group in macro.groups.items()}
    assert sizes["x"] > sizes["y"]
    for measure in MEASURES:
        micro = np.mean(list(system.seed_results[0].evaluation.per_query(measure).values()))
        assert system.mean(measure) == pytest.approx(macro.means[measure])
        assert system.mean(measure) != pytest.approx(micro)
        assert system.interval(measure) == macro.intervals[measure]
        assert np.mean(list(values[measure].values())) == pytest.approx(macro.means[measure])
        assert outcome.comparisons[measure].systems[0].mean == pytest.approx(macro.means[measure])
    hits = system.seed_results[0].run
    assert all(hit.id[:2] == query[:2] for query in hits for hit in hits[query])
    assert "2 groups, each ranked within itself, count the same" in system.seed_results[0].evaluation.describe


def test_runs_with_groups_compare_as_their_experiment(toml, tmp_path):
    outcome = run_experiment(read_experiment(toml), tmp_path / "out")
    sources = parse_sources([str(tmp_path / "out")])
    comparison = compare_runs(sources, load_judgements(sources, None, None, None), MEASURES, "trec_eval")
    for measure, compared in zip(MEASURES, comparison.comparisons, strict=True):
        assert [s.mean for s in compared.systems] == [s.mean for s in outcome.comparisons[measure].systems]
        assert compared.notes == outcome.comparisons[measure].notes


@pytest.mark.long
def test_differing_queries_have_their_own_values(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "first")
    lines = (tmp_path / "first/runs/bm25.trec").read_text().splitlines(keepends=True)
    (tmp_path / "few.trec").write_text("".join(line for line in lines if line.startswith("x/e1")))
    both = {"system": [{"ranker": "bm25"}, {"run": str(tmp_path / "few.trec")}]}
    (pair,) = run_experiment(read_experiment(toml, both), tmp_path / "out").comparisons["RR"].pairs
    assert pair.differing
    assert all(row.first == 1 and row.second == 0 for row in pair.differing)


def test_a_run_of_another_system_is_a_row(archive, toml, tmp_path):
    first = run_experiment(read_experiment(toml), tmp_path / "first")
    given = tmp_path / "theirs.trec"
    given.write_bytes((tmp_path / "first/runs/bm25.trec").read_bytes())
    both = {"system": [{"ranker": "tfidf"}, {"run": str(given)}]}
    outcome = run_experiment(read_experiment(toml, both), tmp_path / "second")
    assert [system.label for system in outcome.systems] == ["tfidf", "theirs"]
    assert outcome.systems[1].mean("RR") == first.systems[0].mean("RR")
    assert (tmp_path / "second/runs/theirs.trec").read_bytes() == given.read_bytes()
    report = json.loads((tmp_path / "second/report.json").read_text())
    assert report["systems"][1]["settings"] == {"run": str(given)}
    again = run_experiment(read_experiment(tmp_path / "second/config.toml"), tmp_path / "again")
    assert again.systems[1].mean("RR") == outcome.systems[1].mean("RR")
    given.write_text("nobody Q0 a 1 1.0 t\n")
    with pytest.raises(InputError, match="none of its 1 queries"):
        run_experiment(read_experiment(toml, both), tmp_path / "third")


def test_runs_of_several_seeds_are_a_row(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "first")
    run = (tmp_path / "first/runs/bm25.trec").read_text()
    (tmp_path / "theirs-1.trec").write_text(run)
    of_seeds = {"system": [{"run": str(tmp_path / "theirs-{seed}.trec"), "label": "theirs"}], "seeds": [1, 2]}
    with pytest.raises(SettingsError, match=r"theirs-2\.trec: no such file"):
        read_experiment(toml, of_seeds)
    (tmp_path / "theirs-2.trec").write_text("x/e1 Q0 wrong 1 1.0 t\n")
    (system,) = run_experiment(read_experiment(toml, of_seeds), tmp_path / "out").systems
    one, other = (result.evaluation.means["RR"] for result in system.seed_results.values())
    assert one > other
    assert system.mean("RR") == pytest.approx((one + other) / 2)


def test_without_groups_nothing_is_weighted(tmp_path):
    evaluation = evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["RR"])
    assert evaluation.weights == {}
    assert evaluation.weighted("RR") == evaluation.per_query("RR")


def test_a_calibration_counts_groups_the_same(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("askalike.calibration.samples.MIN_QUERIES", 30)
    with Archive.open(shutil.copytree(archive, tmp_path / "archive")) as opened:
        opened.upsert(Question(f"y/e{n}", f"easy number{n} of y") for n in range(10))
        opened.upsert(Link(f"y/e{n}", f"y/q{n}") for n in range(10))  # never right
        ranker = rankers.create(
            "bm25", {"spelling": False}
        )  # else slips are own titles, and the calibration is refused
        report = calibrate(opened, ranker, "duplicates")
        macro = evaluate_ranker(opened, ranker, "duplicates", ["Success@1"])
    averages, sample = report.group_averages, report.sample
    assert [id.split("/")[0] for id in sample.queries] == list(sample.groups)
    shares = {name: of.base_rate * of.n / macro.groups[name].n for name, of in averages.groups.items()}
    assert shares == pytest.approx({name: of.means["Success@1"] for name, of in macro.groups.items()})
    assert averages.base_rate == pytest.approx(np.mean([of.base_rate for of in averages.groups.values()]))
    assert averages.base_rate != pytest.approx(report.first_hits.base_rate)
    assert report.as_dict()["group_averages"]["groups"].keys() == {"x", "y"}


def test_intervals_of_averages_come_from_clusters_within_groups():
    rng = np.random.default_rng(1)
    probabilities, right = rng.random(200), rng.random(200) < 0.5
    group = probabilities, right, [str(n // 2) for n in range(200)]
    alone, twice = GroupAverages.measure({"a": group}), GroupAverages.measure({"a": group, "b": group})
    whole = measure_reliability(*group)
    assert (alone.skill, alone.skill_interval, alone.error) == (whole.skill, whole.skill_interval, whole.error)
    widths = [high - low for low, high in (alone.base_rate_interval, twice.base_rate_interval)]
    assert widths[1] == pytest.approx(widths[0] / 2**0.5, rel=0.15)
