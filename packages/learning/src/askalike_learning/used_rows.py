"""Training of only the used rows of a vocabulary: those of the texts, and in each step those of a batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor
from torch.optim import Optimizer

from askalike.plugin.features import RESERVED, RaggedArray
from askalike_learning.checkpoint import save_weights
from askalike_learning.dev import DevSet
from askalike_learning.examples import Examples
from askalike_learning.networks import Network

INITIAL_FILE = "initial.safetensors"
ROWS_AT_ONCE = 4_096
"""Number of rows updated together, to limit the memory for intermediate results."""


class UsedRows:
    """The numbers of a table's rows used in training, `rows` (n,), ascending; in training they become 0 to n − 1."""

    def __init__(self, rows: NDArray[np.int64], folder: Path) -> None:
        self.rows = rows
        self._path = folder / INITIAL_FILE

    @classmethod
    def find(cls, examples: Examples, dev: DevSet, folder: Path) -> Self:
        """Return the rows of all texts. folder: for the initial values of all rows."""
        ids = np.concatenate([np.arange(RESERVED), _ids(examples).values, _ids(dev).values])
        return cls(np.unique(ids), folder)

    def save_initial(self, network: Network) -> None:
        """Write the whole initial table."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        save_weights(network, self._path)

    def select(self, network: Network) -> Network:
        """Return a network with only these rows."""
        with torch.random.fork_rng():
            selected = type(network)(network.settings, len(self.rows))
        whole = network.state_dict()
        rows = torch.from_numpy(self.rows)
        for name, tensor in selected.state_dict().items():
            torch.index_select(whole[name], 0, rows, out=tensor)
        return selected

    def renumber(self, part: Examples | DevSet) -> RaggedArray:
        """Return the texts with the ids of the selected network."""
        ids = _ids(part)
        return RaggedArray(np.searchsorted(self.rows, ids.values).astype(np.int32), ids.starts)

    def fill_in(self, trained: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the whole table's tensors: these rows as trained, the others with initial values."""
        tensors = {name: tensor.numpy() for name, tensor in load_file(self._path).items()}
        for name, values in trained.items():
            tensors[name][self.rows] = values
        return tensors


def _ids(part: Examples | DevSet) -> RaggedArray:
    return cast(RaggedArray, part.rows)  # the features of table networks


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba 2015) for only the rows in a sparse gradient, much faster with a large vocabulary."""

    def __init__(self, params: Iterable[Tensor], lr: float = 0.001) -> None:
        super().__init__(params, {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; return the loss of `closure`, None without one."""
        loss = closure() if closure else None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update_parameter(parameter, parameter.grad, group)
        return loss

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        """Return the state of a parameter before its first step."""
        state: dict[str, Any] = self.state[parameter]
        state |= {name: torch.zeros_like(parameter) for name in ("mean", "square")} | {"step": torch.zeros(())}
        return state

    def _update_parameter(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter] or self._start(parameter)
        state["step"] += 1
        number = float(state["step"])
        (first, second) = group["betas"]
        rate = group["lr"] * (1 - second**number) ** 0.5 / (1 - first**number)
        for rows, part in _split_by_rows(gradient):
            mean = state["mean"][rows].mul_(first).add_(part, alpha=1 - first)
            square = state["square"][rows].mul_(second).addcmul_(part, part, value=1 - second)
            state["mean"][rows], state["square"][rows] = mean, square
            parameter[rows] -= rate * mean / (square.sqrt() + group["eps"])


def _split_by_rows(gradient: Tensor) -> Iterator[tuple[Any, Tensor]]:
    """Yield rows of a parameter with their gradient; a sparse gradient in chunks of rows."""
    if not gradient.is_sparse:
        yield ..., gradient
        return
    gradient = gradient.coalesce()
    yield from zip(
        *(torch.split(part, ROWS_AT_ONCE) for part in (gradient.indices()[0], gradient.values())), strict=True
    )
