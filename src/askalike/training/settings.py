"""The settings that decide how a network is trained."""

from typing import Literal

from pydantic import Field, model_validator

from askalike.config import Settings


class NegativesSettings(Settings):
    """The negatives of a pair (q, p), of other clusters, of several kinds; drawn ones are fixed before training."""

    random: int = Field(0, ge=0, description="so many random texts for each pair")
    mined: int = Field(0, ge=0, description="so many of a ranker's best for each pair")
    judged: int = Field(0, ge=0, description="so many documents that are judged irrelevant to the pair's query")
    in_batch: bool = Field(False, description="the other pairs of the batch")
    hardest: bool = Field(False, description="only the one drawn negative that scores highest counts")
    sides: Literal["both", "query"] = Field(
        "both", description="whether the positive competes with drawn negatives, too"
    )
    ranker: str = Field("lm_jelinek_mercer", description="the ranker whose run is mined")
    from_rank: int = Field(10, ge=0, description="the best so many are passed over: many are duplicates unlabelled")
    to_rank: int = Field(100, ge=1, description="how deep is mined")
    below: float = Field(0.95, gt=0, description="only those that score less than this share of the positive's score")

    @property
    def kinds(self) -> int:
        """The number of kinds of negatives that a pair has."""
        return sum(map(bool, (self.random, self.mined, self.judged, self.in_batch)))

    @model_validator(mode="after")
    def _check_ranks(self) -> "NegativesSettings":
        if self.from_rank >= self.to_rank:
            raise ValueError("expected from_rank below to_rank")
        return self


class TeacherSettings(Settings):
    """An encoder whose vectors of the archive's texts, whole and unfinished, a network learns instead of pairs."""

    encoder: str = Field(
        "",
        description="the teacher: a model of the archive, static, or the folder or package of a pre-trained encoder; "
        "empty: learn from pairs",
    )
    model: str = Field("", description="earlier form, with encoder = pretrained: its folder or package")
    half: bool = Field(False, description="on a GPU the encoder pretrained works in bf16")
    taught: tuple[Literal["title", "body", "whole"], ...] = Field(
        ("title", "body", "whole"), description="what of each question: its title, its body, both as one text"
    )
    prefixes: float = Field(0.25, ge=0, description="unfinished versions for each title")
    dropped: float = Field(0.25, ge=0, description="versions without some of its words for each title")
    recombined: float = Field(0.0, ge=0, description="new titles, each made of several, for each title")
    alone: bool = Field(
        False, description="each word of titles alone, too, and pairs of words that several titles have"
    )
    cosine: float = Field(2.0, ge=0, description="how much the likeness to the teacher's vector counts")
    temperature: float = Field(0.1, gt=0, description="of the softmax over likenesses within a batch")
    not_taught: tuple[str, ...] = Field((), description="splits whose queries are not taught, to measure new ones by")
    held_out: int = Field(500, ge=1, description="so many texts are to find the teacher's nearest, without a dev split")


class TrainingSettings(Settings):
    """The training loop. An epoch is one pass over all pairs."""

    epochs: int = Field(20, ge=1, description="at most so many")
    batch_size: int = Field(64, ge=1, description="pairs in a batch, of each device")
    accumulate: int = Field(
        1, ge=1, description="batches whose mean gradient makes a step; with --cluster they are worked on side by side"
    )
    optimizer: Literal["sgd", "adam", "adamw", "adagrad", "lazy_adam"] = Field(
        "sgd", description="lazy_adam: adam that moves only the words of a batch, much faster with large vocabularies"
    )
    learning_rate: float = Field(0.05, gt=0, description="the step size of the optimizer")
    weight_decay: float = Field(0.0, ge=0, description="L2 (adamw: decoupled)")
    schedule: Literal["constant", "linear"] = Field("constant", description="linear falls to 0 at the last epoch's end")
    warm_up: float = Field(0.0, ge=0, lt=1, description="the share of all steps over which the rate rises from 0")
    reduction: Literal["mean", "sum"] = Field("mean", description="sum: each pair moves as far as if it came alone")
    clip: float = Field(0.0, ge=0, description="a gradient's greatest norm; 0 for none")
    measure: str = Field("Success@10", description="the best epoch by this measure on dev is kept")
    patience: int = Field(4, ge=1, description="stops after so many epochs without a better one")
    dev_documents: int = Field(50_000, ge=1, description="dev queries rank the relevant and so many others")
    least_pairs: int = Field(32, ge=1, description="fewer pairs are refused")
    seed: int = Field(1, ge=0, description="seed of initial weights, batches and drawn negatives")
    accelerator: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="where it is trained")
    devices: int = Field(1, ge=1, description="processes, each with a device of its own")
    precision: Literal["auto", "32-true", "bf16-mixed"] = Field("auto", description="auto: bf16 on a GPU")

    @model_validator(mode="after")
    def _check_accumulate(self) -> "TrainingSettings":
        if self.accumulate > 1 and self.devices > 1:
            raise ValueError("accumulate is for one process; set devices=1, or accumulate=1")
        return self

    @model_validator(mode="after")
    def _check_weight_decay(self) -> "TrainingSettings":
        if self.optimizer == "lazy_adam" and self.weight_decay:
            raise ValueError("lazy_adam has no weight decay; set weight_decay=0, or optimizer=adam")
        return self
