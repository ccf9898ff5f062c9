"""Evaluates runs: files (`trec`), rules, measures, outcomes, and the significance of differences."""
