"""How networks learn: losses, negatives, batches, the loop. Each imports torch where it needs it."""
