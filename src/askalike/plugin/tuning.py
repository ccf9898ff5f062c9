"""Names for what `askalike tune` tries: a `CandidateFamily`, in the group `askalike.tuning_families`."""

from askalike.tuning.candidates import CandidateFamily

__all__ = ["CandidateFamily"]
