"""The settings of a network's training, and of `distil`."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from askalike.core.config import Settings, TextList
from askalike.encoders.static import StaticEncoderSettings


class NegativesSettings(Settings):
    """The kinds of negatives of a pair (q, p), all from other clusters."""

    random: int = Field(0, ge=0, description="number of random texts for each pair")
    redraw: bool = Field(
        True, description="whether each epoch draws its own random texts; otherwise all epochs have the same"
    )
    mined: int = Field(0, ge=0, description="number of texts for each pair that are ranked high by a ranker")
    judged: int = Field(
        0, ge=0, description="number of documents for each pair that are judged irrelevant to its query"
    )
    in_batch: bool = Field(False, description="whether the other pairs of the batch are negatives")
    hardest: bool = Field(False, description="whether only the highest-scoring drawn negative of each side is used")
    sides: Literal["both", "query"] = Field(
        "both", description="whether negatives are scored with the query only, or also with the positive"
    )
    ranker: str = Field("lm_jelinek_mercer", description="the ranker that negatives are mined from")
    from_rank: int = Field(10, ge=0, description="number of top hits that are skipped: many are unlabelled duplicates")
    to_rank: int = Field(100, ge=1, description="rank of the last hit that is mined")
    max_score: float = Field(
        0.95, gt=0, description="maximum score of a mined negative, as a share of the positive's score"
    )

    @property
    def kinds(self) -> int:
        """The number of kinds of negatives."""
        return sum(map(bool, (self.random, self.mined, self.judged, self.in_batch)))

    @model_validator(mode="after")
    def _check_ranks(self) -> "NegativesSettings":
        if self.from_rank >= self.to_rank:
            raise ValueError("expected from_rank below to_rank")
        return self


class TrainingSettings(Settings):
    """The training loop. An epoch is one pass over all pairs."""

    epochs: int = Field(20, ge=1, description="maximum number of epochs")
    batch_size: int = Field(64, ge=1, description="number of pairs in a batch, on each device")
    accumulate: int = Field(1, ge=1, description="number of batches whose mean gradient makes a step")
    optimizer: Literal["sgd", "adam", "adamw", "adagrad", "lazy_adam"] = Field(
        "sgd",
        description="the optimizer; lazy_adam updates only a batch's words, much faster with large vocabularies",
    )
    learning_rate: float = Field(0.05, gt=0, description="the optimizer's learning rate")
    weight_decay: float = Field(
        0.0, ge=0, description="L2 penalty of weight matrices, but not of word vectors and biases (adamw: decoupled)"
    )
    schedule: Literal["constant", "linear"] = Field(
        "constant", description="the learning rate is constant, or falls linearly to 0 at the end of the last epoch"
    )
    warm_up: float = Field(0.0, ge=0, lt=1, description="share of all steps in which the learning rate rises from 0")
    reduction: Literal["mean", "sum"] = Field(
        "mean", description="whether a batch's loss is the mean or the sum over its pairs"
    )
    clip: float = Field(0.0, ge=0, description="maximum norm of a gradient; 0: no limit")
    measure: str = Field("Success@10", description="the measure on dev that chooses the best epoch")
    patience: int = Field(4, ge=1, description="number of epochs without improvement after which training stops")
    dev_documents: int = Field(
        50_000, ge=1, description="number of documents ranked for dev queries, in addition to the relevant ones"
    )
    min_pairs: int = Field(32, ge=1, description="minimum number of training pairs")
    seed: int = Field(1, ge=0, description="seed of initial weights, batches and drawn negatives")
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="device for training")
    devices: int = Field(1, ge=1, description="number of training processes, each with its own device")
    precision: Literal["auto", "32-true", "bf16-mixed"] = Field(
        "auto", description="number format; auto is bf16 on a GPU"
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> "TrainingSettings":
        if self.accumulate > 1 and self.devices > 1:
            raise ValueError("accumulate is for one process; set devices=1, or accumulate=1")
        if self.optimizer == "lazy_adam" and self.weight_decay:
            raise ValueError("lazy_adam has no weight decay; set weight_decay=0, or optimizer=adam")
        return self


class DistillationSettings(Settings):
    """The teacher, the texts that it encodes, and the n-grams in the lookup."""

    encoder: str = Field("", description="the teacher: a model of the archive, or a registered encoder")
    model: str = Field("", description="the folder or package of a pre-trained teacher")
    text_kinds: tuple[Literal["title", "body", "whole"], ...] = Field(
        ("title", "body", "whole"),
        description="the texts of each question that are encoded: title, body, or both as one text (whole)",
    )
    n_prefixes: float = Field(0.25, ge=0, description="number of unfinished versions of each title")
    n_word_dropout: float = Field(0.25, ge=0, description="number of versions of each title without some of its words")
    n_recombined: float = Field(
        1.0, ge=0, description="number of new titles, each combined from several, for each title"
    )
    single_words: bool = Field(
        True,
        description="whether single words of titles are encoded, too, and pairs of words that occur in several titles",
    )
    excluded_splits: TextList = Field(
        (), description="splits whose queries are not learned, so that they measure unseen queries"
    )
    subwords: int = Field(32_000, ge=0, description="number of rows for the tokenizer's subwords; 0: none are used")
    words: int = Field(32_768, ge=0, description="number of rows for hashed words; 0: none are used")
    bigrams: int = Field(
        65_536, ge=0, description="number of rows for hashed pairs of adjacent words; 0: none are used"
    )
    longest: int = Field(128, ge=1, description="maximum number of words read from a text")
    penalty: float = Field(1.0, gt=0, description="ridge penalty of the vectors of subwords and words")
    bigram_penalty: float = Field(5.0, gt=0, description="ridge penalty of the vectors of pairs of words")
    lookup_share: float = Field(
        0.5, ge=0, description="weight of the lookup in a document's vector; the teacher's vector has weight 1"
    )
    unknown_share: float = Field(
        0.5,
        ge=0,
        description="weight of the teacher's vector of a word that is in no question learned from; 0: none is encoded",
    )
    seed: int = Field(1, ge=0, description="seed of the new and unfinished titles, and of the order of texts")

    @property
    def lookup(self) -> StaticEncoderSettings:
        """The settings of the lookup. Texts are in lower case: capitals at the start of a sentence do not matter."""
        chosen = self.model_dump(include={"subwords", "words", "bigrams", "longest"})
        return StaticEncoderSettings(**chosen, lower_case=True)

    @property
    def penalties(self) -> NDArray[np.float32]:
        """The ridge penalty of each row: pairs of words are rarer, and would overfit."""
        single = self.subwords + self.words
        return np.repeat(np.array([self.penalty, self.bigram_penalty], np.float32), [single, self.bigrams])
