"""The most likely texts of a decoder, by beam search."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askalike.nn._decoder import END, Continuations, Decoder


@dataclass(frozen=True, slots=True)
class BeamSearchOptions:
    """How a text is looked for. A beam of 1 is greedy: always the likeliest next word."""

    beam_size: int = 4
    max_words: int = 60
    length_penalty: float = 0.6
    """How much longer texts are favoured: scores are divided by ((5 + words) / 6) ** penalty (Wu et al. 2016)."""
    no_repeat_ngram: int = 3
    """No run of so many words comes twice; 0: they may."""


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """A beginning: its words, the sum of their logarithms, and the row of the beam that its state is in."""

    words: tuple[int, ...]
    log_probability: float
    row: int


@torch.inference_mode()
def beam_search(
    decoder: Decoder, word_embedding: nn.Embedding, vector: Tensor, options: BeamSearchOptions
) -> tuple[list[int], float]:
    """The words of the best text for a vector (latent,), without its end, and its score.

    A text that has no end after `longest` words is cut there. A text has one word at least.
    """
    state = decoder.initial_state(vector[None])
    texts = [_Hypothesis((), 0.0, 0)]
    done: list[_Hypothesis] = []
    for _ in range(options.max_words):
        rows = torch.tensor([text.row for text in texts])
        last = torch.tensor([text.words[-1] if text.words else END for text in texts])
        states, state = decoder.step(word_embedding, last, (state[0][:, rows], state[1][:, rows]))
        totals = torch.tensor([text.log_probability for text in texts], dtype=states.dtype)
        banned = [_find_banned_words(text.words, options.no_repeat_ngram) for text in texts]
        texts = _extend_hypotheses(
            texts, decoder.find_best_continuations(states, totals, banned, 2 * options.beam_size), options, done
        )
        if not texts or len(done) >= options.beam_size:
            break
    best = max([*done, *texts], key=lambda text: _normalised_score(text, options))
    return list(best.words), _normalised_score(best, options)


def _extend_hypotheses(
    hypotheses: list[_Hypothesis], continuations: Continuations, options: BeamSearchOptions, finished: list[_Hypothesis]
) -> list[_Hypothesis]:
    """The best so many texts of one word more; those that end are added to `done`."""
    kept: list[_Hypothesis] = []
    for total, row, word in zip(
        continuations.sums.tolist(), continuations.hypotheses.tolist(), continuations.words.tolist(), strict=True
    ):
        if len(kept) == options.beam_size:
            break
        if word == END:
            finished.append(_Hypothesis(hypotheses[row].words, total, row))
        else:
            kept.append(_Hypothesis((*hypotheses[row].words, word), total, row))
    return kept


def _find_banned_words(words: tuple[int, ...], no_repeat_ngram: int) -> list[int]:
    """What may not follow: the end before the first word, and a word that would repeat a run of words."""
    return [*([] if words else [END]), *(_find_repeating_words(words, no_repeat_ngram) if no_repeat_ngram else ())]


def _find_repeating_words(words: tuple[int, ...], length: int) -> set[int]:
    """The words that would make the last `run` words ones that were there before."""
    before = words[len(words) - length + 1 :] if length > 1 else ()
    starts = range(len(words) - length + 1)
    return {words[at + length - 1] for at in starts if words[at : at + length - 1] == before}


def _normalised_score(hypothesis: _Hypothesis, options: BeamSearchOptions) -> float:
    return float(hypothesis.log_probability / ((5 + len(hypothesis.words)) / 6) ** options.length_penalty)
