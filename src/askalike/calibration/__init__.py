"""What a ranker's scores mean on an archive: features of a hit, curves to a probability, thresholds, abstention."""
