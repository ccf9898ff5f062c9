"""What askalike asks of this package: a trainer. Nothing here imports torch before a recipe is loaded."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.plugin import names
from askalike.plugin.training import Trainer, TrainingRecipe
from askalike_learning.recipe_files import list_recipes

TRAINED_ENCODERS = ("neural", "doc2vec", "topics")
"""The encoders of its models; doc2vec and topics are also the names of recipes."""

QUICK_LIMITS: Mapping[str, int] = {
    "training.epochs": 1, "training.dev_documents": 500, "data.max_pairs": 500, "embeddings.init_epochs": 1,
    "features.longest": 40, "negatives.random": 2, "epochs": 1,
}  # fmt: skip
"""The highest values of settings where a recipe is only tried out."""


class RecipeTrainer:
    """Trains the recipes of this package, and of others that register theirs."""

    def recipe_names(self) -> Sequence[str]:
        """See Trainer.recipe_names."""
        return list_recipes()

    def internal_names(self) -> Sequence[str]:
        """See Trainer.internal_names."""
        return (*TRAINED_ENCODERS, *names("network"))

    def load_recipe(self, name: str, values: Mapping[str, Any]) -> TrainingRecipe:
        """See Trainer.load_recipe."""
        from askalike_learning.trainable import load_recipe

        return load_recipe(name, values)

    def shorten_setting(self, name: str, value: Any) -> Any:
        """See Trainer.shorten_setting."""
        if name.endswith("embeddings.init") and value == "skipgram":
            return "random"
        limit = next((limit for end, limit in QUICK_LIMITS.items() if f".{name}".endswith(f".{end}")), None)
        if limit is None:
            return value
        return min(value or limit, limit) if name.endswith("max_pairs") else min(value, limit)


TRAINER: Trainer = RecipeTrainer()
