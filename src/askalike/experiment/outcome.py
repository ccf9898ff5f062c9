"""What an experiment found out: every system's runs and measures, ready to be compared, written and shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askalike.archive.findings import Finding
from askalike.evaluation.comparison import Comparison
from askalike.evaluation.outcome import Evaluation
from askalike.types import Run, Split


@dataclass(frozen=True, slots=True)
class Trial:
    """One system run once, with one seed."""

    run: Run
    evaluation: Evaluation
    seconds: float


@dataclass(frozen=True, slots=True)
class System:
    """One row of an experiment's table. `settings` are the resolved ones, tuned values included."""

    label: str
    ranker: str
    settings: Mapping[str, Any]
    trials: Mapping[int, Trial]
    """Seed → trial; a system without chance has one."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """What tuning chose, and the value it was chosen by: `{"k1": 0.9, "Success@10 on dev (n = 50)": 0.31}`.

    Empty where nothing was tuned.
    """


@dataclass(frozen=True, slots=True)
class Outcome:
    """One experiment, whole."""

    title: str
    folder: Path
    """Where it is kept: the folder that reproduces it."""
    archive: Path
    split: str
    labels: Split
    measures: Sequence[str]
    rule: str
    systems: Sequence[System]
    comparisons: Mapping[str, Comparison]
    """Measure → every pair of systems compared; empty with one system."""
    findings: Sequence[Finding] = ()
    """What the check of the archive found before it began."""
    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """System label → measure → the paper's value, as a share of 1."""
    known_differences: Sequence[str] = ()
    """Differences from the paper that are known of."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, data hash, commit, seeds, wall time."""
    typing: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The typing curve: system label → share of the question's words ("0.25") → measure → mean."""
