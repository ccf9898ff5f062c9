"""Trains only the rows used by the texts: the other rows of a table network are on disk, with initial values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from askalike.core.types import RESERVED
from askalike.learning.checkpoint import save_weights
from askalike.learning.dev import DevSet
from askalike.learning.examples import Examples
from askalike.learning.networks import Network
from askalike.text.features import RaggedArray

INITIAL_FILE = "initial.safetensors"


class UsedRows:
    """The numbers of a table's rows used in training, `rows` (n,), ascending; in training they become 0 to n − 1."""

    def __init__(self, rows: NDArray[np.int64], folder: Path) -> None:
        self.rows, self._path = rows, folder / INITIAL_FILE

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
        whole, rows = network.state_dict(), torch.from_numpy(self.rows)
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
