"""Losses, one file each: a formula over the scores of positives and of negatives."""
