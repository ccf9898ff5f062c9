"""Siamese LSTM that reads a topic network's vector with each word (Lin et al. 2017)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import nn

from askalike.core.config import Settings
from askalike.core.errors import SettingsError
from askalike.learning.networks._network import Batch, PartVectors, WordVectorNetwork, make_embedding
from askalike.learning.networks._recurrent import LstmLayer, pool_states
from askalike.learning.networks.siamese_lstm import SiameseLstmNetwork, SiameseLstmNetworkSettings


class SiameseLstmTopicsNetworkSettings(SiameseLstmNetworkSettings):
    """The sizes, and the topic network: a `siamese_lstm` that was trained on questions of one category."""

    topics: str = Field("", description="the folder of the topic network, a trained siamese_lstm; it is not changed")
    topic_hidden: int = Field(128, ge=1, description="size of its vector of a text; its dim is that of the network")


class SiameseLstmTopicsNetwork(WordVectorNetwork):
    """An LSTM over words, each concatenated with the topic network's vector of the whole text; cosines."""

    Settings: ClassVar[type[Settings]] = SiameseLstmTopicsNetworkSettings

    def __init__(self, settings: SiameseLstmTopicsNetworkSettings, vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.vector_dim = settings.hidden * (2 if settings.pooling == "mean_max" else 1)
        topic_settings = SiameseLstmNetworkSettings(dim=settings.dim, hidden=settings.topic_hidden)
        self.topics = SiameseLstmNetwork(topic_settings, vocabulary_size).requires_grad_(False)
        self.words = make_embedding(vocabulary_size, settings.dim)
        self.recurrent = LstmLayer(settings.dim + settings.topic_hidden, settings.hidden)

    @staticmethod
    def part_models(settings: Any) -> Mapping[str, str]:
        """Raises SettingsError if no topic network is given."""
        if not settings.topics:
            trained = "askalike train ARCHIVE --recipe siamese_lstm --signals same_category --name NAME"
            raise SettingsError(f"network.topics: expected the folder of a trained siamese_lstm; train one: {trained}")
        return {"topics": settings.topics}

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.words

    def forward(self, batch: Batch) -> PartVectors:
        """Encode ids, mask (batch, tokens) as one part (batch, vector_dim)."""
        words, topics = self.words(batch["ids"]), self.topics(batch)[0]
        steps = torch.cat((words, topics[:, None].expand(-1, words.shape[1], -1)), -1)
        return (pool_states(self.settings.pooling, self.recurrent(steps), batch["mask"]),)
