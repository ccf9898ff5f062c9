"""Networks of recipes: random ones, those opened from a folder, or begun from a trained model; the vectors of texts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from askalike import SettingsError, VectorPart, Vectors
from askalike.plugin import load
from askalike.plugin.features import RESERVED, Ints
from askalike.plugin.models import open_encoder, read_model_file
from askalike_learning.checkpoint import load_weights
from askalike_learning.features import UNKNOWN, FeatureRows, TextFeatures
from askalike_learning.networks import WEIGHTS_FILE, Network, WordVectorNetwork
from askalike_learning.recipes import Recipe


class SavedNetwork(NamedTuple):
    """The parts of a trained network in a model's folder."""

    recipe: Recipe
    features: TextFeatures
    network: Network


def load_features_class(recipe: Recipe) -> type[TextFeatures]:
    """Return the class of features that a recipe's network reads."""
    features: type[TextFeatures] = load("features", load("network", recipe.name).features)
    return features


def create_network(recipe: Recipe, size: int) -> Network:
    """Return a network for `size` tokens with random parameters, drawn with the recipe's seed."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.training.seed)
        return load("network", recipe.name)(recipe.network, size)  # type: ignore[no-any-return]


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
    parts = load("network", recipe.name).part_models(recipe.network)
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
    table = f"{network.words_at}.weight"
    source = saved.network.state_dict()
    target = network.state_dict()
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


TOKENS_PER_BATCH = 1 << 15
"""Maximum number of tokens in a batch, including padding: about 130 MB of windows with 1,000 units."""
TOKENS_PER_CPU_BATCH = 1 << 11
"""The same on a CPU: a batch that fits into its caches is three to five times as fast."""
MAX_TEXTS_PER_BATCH = 4096


@torch.inference_mode()
def encode_rows(network: Network, rows: FeatureRows, is_answer: NDArray[np.bool_]) -> Vectors:
    """Return the vectors of all rows, float32, computed on the network's device. is_answer: (rows,)."""
    device = next(network.parameters()).device
    training = network.training
    network.eval()
    order = np.argsort(rows.lengths, kind="stable")
    batches_by_part: list[list[Tensor]] = [[] for _ in network.metrics]
    tokens = TOKENS_PER_CPU_BATCH if device.type == "cpu" else TOKENS_PER_BATCH
    for numbers in _batch_by_length(order, rows.lengths[order], tokens):
        arrays = {**rows.batch(numbers), "document": is_answer[numbers]}
        parts = network.encode({name: torch.from_numpy(array).to(device) for name, array in arrays.items()})
        for batches, part in zip(batches_by_part, parts, strict=True):
            batches.append(part.cpu())
    network.train(training)
    weights = network.part_weights().tolist()
    original_order = np.argsort(order, kind="stable")
    values = (_join_batches(batches, original_order) for batches in batches_by_part)
    return Vectors(tuple(VectorPart(v, m, w) for v, m, w in zip(values, network.metrics, weights, strict=True)))


@torch.inference_mode()
def score_pairs(network: Network, vectors: Vectors, left: Ints, right: Ints) -> NDArray[np.float32]:
    """Return the network's scores of texts with others, (left, right). left, right: numbers of rows of the vectors."""
    device = next(network.parameters()).device
    parts = [torch.from_numpy(np.asarray(part.values, np.float32)).to(device) for part in vectors.parts]
    left_parts, right_parts = (tuple(part[rows] for part in parts) for rows in (left, right))
    return network.score_matrix(left_parts, right_parts).cpu().numpy()


def _batch_by_length(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield batches of at least one text; one empty batch if there are no texts. order: by length."""
    start = 0
    while start < len(order) or start == 0:
        longest = lengths[start : start + MAX_TEXTS_PER_BATCH]
        size = np.arange(1, len(longest) + 1) * longest
        end = start + max(1, int(np.searchsorted(size, tokens, "right")))
        yield order[start:end]
        start = end


def _join_batches(parts: list[Tensor], order: NDArray[np.int64]) -> NDArray[np.float32] | scipy.sparse.csr_array:
    if parts[0].is_sparse:
        return scipy.sparse.vstack([_to_csr(part) for part in parts], format="csr")[order]
    values: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return values[order]


def _to_csr(part: Tensor) -> scipy.sparse.csr_array:
    row, column = part.indices().numpy()
    return scipy.sparse.coo_array((part.values().float().numpy(), (row, column)), shape=tuple(part.shape)).tocsr()
