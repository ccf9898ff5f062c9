"""Training: it learns, repeats itself, survives kill -9, and stops with a clear line."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from askalike.core import registry
from askalike.core.errors import TrainingError
from askalike.core.records import TrainingPair
from askalike_learning import trainer
from askalike_learning.checkpoint import BEST_WEIGHTS_FILE, CHECKPOINT_FILE, read_history
from askalike_learning.examples import add_random_negatives
from askalike_learning.objective import Objective, make_training_batch
from askalike_learning.recipes import NegativesSettings
from askalike_learning.trainer import convert_memory_errors, describe_device, find_best_epoch, train
from jobs import THINGS, job_of, question


def weights(network):
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert torch.equal(tensor, right[name]), name


def test_it_learns(pairs, tmp_path):
    job = job_of(pairs, tmp_path, "bow_cnn", optimizer="adam", learning_rate=0.01, epochs=8)
    epochs = train(job)
    assert epochs[-1].loss < 0.5 * epochs[0].loss
    assert find_best_epoch(epochs).value > 0.9
    assert (
        job.dev.evaluate(job.network, "RR") == find_best_epoch(epochs).value
    )  # the best epoch's weights are in the network


def test_lstms_learn_in_bf16_where_processors_have_it(pairs, tmp_path, monkeypatch):
    job = job_of(pairs, tmp_path, "siamese_lstm", sizes={"dim": 8, "hidden": 12}, precision="bf16-mixed", epochs=2)
    assert len(train(job)) == 2
    has_bf16 = SimpleNamespace(_is_mkldnn_bf16_supported=lambda: True)
    monkeypatch.setattr(torch.ops, "mkldnn", has_bf16)
    assert not describe_device(job.settings)
    has_bf16._is_mkldnn_bf16_supported = lambda: False
    assert describe_device(job.settings) == "training in 32-true, as this processor lacks bf16-mixed"
    assert not describe_device(job.settings.model_copy(update={"precision": "auto"}))


@pytest.mark.parametrize("loss", registry.names("loss"))
@pytest.mark.parametrize("kind", [{"random": 3}, {"random": 3, "hardest": True, "sides": "query"}, {"in_batch": True}])
def test_every_loss_trains_with_every_kind_of_negatives(pairs, tmp_path, loss, kind):
    epochs = train(job_of(pairs, tmp_path, negatives=NegativesSettings(**kind), loss=loss, epochs=2, optimizer="adam"))
    assert epochs[1].loss < epochs[0].loss


def test_an_irrelevant_pair_is_learned_by_itself(pairs, tmp_path):
    job = job_of(pairs, tmp_path, loss="cross_entropy", negatives=NegativesSettings())
    relevant = np.arange(len(pairs)) % 2 == 0
    marked = replace(job.examples, relevant=relevant)
    objective, numbers = Objective(job.network.eval(), job.loss, job.negatives), np.arange(6)
    batch = make_training_batch(marked, numbers)
    vectors = job.network(batch.texts)
    scores = job.network.score_pairs(*(tuple(part[rows] for part in vectors) for rows in (batch.query, batch.positive)))
    right = torch.sigmoid(scores)
    expected = -torch.where(torch.from_numpy(relevant[numbers]), right, 1 - right).log()
    torch.testing.assert_close(objective(batch), expected)
    epochs = train(replace(job, examples=marked))
    assert epochs[-1].loss < epochs[0].loss


DROPOUT = {"network": "lstm", "sizes": {"dim": 8, "hidden": 6, "dropout": 0.3}}


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [("sgd", {}), ("adam", {"accumulate": 3} | DROPOUT), ("adagrad", {}), ("lazy_adam", {"accumulate": 3})],
)
def test_the_same_seed_gives_the_same_weights(pairs, tmp_path, optimizer, options):
    seeds = (1, 1, 2)
    jobs = [job_of(pairs, tmp_path / str(n), optimizer=optimizer, seed=s, **options) for n, s in enumerate(seeds)]
    for job in jobs:
        train(job)
    first, second, other = (weights(job.network) for job in jobs)
    assert_same(first, second)
    assert any(not torch.equal(tensor, other[name]) for name, tensor in first.items())


def test_batches_of_a_step_learn_as_one(pairs, tmp_path):
    options = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 2}
    whole = job_of(pairs, tmp_path / "whole", batch_size=len(pairs), **options)
    parts = job_of(pairs, tmp_path / "parts", batch_size=len(pairs) // 4, accumulate=4, **options)
    one, four = train(whole), train(parts)
    assert four[0].loss == pytest.approx(one[0].loss, rel=1e-5)
    torch.testing.assert_close(weights(parts.network), weights(whole.network))


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "lazy_adam"])
def test_stopped_run_is_resumed_to_the_same_weights(pairs, tmp_path, optimizer):
    options = {"optimizer": optimizer, "schedule": "linear", "epochs": 4}
    whole = job_of(pairs, tmp_path / "whole", **options)
    train(whole)

    class Stopped(Exception):
        pass

    def stop(progress):
        if progress.epoch == 3 and progress.value is None:
            raise Stopped

    with pytest.raises(Stopped):
        train(job_of(pairs, tmp_path / "cut", report=stop, **options))
    assert len(read_history(tmp_path / "cut", "one")) == 2
    resumed = job_of(pairs, tmp_path / "cut", **options)
    assert len(train(resumed)) == 4
    assert_same(weights(whole.network), weights(resumed.network))


KILLED = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, sys.argv[2])
import torch
torch.set_num_threads(1)
from jobs import PAIRS, job_of
from askalike_learning.trainer import train
train(job_of(PAIRS, Path(sys.argv[1]), epochs=40, optimizer="adam"))
"""


