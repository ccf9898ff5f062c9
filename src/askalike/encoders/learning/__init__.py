"""How encoders learn from an archive: training data, distillation, the run of a recipe, and the model's folder."""
