"""Looks for likely duplicates in an archive, a few questions at a time, and puts them up for people to decide."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Self

import numpy as np

from askalike.archive.proposals import Found, forget, propose
from askalike.archive.store import Archive, storage_errors
from askalike.archive.view import question_of
from askalike.archive.writer import QUESTION_COLUMNS
from askalike.clock import now
from askalike.curation.dedupe import merits
from askalike.curation.hits import found
from askalike.curation.neighbours import LEAST
from askalike.engines._calibration import Calibration, kept, settings_of
from askalike.evaluation.curves import Floats
from askalike.evaluation.prevalence import prevalence, shifted
from askalike.rankers import Ranker
from askalike.types import Question

AT_A_TIME = 4
"""Questions a step."""
SAMPLE = 1_000
"""From the first hits of so many questions, spread over the archive, it is told how many have a duplicate."""
FEWEST = 0.001
"""At least this share is taken to have one, and no less than known links say: an estimate from few can come to none."""
MOST = 10_000
"""As many wait at a time; the least certain go."""
MANY = 1_000
"""More new questions than this are looked through with the backlog, the newest first."""


@dataclass(slots=True)
class Sweep:
    """How far the search has come; a new calibration, ranker or setting begins another one.

    All changed after `change`, or in it with a number after `number`, is new; of the backlog all from `below` on is
    done. `first`: the probabilities of the sample's first hits, None for a question without one; `share`: of questions
    with a duplicate, by them.
    """

    fingerprint: str
    started_at: str
    change: int
    number: int
    below: int
    first: list[float | None] = field(default_factory=list)
    share: float | None = None

    @classmethod
    def read(cls, archive: Archive, fingerprint: str) -> Self:
        """The one that was interrupted, or a new one."""
        row = archive.connection.execute("SELECT * FROM proposing WHERE fingerprint = ?", (fingerprint,)).fetchone()
        if row:
            return cls(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), row[6])
        return cls(fingerprint, now("milliseconds"), *_end(archive))

    def keep(self, archive: Archive) -> None:
        """Remembers it, and no other."""
        *places, first, share = astuple(self)
        with storage_errors(archive.path):
            archive.connection.execute("DELETE FROM proposing WHERE fingerprint != ?", (self.fingerprint,))
            archive.connection.execute(
                "INSERT OR REPLACE INTO proposing VALUES (?, ?, ?, ?, ?, ?, ?)", (*places, json.dumps(first), share)
            )


class Proposer:
    """Goes through an archive's questions with a ranker whose index follows it: the new ones first, then the others.

    Where the ranker is calibrated, pairs are proposed with the probabilities that `dedupe` has: the mean where each
    finds the other, carried over to the archive, where most questions have no duplicate; from LEAST on. Where it is
    not, each question's first hit is proposed, by its score.
    """

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._archive = archive
        self._ranker = ranker
        self._view = archive.view()
        self._sweep: Sweep | None = None
        self._calibration: Calibration | None = None
        self._checked = -1

    def step(self) -> bool:
        """Looks at a few questions; False where nothing is left to be looked at. The ranker's index is up to date."""
        sweep = self._current()
        if self._calibration and sweep.share is None:
            self._estimate(self._calibration, sweep)
        elif questions := self._new(sweep) or self._older(sweep):
            if propose(self._archive, self._found(questions, sweep)):
                forget(self._archive, most=MOST)
        elif sweep.below:
            sweep.below = 0
            forget(self._archive, before=sweep.started_at)  # what another ranker found, and this one did not
        else:
            return False
        sweep.keep(self._archive)
        return True

    def _current(self) -> Sweep:
        """The sweep, begun afresh where what ranks or what its scores mean is another than before."""
        change = self._view.change
        if self._sweep is None or self._checked != change:
            self._checked, calibration = change, kept(self._archive, self._ranker)
            self._calibration = calibration if calibration and not calibration.state.objection(self._view) else None
            parts = (self._ranker.name, settings_of(self._ranker.values), self._calibration and repr(self._calibration))
            fingerprint = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
            if self._sweep is None or self._sweep.fingerprint != fingerprint:
                self._sweep = Sweep.read(self._archive, fingerprint)
        return self._sweep

    def _estimate(self, calibration: Calibration, sweep: Sweep) -> None:
        """Takes a few more questions into the sample, and where it is whole tells the share from it."""
        done, size = len(sweep.first), min(SAMPLE, len(self._view))
        top = _end(self._archive)[2] - 1
        for n in range(done, min(done + AT_A_TIME, size)):
            asked = map(question_of, self._rows("number >= ? ORDER BY number", 1 + n * top // size)[:1])
            told = [p for _, _, features in self._hits(asked) for p in calibration.probabilities(features[:1])]
            sweep.first.append(float(told[0]) if told else None)
        if len(sweep.first) >= size:
            known = np.array([p for p in sweep.first if p is not None], np.float64)
            least = max(FEWEST, calibration.base_rate * self._linked() / max(len(self._view), 1))
            sweep.share = min(max(prevalence(known, calibration.base_rate), least), calibration.base_rate)

    def _linked(self) -> int:
        """How many questions are known to have a duplicate."""
        ends = " UNION ".join(f"SELECT {end} AS id FROM links WHERE kind = 'duplicate'" for end in ("source", "target"))
        return int(
            self._archive.connection.execute(f"SELECT COUNT(*) FROM questions JOIN ({ends}) USING (id)").fetchone()[0]
        )

    def _new(self, sweep: Sweep) -> list[Question]:
        """Questions that were put or changed since; where there are many, all begins afresh, the newest first."""
        if self._view.changed(sweep.change) > MANY:
            sweep.change, sweep.number, sweep.below = _end(self._archive)
            return []
        rows = self._rows("(change, number) > (?, ?) ORDER BY change, number", sweep.change, sweep.number)
        if rows:
            sweep.change, sweep.number = rows[-1][-1], rows[-1][0]
        return list(map(question_of, rows))

    def _older(self, sweep: Sweep) -> list[Question]:
        """The next questions of the backlog, from the newest to the oldest."""
        rows = self._rows("number < ? ORDER BY number DESC", sweep.below)
        if rows:
            sweep.below = rows[-1][0]
        return list(map(question_of, rows))

    def _rows(self, where: str, *values: int) -> list[Any]:
        """A few questions as `question_of` takes them: the number comes first, the change last."""
        sql = f"SELECT number, id, {', '.join(QUESTION_COLUMNS)}, change FROM questions WHERE {where} LIMIT {AT_A_TIME}"
        return self._archive.connection.execute(sql, values).fetchall()

    def _hits(self, questions: Iterable[Question]) -> Iterator[tuple[str, list[str], Floats]]:
        """Asked as the questions that the calibration is of."""
        bodies = self._calibration is None or self._calibration.bodies
        return found(self._ranker, self._view, {q.id: q if bodies else replace(q, body="") for q in questions})

    def _found(self, questions: Iterable[Question], sweep: Sweep) -> Iterator[Found]:
        if self._calibration is None or sweep.share is None:
            for id, hits, features in self._hits(questions):
                if hits:
                    yield self._pair(id, hits[0], None, float(features[0, 0]))
            return
        there = list(self._links(self._calibration, questions))
        others = self._view.get({hit for _, hit, _, _ in there}).values()
        back = {(hit, id): probability for id, hit, probability, _ in self._links(self._calibration, others)}
        for id, hit, probability, score in there:
            both = np.array([(probability + back.get((id, hit), probability)) / 2])
            told = float(shifted(both, self._calibration.base_rate, sweep.share)[0])
            if told >= LEAST:
                yield self._pair(id, hit, told, score)

    def _links(
        self, calibration: Calibration, questions: Iterable[Question]
    ) -> Iterator[tuple[str, str, float, float]]:
        """Who finds whom, how probably in an archive such as the calibration's queries are of, and the score."""
        for id, hits, features in self._hits(questions):
            told = calibration.probabilities(features).tolist()
            for hit, probability, score in zip(hits, told, features[:, 0].tolist(), strict=True):
                if probability >= LEAST:
                    yield id, hit, probability, score

    def _pair(self, one: str, other: str, probability: float | None, score: float) -> Found:
        better, worse = self._in_order(one, other)
        return Found(worse, better, probability, score, self._ranker.name)

    def _in_order(self, one: str, other: str) -> tuple[str, str]:
        """The question that would be the original, then the other; as they come where one has just gone."""
        texts, numbers = self._view.get([one, other]), self._view.numbers([one, other])
        there = sorted((q for q in texts.values() if q.id in numbers), key=lambda q: (*merits(q), numbers[q.id]))
        return (there[0].id, there[1].id) if len(there) == 2 else (other, one)


def _end(archive: Archive) -> tuple[int, int, int]:
    """The last change, the last number, and the number after it."""
    sql = "SELECT COALESCE(MAX(number), 0) FROM questions"
    top = int(archive.connection.execute(sql).fetchone()[0])
    return archive.view().change, top, top + 1
