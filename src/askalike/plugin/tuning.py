"""Names for what `askalike tune` tries: each `CandidateFamily` in the group `askalike.tuning_families` is a ranker."""

from askalike.tuning.candidates import CandidateFamily

__all__ = ["CandidateFamily"]
