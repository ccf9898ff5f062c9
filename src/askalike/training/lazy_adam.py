"""Adam that updates only the rows of a vocabulary that a batch contains; the others keep their moments."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba 2015) of only the rows in a sparse gradient, many times as fast with a large vocabulary."""

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

    def _update_parameter(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] += 1
        number = float(state["step"])
        first, second = group["betas"]
        if gradient.is_sparse:
            gradient = gradient.coalesce()
            rows: Any = gradient.indices()[0]
            gradient = gradient.values()
        else:
            rows = slice(None)
        mean = state["mean"][rows] * first + gradient * (1 - first)
        square = state["square"][rows] * second + gradient * gradient * (1 - second)
        state["mean"][rows], state["square"][rows] = mean, square
        rate = group["lr"] * (1 - second**number) ** 0.5 / (1 - first**number)
        parameter[rows] -= rate * mean / (square.sqrt() + group["eps"])
