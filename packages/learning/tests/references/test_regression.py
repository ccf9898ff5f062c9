"""The regression of a distillation is that of scikit-learn."""

import numpy as np

from askalike.learning.distil import fit_ngram_vectors
from askalike.text.features import RaggedArray


def test_the_regression_is_scikit_learn_s(monkeypatch):
    monkeypatch.setattr("askalike.learning.distil.CONJUGATE_GRADIENT_STEPS", 40)
    from sklearn.linear_model import Ridge  # slow to import

    random = np.random.default_rng(1)
    lists = [random.integers(0, 30, random.integers(1, 9)).tolist() for _ in range(200)]
    counts = np.zeros((200, 30))
    for text, pieces in enumerate(lists):
        np.add.at(counts[text], pieces, 1)
    targets = random.normal(size=(200, 70)).astype(np.float32)
    expected = Ridge(alpha=2.0, fit_intercept=False).fit(counts, targets).coef_.T
    vectors = fit_ngram_vectors(RaggedArray.from_rows(lists), targets, 30, penalty=2.0)
    np.testing.assert_allclose(vectors, expected, atol=1e-4)
