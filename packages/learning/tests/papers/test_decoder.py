"""The generator: its likelihood by hand, labels by frequency, and the search for the best text."""

import itertools

import pytest
import torch
from torch.nn import functional

from askalike_learning.networks import BeamSearchOptions
from askalike_learning.papers.dssm import flatten_sentences
from askalike_learning.papers.generator import END, Decoder, HuffmanSoftmax, beam_search

SIZE, DIM, LATENT, HIDDEN = 9, 4, 3, 16


@pytest.fixture(params=[(3, 6), None], ids=["adaptive", "huffman"])
def made(request):
    torch.manual_seed(3)
    decoder = Decoder(SIZE, DIM, LATENT, HIDDEN, request.param).double()
    words = torch.nn.Embedding(SIZE, DIM, padding_idx=0).double()
    return decoder, words


def next_words(decoder, words, vector, text):
    """The probabilities of the word after a text, worked out from the parts."""
    state = decoder.initial_state(vector[None])
    output, _ = decoder.lstm(words(torch.tensor([[END, *text]])), state)
    return decoder.softmax.log_prob(output[:, -1])[0][decoder.label]


def by_hand(decoder, words, vector, text):
    return sum(next_words(decoder, words, vector, text[:at])[word] for at, word in enumerate([*text, END]))


def test_likelihood_of_a_text_is_its_words_product(made):
    decoder, words = made
    decoder.set_word_counts(torch.tensor([5, 0, 9, 1, 2, 8, 3, 3, 7]))
    texts, vectors = [[2, 5, 8], [3], []], torch.randn(3, LATENT, dtype=torch.double)
    ids = torch.tensor([[2, 5, 8], [3, 7, 7], [1, 1, 1]])  # what is masked does not count
    mask = torch.tensor([[True] * 3, [True, False, False], [False] * 3])
    found, lengths = decoder.log_likelihood(words, vectors, ids, mask)
    assert lengths.tolist() == [4, 2, 1]
    for vector, text, one in zip(vectors, texts, found, strict=True):
        torch.testing.assert_close(one, by_hand(decoder, words, vector, text))


def test_texts_of_a_length_have_probability_one(made):
    decoder, words = made
    vector = torch.randn(LATENT, dtype=torch.double)
    total = next_words(decoder, words, vector, []).exp().sum()
    torch.testing.assert_close(total, torch.ones((), dtype=torch.double))


def test_labels_fall_by_frequency(made):
    decoder, _ = made
    counts = torch.tensor([5, 0, 9, 1, 2, 8, 3, 3, 7])
    decoder.set_word_counts(counts)
    assert decoder.word.tolist() == [2, 5, 8, 0, 6, 7, 4, 3, 1]  # ties by number
    by_label = counts[decoder.word]
    assert (by_label[:-1] >= by_label[1:]).all()
    assert decoder.label[decoder.word].tolist() == list(range(SIZE))


def test_frequent_words_are_in_the_first_group():
    decoder = Decoder(SIZE, DIM, LATENT, HIDDEN, (3, 6))
    decoder.set_word_counts(torch.arange(SIZE))
    frequent = torch.arange(SIZE)[-decoder.softmax.cutoffs[0] :]
    assert (decoder.label[frequent] < decoder.softmax.cutoffs[0]).all()


def test_a_huffman_tree_has_the_shortest_paths():
    softmax = HuffmanSoftmax(HIDDEN, 6)
    counts = torch.tensor([45, 13, 12, 16, 9, 5])
    softmax.set_counts(counts)
    depths = softmax.signs.abs().sum(1)
    assert depths.tolist() == [1, 3, 3, 3, 4, 4]  # Cormen et al., Introduction to Algorithms, figure 16.3


def test_a_stored_tree_is_read_again():
    first, second = (Decoder(SIZE, DIM, LATENT, HIDDEN, None) for _ in range(2))
    first.set_word_counts(torch.tensor([5, 0, 90, 1, 2, 8, 3, 3, 7]))
    second.load_state_dict(first.state_dict())
    states = torch.randn(2, HIDDEN)
    torch.testing.assert_close(second.softmax.log_prob(states), first.softmax.log_prob(states))


