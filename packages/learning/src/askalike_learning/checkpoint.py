"""Checkpoints to resume training: tensors as safetensors, with everything else as JSON in their metadata."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor, nn
from torch.optim import Optimizer

from askalike import InputError
from askalike.plugin.models import replace_file, tensor_errors

CHECKPOINT_FILE = "checkpoint.safetensors"
BEST_WEIGHTS_FILE = "best.safetensors"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The record of one epoch."""

    number: int
    """Counted from 1."""
    loss: float
    """The mean over all pairs."""
    value: float
    """The dev measure after the epoch, from 0 to 1."""
    examples_per_second: float
    seconds: float
    """The duration, including the dev measure."""


def save_weights(network: nn.Module, path: Path) -> None:
    """Write a network's parameters atomically: readers see the old file or the new one."""
    _write_tensors(network.state_dict(), {}, path)


def load_weights(network: nn.Module, path: Path) -> None:
    """Load a file's parameters into a network. Raises InputError if they do not match the network."""
    try:
        network.load_state_dict(safetensors.torch.load_file(path))
    except (OSError, RuntimeError, safetensors.SafetensorError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"{path}: not this model's weights ({reason}); train it again") from None


def save(directory: Path, network: nn.Module, optimizer: Optimizer, run_id: str, history: Sequence[Epoch]) -> None:
    """Write everything that the next epoch depends on. run_id: a digest of the settings and the data."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{key}": value for key, value in values.items() if isinstance(value, Tensor)}
    metadata = {"run": run_id, "history": json.dumps([asdict(epoch) for epoch in history])}
    _write_tensors(tensors, metadata, directory / CHECKPOINT_FILE)


def read_history(directory: Path, run_id: str) -> list[Epoch] | None:
    """Return the finished epochs of a run; None if there is no checkpoint of it."""
    try:
        with safetensors.safe_open(directory / CHECKPOINT_FILE, "pt") as file:
            metadata = file.metadata() or {}
    except (OSError, safetensors.SafetensorError):
        return None
    if metadata.get("run") != run_id:
        return None
    return [Epoch(**row) for row in json.loads(metadata["history"])]


def restore(directory: Path, network: nn.Module, optimizer: Optimizer) -> None:
    """Load a checkpoint's tensors into the network and the optimizer."""
    tensors = safetensors.torch.load_file(directory / CHECKPOINT_FILE)
    network.load_state_dict({name: tensors[f"network.{name}"] for name in network.state_dict()})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimizer":
            number, _, key = rest.partition(".")
            state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _write_tensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], path: Path) -> None:
    with replace_file(path) as partial, tensor_errors():
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        safetensors.torch.save_file(plain, partial, dict(metadata))
