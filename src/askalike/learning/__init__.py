"""Training of networks: examples, negatives, batches, losses and the loop."""