@pytest.mark.long
def test_killed_run_is_resumed_to_the_same_weights(pairs, tmp_path):
    directory, root = tmp_path / "killed", Path(__file__).parents[1]
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(directory), str(root)])
    deadline = time.monotonic() + 300
    while len(read_history(directory, "one") or ()) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 2 <= len(read_history(directory, "one")) < 40
    resumed, whole = (job_of(pairs, d, epochs=40, optimizer="adam") for d in (directory, tmp_path / "whole"))
    train(resumed)
    train(whole)
    assert_same(weights(resumed.network), weights(whole.network))


def test_another_run_begins_anew(job):
    train(job)
    assert read_history(job.directory, "another") is None
    assert {f.name for f in job.directory.iterdir()} == {BEST_WEIGHTS_FILE, CHECKPOINT_FILE}


def test_it_stops_early_and_keeps_the_best(pairs, tmp_path):
    job = job_of(pairs, tmp_path, epochs=30, learning_rate=1e-9, patience=2)
    assert len(train(job)) == 3  # the first is never beaten


def test_loss_that_is_no_number_names_its_batch(pairs, tmp_path):
    job = job_of(pairs, tmp_path)
    with torch.no_grad():
        job.network.convolution.bias.fill_(torch.nan)
    with pytest.raises(
        TrainingError, match=r"the loss is nan in epoch 1, batch 1 \(pairs \w+–\w+, .*8 in all\); lower"
    ):
        train(job)


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("x"), RuntimeError("can't allocate memory: you tried …")]
)
def test_out_of_memory_error_names_what_to_lower(error):
    with (
        pytest.raises(TrainingError, match=r"out of memory; lower training\.batch_size"),
        convert_memory_errors("training.batch_size"),
    ):
        raise error


def test_the_hardest_alone_gives_the_gradient_of_all(pairs, tmp_path):
    gradients = []
    for hardest in (False, True):
        job = job_of(pairs, tmp_path, negatives=NegativesSettings(random=4, hardest=hardest))
        objective = Objective(job.network, job.loss, job.negatives)
        examples = add_random_negatives(job.examples, job.negatives, seed=1, epoch=1)
        losses = objective(make_training_batch(examples, np.arange(20)))
        losses.sum().backward()
        gradients.append([losses.detach(), *(p.grad for p in objective.parameters())])
    torch.testing.assert_close(*gradients)


def test_pairs_of_a_cluster_are_no_mutual_negatives(pairs, tmp_path):
    """With in-batch negatives, texts of the same cluster weigh nothing even if they meet in one batch."""
    job = job_of(pairs, tmp_path, negatives=NegativesSettings(in_batch=True), loss="multiple_negatives")
    objective = Objective(job.network, job.loss, job.negatives)
    same = replace(job.examples, clusters=np.zeros_like(job.examples.clusters))
    assert objective(make_training_batch(same, np.arange(6))).tolist() == [0] * 6
    assert all(objective(make_training_batch(job.examples, np.array([0, 5, 9]))) > 0)


