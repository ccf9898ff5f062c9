"""Text analysis, from raw text to terms: cleaning, language, tokens, sentences, snippets."""
