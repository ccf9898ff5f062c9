"""Adam that updates only the rows of a vocabulary that a batch contains, and holds moments of those that occurred."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

GROWTH = 4
"""Moments grow by a quarter more than is needed, so that few batches copy them."""
ROWS_AT_ONCE = 4_096
"""Rows that are updated together, so that what is computed on the way takes little memory."""


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba 2015) of only the rows in a sparse gradient, many times as fast with a large vocabulary.

    The state of a parameter with sparse gradients: `mean` and `square` (places, dim), and `places` (rows,), where the
    moments of each row are, −1 for a row that no gradient has had.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 0.001, weight_decay: float = 0.0) -> None:
        if weight_decay:
            raise ValueError("lazy_adam has no weight decay")
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

    def _start(self, parameter: Tensor, is_sparse: bool) -> dict[str, Any]:
        """Return the state of a parameter before its first step."""
        state: dict[str, Any] = self.state[parameter]
        shape = (0, *parameter.shape[1:]) if is_sparse else parameter.shape
        state |= {"step": torch.zeros(()), "mean": parameter.new_zeros(shape), "square": parameter.new_zeros(shape)}
        if is_sparse:
            state["places"] = torch.full((len(parameter),), -1, device=parameter.device)
        return state

    def _update_parameter(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter] or self._start(parameter, gradient.is_sparse)
        state["step"] += 1
        number, (first, second) = float(state["step"]), group["betas"]
        rate = group["lr"] * (1 - second**number) ** 0.5 / (1 - first**number)
        for rows, places, part in _split_by_rows(gradient, state):
            mean = state["mean"][places].mul_(first).add_(part, alpha=1 - first)
            square = state["square"][places].mul_(second).addcmul_(part, part, value=1 - second)
            state["mean"][places], state["square"][places] = mean, square
            parameter[rows] -= rate * mean / (square.sqrt() + group["eps"])


def _split_by_rows(gradient: Tensor, state: dict[str, Any]) -> Iterator[tuple[Any, Any, Tensor]]:
    """Yield rows of a parameter, where their moments are, and their gradient: a sparse one a few rows at a time."""
    if not gradient.is_sparse:
        yield ..., ..., gradient
        return
    gradient = gradient.coalesce()
    rows = gradient.indices()[0]
    places = _find_places(state, rows) if "places" in state else rows
    yield from zip(*(torch.split(part, ROWS_AT_ONCE) for part in (rows, places, gradient.values())), strict=True)


def _find_places(state: dict[str, Any], rows: Tensor) -> Tensor:
    """Return where the moments of rows are, (rows,), after those that are new were given the next places."""
    places: Tensor = state["places"]
    new = rows[places[rows] < 0]
    if len(new):
        used = int(places.max()) + 1
        needed = used + len(new)
        places[new] = torch.arange(used, needed, dtype=places.dtype, device=places.device)
        for name in ("mean", "square") if needed > len(state["mean"]) else ():
            capacity = min(needed + needed // GROWTH, len(places))
            grown = state[name].new_zeros(capacity, *state[name].shape[1:])
            grown[:used] = state[name][:used]
            state[name] = grown
    return places[rows].long()  # a state that was loaded has floats
