"""No command learns from what it measures: the planted labels are out of reach for whoever does not cheat."""

import json

import pytest
import tomli_w
from tests.first_day.planted import CHEATING, HONEST, NETWORK, plant

import askalike
from askalike import rankers
from askalike.encoders import read_model_file
from askalike.errors import SettingsError
from askalike.experiments.measuring import RankingTask
from askalike.store import Archive

MEASURES = ["Success@1"]
OPTIONS = [word for key, value in NETWORK.items() for word in ("--set", f"{key}={json.dumps(value)}")]


def success(run, labels):
    return askalike.evaluate(run, labels.qrels, MEASURES).means["Success@1"]


def test_a_cheat_knows_the_planted_labels(planted):
    cheat = rankers.create("cnn", NETWORK, planted).fit(planted.training_view(()))
    labels = askalike.load_split(planted, "halves/test")
    run = rankers.open_current(cheat, planted.view()).rank(labels.queries, 100)
    assert success(run, labels) > CHEATING


def test_nothing_is_fitted_without_saying_what_is_held_out(planted):
    ranker = rankers.create("cnn", NETWORK, planted)
    with pytest.raises(SettingsError, match="nobody has said what it must not learn"):
        ranker.fit(planted.view())


def test_evaluate(planted):
    ranker = rankers.create("cnn", NETWORK, planted)
    assert askalike.evaluate_ranker(planted, ranker, "halves/test", MEASURES).means["Success@1"] < HONEST
    run = RankingTask(planted).fit_and_rank(ranker, labels := askalike.load_split(planted, "halves/test"), 100)
    assert success(run, labels) < HONEST


def test_the_command_evaluate(planted, command):
    words = ["evaluate", planted.path, "--ranker", "cnn", *OPTIONS, "--split"]
    code, printed, said = command(*words, "halves/test", "--json")
    assert code == 0, said
    assert json.loads(printed)["measures"]["Success@1"]["mean"] < HONEST
    code, _, said = command(*words, "duplicates")
    assert code == 2
    assert "0 training pairs are too few" in said  # all are measured


def test_each_group_is_ranked_by_what_was_learned_within_it(tmp_path):
    """A ranker that was fitted on one group is not the one of the next."""
    with Archive.open(plant(tmp_path / "groups", groups=("x", "y"))) as archive:
        ranker = rankers.create("cnn", NETWORK, archive)
        views = [view for _, _, view in RankingTask(archive).groups(askalike.load_split(archive, "halves/test"), ())]
        first, second = (ranker.fit(view).fingerprint for view in views)
        assert first != second


def test_experiment(planted, tmp_path):
    file = tmp_path / "planted.toml"
    system = {"ranker": "cnn", "settings": NETWORK, "tune": {"learning_rate": [0.01, 0.02]}}
    values = {"archive": str(planted.path), "split": "halves/test", "measures": MEASURES, "system": [system]}
    values |= {"dev": "quarters/train", "partition": {"name": "quarters", "of": "halves/train", "shares": [0.4, 0.6]}}
    file.write_text(tomli_w.dumps(values))
    result = askalike.experiment(file, tmp_path / "run")
    assert result.systems[0].mean("Success@1") < HONEST
    tuned = result.systems[0].tuned
    assert tuned["learning_rate"] in (0.01, 0.02)
    n_dev = len(askalike.load_split(planted, "quarters/train").queries)
    assert f"Success@1 on quarters/train (n = {n_dev})" in tuned
    models = [read_model_file(folder)["trained"] for folder in (planted.path / "models").iterdir()]
    assert n_dev in [model["dev_queries"] for model in models]  # dev chooses among epochs, too
    values["dev"] = "duplicates"
    file.write_text(tomli_w.dumps(values))
    with pytest.raises(SettingsError, match="30 of its 60 queries are measured, too"):
        askalike.experiment(file, tmp_path / "cheating")


def test_tune_ranker(planted):
    labels = askalike.load_split(planted, "halves/test")
    fixed = {key: value for key, value in NETWORK.items() if key != "learning_rate"}
    found = askalike.tune_ranker(planted, "cnn", {"learning_rate": [0.01, 0.02]}, labels, "Success@1", fixed=fixed)
    assert max(value for _, value in found.trials) < HONEST
