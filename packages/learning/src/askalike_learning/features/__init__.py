"""Features of texts that networks read: words, stems, letter trigrams, sentences, word pieces; one file each."""
