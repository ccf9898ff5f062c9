"""Turns a ranker's scores into probabilities: features of a hit, curves, thresholds, and when to abstain."""
