"""Labels of questions that ask the same: duplicate clusters, splits, partitions and training pairs."""
