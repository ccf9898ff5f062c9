"""A sample of comments for a person to judge, and the share of right comments estimated from it."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askalike import InputError
from askalike.plugin.measuring import percentile_interval

SAMPLE_SIZE = 30
DRAWS = 10_000
QUESTION_COLUMN, RIGHT_COLUMN = "question_id", "right"
Judged = int
"""The place of the first suggestion that asks the same, from 1; 0 if none does."""
OpenComment = tuple[str, Sequence[float]]
"""The id of a question whose comment no label confirms, and the scores of its suggestions, best first."""


class RightEstimate(NamedTuple):
    """The estimated share of right comments, its 95 % interval, and the number of judged comments behind it."""

    value: float
    low: float
    high: float
    judged: int

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"value": self.value, "interval": [self.low, self.high], "judged": self.judged}


def draw_comments(comments: Iterable[OpenComment], thresholds: Sequence[float]) -> list[str]:
    """Draw up to SAMPLE_SIZE comments at random, as many as possible of them evenly from each band of thresholds.

    Return the ids of their questions. Comments below all thresholds are not drawn.
    """
    bands = _group_into_bands(comments, thresholds)
    rng = np.random.default_rng(0)
    shuffled = [[ids[place] for place in rng.permutation(len(ids))] for ids in bands]
    rounds = (id for ids in _transpose(shuffled) for id in ids)
    return [id for id, _ in zip(rounds, range(SAMPLE_SIZE), strict=False)]


def estimate_right(
    confirmed: int,
    comments: Sequence[OpenComment],
    judged: Mapping[str, Judged],
    threshold: float,
    thresholds: Sequence[float],
) -> RightEstimate | None:
    """Estimate the share of right comments at a threshold: those that labels confirm, and of the others a share.

    The share is estimated in each band of scores by itself, as the sample is drawn evenly from bands. The interval is
    the middle 95 % of DRAWS of the number of right comments among those not judged (beta-binomial, prior of Jeffreys).
    None if a band with comments has no judged one.
    """
    total = confirmed + len(comments)
    scores = dict(comments)
    right = float(confirmed)
    judged_count = 0
    posterior = np.full(DRAWS, float(confirmed))
    rng = np.random.default_rng(0)
    for ids in _group_into_bands(comments, [t for t in thresholds if t >= threshold]):
        known = [is_right_at(judged[id], scores[id], threshold) for id in ids if id in judged]
        if ids and not known:
            return None
        if ids:
            rest = len(ids) - len(known)
            n_right = sum(known)
            right += len(ids) * n_right / len(known)
            posterior += n_right + rng.binomial(rest, rng.beta(n_right + 0.5, len(known) - n_right + 0.5, DRAWS))
            judged_count += len(known)
    if not total:
        return None
    low, high = percentile_interval(posterior / total)
    return RightEstimate(right / total, low, high, judged_count)


def is_right_at(judged: Judged, scores: Sequence[float], threshold: float) -> bool:
    """Return whether the suggestion that a person called right would have been shown."""
    return 0 < judged <= len(scores) and scores[judged - 1] >= threshold


def read_judged(path: Path) -> dict[str, Judged]:
    """Return the judgements in a sample that a person has filled in, by question. Raises InputError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if missing := {QUESTION_COLUMN, RIGHT_COLUMN} - set(rows.fieldnames or ()):
                raise InputError(f"{path}: no column {' or '.join(sorted(missing))}; expected a backtest's sample.csv")
            cells = [(rows.line_num, row[QUESTION_COLUMN], (row[RIGHT_COLUMN] or "").strip()) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error}); expected a backtest's sample.csv") from None
    for line, _, cell in cells:
        if not re.fullmatch(r"\d?", cell):
            raise InputError(
                f"{path}, line {line}: right is {cell!r}; expected the number of the suggestion that asks the same, "
                "0 for none, or nothing"
            )
    judged = {id.removeprefix("'"): int(cell) for _, id, cell in cells if cell}
    if not judged:
        raise InputError(f"{path}: nothing is judged yet; fill in the column {RIGHT_COLUMN}")
    return judged


def _group_into_bands(comments: Iterable[OpenComment], thresholds: Sequence[float]) -> list[list[str]]:
    """Return the ids of the questions whose best score is from each threshold up to the next, the lowest first."""
    bands: list[list[str]] = [[] for _ in thresholds]
    edges = sorted(thresholds)
    for id, scores in comments:
        if scores and (band := int(np.searchsorted(edges, max(scores), "right"))):
            bands[band - 1].append(id)
    return bands


def _transpose(bands: Sequence[Sequence[str]]) -> Iterable[list[str]]:
    """Yield the first ids of all bands, then the second ones, and so on, from the highest band down."""
    for n in range(max(map(len, bands), default=0)):
        yield [ids[n] for ids in reversed(bands) if n < len(ids)]
