"""From a ranker's scores to probabilities: features of a hit, curves, thresholds, and when to abstain."""
