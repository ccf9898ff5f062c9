"""The training loop: epochs over pairs, each followed by a dev measure and a checkpoint; the best epoch is kept."""

import atexit
import copy
import ctypes
import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_fabric import Fabric
from torch import nn
from torch.multiprocessing.spawn import ProcessRaisedException
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer

from askalike import TrainingError
from askalike.plugin.features import Ints
from askalike.plugin.models import folder_errors
from askalike.plugin.training import TrainingProgress, TrainingProgressCallback, safe_path
from askalike_learning import checkpoint
from askalike_learning.checkpoint import BEST_WEIGHTS_FILE, Epoch
from askalike_learning.dev import DevSet
from askalike_learning.examples import Examples, add_random_negatives, make_batches
from askalike_learning.losses import Loss
from askalike_learning.networks import Network
from askalike_learning.objective import Objective, make_training_batch
from askalike_learning.recipes import NegativesSettings, TrainingSettings
from askalike_learning.used_rows import LazyAdam

MAX_PAIRS_NAMED = 3
"""Maximum number of pairs of a failed batch named in the message."""
IF_UNWRITABLE = "free some space; the same command then resumes after the last finished epoch"
"""The advice on a full disk."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt: how much freed memory a process keeps, and from which size on an array is mapped for itself."""
KEPT_BYTES, MAPPED_BYTES = 1 << 30, 1 << 28
DEFAULT_BYTES = 1 << 17
"""glibc's own value of both."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """Everything that training needs."""

    network: Network
    loss: Loss
    negatives: NegativesSettings
    settings: TrainingSettings
    examples: Examples
    dev: DevSet
    directory: Path
    """The folder of the checkpoint."""
    run_id: str
    """A digest of settings and data; only a checkpoint with the same one is resumed."""
    on_progress: TrainingProgressCallback | None = None


def train(job: TrainingJob) -> Sequence[Epoch]:
    """Train a network, or resume an interrupted run; return the epochs. `job.network` gets the best epoch's weights.

    The same job gives the same weights on devices of the same type, interrupted or not.
    Raises TrainingError for a loss that is not finite, and too little memory.
    """
    with folder_errors(job.directory, IF_UNWRITABLE):
        job.directory.mkdir(parents=True, exist_ok=True)
    with _unwrap_process_errors(), _keep_freed_memory(), _silence_advice():
        fabric = Fabric(
            accelerator=choose_accelerator(job.settings),
            devices=job.settings.devices,
            strategy="ddp_spawn" if job.settings.devices > 1 else "auto",
            precision=_choose_precision(job.settings),
        )
        with safe_path:
            fabric.launch(partial(_train_on_device, job=job))
    checkpoint.load_weights(job.network.cpu(), job.directory / BEST_WEIGHTS_FILE)
    return checkpoint.read_history(job.directory, job.run_id) or []


@contextmanager
def _silence_advice() -> Iterator[None]:
    """Hide what Fabric and torch advise a programmer of a training loop, which a user of one cannot follow."""
    logger = logging.getLogger("lightning_fabric")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse invariant checks")
            yield
    finally:
        logger.setLevel(level)


@contextmanager
def _keep_freed_memory() -> Iterator[None]:
    """Let the process keep freed memory meanwhile: fetching it again for each batch took a third of an LSTM's time.

    Nothing happens where the C library is not glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None

    def limit(kept_bytes: int, mapped_bytes: int) -> None:
        if mallopt is not None:
            mallopt(M_TRIM_THRESHOLD, kept_bytes)
            mallopt(M_MMAP_THRESHOLD, mapped_bytes)

    limit(KEPT_BYTES, MAPPED_BYTES)
    try:
        yield
    finally:
        limit(DEFAULT_BYTES, DEFAULT_BYTES)


def find_best_epoch(epochs: Sequence[Epoch]) -> Epoch:
    """Return the epoch with the highest dev measure, the first of several."""
    return max(epochs, key=lambda epoch: (epoch.value, -epoch.number))


def describe_device(settings: TrainingSettings) -> str:
    """Return a sentence on the GPU that trains and in which number format, or on a format that the CPU lacks; or ""."""
    accelerator = choose_accelerator(settings)
    precision = _choose_precision(settings)
    if accelerator == "cpu":
        lacks = settings.precision not in ("auto", precision)
        return f"training in {precision}, as this processor lacks {settings.precision}" if lacks else ""
    name = torch.cuda.get_device_name() if accelerator == "cuda" else "the Apple GPU"
    return f"training on {name} ({accelerator}, {precision})"


def _choose_precision(settings: TrainingSettings) -> Literal["32-true", "bf16-mixed"]:
    accelerator = choose_accelerator(settings)
    if settings.precision == "auto":
        return "bf16-mixed" if accelerator == "cuda" else "32-true"
    if accelerator == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():  # LSTMs fail there
        return "32-true"
    return settings.precision


