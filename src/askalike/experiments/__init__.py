"""Measuring rankers on archives: experiments, comparisons, grid search, trained models."""