def report(progress):
    print(progress.epoch, file=sys.stderr)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_two_processes_train_together(pairs, tmp_path):
    job = job_of(pairs, tmp_path, devices=2, report=report, batch_size=6, optimizer="adam", learning_rate=0.01)
    epochs = train(job)
    assert epochs[-1].loss < epochs[0].loss
    assert job.dev.evaluate(job.network, "RR") == find_best_epoch(epochs).value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_failing_process_is_named_in_one_line(pairs, tmp_path):
    job = job_of(pairs, tmp_path, devices=2)
    with torch.no_grad():
        job.network.convolution.bias.fill_(torch.nan)
    with pytest.raises(TrainingError, match="^the loss is nan in epoch 1"):
        train(job)


def test_batch_excludes_negatives_of_a_pairs_cluster(tmp_path):
    """`a0` of the related pair is a duplicate of `a1`, which the other pair has."""
    a, b = THINGS[:2]
    duplicates = TrainingPair(question(a, 1), question(a, 2), a, "made")
    related = TrainingPair(question(a, 0), question(b, 0), b, "related", query_cluster=a)
    apart = TrainingPair(question(THINGS[2], 0), question(THINGS[2], 1), THINGS[2], "made")
    job = job_of([duplicates, related, apart], tmp_path, negatives=NegativesSettings(in_batch=True))
    seen = []

    def remember(scores):
        seen.append(scores)
        return scores.positive

    Objective(job.network, remember, job.negatives)(make_training_batch(job.examples, np.arange(3)))
    [scores] = seen
    forward = [[False, True, True], [False, False, True], [True, True, False]]
    backward = [[False, False, True], [False, False, True], [True, True, False]]
    assert (scores.forward_mask.tolist(), scores.backward_mask.tolist()) == (forward, backward)


def test_weight_decay_shrinks_matrices_alone(pairs, tmp_path):
    trained = []
    for decay in (0.0, 10.0):
        job = job_of(
            pairs, tmp_path / str(decay), optimizer="sgd", learning_rate=1e-3, weight_decay=decay, epochs=1,
            batch_size=len(pairs),
        )  # fmt: skip
        train(job)
        trained.append(dict(job.network.named_parameters()))
    plain, decayed = trained
    initial = dict(job_of(pairs, tmp_path).network.named_parameters())
    weight = "convolution.weight"
    torch.testing.assert_close(decayed[weight], plain[weight] - 1e-3 * 10 * initial[weight])
    for name in ("convolution.words.weight", "convolution.bias"):
        torch.testing.assert_close(decayed[name], plain[name], atol=0, rtol=0)


SIZES = {"cnn": {"units": 12}, "lstm": {"hidden": 6}, "siamese_lstm": {"hidden": 6}, "dssm": {"hidden": 6, "latent": 6}}


@pytest.mark.parametrize("network", SIZES)
def test_word_vectors_stay_without_train_words(pairs, tmp_path, network):
    sizes = {"dim": 8, "train_words": False} | SIZES[network]
    job = job_of(pairs, tmp_path, network=network, loss="multiple_negatives", sizes=sizes, epochs=1)
    before = weights(job.network)
    train(job)
    after = job.network.state_dict()
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert changed
    assert f"{job.network.words_at}.weight" not in changed


@pytest.mark.parametrize(
    ("values", "least", "most"), [([0.1], 4, 19), ([0.1, 0.2, 0.1], 3, 17), ([0.5, 0.4, 0.3, 0.2], 1, 16)]
)
def test_time_left_counts_early_stopping(values, least, most):
    seen = []
    epochs = [trainer.Epoch(n, 1.0, value, 10.0, 1.0) for n, value in enumerate(values, 1)]
    settings = SimpleNamespace(epochs=20, patience=4, measure="AP")
    job = SimpleNamespace(on_progress=seen.append, settings=settings, examples=[None] * 10)
    trainer._report_progress(job, epochs, (3, 3), 1.0, 10.0, values[-1])
    assert (seen[0].least_remaining_s, seen[0].remaining_s) == pytest.approx((least, most))