def choose_accelerator(settings: TrainingSettings) -> Literal["cpu", "cuda", "mps"]:
    """Return the kind of device that trains; `auto` is a GPU if torch finds one."""
    if settings.accelerator != "auto":
        return settings.accelerator
    if torch.backends.mps.is_available():  # Fabric's order
        return "mps"
    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def _unwrap_process_errors() -> Iterator[None]:
    """Re-raise the TrainingError of another process in this process."""
    try:
        yield
    except ProcessRaisedException as error:
        last_line = str(error).strip().splitlines()[-1]
        kind, _, message = last_line.partition(": ")
        if not kind.endswith(TrainingError.__name__):
            raise
        raise TrainingError(message) from None


def _train_on_device(fabric: Fabric, job: TrainingJob) -> None:
    if fabric.world_size > 1:  # tensors passed to processes are in shared memory
        job = replace(job, network=copy.deepcopy(job.network))
    network, settings = job.network, job.settings
    _choose_sparse_gradients(network, settings)
    objective = Objective(network, job.loss, job.negatives)
    wrapped, optimizer = fabric.setup(objective, _create_optimizer(objective, settings))
    epochs = checkpoint.read_history(job.directory, job.run_id)
    fabric.barrier()
    if epochs is None:
        epochs = []
        _save_checkpoint(fabric, job, optimizer, epochs)
    else:
        checkpoint.restore(job.directory, network, optimizer)
    with torch.random.fork_rng():
        while not _is_finished(epochs, settings):
            epochs.append(_train_epoch(fabric, job, wrapped, optimizer, epochs))
            _save_checkpoint(fabric, job, optimizer, epochs)
    optimizer.zero_grad()  # Fabric's wrappers refer to each other: gradients and moments would wait for the collector
    optimizer.optimizer.state.clear()
    if fabric.world_size > 1:  # as the interpreter ends, threads of torch that still want it would abort the process
        atexit.register(os._exit, 0)


def _is_finished(epochs: Sequence[Epoch], settings: TrainingSettings) -> bool:
    epochs_since_best = len(epochs) - find_best_epoch(epochs).number if epochs else 0
    return len(epochs) >= settings.epochs or epochs_since_best >= settings.patience


def _save_checkpoint(fabric: Fabric, job: TrainingJob, optimizer: Optimizer, epochs: list[Epoch]) -> None:
    """Write the best weights, then the checkpoint: after a kill in between, the epoch is repeated and rewrites both."""
    if fabric.is_global_zero:
        with folder_errors(job.directory, IF_UNWRITABLE):
            if not epochs or find_best_epoch(epochs).number == len(epochs):
                checkpoint.save_weights(job.network, job.directory / BEST_WEIGHTS_FILE)
            checkpoint.save(job.directory, job.network, optimizer, job.run_id, epochs)
    fabric.barrier()


def _train_epoch(
    fabric: Fabric, job: TrainingJob, objective: nn.Module, optimizer: Optimizer, epochs: list[Epoch]
) -> Epoch:
    """Train on all pairs once. Random numbers depend on the seed and the epoch's number, so that it can be repeated."""
    settings = job.settings
    number = len(epochs) + 1
    job = replace(job, examples=add_random_negatives(job.examples, job.negatives, settings.seed, number))
    torch.manual_seed(settings.seed * 1_000_003 + number * 101 + fabric.global_rank)
    batches = _select_process_batches(fabric, job, number)
    objective.train()
    started = time.perf_counter()
    total_loss = 0.0
    pair_count = 0
    reported = 0.0
    for n in range(0, len(batches), settings.accumulate):
        of_step = batches[n : n + settings.accumulate]
        _set_learning_rate(optimizer, settings, number - 1 + n / len(batches))
        total_loss += _train_step(fabric, job, objective, optimizer, of_step, number, n)
        pair_count += sum(map(len, of_step))
        if fabric.is_global_zero and (now := time.perf_counter()) - reported > 1:
            reported = now
            rate = pair_count / (now - started)
            _report_progress(job, epochs, (n + len(of_step), len(batches)), total_loss / pair_count, rate)
    rate = pair_count * fabric.world_size / (time.perf_counter() - started)
    value = job.dev.evaluate(job.network, settings.measure) if fabric.is_global_zero else 0.0
    value = float(fabric.broadcast(value))
    epoch = Epoch(number, total_loss / max(pair_count, 1), value, rate, time.perf_counter() - started)
    if fabric.is_global_zero:
        _report_progress(job, [*epochs, epoch], (len(batches), len(batches)), epoch.loss, rate, value)
    return epoch


