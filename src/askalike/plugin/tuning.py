"""Names for what `askalike tune` tries: a `CandidateFamily` in the group `askalike.tuning_families` is a kind of ranker."""

from askalike.tuning.candidates import CandidateFamily

__all__ = ["CandidateFamily"]