def test_one_step_equals_reading_the_whole_beginning(made):
    decoder, words = made
    vector, state = torch.randn(LATENT, dtype=torch.double), None
    state = decoder.initial_state(vector[None])
    for at, word in enumerate([END, 4, 2]):
        states, state = decoder.step(words, torch.tensor([word]), state)
        log_probabilities = decoder.softmax.log_prob(states)[0, decoder.label]
        torch.testing.assert_close(log_probabilities, next_words(decoder, words, vector, [4, 2][:at]))


def test_widest_beam_finds_the_best_text(made):
    decoder, words = made
    vector = torch.randn(LATENT, dtype=torch.double)
    search = BeamSearchOptions(beam_size=SIZE**3, max_words=3, length_penalty=0.0, no_repeat_ngram=0)
    found, score = beam_search(decoder, words, vector, search)
    ended = (list(text) for n in (1, 2) for text in itertools.product(range(1, SIZE), repeat=n))
    best = max(ended, key=lambda text: by_hand(decoder, words, vector, text))
    with torch.no_grad():
        likeliest = float(by_hand(decoder, words, vector, best))
    assert score >= likeliest - 1e-9  # longer ones are cut without an end
    assert len(found) == 3 or found == best


def test_greedy_takes_the_likeliest_word_each_time(made):
    decoder, words = made
    vector, text = torch.randn(LATENT, dtype=torch.double), []
    while len(text) < 6:
        found = next_words(decoder, words, vector, text)
        if not text:
            found[END] = -torch.inf
        if (word := int(found.argmax())) == END:
            break
        text.append(word)
    assert beam_search(decoder, words, vector, BeamSearchOptions(1, 6, 0.0, 0))[0] == text


@pytest.mark.parametrize("repeat", [1, 2, 3])
def test_no_run_of_words_comes_twice(made, repeat):
    decoder, words = made
    with torch.no_grad():  # it would say one word for ever
        decoder.lstm.bias_hh_l0.fill_(3)
    text, _ = beam_search(decoder, words, torch.ones(LATENT, dtype=torch.double), BeamSearchOptions(3, 20, 1.0, repeat))
    runs = [tuple(text[at : at + repeat]) for at in range(len(text) - repeat + 1)]
    assert len(set(runs)) == len(runs)


def test_longer_texts_are_favoured_by_the_penalty(made):
    decoder, words = made
    vector = torch.randn(LATENT, dtype=torch.double)
    lengths = [len(beam_search(decoder, words, vector, BeamSearchOptions(8, 12, p, 0))[0]) for p in (0.0, 5.0)]
    assert lengths[0] <= lengths[1]


def test_sentences_become_one_text():
    ids = torch.tensor([[[1, 2, 0], [3, 0, 0]], [[4, 0, 0], [0, 0, 0]]])
    joined, mask = flatten_sentences(ids, ids > 0)
    assert joined.where(mask, 0).tolist() == [[1, 2, 3], [4, 0, 0]]
    assert functional.pad(mask, (0, 0)).sum(1).tolist() == [3, 1]


def test_the_likeliest_words_are_those_of_all_words(made):
    """Groups of rare words are passed over only where none of theirs is among the best."""
    decoder, _ = made
    for seed in range(20):
        torch.manual_seed(seed)
        decoder.set_word_counts(torch.randperm(SIZE))
        states = torch.randn(3, HIDDEN, dtype=torch.double) * (1 + seed)
        totals = -torch.rand(3, dtype=torch.double) * 4
        banned = [[0, 5], [], [int(n) for n in torch.randperm(SIZE)[:3]]]
        sums = decoder.softmax.log_prob(states)[:, decoder.label] + totals[:, None]
        for text, numbers in enumerate(banned):
            sums[text, numbers] = -torch.inf
        values, places = sums.flatten().topk(8)
        found = decoder.extend_beam(states, totals, banned, 8)
        torch.testing.assert_close(found.sums, values)
        assert (found.hypotheses * SIZE + found.words).tolist() == places.tolist()
