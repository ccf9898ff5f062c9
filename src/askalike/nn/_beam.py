"""The most likely texts of a decoder, by beam search."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askalike.nn._decoder import END, Best, Decoder


@dataclass(frozen=True, slots=True)
class Search:
    """How a text is looked for. A beam of 1 is greedy: always the likeliest next word."""

    beam: int = 4
    longest: int = 60
    penalty: float = 0.6
    """How much longer texts are favoured: scores are divided by ((5 + words) / 6) ** penalty (Wu et al. 2016)."""
    repeat: int = 3
    """No run of so many words comes twice; 0: they may."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A beginning: its words, the sum of their logarithms, and the row of the beam that its state is in."""

    words: tuple[int, ...]
    total: float
    row: int


@torch.inference_mode()
def beam_search(decoder: Decoder, words: nn.Embedding, vector: Tensor, search: Search) -> tuple[list[int], float]:
    """The words of the best text for a vector (latent,), without its end, and its score.

    A text that has no end after `longest` words is cut there. A text has one word at least.
    """
    state = decoder.start(vector[None])
    texts = [_Text((), 0.0, 0)]
    done: list[_Text] = []
    for _ in range(search.longest):
        rows = torch.tensor([text.row for text in texts])
        last = torch.tensor([text.words[-1] if text.words else END for text in texts])
        states, state = decoder.step(words, last, (state[0][:, rows], state[1][:, rows]))
        totals = torch.tensor([text.total for text in texts], dtype=states.dtype)
        banned = [_banned(text.words, search.repeat) for text in texts]
        texts = _continued(texts, decoder.likeliest(states, totals, banned, 2 * search.beam), search, done)
        if not texts or len(done) >= search.beam:
            break
    best = max([*done, *texts], key=lambda text: _score(text, search))
    return list(best.words), _score(best, search)


def _continued(texts: list[_Text], best: Best, search: Search, done: list[_Text]) -> list[_Text]:
    """The best so many texts of one word more; those that end are added to `done`."""
    kept: list[_Text] = []
    for total, row, word in zip(best.sums.tolist(), best.texts.tolist(), best.words.tolist(), strict=True):
        if len(kept) == search.beam:
            break
        if word == END:
            done.append(_Text(texts[row].words, total, row))
        else:
            kept.append(_Text((*texts[row].words, word), total, row))
    return kept


def _banned(words: tuple[int, ...], repeat: int) -> list[int]:
    """What may not follow: the end before the first word, and a word that would repeat a run of words."""
    return [*([] if words else [END]), *(_repeating(words, repeat) if repeat else ())]


def _repeating(words: tuple[int, ...], run: int) -> set[int]:
    """The words that would make the last `run` words ones that were there before."""
    before = words[len(words) - run + 1 :] if run > 1 else ()
    starts = range(len(words) - run + 1)
    return {words[at + run - 1] for at in starts if words[at : at + run - 1] == before}


def _score(text: _Text, search: Search) -> float:
    return float(text.total / ((5 + len(text.words)) / 6) ** search.penalty)
