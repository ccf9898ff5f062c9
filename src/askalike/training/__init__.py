"""How networks are trained: examples, negatives, batches, losses and the loop."""
