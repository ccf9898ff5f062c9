"""What training keeps on disk to go on where it was killed: tensors as safetensors, the rest as JSON in it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor, nn
from torch.optim import Optimizer

from askalike.errors import InputError

CHECKPOINT_FILE = "checkpoint.safetensors"
BEST_WEIGHTS_FILE = "best.safetensors"


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch's record. `value` is the dev measure after it, a share of 1; `loss` the mean of all pairs."""

    number: int
    loss: float
    value: float
    examples_per_second: float
    seconds: float


def save_weights(network: nn.Module, path: Path) -> None:
    """Writes a network's parameters in one step: a reader finds the old file or the new one."""
    _write_tensors(
        {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}, {}, path
    )


def load_weights(network: nn.Module, path: Path) -> None:
    """Puts a file's parameters into a network. Raises InputError where they are not that network's."""
    try:
        network.load_state_dict(safetensors.torch.load_file(path))
    except (OSError, RuntimeError, safetensors.SafetensorError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"{path}: not this model's weights ({reason}); train it again") from None


def save(directory: Path, network: nn.Module, optimizer: Optimizer, run_id: str, history: Sequence[Epoch]) -> None:
    """Writes everything that the next epoch depends on. `run` names what is trained: settings and data."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{key}": value for key, value in values.items() if isinstance(value, Tensor)}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    _write_tensors(
        tensors, {"run": run_id, "history": json.dumps([asdict(e) for e in history])}, directory / CHECKPOINT_FILE
    )


def read_history(directory: Path, run_id: str) -> list[Epoch] | None:
    """The epochs of this very run that are done; None where there is no checkpoint of it."""
    try:
        with safetensors.safe_open(directory / CHECKPOINT_FILE, "pt") as file:
            found = file.metadata() or {}
    except (OSError, safetensors.SafetensorError):
        return None
    if found.get("run") != run_id:
        return None
    return [Epoch(**row) for row in json.loads(found["history"])]


def restore(directory: Path, network: nn.Module, optimizer: Optimizer) -> None:
    """Puts a checkpoint's tensors into the network and the optimizer."""
    tensors = safetensors.torch.load_file(directory / CHECKPOINT_FILE)
    own = network.state_dict()
    network.load_state_dict({name: tensors[f"network.{name}"] for name in own})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimizer":
            number, _, key = rest.partition(".")
            state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _write_tensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], path: Path) -> None:
    partial = path.with_name(path.name + ".partial")
    safetensors.torch.save_file(dict(tensors), partial, dict(metadata))
    os.replace(partial, path)
