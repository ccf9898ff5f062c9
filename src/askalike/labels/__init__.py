"""What counts as the same question: duplicate clusters, splits, partitions and training pairs."""
