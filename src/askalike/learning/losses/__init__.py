"""Losses, one file each: formulas over the scores of positives and negatives."""
