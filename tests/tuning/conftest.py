"""What the tests of tuning try."""

from dataclasses import replace

import pytest

from askalike.tuning import candidate_search
from askalike.tuning.candidates import lexical_candidates


@pytest.fixture(params=["default settings", pytest.param("all settings", marks=pytest.mark.long)])
def lexical_settings(request, monkeypatch):
    """Each lexical ranker is tried with its default settings alone; in the long run with its whole grid."""
    if request.param == "default settings":
        monkeypatch.setattr(
            candidate_search,
            "lexical_candidates",
            lambda *of: (replace(candidate, trials=candidate.trials[:1]) for candidate in lexical_candidates(*of)),
        )
