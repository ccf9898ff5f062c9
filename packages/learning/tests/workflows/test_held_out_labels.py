"""No command learns from what it measures: the planted labels are out of reach for whoever does not cheat."""

import json

import pytest
import tomli_w
import torch

import askalike
import askalike_research
from askalike import rankers
from askalike.calibration.samples import draw_sample
from askalike.core.errors import NotFittedError, SettingsError
from askalike.core.records import Question
from askalike.encoders import read_model_file
from askalike.labels.partitions import create_partition
from askalike.labels.splits import count_learned, unlearned_splits
from askalike.measuring import RankingTask
from askalike.moderation.dedupe import ClusterProposal, _agreement
from askalike.store import Archive
from askalike.store.deployments import serve_ranker
from askalike.tuning import models
from askalike.tuning.promotion import promote
from askalike_learning.trainable import load_recipe
from askalike_research.experiments.grid_search import tune_ranker
from askalike_research.replay.replay import replay
from commands import run_command
from planted import CHEATING, HONEST, N_PAIRS, NETWORK, day, plant

MEASURES = ["Success@1"]
OPTIONS = [word for key, value in NETWORK.items() for word in ("--set", f"{key}={json.dumps(value)}")]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def command():
    """See commands.run_command."""
    return run_command


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    with Archive.open(plant(tmp_path_factory.mktemp("planted") / "planted")) as archive:
        yield archive


def success(run, labels):
    return askalike.evaluate(run, labels.qrels, MEASURES).means["Success@1"]


def test_a_cheat_knows_the_planted_labels(planted):
    cheat = rankers.create("cnn", NETWORK, planted).fit(planted.training_view(()))
    labels = askalike.load_split(planted, "halves/test")
    run = rankers.rank(rankers.open_current(cheat, planted.view()), labels.queries, 100)
    assert success(run, labels) > CHEATING


def test_fitting_needs_to_know_what_is_held_out(planted):
    ranker = rankers.create("cnn", NETWORK, planted)
    with pytest.raises(SettingsError, match="needs the splits to hold out"):
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
    assert "0 training pairs: too few" in said  # all are measured


@pytest.mark.parametrize("ranker", ["lstm_paper", "hybrid"])
def test_pair_classifier_is_refused_before_training(planted, command, tmp_path, ranker):
    """The split has no candidates, and a classifier retrieves none."""
    settings = {"parts": ["bm25", "lstm_paper"]} if ranker == "hybrid" else {}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    words = ["evaluate", planted.path, "--ranker", ranker, *options, "--split", "halves/test"]
    toml = tmp_path / "pairs.toml"
    system = {"ranker": ranker, "settings": settings}
    toml.write_text(tomli_w.dumps({"archive": str(planted.path), "split": "halves/test", "system": [system]}))
    for arguments in (words, ["experiment", toml, "-o", tmp_path / "out"]):
        code, _, said = command(*arguments)
        assert code == 2
        assert f"{ranker} ranks given candidates only" in said
    assert not list((planted.path / "models").glob("*lstm*"))


def test_groups_are_ranked_by_their_own_models(tmp_path):
    """A ranker that was fitted on one group is not the one of the next."""
    with Archive.open(plant(tmp_path / "groups", groups=("x", "y"))) as archive:
        ranker = rankers.create("cnn", NETWORK, archive)
        views = [view for _, _, view in RankingTask(archive).groups(askalike.load_split(archive, "halves/test"), ())]
        first, second = (ranker.fit(view).fingerprint for view in views)
        assert first != second


def test_experiment(planted, tmp_path, without_figures):
    file = tmp_path / "planted.toml"
    system = {"ranker": "cnn", "settings": NETWORK, "tune": {"learning_rate": [0.01, 0.02]}}
    values = {"archive": str(planted.path), "split": "halves/test", "measures": MEASURES, "system": [system]}
    values |= {
        "dev": "quarters/train",
        "partition": {"name": "quarters", "source_split": "halves/train", "shares": [0.4, 0.6]},
    }
    file.write_text(tomli_w.dumps(values))
    result = askalike_research.experiment(file, tmp_path / "run")
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
        askalike_research.experiment(file, tmp_path / "cheating")


