"""The families of rankers that `askalike tune` trains, from the simplest to the most complex."""

from askalike.plugin.training import CandidateFamily
from askalike_learning.recipes import DUPLICATE_SIGNALS

TEXT_SIGNALS = (*DUPLICATE_SIGNALS, "related", "title_body", "question_answer")
WEAK_SIGNALS = ("same_tag", "same_category")
ANSWER_SIGNALS = ("question_answer",)

STATIC = CandidateFamily(
    "trained static", 200, "static", signals=TEXT_SIGNALS, weak_signals=WEAK_SIGNALS,
    pairs_per_second=6_000, recipe_settings={"max_pairs_per_cluster": 5},
)  # fmt: skip
BOW_CNN = CandidateFamily("bow_cnn", 400, "bow_cnn", signals=DUPLICATE_SIGNALS, pairs_per_second=60)
CNN = CandidateFamily("cnn", 500, "cnn", signals=DUPLICATE_SIGNALS, pairs_per_second=40)
SCQA = CandidateFamily("scqa", 600, "scqa", signals=ANSWER_SIGNALS, pairs_per_second=100)
SIAMESE_LSTM = CandidateFamily("siamese_lstm", 700, "siamese_lstm", signals=ANSWER_SIGNALS, pairs_per_second=100)
