"""Losses by hand, and what every loss keeps to."""

import math

import pytest
import torch

from askalike.core import registry
from askalike_learning.losses import Scores
from askalike_learning.losses.contrastive import ContrastiveLoss
from askalike_learning.losses.cross_entropy import CrossEntropyLoss
from askalike_learning.losses.logistic_ranking import LogisticRankingLoss
from askalike_learning.losses.multiple_negatives import MultipleNegativesLoss
from askalike_learning.losses.triplet import TripletLoss

T, F = True, False


def scores(positive, forward, backward=None, forward_mask=None, backward_mask=None):
    def block(rows, mask):
        values = torch.tensor(rows, dtype=torch.double).view(len(positive), -1)
        return values, torch.ones_like(values, dtype=torch.bool) if mask is None else torch.tensor(mask)

    backward = [[] for _ in positive] if backward is None else backward
    return Scores(
        torch.tensor(positive, dtype=torch.double), *block(forward, forward_mask), *block(backward, backward_mask)
    )


def test_logistic_ranking_sums_the_hardest_of_each_side():
    loss = LogisticRankingLoss(gamma=10)(scores([0.8], [[0.1, 0.5]], [[0.7, 0.9]], backward_mask=[[T, F]]))
    expected = math.log(1 + math.exp(-10 * (0.8 - 0.5))) + math.log(1 + math.exp(-10 * (0.8 - 0.7)))
    assert loss.tolist() == [pytest.approx(expected)]


def test_contrastive():
    loss = ContrastiveLoss(margin=0.2)(scores([0.8, 0.3], [[0.1, 0.5], [0.6, 0.0]], forward_mask=[[T, T], [T, F]]))
    assert loss.tolist() == pytest.approx([0.2 + (0 + 0.3) / 2, 0.7 + 0.4])


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("violated", [((10 + 3 - 5) + (10 + 3 - 2)) / 2, 0.0]),
        ("all", [((10 + 3 - 5) + 0 + (10 + 3 - 2)) / 3, 0.0]),
        ("hardest", [10 + 3 - 2, 0.0]),
        ("semi_hard", [10 + 3 - 5, 0.0]),
    ],
)
def test_triplet_loss_is_the_mean_over_negatives(over, expected):
    rows = scores([-3.0, -1.0], [[-5.0, -14.0], [-12.0, -9.0]], [[-2.0], [-20.0]], [[T, T], [T, F]])
    assert TripletLoss(margin=10, over=over)(rows).tolist() == pytest.approx(expected)


def test_semi_hard_takes_the_easiest_without_lower_ones():
    loss = TripletLoss(margin=10, over="semi_hard")(scores([-9.0], [[-5.0, -7.0, -2.0]], forward_mask=[[T, T, F]]))
    assert loss.tolist() == pytest.approx([10 + 9 - 7])


@pytest.mark.parametrize("over", ["violated", "all", "semi_hard", "hardest"])
def test_triplet_loss_without_negatives_is_zero(over):
    assert TripletLoss(over=over)(scores([-3.0], [[]])).tolist() == [0.0]


def test_cross_entropy():
    loss = CrossEntropyLoss()(scores([2.0], [[-1.0, 0.5]]))
    expected = (
        -math.log(1 / (1 + math.exp(-2))) - (math.log(1 / (1 + math.exp(-1))) + math.log(1 / (1 + math.exp(0.5)))) / 2
    )
    assert loss.tolist() == pytest.approx([expected])


def test_multiple_negatives_from_both_ends():
    rows = scores([0.9, 0.4], [[0.0, 0.2], [0.3, 0.0]], [[0.0, 0.3], [0.2, 0.0]], [[F, T], [T, F]], [[F, T], [T, F]])

    def way(positive, negative):
        return -math.log(math.exp(20 * positive) / (math.exp(20 * positive) + math.exp(20 * negative)))

    expected = [(way(0.9, 0.2) + way(0.9, 0.3)) / 2, (way(0.4, 0.3) + way(0.4, 0.2)) / 2]
    assert MultipleNegativesLoss()(rows).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("name", registry.names("loss"))
def test_every_loss_has_finite_values_and_right_gradients(name):
    loss = registry.load("loss", name)()
    torch.manual_seed(3)
    positive, forward, backward = (torch.rand(4, *m, dtype=torch.double) - 0.3 for m in ((), (3,), (2,)))
    masks = torch.rand(4, 3) > 0.4, torch.rand(4, 2) > 0.4
    masks[0][0], masks[1][0] = False, False  # a pair without a negative

    def of(*values):
        return loss(Scores(values[0], values[1], masks[0], values[2], masks[1]))

    inputs = tuple(v.requires_grad_() for v in (positive, forward, backward))
    assert of(*inputs).isfinite().all()
    assert of(*inputs).shape == (4,)
    assert torch.autograd.gradcheck(of, inputs)


@pytest.mark.parametrize("name", registry.names("loss"))
def test_losses_fall_as_positives_rise_and_negatives_fall(name):
    loss = registry.load("loss", name)()
    close, far = ([0.3], [[0.5]], [[0.5]]), ([0.9], [[0.1]], [[0.1]])
    assert loss(scores(*far)) < loss(scores(*close))