def test_tune_ranker(planted):
    labels = askalike.load_split(planted, "halves/test")
    fixed = {key: value for key, value in NETWORK.items() if key != "learning_rate"}
    found = tune_ranker(planted, "cnn", {"learning_rate": [0.01, 0.02]}, labels, "Success@1", fixed=fixed)
    assert max(value for _, value in found.trials) < HONEST


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that was trained on all labels but those of halves/test."""
    with Archive.open(plant(tmp_path_factory.mktemp("trained") / "planted")) as archive:
        models.train(archive, load_recipe("cnn", NETWORK), "mine")
        yield archive


def test_model_is_not_measured_on_its_training_data(trained, command, tmp_path, without_figures):
    words = ["evaluate", trained.path, "--ranker", "mine", "--json"]
    code, printed, _ = command(*words)  # the split that it has learned nothing of
    assert code == 0
    assert json.loads(printed)["heading"].split(", ")[1].startswith("split halves/test")
    assert json.loads(printed)["measures"]["Success@1"]["mean"] < HONEST
    for split, n in (("halves/train", "30 of these 30"), ("duplicates", "30 of these 60")):
        code, _, said = command(*words, "--split", split)
        assert code == 2
        assert f"mine was trained on the labels of {n} queries" in said
        assert "halves/test" in said
        file = tmp_path / "one.toml"
        hybrid = {"ranker": "hybrid", "settings": {"parts": ["bm25", "mine"]}}
        file.write_text(tomli_w.dumps({"archive": str(trained.path), "split": split, "system": [hybrid]}))
        code, _, said = command("experiment", file, "-o", tmp_path / "run")
        assert code == 2
        assert f"hybrid was trained on the labels of {n} queries" in said
    code, printed, said = command(*words, "--split", "duplicates:title@60")
    assert code == 2
    assert "30 of these 60" in said
    code, printed, said = command(*words, "--split", "known")
    assert code == 0, said
    assert json.loads(printed)["n"] == 120
    code, _, said = command("calibrate", trained.path, "--ranker", "mine", "--split", "duplicates")
    assert code == 2
    assert "mine was trained on the labels of" in said


def test_a_small_model_has_a_size(trained, command):
    code, printed, _ = command("models", trained.path)
    assert code == 0
    assert " kB" in next(line for line in printed.splitlines() if line.startswith("mine "))


def test_the_card_names_a_split_that_is_safe(trained):
    card = (trained.path / "models/mine/README.md").read_text()
    assert "askalike evaluate ARCHIVE --ranker mine --split halves/test" in card


def test_a_cut_made_after_training_is_no_test(trained):
    learned = rankers.create("mine", None, trained).learned_labels
    create_partition(trained, "cluster", {"shares": [0.5, 0.5], "seed": 7}, name="later")
    later = askalike.load_split(trained, "later/test")
    assert 0 < count_learned(learned, trained, later) < len(later.queries)
    assert "later/test" not in unlearned_splits(learned, trained)


def test_a_lookup_has_learned_what_its_teacher_has(trained, command):
    models.distil(trained, "mine", "looked-up", {"subwords": 0, "words": 512, "bigrams": 64, "n_recombined": 0})
    lookup, teacher = (rankers.create(name, None, trained).learned_labels for name in ("looked-up", "mine"))
    assert lookup == teacher
    words = ["evaluate", trained.path, "--ranker", "looked-up", "--json", "--split"]
    assert command(*words, "halves/train")[0] == 2
    code, printed, said = command(*words, "halves/test")
    assert code == 0, said
    assert json.loads(printed)["measures"]["Success@1"]["mean"] < HONEST


def test_figure_says_where_settings_were_chosen(tmp_path, command, without_figures):
    with Archive.open(plant(tmp_path / "planted")) as archive:
        train, test = (askalike.load_split(archive, f"halves/{part}") for part in ("train", "test"))
        serve_ranker(archive, "bm25", {"k1": 0.5}, "a test", train.qrels)
        chosen_by_some = askalike.load_split(archive, "duplicates")
        assert len(chosen_by_some.qrels) == len(train.qrels) + len(test.qrels)
    words = ["evaluate", tmp_path / "planted", "--json", "--split"]
    expected = {"halves/train": "30 of these 30", "duplicates": "30 of these 60", "halves/test": None}
    for split, n in expected.items():
        code, printed, said = command(*words, split)
        assert code == 0, said
        remark = f"tune chose its settings with the labels of {n} queries; not used for that: halves/test"
        assert (remark in json.loads(printed)["heading"]) == bool(n)
        _, printed, _ = command(*words, split, "--ranker", "bm25", "--set", "k1=0.6")
        assert "tune chose" not in printed
    toml, systems = tmp_path / "marked.toml", '[[system]]\nranker = "bm25"\nsettings = {{ k1 = {} }}\nlabel = "{}"\n'
    head = f'archive = "{tmp_path / "planted"}"\nsplit = "halves/train"\n'
    toml.write_text(head + systems.format(0.5, "served") + systems.format(0.6, "other"))
    code, printed, said = command("experiment", toml, "-o", tmp_path / "out")
    assert code == 0, said
    remark = (
        f"tune chose its settings with the labels of {expected['halves/train']} queries; not used for that: halves/test"
    )
    assert printed.count("tune chose") == printed.count(f"served: {remark}") == 1
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert [system["remark"] for system in report["systems"]] == [remark, ""]
    assert f"served: {remark}." in (tmp_path / "out/report.html").read_text()


def test_calibrate(trained, monkeypatch):
    """What is right among first hits is what chance finds: too little to calibrate on."""
    monkeypatch.setattr("askalike.calibration.samples.MIN_QUERIES", 30)
    mine = rankers.create("mine", None, trained)
    sample = draw_sample(trained, mine, "halves/test")
    hits = sample.first_hits.select(sample.is_kind("labelled"))
    assert len(hits.relevant) == 30
    assert hits.relevant.mean() < HONEST
    assert draw_sample(trained, mine).split == "halves/test"


def test_promote(trained):
    result = promote(trained, "mine")
    assert (result.promoted, result.split, result.links) == (False, "halves/test", 30)
    assert result.compared.difference < HONEST


def test_calibrate_fits_no_network(planted, monkeypatch):
    monkeypatch.setattr("askalike.calibration.samples.MIN_QUERIES", 30)
    with pytest.raises(NotFittedError, match="not trained yet"):
        askalike.calibrate(planted, rankers.create("cnn", NETWORK, planted), "duplicates")


def test_dedupe_is_measured_on_unseen_pairs(trained):
    view = trained.view()
    pairs = [view.get_questions([link.source, link.target]).values() for link in view.links()]
    proposals = [ClusterProposal(list(pair), "", 1.0, [None, 1.0]) for pair in pairs]
    for name, n in (("bm25", 60), ("mine", 30)):
        of_ranker = _agreement(trained, rankers.create(name, None, trained), proposals)
        assert [proportion.n for proportion in of_ranker] == [n, n]


def test_tune(planted):
    result = askalike.tune(planted, budget_s=1.0)  # all its labels choose or measure, so that no network can learn
    assert result.verdict.value < HONEST
    assert result.verdict.reported_difference.mean < HONEST


@pytest.mark.long
def test_tune_with_networks(tmp_path):
    """Half of the labels train the networks, a quarter chooses, a quarter measures."""
    with Archive.open(plant(tmp_path / "large", pairs=1_200)) as archive:
        texts = archive.view().get_questions([f"q{n}" for n in range(2_400)])
        archive.upsert(Question(f"again-{id}", question.title) for id, question in texts.items())  # words of two texts
        result = askalike.tune(archive, budget_s=1_200.0)  # it ends when all is tried
    values = {found.candidate.name: found.mean for found in result.candidate_results}
    assert {"bow_cnn", "cnn"} <= values.keys()
    assert max(values.values()) < HONEST
    assert result.verdict.value < HONEST


def test_replay(tmp_path):
    """What is asked again is learned only from what was linked before."""
    with Archive.open(plant(tmp_path / "dated", dated=True)) as archive:
        since = day(N_PAIRS)  # half of the pairs are older
        settings = {"cnn": {key: value for key, value in NETWORK.items() if key != "dev_share"}}
        result = replay(archive, settings, since, k=1)
        [of_ranker] = result.results
        assert len(of_ranker.ranks) == N_PAIRS // 2
        assert sum(rank == 1 for rank in of_ranker.ranks.values()) / len(of_ranker.ranks) < HONEST
        models.train(archive, load_recipe("cnn", NETWORK), "mine")
        with pytest.raises(SettingsError, match="mine knows data up to"):
            replay(archive, {"mine": {}}, since)
