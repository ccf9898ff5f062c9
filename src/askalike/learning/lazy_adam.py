"""Adam that updates only the rows of a vocabulary that a batch contains."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

ROWS_AT_ONCE = 4_096
"""Number of rows updated together, to limit the memory for intermediate results."""


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba 2015) for only the rows in a sparse gradient, much faster with a large vocabulary."""

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

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        """Return the state of a parameter before its first step."""
        state: dict[str, Any] = self.state[parameter]
        state |= {name: torch.zeros_like(parameter) for name in ("mean", "square")} | {"step": torch.zeros(())}
        return state

    def _update_parameter(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter] or self._start(parameter)
        state["step"] += 1
        number, (first, second) = float(state["step"]), group["betas"]
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
