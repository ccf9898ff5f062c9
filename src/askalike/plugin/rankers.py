"""Names for rankers that build on those of askalike: lexical, dense and pairwise ones, and what opens them.

A ranker is a class derived from `askalike.Ranker`, and is registered in the group `askalike.rankers`.
"""

from askalike.calibration.calibration import settings_json as settings_json
from askalike.core.model_folders import find_cross_encoder as find_cross_encoder
from askalike.rankers import (
    ANSWER_RANKERS as ANSWER_RANKERS,
    DEFAULT_NAME as DEFAULT_NAME,
    active_ranker as active_ranker,
    names as names,
    open_current as open_current,
    resolve as resolve,
    resume_runs as resume_runs,
    trained_model_names as trained_model_names,
)
from askalike.rankers.dense import DenseRanker as DenseRanker
from askalike.rankers.lexical import (
    LexicalRanker as LexicalRanker,
    LexicalSearcher as LexicalSearcher,
    LexicalSettings as LexicalSettings,
    split_settings as split_settings,
)
from askalike.rankers.pairwise import PairwiseRanker as PairwiseRanker
from askalike.text.clean import CodeRule as CodeRule