def _select_process_batches(fabric: Fabric, job: TrainingJob, epoch: int) -> list[Ints]:
    """Return the batches of this process; all processes have the same number."""
    settings = job.settings
    batches = make_batches(job.examples, settings.batch_size, settings.seed, epoch, separate=job.negatives.in_batch)
    count = max(len(batches) // fabric.world_size, 1)
    return [batches[(n * fabric.world_size + fabric.global_rank) % len(batches)] for n in range(count)]


def _train_step(
    fabric: Fabric,
    job: TrainingJob,
    objective: Any,
    optimizer: Optimizer,
    batches: Sequence[Ints],
    epoch: int,
    n: int,
) -> float:
    """Take an optimizer step and return the sum of its pairs' losses. n: the first batch's number."""
    settings = job.settings
    with convert_memory_errors(f"training.batch_size (now {settings.batch_size}) or features.longest"):
        optimizer.zero_grad()
        total = _compute_gradient(fabric, job, objective, batches, epoch, n)
        if settings.clip:
            fabric.clip_gradients(objective, optimizer, max_norm=settings.clip)
        optimizer.step()
    return total


def _compute_gradient(
    fabric: Fabric, job: TrainingJob, objective: Any, batches: Sequence[Ints], epoch: int, n: int
) -> float:
    """Set the gradient to the mean over the batches and return the sum of their pairs' losses."""
    settings, total = job.settings, 0.0
    for number, pairs in enumerate(batches, n):
        if settings.accumulate > 1:  # each batch has its own random numbers, whatever the step
            torch.manual_seed(settings.seed * 1_000_003 + epoch * 1_009 + number)
        losses = objective(make_training_batch(job.examples, pairs, fabric.device)).float()
        batch_loss = float(losses.detach().sum())
        if not math.isfinite(batch_loss):
            raise TrainingError(_describe_infinite_loss(job, pairs, epoch, number, batch_loss))
        fabric.backward((losses.sum() if settings.reduction == "sum" else losses.mean()) / len(batches))
        total += batch_loss
    return total


def _describe_infinite_loss(job: TrainingJob, pairs: Ints, epoch: int, n: int, loss: float) -> str:
    ids = job.examples.ids
    names = [f"{ids[job.examples.query[p]]}–{ids[job.examples.positive[p]]}" for p in pairs[:MAX_PAIRS_NAMED]]
    return (
        f"the loss is {loss} in epoch {epoch}, batch {n + 1} (pairs {', '.join(names)}, … {len(pairs)} in all); "
        f"lower training.learning_rate (now {job.settings.learning_rate:g}) or set training.clip=1"
    )


@contextmanager
def convert_memory_errors(setting: str) -> Iterator[None]:
    """If memory runs out, raise a TrainingError that names the setting to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise TrainingError(f"out of memory; lower {setting}") from None


def _report_progress(
    job: TrainingJob, epochs: list[Epoch], done: tuple[int, int], loss: float, rate: float, value: float | None = None
) -> None:
    if job.on_progress is None:
        return
    number = len(epochs) + (value is None)
    total = job.settings.epochs
    dev_s = sum(e.seconds - len(job.examples) / e.examples_per_second for e in epochs) / max(len(epochs), 1)
    epochs_left = total - number + 1 - done[0] / max(done[1], 1)
    epoch_s = len(job.examples) / max(rate, 1e-9) + max(dev_s, 0)
    best = find_best_epoch(epochs) if epochs else None
    until_stop = (best.number if best else 1) + job.settings.patience - total
    least_s = max(min(epochs_left + until_stop, epochs_left), 0) * epoch_s
    job.on_progress(
        TrainingProgress(
            number, total, *done, loss, rate, epochs_left * epoch_s, least_s, job.settings.measure, value,
            best.value if best else None,
        )
    )  # fmt: skip


def _choose_sparse_gradients(network: Network, settings: TrainingSettings) -> None:
    """Make the gradients of embeddings sparse if the optimizer supports it: it then skips words not in the batch."""
    is_sparse = settings.optimizer in ("sgd", "adagrad", "lazy_adam") and settings.devices == 1
    is_sparse = is_sparse and not settings.clip
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = is_sparse


def _create_optimizer(objective: nn.Module, settings: TrainingSettings) -> Optimizer:
    classes: dict[str, Any] = {"sgd": SGD, "adam": Adam, "adamw": AdamW, "adagrad": Adagrad, "lazy_adam": LazyAdam}
    trained = [parameter for parameter in objective.parameters() if parameter.requires_grad]
    tables = {id(module.weight) for module in objective.modules() if isinstance(module, nn.Embedding)}
    matrices = [parameter for parameter in trained if parameter.dim() > 1 and id(parameter) not in tables]
    others = [parameter for parameter in trained if parameter.dim() < 2 or id(parameter) in tables]
    groups = [{"params": others, "weight_decay": 0.0}, {"params": matrices, "weight_decay": settings.weight_decay}]
    options: dict[str, Any] = {"lr": settings.learning_rate}
    if settings.optimizer in ("adam", "adamw"):
        options["fused"] = True  # one pass over the weights, where a large vocabulary takes as long as the network
    return classes[settings.optimizer]([group for group in groups if group["params"]], **options)  # type: ignore[no-any-return]


def _set_learning_rate(optimizer: Optimizer, settings: TrainingSettings, epochs_done: float) -> None:
    share_done = epochs_done / settings.epochs
    factor = 1 - share_done if settings.schedule == "linear" else 1.0
    if share_done < settings.warm_up:
        factor *= share_done / settings.warm_up
    for group in optimizer.param_groups:
        group["lr"] = settings.learning_rate * factor
