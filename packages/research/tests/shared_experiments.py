"""Fixtures for tests of experiments, which other packages use, too."""

import pytest


@pytest.fixture
def without_figures(monkeypatch):
    """Reports have no figures, which take most of an experiment's time; experiments/test_report.py draws them."""
    from askalike_research.experiments import report

    monkeypatch.setattr(report, "draw_figures", lambda *of: [])
