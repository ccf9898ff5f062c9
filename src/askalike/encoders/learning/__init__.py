"""Training of encoders on an archive: training data, distillation, the run of a recipe, and the model's folder."""
