"""Lazy Adam is Adam where every row is touched, and leaves alone what is not."""

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from askalike_learning import used_rows
from askalike_learning.recipes import TrainingSettings
from askalike_learning.used_rows import LazyAdam


def train(sparse, optimizer, batches):
    torch.manual_seed(3)
    table, layer = nn.Embedding(6, 4, sparse=sparse), nn.Linear(4, 1)
    adam = optimizer([*table.parameters(), *layer.parameters()], lr=0.05)
    for rows in batches:
        adam.zero_grad()
        layer(table(torch.tensor(rows))).square().sum().backward()
        adam.step()
    return table.weight.detach(), layer.weight.detach()


@pytest.mark.parametrize("sparse", [True, False])
def test_it_is_adam_where_every_row_is_touched(sparse):
    batches = [[0, 1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0]] * 5
    ours, theirs = train(sparse, LazyAdam, batches), train(False, torch.optim.Adam, batches)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_rows_that_do_not_occur_stay():
    before = train(True, LazyAdam, [])[0]
    after = train(True, LazyAdam, [[0, 1], [1]])[0]
    torch.testing.assert_close(before[2:], after[2:], atol=0, rtol=0)
    assert not torch.equal(before[:2], after[:2])


def test_it_has_no_weight_decay():
    with pytest.raises(ValidationError, match="lazy_adam has no weight decay"):
        TrainingSettings(optimizer="lazy_adam", weight_decay=0.1)


def take_steps(table, adam, batches):
    for rows in batches:
        adam.zero_grad()
        table(torch.tensor(rows)).square().sum().backward()
        adam.step()


@pytest.mark.parametrize("rows_at_once", [1, 2, 4_096])
def test_loaded_state_goes_on_as_if_never_saved(monkeypatch, rows_at_once):
    monkeypatch.setattr(used_rows, "ROWS_AT_ONCE", rows_at_once)
    first, second = [[0, 1], [1, 4]], [[4, 0], [2, 5, 2]]
    tables = [nn.Embedding(6, 4, sparse=True) for _ in range(2)]
    tables[1].load_state_dict(tables[0].state_dict())
    whole, halves = (LazyAdam(table.parameters()) for table in tables)
    take_steps(tables[0], whole, first + second)
    take_steps(tables[1], halves, first)
    resumed = LazyAdam(tables[1].parameters())
    resumed.load_state_dict(halves.state_dict())
    take_steps(tables[1], resumed, second)
    torch.testing.assert_close(tables[0].weight, tables[1].weight, atol=0, rtol=0)
