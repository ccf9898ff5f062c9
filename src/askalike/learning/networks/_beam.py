"""The most likely texts of a decoder, by beam search."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askalike.learning.networks._decoder import END, Continuations, Decoder


@dataclass(frozen=True, slots=True)
class BeamSearchOptions:
    """Options of the search. A beam of 1 is greedy: it always takes the most likely next word."""

    beam_size: int = 4
    max_words: int = 60
    length_penalty: float = 0.6
    """Scores are divided by ((5 + words) / 6) ** length_penalty, which favours longer texts (Wu et al. 2016)."""
    no_repeat_ngram: int = 3
    """No n-gram of this length occurs twice; 0 allows all."""


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """The beginning of a text: its words, their log-probability, and the row of its state in the beam."""

    words: tuple[int, ...]
    log_probability: float
    row: int


@torch.inference_mode()
def beam_search(
    decoder: Decoder, word_embedding: nn.Embedding, vector: Tensor, options: BeamSearchOptions
) -> tuple[list[int], float]:
    """Return the words of the best text for a vector (latent,), without the end token, and its score.

    A text without an end after `max_words` words is truncated there. A text has at least one word.
    """
    state = decoder.initial_state(vector[None])
    texts = [_Hypothesis((), 0.0, 0)]
    finished: list[_Hypothesis] = []
    for _ in range(options.max_words):
        rows = torch.tensor([text.row for text in texts])
        last = torch.tensor([text.words[-1] if text.words else END for text in texts])
        states, state = decoder.step(word_embedding, last, (state[0][:, rows], state[1][:, rows]))
        totals = torch.tensor([text.log_probability for text in texts], dtype=states.dtype)
        banned = [_find_banned_words(text.words, options.no_repeat_ngram) for text in texts]
        best = decoder.find_best_continuations(states, totals, banned, 2 * options.beam_size)
        texts = _extend_hypotheses(texts, best, options, finished)
        if not texts or len(finished) >= options.beam_size:
            break
    likeliest = max([*finished, *texts], key=lambda text: _normalised_score(text, options))
    return list(likeliest.words), _normalised_score(likeliest, options)


def _extend_hypotheses(
    texts: list[_Hypothesis], best: Continuations, options: BeamSearchOptions, finished: list[_Hypothesis]
) -> list[_Hypothesis]:
    """Return the best texts with one more word; those that end are added to `finished`."""
    extended: list[_Hypothesis] = []
    for total, row, word in zip(*(column.tolist() for column in best), strict=True):
        if len(extended) == options.beam_size:
            break
        if word == END:
            finished.append(_Hypothesis(texts[row].words, total, row))
        else:
            extended.append(_Hypothesis((*texts[row].words, word), total, row))
    return extended


def _find_banned_words(words: tuple[int, ...], no_repeat_ngram: int) -> list[int]:
    """Return the words that must not follow: the end as the first word, and words that would repeat an n-gram."""
    return [*([] if words else [END]), *(_find_repeating_words(words, no_repeat_ngram) if no_repeat_ngram else ())]


def _find_repeating_words(words: tuple[int, ...], length: int) -> set[int]:
    """Return the words that would repeat an earlier n-gram of `length` words."""
    before = words[len(words) - length + 1 :] if length > 1 else ()
    starts = range(len(words) - length + 1)
    return {words[at + length - 1] for at in starts if words[at : at + length - 1] == before}


def _normalised_score(hypothesis: _Hypothesis, options: BeamSearchOptions) -> float:
    return float(hypothesis.log_probability / ((5 + len(hypothesis.words)) / 6) ** options.length_penalty)
