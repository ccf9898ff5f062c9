"""Networks of recipes: with random parameters, opened from a model's folder, or initialised from a trained model."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.types import RESERVED
from askalike.encoders import open_encoder, read_model_file
from askalike.learning.checkpoint import load_weights
from askalike.learning.networks import Network, WordVectorNetwork
from askalike.learning.recipes import Recipe
from askalike.text.features import TextFeatures
from askalike.text.vocabulary import UNKNOWN

WEIGHTS_FILE = "weights.safetensors"


class SavedNetwork(NamedTuple):
    """The parts of a trained network in a model's folder."""

    recipe: Recipe
    features: TextFeatures
    network: Network


def load_features_class(recipe: Recipe) -> type[TextFeatures]:
    """Return the class of features that a recipe's network reads."""
    return registry.load("features", registry.load("network", recipe.name).features)


def create_network(recipe: Recipe, size: int) -> Network:
    """Return a network for `size` tokens with random parameters, drawn with the recipe's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.training.seed)
        return registry.load("network", recipe.name)(recipe.network, size)  # type: ignore[no-any-return]


def open_network(folder: Path) -> SavedNetwork:
    """Return the trained network in a folder of `models/`. Raises InputError if it cannot be read."""
    tables = {name: rows for name, rows in read_model_file(folder).items() if isinstance(rows, dict)}
    recipe = Recipe.from_tables({name: rows for name, rows in tables.items() if name != "trained"})
    features = load_features_class(recipe).load(recipe.features, folder)
    network = create_network(recipe, len(features.tokens))
    load_weights(network, folder / WEIGHTS_FILE)
    return SavedNetwork(recipe, features, network)


def scale_word_vectors(network: Network, init_std: float) -> None:
    """Scale all initial word vectors by one factor, to a standard init_std. Raises SettingsError if there are none."""
    if not isinstance(network, WordVectorNetwork):
        raise SettingsError("embeddings.init_std: expected a network over word vectors, such as siamese_lstm")
    with torch.no_grad():
        table = network.word_embedding.weight
        table *= init_std / table[RESERVED:].std()


def find_start_models(recipe: Recipe) -> Sequence[Path]:
    """Return the folders of the trained models that the network, or a part of it, is initialised from."""
    parts = registry.load("network", recipe.name).part_models(recipe.network)
    return [folder for folder in map(Path, (recipe.embeddings.init, *parts.values())) if folder.is_dir()]


def start_fingerprints(recipe: Recipe) -> list[str]:
    """Return the fingerprints of the models that the network is initialised from, for digests of a training."""
    return [open_encoder(folder).fingerprint for folder in find_start_models(recipe)]


def copy_model(network: nn.Module, tokens: Sequence[str], folder: Path, setting: str) -> str:
    """Copy the parameters of a trained network over word vectors; return a sentence on how many words it knows.

    Both then encode every text alike: a word unknown to the trained one gets the vector of its unknown word.
    tokens: the words of the network. setting: the setting that names the folder, for messages.
    Raises SettingsError for a model of another kind or size.
    """
    if (encoder := read_model_file(folder).get("encoder")) != Network.encoder_name:
        raise SettingsError(f"{setting}: a model of the encoder {encoder}; expected a network over word vectors")
    saved = open_network(folder)
    if type(saved.network) is not type(network) or not isinstance(network, WordVectorNetwork):
        found, expected = (type(n).__name__.removesuffix("Network") for n in (saved.network, network))
        raise SettingsError(f"{setting}: a model of the network {found}; expected {expected}, over word vectors")
    rows = {token: row for row, token in enumerate(saved.features.tokens)}
    places = [*range(RESERVED), *(rows.get(token, UNKNOWN) for token in tokens[RESERVED:])]
    table = next(name for name, p in network.named_parameters() if p is network.word_embedding.weight)
    source, target = saved.network.state_dict(), network.state_dict()
    _check_shapes(source, target, table, setting, same_words=list(saved.features.tokens) == list(tokens))
    network.load_state_dict({name: source[name][places] if name == table else source[name] for name in target})
    known = sum(place != UNKNOWN for place in places[RESERVED:])
    return f"{known} of {len(tokens) - RESERVED} words begin as in {folder.name}"


def _check_shapes(
    source: dict[str, Tensor], target: dict[str, Tensor], table: str, setting: str, *, same_words: bool
) -> None:
    """Raise SettingsError if a parameter has another size, or rows of words other than those of the table."""
    for name, tensor in target.items():
        found, expected = list(source[name].shape), list(tensor.shape)
        if name == table:
            found, expected = found[1:], expected[1:]
        elif expected and expected[0] == len(target[table]) and not same_words:
            raise SettingsError(f"{setting}: its {name} has a row a word; expected a model of the same words")
        if found != expected:
            raise SettingsError(f"{setting}: its {name} has the size {found}, expected {expected}")
