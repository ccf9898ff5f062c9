"""Names for rankers that build on those of askalike: lexical, dense and pairwise ones, and what opens them.

A ranker is a class derived from `askalike.Ranker`, and is registered in the group `askalike.rankers`.
"""

from askalike.calibration.calibration import settings_json
from askalike.core.model_folders import find_cross_encoder
from askalike.rankers import (
    ANSWER_RANKERS,
    DEFAULT_NAME,
    active_ranker,
    open_current,
    resolve,
    resume_runs,
    trained_model_names,
)
from askalike.rankers import names as ranker_names
from askalike.rankers.dense import DenseRanker
from askalike.rankers.lexical import LexicalRanker, LexicalSearcher, LexicalSettings, split_settings
from askalike.rankers.pairwise import PairwiseRanker
from askalike.text.clean import CodeRule

__all__ = [
    "ANSWER_RANKERS",
    "DEFAULT_NAME",
    "CodeRule",
    "DenseRanker",
    "LexicalRanker",
    "LexicalSearcher",
    "LexicalSettings",
    "PairwiseRanker",
    "active_ranker",
    "find_cross_encoder",
    "open_current",
    "ranker_names",
    "resolve",
    "resume_runs",
    "settings_json",
    "split_settings",
    "trained_model_names",
]
